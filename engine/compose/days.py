"""Dates and superlatives in English and Spanish text, and whether a text supports them. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime

_WAYS: Mapping[str, str] = {
    "best": r"best|(?:el|la|los|las|lo) mejor(?:es)?",
    "worst": r"worst|(?:el|la|los|las|lo) peor(?:es)?",
    "largest": r"largest|biggest|greatest|(?:el|la|los|las|su) mayor(?:es)?|más grandes?"
    r"|maximum|máxim[oa]s?|massivest|hugest",
    "smallest": r"smallest|least|tiniest|(?:el|la|los|las|su) menor(?:es)?|más pequeñ[oa]s?"
    r"|minimum|mínim[oa]s?",
    "highest": r"highest|all[- ]time high|peak|más alt[oa]s?|máxim[oa]s? históric[oa]s?|tallest",
    "lowest": r"lowest|all[- ]time low|más baj[oa]s?|mínim[oa]s? históric[oa]s?",
    "record": r"record(?:[- ](?:high|low|breaking|setting|year|profits?|losses|number|level|sales))"
    r"|(?:a|new|all[- ]time|set (?:a )?) ?records?|r[eé]cord|históric[oa]s?",
    "first": r"first[- ]ever|(?:for )?the first time|the first (?:to|person|country|company|in)"
    r"|por primera vez|(?:el|la) primer[oa]? en|primera vez",
    "last": r"last[- ]ever|the last time|por última vez",
    "only": r"the only|(?:el|la|los|las) únic[oa]s?|unique|únic[oa]s? en",
    "most": r"(?:the|its|his|her|their|world's|ever's) most"
    r"|(?:el|la|los|las|lo)(?: [\wáéíóúñ]+)?(?: que)? más",
    "fastest": r"fastest|quickest|más rápid[oa]s?",
    "oldest": r"oldest|earliest|más antigu[oa]s?|más viej[oa]s?",
    "youngest": r"youngest|newest|más joven(?:es)?|más nuev[oa]s?",
    "strongest": r"strongest|más fuertes?|más potentes?",
    "cheapest": r"cheapest|más barat[oa]s?",
    "richest": r"richest|wealthiest|más ric[oa]s?",
    "deadliest": r"deadliest|más mortífer[oa]s?|más letal(?:es)?",
    "unprecedented": r"unprecedented|sin precedentes?|inédit[oa]s?|never before|nunca antes"
    r"|unmatched|unrivall?ed|unparallell?ed",
    "world": r"in the world|world's|of all time|in history|del mundo|de la historia|de todos los"
    r" tiempos|de siempre",
}
# Any other word in -est with an article: "the calmest". Nouns and verbs in -est stay out of it.
_OTHER = re.compile(
    r"\bthe (?!(?:west|rest|test|guest|forest|interest|request|protest|harvest|arrest|quest|nest"
    r"|chest|contest|conquest|invest|latest|first|priest|tempest|digest|manifest|midwest"
    r"|northwest|southwest|unrest|vest|zest|crest|pest)\b)(?P<word>[a-z]{2,12}est)\b",
    re.IGNORECASE,
)
_PATTERNS = {name: re.compile(rf"\b(?:{way})\b", re.IGNORECASE) for name, way in _WAYS.items()}
# What another superlative of a source confirms as well.
_ALSO: Mapping[str, frozenset[str]] = {
    "largest": frozenset({"highest", "record", "most"}),
    "highest": frozenset({"largest", "record", "most"}),
    "lowest": frozenset({"smallest", "record"}),
    "smallest": frozenset({"lowest"}),
    "record": frozenset({"highest", "lowest", "largest", "unprecedented"}),
    "unprecedented": frozenset({"first", "record"}),
    "first": frozenset({"unprecedented"}),
    "most": frozenset(_WAYS) - {"world", "only", "first", "last"},
}


def superlatives(text: str) -> dict[str, str]:
    """Return the superlatives in a text: what each claims, and how it is written."""
    found = {name: hit[0] for name, way in _PATTERNS.items() if (hit := way.search(text))}
    for other in _OTHER.finditer(text):
        word = other["word"].casefold()
        if not any(word in hit.casefold() for hit in found.values()):
            found[word] = other[0]
    return found


def find_unsupported(text: str, sources: Mapping[str, str]) -> list[str]:
    """Return the superlatives of a text, as written, that no superlative of sources supports."""
    return [
        shown
        for name, shown in superlatives(text).items()
        if name not in sources and not _ALSO.get(name, frozenset()) & sources.keys()
    ]


_MONTHS: Mapping[str, int] = {
    word: number
    for number, words in enumerate(
        (
            "january jan enero ene",
            "february feb febrero",
            "march mar marzo",
            "april apr abril abr",
            "may mayo",
            "june jun junio",
            "july jul julio",
            "august aug agosto ago",
            "september sept sep septiembre setiembre",
            "october oct octubre",
            "november nov noviembre",
            "december dec diciembre dic",
        ),
        start=1,
    )
    for word in words.split()
}
_WEEKDAYS: Mapping[str, int] = {
    word: number
    for number, words in enumerate(
        (
            "monday lunes",
            "tuesday martes",
            "wednesday miércoles",
            "thursday jueves",
            "friday viernes",
            "saturday sábado sábados",
            "sunday domingo domingos",
        )
    )
    for word in words.split()
}
_NAME = "|".join(sorted(_MONTHS, key=len, reverse=True))
_YEAR = r"(?P<year>(?:1[5-9]|20|21)\d\d)(?!\d)"
_DAY = r"(?P<day>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th|º|\.)?"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?<!\d)(?P<year>\d{4})-(?P<number>0[1-9]|1[0-2])-(?P<day>[0-2]\d|3[01])(?!\d)",
        rf"(?<![\w.,]){_DAY}\s(?:of\s|de\s)?(?P<month>{_NAME})\b\.?(?:,?\s(?:de\s|del\s|of\s)?{_YEAR})?",
        rf"\b(?P<month>{_NAME})\.?\s{_DAY}\b(?!\s?[%\d])(?:,?\s(?:de\s)?{_YEAR})?",
        rf"\b(?P<month>{_NAME})\.?,?\s(?:of\s|de\s|del\s)?{_YEAR}",
    )
)
_NUMERIC = re.compile(r"(?<![\d/])(?P<a>\d{1,2})[/.](?P<b>\d{1,2})[/.](?P<year>\d{4})(?![\d/])")
_MONTH_ALONE = re.compile(
    r"\b(?:in|since|until|by|from|of|during|last|next|en|desde|hasta|de|durante)\s(?P<month>"
    r"January|February|March|April|May|June|July|August|September|October|November|December|"
    r"enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)\b"
)
_WEEKDAY = re.compile(
    r"\b(?:(?P<english>Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)s?"
    r"|(?:el|los|este|pasado)\s(?P<spanish>lunes|martes|miércoles|jueves|viernes|sábados?|domingos?))\b"
)


@dataclass(frozen=True, slots=True)
class Day:
    """A date as written. What the text does not say is None."""

    shown: str
    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None  # 0 = Monday

    def within(self, other: "Day") -> bool:
        """Return whether `other` has every part that this has; a year may be missing in either."""
        if self.weekday is not None:
            return self.weekday == other.weekday
        pairs = ((self.month, other.month), (self.day, other.day))
        years = self.year is None or other.year is None or self.year == other.year
        return years and all(mine is None or mine == its for mine, its in pairs)


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


def mentions(text: str) -> list[Mention]:
    """Return the dates in a text. A year alone is a number, not a date."""
    found: list[Mention] = []
    for candidate in _candidates(text):
        if all(candidate.end <= other.start or other.end <= candidate.start for other in found):
            found.append(candidate)
    return found


def without_dates(text: str) -> str:
    """Return the text with its dates blanked, so that their digits are not read as numbers."""
    for mention in mentions(text):
        text = text[: mention.start] + " " * (mention.end - mention.start) + text[mention.end :]
    return text


@dataclass(frozen=True, slots=True)
class Days:
    """The dates that some texts hold, and the days on which they were written."""

    mentioned: tuple[Day, ...]
    years: frozenset[int]

    @classmethod
    def of(cls, texts: Iterable[str], written: Iterable[datetime] = ()) -> "Days":
        """Collect the dates of texts, and of the moments at which they were written."""
        parts, days = list(texts), [_day_of(moment.date()) for moment in written]
        for text in parts:
            days += [reading for mention in mentions(text) for reading in mention.readings]
        days += [
            Day(day.shown, weekday=weekday)
            for day in days
            if (weekday := _weekday_of(day)) is not None
        ]
        years = {int(year) for text in parts for year in re.findall(r"(?<!\d)\d{4}(?!\d)", text)}
        return cls(tuple(days), frozenset(years | {day.year for day in days if day.year}))

    def hold(self, mention: Mention) -> bool:
        """Return whether one reading of the date occurs."""
        return any(
            reading.within(day) and (reading.year is None or day.year or reading.year in self.years)
            for reading in mention.readings
            for day in self.mentioned
        )


def _candidates(text: str) -> Iterator[Mention]:
    for form in _FORMS:
        for found in form.finditer(text):
            parts = found.groupdict()
            month = int(parts.get("number") or 0) or _MONTHS[parts["month"].casefold()]
            day, year = parts.get("day"), parts.get("year")
            read = Day(found[0], int(year) if year else None, month, int(day) if day else None)
            yield Mention(found.start(), found.end(), (read,))
    for found in _NUMERIC.finditer(text):
        a, b, year = int(found["a"]), int(found["b"]), int(found["year"])
        readings = [
            Day(found[0], year, m, d)
            for d, m in dict.fromkeys(((a, b), (b, a)))
            if m <= 12 and d <= 31
        ]
        if readings:
            yield Mention(found.start(), found.end(), tuple(readings))
    for found in _MONTH_ALONE.finditer(text):
        read = Day(found["month"], month=_MONTHS[found["month"].casefold()])
        yield Mention(found.start("month"), found.end("month"), (read,))
    for found in _WEEKDAY.finditer(text):
        name = found["english"] or found["spanish"]
        yield Mention(found.start(), found.end(), (Day(name, weekday=_WEEKDAYS[name.casefold()]),))


def _day_of(day: date) -> Day:
    return Day(day.isoformat(), day.year, day.month, day.day)


def _weekday_of(day: Day) -> int | None:
    if not (day.year and day.month and day.day):
        return None
    try:
        return date(day.year, day.month, day.day).weekday()
    except ValueError:
        return None
