"""Dates as people type and read them: days, periods and ages."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum

from bot.i18n.words import Words, marked_plural, words_for
from engine.errors import UsageError
from engine.messages import Message

_FORMS = {
    "year": marked_plural("{number} year before", "{number} years before"),
    "month": marked_plural("{number} month before", "{number} months before"),
    "day": marked_plural("{number} day before", "{number} days before"),
}


@dataclass(frozen=True, slots=True)
class Age:
    """Whole units of calendar time: `count` of `unit` (year, month or day)."""

    count: int
    unit: str

    def __str__(self) -> str:
        return self.said(words_for("en"))

    def said(self, words: Words) -> str:
        """Return the age in the reader's language."""
        if self.count == 0:
            return words.say("less than a day before")
        return words.count(*_FORMS[self.unit], self.count)


def age_between(earlier: datetime, later: datetime) -> Age:
    """Return the full years between two moments (UTC), or the full months, or the days.

    Units are rounded down. If `earlier` is the later moment, the age is 0 days.
    """
    earlier, later = earlier.astimezone(UTC), later.astimezone(UTC)
    if later <= earlier:
        return Age(0, "day")
    months = _whole_months(earlier, later)
    if months >= 12:
        return Age(months // 12, "year")
    if months:
        return Age(months, "month")
    return Age((later - earlier).days, "day")


def _whole_months(earlier: datetime, later: datetime) -> int:
    begun = (later.year - earlier.year) * 12 + later.month - earlier.month
    last_is_whole = (later.day, later.time()) >= (earlier.day, earlier.time())
    return begun if last_is_whole else begun - 1


_YEAR = re.compile(r"\d{4}")
_MONTH = re.compile(r"\d{4}-\d{2}")
_FIRST_YEAR = 1000  # far enough from datetime's limits for date arithmetic


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
        fix=Message("Write it as 2015, 2015-03, 2015-03-02 or ISO 8601."),
    )


_TIME_OF_DAY = re.compile(
    r"(?P<hour>[01]?\d|2[0-3])(?:[:.h](?P<minute>[0-5]\d))?h?(?P<half>[ap])?\.?(?:m\.?)?", re.ASCII
)


def read_time_of_day(text: str) -> time | None:
    """Return the time of day that "9", "9:30", "21h", "9am" or "9 p.m." names, or None."""
    found = _TIME_OF_DAY.fullmatch("".join(text.lower().split()))
    if found is None:
        return None
    hour, half = int(found["hour"]), found["half"]
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "p" else 0)
    return time(hour, int(found["minute"] or 0))


class Period(StrEnum):
    """A period that ends now."""

    WEEK = "week"
    MONTH = "month"
    ALL = "all"

    def begins(self, now: datetime) -> datetime | None:
        """Return the start of the period, or None if it has none."""
        days = {Period.WEEK: 7, Period.MONTH: 30}.get(self)
        return None if days is None else now - timedelta(days=days)
