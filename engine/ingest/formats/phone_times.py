"""Reads dates and times as a phone writes them: in its own order, without a zone."""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from engine.errors import RecordError
from engine.ingest.dates import written_at
from engine.messages import Message

DAY_FIRST, MONTH_FIRST = "day first", "month first"

_NUMBER = re.compile(r"\d+")
_AFTERNOON = re.compile(r"p\.?\s?m", re.IGNORECASE)
_MORNING = re.compile(r"a\.?\s?m", re.IGNORECASE)


def date_order(written: Iterable[tuple[str, str]]) -> str:
    """Return whether the day or the month comes first, from dates and times in file order.

    The right order makes every date valid and none earlier than the one before it. If both do, the
    day comes first, unless the dates look American (slashes and a clock of twelve hours).
    """
    given = [(date, time) for date, time in written if not _year_first(date)]
    american = any("/" in date and _is_twelve_hours(time) for date, time in given)
    preferred = (MONTH_FIRST, DAY_FIRST) if american else (DAY_FIRST, MONTH_FIRST)
    return min(preferred, key=lambda order: _faults([date for date, _ in given], order))


def read_time(date: str, time: str, order: str) -> datetime:
    """Read "31/12/20" and "11:59:59 PM" as UTC. Raises RecordError."""
    try:
        hour, minute, second = (*map(int, _NUMBER.findall(time)), 0)[:3]
        if _is_twelve_hours(time):
            hour = hour % 12 + (12 if _AFTERNOON.search(time) else 0)
        year, month, day = _parts(date, order)
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except (ValueError, OverflowError) as exc:
        raise RecordError(
            Message(
                "the time {date} {time} does not exist, read with the {order}",
                date=date,
                time=time,
                order=order,
            )
        ) from exc
    return written_at(moment)


def _is_twelve_hours(time: str) -> bool:
    return bool(_AFTERNOON.search(time) or _MORNING.search(time))


def _year_first(date: str) -> bool:
    return len(_NUMBER.findall(date)[0]) == 4


def _parts(date: str, order: str) -> tuple[int, int, int]:
    """Return year, month and day."""
    first, second, third = (int(number) for number in _NUMBER.findall(date))
    if _year_first(date):
        return first, second, third
    year = third + 2000 if third < 100 else third
    return (year, first, second) if order == MONTH_FIRST else (year, second, first)


def _faults(dates: Sequence[str], order: str) -> int:
    """Count the invalid dates, and those earlier than the one before."""
    faults, last = 0, datetime.min.replace(tzinfo=UTC)
    for date in dates:
        try:
            moment = read_time(date, "00:00", order)
        except RecordError:
            faults += 1
            continue
        faults += moment < last
        last = moment
    return faults
