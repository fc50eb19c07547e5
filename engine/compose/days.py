"""The dates of a text, the time between them, and whether other texts support them. Pure.

English, Spanish, German, French, Portuguese, Italian and Japanese dates are read.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from itertools import product

from engine.compose.figures import build_alternation, spread_words

_MONTHS = spread_words(
    {
        1: "january jan enero ene januar janvier janeiro gennaio",
        2: "february feb febrero februar février fevereiro febbraio",
        3: "march mar marzo märz mars março",
        4: "april apr abril abr avril aprile",
        5: "may mayo mai maio maggio",
        6: "june jun junio juni juin junho giugno",
        7: "july jul julio juli juillet julho luglio",
        8: "august aug agosto ago août",
        9: "september sept sep septiembre setiembre septembre setembro settembre",
        10: "october oct octubre oktober okt octobre outubro ottobre",
        11: "november nov noviembre novembre novembro",
        12: "december dec diciembre dic dezember dez décembre dezembro dicembre",
    }
)
_WEEKDAYS = spread_words(
    {
        0: "monday lunes montag lundi segunda-feira lunedì 月曜日",
        1: "tuesday martes dienstag mardi terça-feira martedì 火曜日",
        2: "wednesday miércoles mittwoch mercredi quarta-feira mercoledì 水曜日",
        3: "thursday jueves donnerstag jeudi quinta-feira giovedì 木曜日",
        4: "friday viernes freitag vendredi sexta-feira venerdì 金曜日",
        5: "saturday sábado sábados samstag sonnabend samedi sabato 土曜日",
        6: "sunday domingo domingos sonntag dimanche domenica 日曜日",
    }
)
_MONTH = rf"(?P<month>{build_alternation(_MONTHS)})"
_YEAR = r"(?P<year>(?:1[5-9]|20|21)\d\d)(?!\d)"
_NUMBER = r"(?:[12]\d|3[01]|0?[1-9])"
_DAY = rf"(?P<day>{_NUMBER})"
_JAPANESE_DAY = rf"(?:{_DAY}日)?"
_ORDINAL = r"(?:st|nd|rd|th|er|º|\.)?"
_DAYS_PER_MONTH = 30.44
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?<!\d)(?P<year>\d{4})-(?P<number>0[1-9]|1[0-2])-(?P<day>[0-2]\d|3[01])(?!\d)",
        rf"(?<![\w.,]){_DAY}{_ORDINAL}\s(?:of\s|de\s)?{_MONTH}\b\.?(?:,?\s(?:de\s|del\s|of\s)?{_YEAR})?",
        rf"\b{_MONTH}\.?\s{_DAY}{_ORDINAL}\b(?!\s?[%\d])(?:,?\s(?:de\s)?{_YEAR})?",
        rf"\b{_MONTH}\.?,?\s(?:of\s|de\s|del\s)?{_YEAR}",
        rf"(?<!\d)(?P<year>\d{{4}})年(?:(?P<number>1[0-2]|0?[1-9])月{_JAPANESE_DAY})?",
        rf"(?<![\d年])(?P<number>1[0-2]|0?[1-9])月{_JAPANESE_DAY}",
    )
)
# Days that begin what a date ends: "12 to 15 July", "July 12-15", "del 12 al 15 de julio".
_TO = r"\s?(?:-|–|to|and|until|al|a|y|bis|und|au|et|ao|e)\s?"
_RANGES = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?<![\w.,]){_DAY}{_ORDINAL}{_TO}{_NUMBER}{_ORDINAL}\s(?:of\s|de\s)?{_MONTH}\b\.?"
        rf"(?:,?\s(?:de\s|del\s)?{_YEAR})?",
        rf"\b{_MONTH}\.?\s{_NUMBER}{_TO}{_DAY}\b(?!\s?[%\d])(?:,?\s{_YEAR})?",
    )
)
# "Release 5 of March 1995" is of March; "5 of March 1995" and "the 5th of March" are days.
_CARDINAL_OF = re.compile(r"\d{1,2}\sof\s", re.IGNORECASE)
_NAMED_BEFORE = re.compile(
    r"(?:(?<![\w-])[A-Z][\w-]*+|\b(?:release|version|part|chapter|issue|number|volume|no\.))\s\Z"
)
_NUMERIC = re.compile(r"(?<![\d/])(?P<a>\d{1,2})[/.](?P<b>\d{1,2})[/.](?P<year>\d{4})(?![\d/])")
_MONTH_ALONE = re.compile(
    r"\b(?:in|since|until|by|from|of|during|last|next|en|desde|hasta|de|durante)\s(?P<month>"
    r"January|February|March|April|May|June|July|August|September|October|November|December|"
    r"enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)\b"
)
_WEEKDAY = re.compile(
    r"\b(?:(Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)s?"
    r"|(?:el|los|este|pasado)\s(lunes|martes|miércoles|jueves|viernes|sábados?|domingos?)"
    r"|((?:Mon|Diens|Donners|Frei|Sams|Sonn)tag|Mittwoch|Sonnabend|lundi|mardi|mercredi|jeudi"
    r"|vendredi|samedi|dimanche|(?:segunda|terça|quarta|quinta|sexta)-feira"
    r"|(?:lune|marte|mercole|giove|vener)dì|sabato|domenica))\b|([月火水木金土日]曜日)"
)
_LATER = re.compile(
    r"[\s-]*(?:later|after|earlier|before|apart|más tarde|después|antes)", re.IGNORECASE
)
_CLOCK = re.compile(r"(?<![\d:.])(?P<hour>[01]?\d|2[0-3])(?::|h|時)(?P<minute>[0-5]\d)(?![\d:])")


@dataclass(frozen=True, slots=True)
class Day:
    """A date as written. What the text does not say is None."""

    shown: str
    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None  # 0 = Monday

    @property
    def date(self) -> date | None:
        """The day of the calendar; None if the text does not say it whole, or there is none."""
        try:
            return date(self.year or 0, self.month or 0, self.day or 0)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Mention:
    """A place where a text names a date; several readings if the order of day and month is open."""

    start: int
    end: int
    readings: tuple[Day, ...]

    @property
    def shown(self) -> str:
        """The date as written."""
        return self.readings[0].shown


@lru_cache(maxsize=128)  # a text is asked for its dates and for what is left without them
def find_mentions(text: str) -> tuple[Mention, ...]:
    """Return the dates in a text. A year alone is a number, not a date."""
    mentions: list[Mention] = []
    taken = bytearray(len(text))
    for candidate in _find_candidates(text):
        if not any(taken[candidate.start : candidate.end]):
            mentions.append(candidate)
            taken[candidate.start : candidate.end] = b"1" * (candidate.end - candidate.start)
    return tuple(mentions)


def without_dates(text: str) -> str:
    """Return the text with its dates blanked, so that their digits are not read as numbers."""
    parts, at = [], 0
    for mention in sorted(find_mentions(text), key=lambda mention: mention.start):
        parts += [text[at : mention.start], " " * (mention.end - mention.start)]
        at = mention.end
    return "".join((*parts, text[at:]))


@dataclass(frozen=True, slots=True)
class Days:
    """The dates that some texts hold, and the days on which they were written.

    `held` are their weekdays, and each date also without its parts: (2021, 3, 28), (2021, 3, None)
    and so on; where any year will do, it is 0.
    """

    held: frozenset[tuple[int | None, ...]]
    years: frozenset[int]
    dated_years: frozenset[int]
    ordinals: frozenset[int]  # of whole dates

    @classmethod
    def of(cls, texts: Iterable[str], written: Iterable[datetime] = ()) -> "Days":
        """Collect the dates of texts, and of the moments at which they were written."""
        parts = list(texts)
        days = {Day("", moment.year, moment.month, moment.day) for moment in written}
        for text in parts:
            days.update(day for mention in find_mentions(text) for day in mention.readings)
        whole = [dated for day in days if (dated := day.date)]
        held: set[tuple[int | None, ...]] = {(day.weekday,) for day in days}
        held |= {(dated.weekday(),) for dated in whole}
        for day in days:
            if day.weekday is None:
                held |= set(product({day.year, 0}, {day.month, None}, {day.day, None}))
        years = {int(year) for text in parts for year in re.findall(r"(?<!\d)\d{4}(?!\d)", text)}
        dated_years = {day.year for day in days if day.year}
        return cls(
            held=frozenset(held),
            years=frozenset(years | dated_years),
            dated_years=frozenset(dated_years),
            ordinals=frozenset(dated.toordinal() for dated in whole),
        )

    def are_apart(self, days: int, months: int) -> bool:
        """Return whether two of the dates are so many days or months apart."""
        if max(days, months) > date.max.toordinal():
            return False
        leeway = 3 if days % 7 == 0 else 0  # "two weeks later"
        gaps = list(range(days - leeway, days + leeway + 1))
        if not days:
            near = range(int((months - 1) * _DAYS_PER_MONTH), int((months + 1) * _DAYS_PER_MONTH))
            gaps = [gap for gap in near if gap > 0 and round(gap / _DAYS_PER_MONTH) == months]
        if any(day + gap in self.ordinals for day in self.ordinals for gap in gaps):
            return True
        years, rest = divmod(months, 12)
        between = years if rest == 0 else 0
        return between > 0 and any(year + between in self.dated_years for year in self.dated_years)

    def holds(self, mention: Mention) -> bool:
        """Return whether one reading of the date occurs; a year may be missing in either."""
        return any(map(self._holds_day, mention.readings))

    def _holds_day(self, day: Day) -> bool:
        if day.weekday is not None:
            return (day.weekday,) in self.held
        rest = (day.month, day.day)
        if day.year is None:
            return (0, *rest) in self.held
        if rest == (None, None):
            return day.year in self.years
        undated = day.year in self.years and (None, *rest) in self.held
        return undated or (day.year, *rest) in self.held


def tells_time_between(text: str, end: int) -> bool:
    """Return whether a number that ends here tells the time from one date to another."""
    return bool(_LATER.match(text, end))


def without_clock_times(text: str) -> str:
    """Return the text with its times of day blanked: "10:30" is neither 10 nor 30 of anything."""
    return _CLOCK.sub(lambda found: " " * len(found[0]), text)


def clock_times(text: str) -> dict[tuple[int, int], str]:
    """Return the times of day in a text as (hour of twelve, minute), and how they are written."""
    return {(int(f["hour"]) % 12, int(f["minute"])): f[0] for f in _CLOCK.finditer(text)}


def _find_candidates(text: str) -> Iterator[Mention]:
    for match in (each for form in _FORMS for each in form.finditer(text)):
        named = _NAMED_BEFORE.search(text, max(0, match.start() - 40), match.start())
        is_weekday = named and named[0].strip().casefold() in _WEEKDAYS
        if not named or is_weekday or not _CARDINAL_OF.match(match[0]):
            yield Mention(match.start(), match.end(), (_read_day(match),))
    for match in (each for form in _RANGES for each in form.finditer(text)):
        yield Mention(match.start("day"), match.end("day"), (_read_day(match),))
    for match in _NUMERIC.finditer(text):
        a, b, year = int(match["a"]), int(match["b"]), int(match["year"])
        orders = dict.fromkeys(((a, b), (b, a)))
        readings = [Day(match[0], year, m, d) for d, m in orders if m <= 12 and d <= 31]
        if readings:
            yield Mention(match.start(), match.end(), tuple(readings))
    for match in _MONTH_ALONE.finditer(text):
        read = Day(match["month"], month=_MONTHS[match["month"].casefold()])
        yield Mention(match.start("month"), match.end("month"), (read,))
    for match in _WEEKDAY.finditer(text):
        name = match[match.lastindex or 0]
        yield Mention(match.start(), match.end(), (Day(name, weekday=_WEEKDAYS[name.casefold()]),))


def _read_day(match: re.Match[str]) -> Day:
    parts = match.groupdict()
    year, number, day = (int(parts.get(name) or 0) or None for name in ("year", "number", "day"))
    month = _MONTHS.get((parts.get("month") or "").casefold())
    return Day(match[0], year, number or month, day)
