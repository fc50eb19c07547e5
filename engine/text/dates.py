"""Parsing of typed days, months, years and full moments as stretches of time."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

_DATE = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d{2})(?:-(?P<day>\d{2}))?)?(?P<zone>Z|[+-]\d{2}:\d{2})?",
    re.ASCII | re.IGNORECASE,
)
# Far enough from the limits of `datetime` for any date arithmetic.
_YEARS = range(1000, 9999)


@dataclass(frozen=True, slots=True)
class Stretch:
    """From `start` (inclusive) to `end` (exclusive), both UTC. They are equal for a moment."""

    start: datetime
    end: datetime


def read_stretch(text: str) -> Stretch | None:
    """Return the time denoted by "2015", "2015-03", "2015-03-02" or an ISO 8601 moment.

    Days are in UTC unless the text ends in a zone ("2015-03-02+09:00"). Returns None if the text is
    not a time.
    """
    found = _DATE.fullmatch(text)
    try:
        stretch = _moment(text) if found is None else _days(found)
    except (ValueError, OverflowError):
        return None
    return stretch if stretch.start.year in _YEARS else None


def _moment(text: str) -> Stretch:
    moment = datetime.fromisoformat(text)
    moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    return Stretch(moment, moment)


def _days(found: re.Match[str]) -> Stretch:
    year, month, day = int(found["year"]), found["month"], found["day"]
    first = date(year, int(month or 1), int(day or 1))
    if day:
        after = first + timedelta(days=1)
    elif month:
        after = (first + timedelta(days=31)).replace(day=1)
    else:
        after = date(year + 1, 1, 1)
    return Stretch(*(_midnight(one, found["zone"] or "Z") for one in (first, after)))


def _midnight(day: date, zone: str) -> datetime:
    return datetime.fromisoformat(f"{day.isoformat()}T00:00:00{zone.upper()}").astimezone(UTC)
