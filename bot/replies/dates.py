"""Dates as people type and read them: days, periods and lead times; and dates typed beside a
headline, as in "before:2014", "date:2018-12-24", "(2018)" at the end, "exclude-recent:12"."""

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum

from bot.i18n.words import Words, marked_plural
from engine.errors import UsageError
from engine.messages import Message
from engine.search import Filters
from engine.settings.searching import MAX_MONTHS

_UNITS = {
    "year": marked_plural("{number} year", "{number} years"),
    "month": marked_plural("{number} month", "{number} months"),
    "day": marked_plural("{number} day", "{number} days"),
}
_YEAR = re.compile(r"\d{4}")
_MONTH = re.compile(r"\d{4}-\d{2}")
_FIRST_YEAR = 1000  # far enough from datetime's limits for date arithmetic
_TIME_OF_DAY = re.compile(
    r"(?P<hour>[01]?\d|2[0-3])(?:[:.h]?(?P<minute>[0-5]\d))?h?(?P<half>[ap])?\.?(?:m\.?)?",
    re.ASCII,
)
_HOURS_BY_WORD = {
    word: hour
    for names in (
        "one two three four five six seven eight nine ten eleven twelve",
        "una dos tres cuatro cinco seis siete ocho nueve diez once doce",
    )
    for hour, word in enumerate(names.split(), start=1)
}
# Parts of the day: whether its hours are those of "pm", and the one that it stands for by itself.
_PARTS_OF_DAY = {
    **dict.fromkeys(("morning", "mañana", "manana"), (False, 9)),
    **dict.fromkeys(("madrugada",), (False, 6)),
    **dict.fromkeys(("afternoon", "tarde"), (True, 17)),
    **dict.fromkeys(("evening", "night", "noche"), (True, 20)),
}
_NIGHT = frozenset(("night", "noche", "madrugada"))
_PART = rf"(?P<part>{'|'.join(_PARTS_OF_DAY)})s?\b"
_AT = r"(?:\b(?:at|a las?|las?)\s+)?"
_CLOCK = r"(?P<hour>\d{1,2})(?:[:.h](?P<minute>[0-5]\d))?"
_NOON_OR_MIDNIGHT = re.compile(
    r"(?:\b(?:at|al?(?: la)?)\s+)?\b(?:12 )?"
    r"(?:(?P<noon>noon|midday|medio ?d[ií]a)|midnight|media ?noche)\b",
    re.IGNORECASE,
)
# A time with a sign that it is one: "9hs", "7 de la tarde", "8 y media", "at eight".
_WRITTEN_TIME = re.compile(
    rf"(?!at once\b){_AT}\b(?:(?P<share>half|(?:a )?quarter) past )?"
    rf"(?:{_CLOCK}|(?P<word>{'|'.join(_HOURS_BY_WORD)}))"
    r"(?: y (?P<past>media|cuarto))?(?P<unit> ?(?:hs?|hrs?|horas|o['’]?clock)\b\.?)?"
    rf"(?: (?:de|por|en|in|at) (?:la |the )?{_PART})?",
    re.IGNORECASE,
)
# "every morning", "every Monday night", "por la noche"; an hour may follow: "cada tarde a las 7".
_EACH_PART = re.compile(
    r"\b(?:every|each|in the|cada|todas las|por las?)\s+(?P<day>(?:\w{3,6}day|weekend)\s+)?"
    rf"{_PART}(?:\s+(?P<at>{_AT}{_CLOCK}(?P<half> ?[ap]\.?m\b\.?)?(?!\d)))?",
    re.IGNORECASE,
)
_TYPED_DATE = r"\d{4}(?:-\d{2}(?:-\d{2})?)?"
_TYPED = re.compile(
    rf"(?<!\S)(?P<name>before|after|date|antes|desde|fecha):(?P<date>{_TYPED_DATE})(?!\S)",
    re.IGNORECASE,
)
# As the command line has it, too: phones make one dash of two.
_RECENT = re.compile(
    r"(?<!\S)(?:--|[–—])?(?:exclude-recent|sin-recientes)(?::|=|\s+)(?P<months>\d{1,6})(?!\S)",
    re.IGNORECASE,
)
_ENGLISH = {"antes": "before", "desde": "after", "fecha": "date"}
_AT_END = re.compile(rf"\((?P<date>{_TYPED_DATE})\)[.!]?$")
_WORD = re.compile(r"\w")
_NO_FILTERS = Filters()


def say_age(earlier: datetime | None, later: datetime, words: Words) -> str:
    """Return how long before it was: "8 years, 9 months before"; "" if nobody knows when."""
    if earlier is None:
        return ""
    return words.say("{length} before", length=say_lead_time(earlier, later, words))


def say_lead_time(earlier: datetime, later: datetime, words: Words) -> str:
    """Return the time between two moments (UTC) in the reader's language: "8 years, 9 months".

    It is in days below a month and in months below a year, rounded down, and never negative.
    """
    earlier, later = earlier.astimezone(UTC), later.astimezone(UTC)
    whole = (later.year - earlier.year) * 12 + later.month - earlier.month
    if (later.day, later.time()) < (earlier.day, earlier.time()):
        whole -= 1  # the last month has not ended
    years, months = divmod(max(whole, 0), 12)
    counts = {"year": years, "month": months}
    if not years and not months:
        counts["day"] = max((later - earlier).days, 0)
    lengths = [words.count(*_UNITS[unit], count) for unit, count in counts.items() if count]
    if len(lengths) == 2:
        return words.say("{years}, {months}", years=lengths[0], months=lengths[1])
    return lengths[0] if lengths else words.say("less than a day")


def read_date(text: str) -> datetime:
    """Return the moment (UTC) that "2015", "2015-03", "2015-03-02" or a full ISO time names.

    Missing parts default to the beginning of the period, and the zone to UTC. Raises UsageError.
    """
    whole = text.strip()
    if _YEAR.fullmatch(whole):
        whole += "-01-01"
    elif _MONTH.fullmatch(whole):
        whole += "-01"
    try:
        moment = datetime.fromisoformat(whole)
        moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as exc:
        raise _no_date(text) from exc
    if moment.year < _FIRST_YEAR:
        raise _no_date(text)
    return moment


def _no_date(text: str) -> UsageError:
    return UsageError(
        Message("{text!r} is not a date.", text=text),
        fix=Message("Write it as 2015, 2015-03 or 2015-03-02."),
    )


def write_times(text: str) -> str:
    """Return a text in which times written in words of English or Spanish stand as "19:00"."""
    text = _NOON_OR_MIDNIGHT.sub(lambda found: "12:00" if found["noon"] else "0:00", text)
    text = _WRITTEN_TIME.sub(_write_time, text)
    return _EACH_PART.sub(_write_part, text)


def _write_time(match: re.Match[str]) -> str:
    spelled = match["word"]
    signs = (match["share"], match["past"], match["unit"], match["part"])
    if not any(signs) and (not spelled or spelled == match[0]):
        return match[0]
    hour = _HOURS_BY_WORD[spelled.lower()] if spelled else int(match["hour"])
    share = (match["share"] or match["past"] or "").lower().removeprefix("a ")
    past = {"half": "30", "quarter": "15", "media": "30", "cuarto": "15"}.get(share)
    return _format_time(hour, past or match["minute"], match["part"])


def _write_part(match: re.Match[str]) -> str:
    day = match["day"] or ""
    if match["hour"] is None:
        return f"{day}{_PARTS_OF_DAY[match['part'].lower()][1]}:00"
    if match["half"]:
        return f"{day}{match['at']}"
    return day + _format_time(int(match["hour"]), match["minute"], match["part"])


def _format_time(hour: int, minute: str | None, part: str | None) -> str:
    if part and hour <= 12:
        late = _PARTS_OF_DAY[part.lower()][0]
        # Twelve is midnight at night alone, and the hours after it are of the morning.
        if part.lower() in _NIGHT and not 6 <= hour < 12:
            hour %= 12
        elif late and hour < 12:
            hour += 12
    return f"{hour}:{minute or '00'}"


def read_time_of_day(text: str) -> time | None:
    """Return the time of day that "9", "9:30", "830", "21h", "9am" or "9 p.m." names, or None."""
    match = _TIME_OF_DAY.fullmatch("".join(text.lower().split()))
    if match is None:
        return None
    hour, half = int(match["hour"]), match["half"]
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "p" else 0)
    return time(hour, int(match["minute"] or 0))


class Period(StrEnum):
    """A period that ends now."""

    WEEK = "week"
    MONTH = "month"
    ALL = "all"

    def begins(self, now: datetime) -> datetime | None:
        """Return the start of the period, or None if it has none."""
        days = {Period.WEEK: 7, Period.MONTH: 30}.get(self)
        return None if days is None else now - timedelta(days=days)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedHeadline:
    """A headline without the dates typed beside it, and those dates."""

    text: str
    date: datetime | None = None  # the headline's own
    filters: Filters = _NO_FILTERS
    exclude_recent: int | None = None  # months before the headline


def read_typed(text: str, *, now: datetime) -> TypedHeadline:
    """Return the headline and the dates typed beside it; the last one of a kind counts.

    A year in parentheses is the headline's date unless it is still to come. Text that consists of
    nothing but dates is left unchanged. Raises UsageError for a date that does not exist, and for
    too many months.
    """
    narrowed, recent = _split_off_months(text)
    if recent is not None and _WORD.search(narrowed):
        return replace(read_typed(narrowed, now=now), exclude_recent=recent)
    dates = {
        _ENGLISH.get(match["name"].lower(), match["name"].lower()): read_date(match["date"])
        for match in _TYPED.finditer(text)
    }
    rest = " ".join(_TYPED.sub(" ", text).split()) if dates else text
    at_end = _AT_END.search(rest.rstrip())
    if at_end and "date" not in dates and (date := _read_past_date(at_end["date"], now)):
        dates, rest = {**dates, "date": date}, rest[: at_end.start()].rstrip()
    if not _WORD.search(rest):
        return TypedHeadline(text=text)
    return TypedHeadline(
        text=rest,
        date=dates.get("date"),
        filters=Filters(before=dates.get("before"), after=dates.get("after")),
    )


def _split_off_months(text: str) -> tuple[str, int | None]:
    """Return the text without the months to leave out, and their number. Raises UsageError."""
    months = [int(match["months"]) for match in _RECENT.finditer(text)]
    if not months:
        return text, None
    if months[-1] > MAX_MONTHS:
        raise UsageError(
            Message("{number} months are too many.", number=months[-1]),
            fix=Message("Write at most {number}.", number=MAX_MONTHS),
        )
    return " ".join(_RECENT.sub(" ", text).split()), months[-1]


def _read_past_date(text: str, now: datetime) -> datetime | None:
    """Return the moment that the text in parentheses names, or None if it is none of the past."""
    try:
        date = read_date(text)
    except UsageError:
        return None
    return date if date <= now else None
