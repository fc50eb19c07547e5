"""Reads times as people and spreadsheets write them, with the zone and the order that they mean."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from enum import Enum
from functools import lru_cache
from zoneinfo import ZoneInfo

from engine.errors import RecordError
from engine.messages import Message
from engine.text.clean import fold_case_and_accents

_EPOCH, _FIRST_OF_EXCEL = datetime(1970, 1, 1, tzinfo=UTC), datetime(1899, 12, 30)  # noqa: DTZ001 - as Excel counts: in no zone
# Numbers below these count seconds, milliseconds, microseconds; others nanoseconds.
_SECONDS, _MILLISECONDS, _MICROSECONDS = 10**11, 10**14, 10**17
_DAYS_OF_EXCEL = range(32_874, 109_577)  # 1990 to 2200
_NUMBER = re.compile(r"\d{5,20}(?:\.\d{1,9})?")
_COMPACT = re.compile(r"(?:19|20|21)\d{2}[01]\d[0-3]\d(?:[0-2]\d[0-5]\d[0-5]\d)?")
_CLOCK = re.compile(
    r"(?<![\d:])(\d{1,2}):(\d{2}|\d(?=:))(?::(\d{1,2})(?:[.,](\d{1,9}))?)?(?!\d)"
    r"(?:\s*([ap])\.?\s?m\b\.?)?",
    re.IGNORECASE,
)
_ZONE = re.compile(
    r"\s*(?P<name>[A-Za-z]+(?:/[A-Za-z_]+)*)?\s*(?P<offset>[+-]\d{1,2}(?::?\d{2})?)?"
    r"(?:\s*\([^()]*\))?"
)
_ZONE_OF_DAY = re.compile(r"(?<=\d)\s*(UTC|GMT|Z)$", re.IGNORECASE)
_YEAR_FIRST = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})")
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})")
_BEFORE_COMMA = re.compile(r"\s*[^\W\d_]+\.?,")
_BETWEEN = re.compile(r"[\s,./·-]+")
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th|º|ª)?")
_FILLERS = frozenset(("de", "del", "el", "of", "the", "at", "a", "las", "la", "t", "on"))
# In English first; also in Spanish, German, French, Italian, Portuguese, Dutch and Russian, without
# accents. Any beginning of three letters or more will do.
_MONTHS = tuple(
    tuple(names.split())
    for names in (
        "january enero januar janvier gennaio janeiro январь января",
        "february febrero februar fevrier febbraio fevereiro февраль февраля",
        "march marzo marz mars marco maart mrt март марта",
        "april abril avril aprile апрель апреля",
        "may mayo mai maggio maio mei маи мая",
        "june junio juni juin giugno junho июнь июня",
        "july julio juli juillet luglio julho июль июля",
        "august agosto aout augustus август августа",
        "september septiembre setiembre septembre settembre setembro сентябрь сентября",
        "october octubre oktober octobre ottobre outubro октябрь октября",
        "november noviembre novembre novembro ноябрь ноября",
        "december diciembre dezember decembre dicembre dezembro декабрь декабря",
    )
)
_WEEKDAYS = (
    *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    *("lunes", "martes", "miercoles", "jueves", "viernes", "sabado", "domingo"),
)
# Abbreviations that one zone has; "IST" and "CST" are those of several, "CST" but for RFC 5322.
_HOURS = {
    **{"UTC": 0, "GMT": 0, "Z": 0, "WET": 0, "WEST": 1, "BST": 1, "CET": 1, "CEST": 2},
    **{"EET": 2, "EEST": 3, "MSK": 3, "JST": 9, "ART": -3, "BRT": -3, "EST": -5, "EDT": -4},
    **{"CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7},
    **{"UT": 0, "MEZ": 1, "MESZ": 2, "HKT": 8, "SGT": 8, "KST": 9, "AEST": 10, "AEDT": 11},
    **{"AKST": -9, "AKDT": -8, "HST": -10, "NZST": 12, "NZDT": 13},
}
_SHORT_MONTHS = {names[0][:3].capitalize(): number for number, names in enumerate(_MONTHS, start=1)}
_TURN = 70  # two digits: 69 is 2069, 70 is 1970


class DayOrder(Enum):
    """What the dates of a column show about the order of day and month."""

    DAY_FIRST = "day before month"
    MONTH_FIRST = "month before day"
    UNDECIDED = "either"  # and it matters
    NEEDLESS = "none"  # no date leaves it open
    MIXED = "both"


def find_day_order(values: Iterable[object]) -> DayOrder:
    """Return what dates such as 23/05/2019 show about the order in a column."""
    seen, is_open = set[DayOrder](), False
    for value in values:
        if not isinstance(value, str):
            continue
        clock = _CLOCK.search(value)
        match = _YEAR_LAST.fullmatch(_trim_day(value[: clock.start()] if clock else value))
        if not match or match[2] == ".":
            continue
        first, second = int(match[1]), int(match[3])
        if first > 12 >= second:
            seen.add(DayOrder.DAY_FIRST)
        elif second > 12 >= first:
            seen.add(DayOrder.MONTH_FIRST)
        else:
            is_open |= first != second
        if len(seen) > 1:
            return DayOrder.MIXED
    return next(iter(seen), DayOrder.UNDECIDED if is_open else DayOrder.NEEDLESS)


def iso_form(text: str) -> str:
    """Return a time of ISO 8601, or X's "Thu May 23 02:54:59 +0000 2019", in the former's spelling.

    Raises ValueError for anything else that begins with no digit.
    """
    if text[:1].isdigit():
        return text.replace(" +", "+").replace(" -", "-")  # 2013-02-08 04:20:27 +0000
    words = text.split()
    if len(words) != 6 or words[1] not in _SHORT_MONTHS:
        raise ValueError(text)
    _weekday, month, day, clock, zone, year = words
    return f"{year}-{_SHORT_MONTHS[month]:02}-{day:0>2}T{clock}{zone}"


def read_written_date(value: object, is_day_first: bool | None) -> datetime:
    """Return the moment that people mean by a time, without a zone where they name none.

    Times are ISO 8601, days of three numbers or with the name of the month, each with a clock and a
    zone or without; seconds, milliseconds and so on since 1970; and days as Excel counts them. A
    day without a clock is that day of UTC. Raises RecordError for what is not a time as a whole,
    also where `is_day_first` is needed and None.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        raise RecordError(Message("no date"))
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _refuse_time(value)
    text = str(value).partition("→")[0].strip().removeprefix("@").strip()
    try:
        if _NUMBER.fullmatch(text):
            return _read_number(text)
        try:
            moment = datetime.fromisoformat(iso_form(text))
        except ValueError:
            return _read_words(text, is_day_first)
        return moment if len(text) > 10 else moment.replace(tzinfo=UTC)
    except (ValueError, ArithmeticError, OSError) as exc:
        raise _refuse_time(value) from exc


def names_zone(value: object) -> bool | None:
    """Return whether a time names its zone, as a number of seconds does; None for a mere day."""
    if isinstance(value, str) and ":" not in value and not _NUMBER.fullmatch(value.strip()):
        return None
    moment = _read_in_any_order(value)
    return None if moment is None else moment.tzinfo is not None


def is_time(value: object) -> bool:
    """Return whether this is only a time, in either order of day and month, and no mere number."""
    is_text = isinstance(value, str) and not _NUMBER.fullmatch(value.strip())
    return is_text and _read_in_any_order(value) is not None


def _read_in_any_order(value: object) -> datetime | None:
    for order in (True, False):
        try:
            return read_written_date(value, order)
        except RecordError:
            continue
    return None


def _refuse_time(value: object) -> RecordError:
    return RecordError(
        Message(
            "the time {value!r} cannot be read or does not exist; write it as 2019-05-23 02:54:59,"
            " 2019-05-23T02:54:59+00:00 or 23/05/2019 02:54",
            value=str(value)[:40],
        )
    )


def _read_number(text: str) -> datetime:
    if _COMPACT.fullmatch(text):
        if len(text) == 8:
            return datetime.fromisoformat(text).replace(tzinfo=UTC)
        return datetime.fromisoformat(f"{text[:8]}T{text[8:]}")
    number = float(text) if "." in text else int(text)
    if int(number) in _DAYS_OF_EXCEL:
        moment = _FIRST_OF_EXCEL + timedelta(seconds=round(number * 86_400))
        return moment if "." in text else moment.replace(tzinfo=UTC)
    for maximum, units in ((_SECONDS, 1), (_MILLISECONDS, 10**3), (_MICROSECONDS, 10**6)):
        if number < maximum:
            return _EPOCH + timedelta(microseconds=int(number * (10**6 // units)))
    return _EPOCH + timedelta(microseconds=int(number) // 1000)


def _read_words(text: str, is_day_first: bool | None) -> datetime:
    """Read a day, with a clock and a zone or without. Raises ValueError, RecordError."""
    clock = _CLOCK.search(text)
    if clock is None:
        return datetime(*read_day(_ZONE_OF_DAY.sub("", text), is_day_first), tzinfo=UTC)
    after = text[clock.end() :]
    match = _ZONE.match(after)
    zone, rest = (_read_zone(match), after[match.end() :]) if match else (None, after)
    year, month, day = read_day(f"{text[: clock.start()]} {rest}", is_day_first)
    fraction = int((clock[4] or "0").ljust(6, "0")[:6])
    hour = int(clock[1])
    if half := clock[5]:  # "a" or "p"
        if not 1 <= hour <= 12:
            raise ValueError(clock[0])
        hour = hour % 12 + (12 if half.lower() == "p" else 0)
    return datetime(year, month, day, hour, int(clock[2]), int(clock[3] or 0), fraction, zone)


def _read_zone(match: re.Match[str]) -> tzinfo | None:
    name, offset = match["name"], match["offset"]
    if name and "/" in name:
        return _zone_at(name)
    hours = _HOURS.get(name.upper()) if name else 0
    if hours is None or (offset and hours):
        raise ValueError(match[0])
    if not name and not offset:
        return None
    digits = (offset or "+0")[1:].replace(":", "")
    hour, minutes = (digits, "0") if len(digits) <= 2 else (digits[:-2], digits[-2:])
    size = timedelta(hours=int(hour), minutes=int(minutes))
    return timezone(timedelta(hours=hours) + (-size if offset and offset[0] == "-" else size))


@lru_cache(maxsize=64)
def _zone_at(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (KeyError, OSError) as exc:
        raise ValueError(name) from exc


def _trim_day(day: str) -> str:
    return day.strip(" ,·").removesuffix("T")


def read_day(text: str, is_day_first: bool | None) -> tuple[int, int, int]:
    """Return year, month and day. Raises ValueError, RecordError."""
    text = _trim_day(text)
    if match := _YEAR_FIRST.fullmatch(text):
        return int(match[1]), int(match[2]), int(match[3])
    if match := _YEAR_LAST.fullmatch(text):
        return _read_year_last(match, is_day_first)
    words = [folded for word in _BETWEEN.split(text) if (folded := _fold(word))]
    left = _drop_weekday([word for word in words if word not in _FILLERS], text)
    months = [number for word in left if (number := _month_named(word))]
    numbers = [match[1] for word in left if (match := _DAY.fullmatch(word))]
    years = [word for word in left if len(word) == 4 and word.isascii() and word.isdigit()]
    if len(left) == 3 and len(months) == len(numbers) == len(years) == 1:
        return int(years[0]), months[0], int(numbers[0])
    if len(left) == 3 and len(months) == 1 and len(numbers) == 2:  # 23-may-19
        return _whole_year(numbers[1]), months[0], int(numbers[0])
    raise ValueError(text)


def _drop_weekday(words: list[str], text: str) -> list[str]:
    """Return the words without the weekday: a known one, or any word with a comma before a month.

    "Mar" is a weekday in Spanish and a month in English.
    """
    spoken = [word for word in words if word.isalpha()]
    if len(spoken) != 2:
        return words
    comes_first = _month_named(spoken[1]) is not None
    day = spoken[0] if comes_first else spoken[1]
    is_known = len(day) >= 3 and any(name.startswith(day) for name in _WEEKDAYS)
    is_weekday = is_known or (comes_first and _BEFORE_COMMA.match(text) is not None)
    left = list(words)
    if is_weekday:
        left.remove(day)
    return left


def _read_year_last(match: re.Match[str], is_day_first: bool | None) -> tuple[int, int, int]:
    first, second, year = int(match[1]), int(match[3]), _whole_year(match[4])
    if match[2] == "." or first == second:
        return year, second, first
    if is_day_first is None:
        if first <= 12 and second <= 12:
            raise RecordError(
                Message(
                    "in {value} the day or the month may come first; say which with --day-first or"
                    " --month-first",
                    value=match[0],
                )
            )
        is_day_first = first > 12
    return (year, second, first) if is_day_first else (year, first, second)


def _whole_year(digits: str) -> int:
    year = int(digits)
    return year if len(digits) == 4 else year + (1900 if year >= _TURN else 2000)


def _fold(word: str) -> str:
    return fold_case_and_accents(word.strip("."))


def _month_named(word: str) -> int | None:
    if len(word) < 3:
        return None
    for number, names in enumerate(_MONTHS, start=1):
        if any(name.startswith(word) for name in names):
            return number
    return None
