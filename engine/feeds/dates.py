"""Parses the dates of feeds: a date is read as a whole, or it is none."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from engine.errors import RecordError
from engine.text.written_dates import DayOrder, find_day_order, read_written_date

_EAST_ASIAN = re.compile(r"(\d{4}) ?[年년] ?(\d{1,2}) ?[月월] ?(\d{1,2}) ?[日일号]?")
_EAST_ASIAN_CLOCK = re.compile(r"(\d{1,2}) ?[时時시] ?(\d{1,2}) ?[分분](?: ?(\d{1,2}) ?[秒초])?")
_BLANKS_BETWEEN = re.compile(r"^(\d{4})[ /.-]\s?(\d{1,2})[ /.-]\s?(\d{1,2})(?=[.\s]|$)\.?")
_NAMED_ZONE = re.compile(r"\[[A-Za-z/_]+\]$")  # behind an offset, which says as much
_BLANKS = re.compile(r"\s+")
_LONGEST = 100  # characters
_KNOWN = (DayOrder.DAY_FIRST, DayOrder.MONTH_FIRST)


def read_feed_date(written: object, *, is_day_first: bool | None = None) -> datetime | None:
    """Return the date in UTC, or None if what is written is none as a whole; without a zone, UTC.

    `is_day_first` is the order of dates such as 03/04/2026, which are none if it is None.
    """
    if not isinstance(written, str) or len(written) > _LONGEST:
        return None
    try:
        date = read_written_date(_spell_plainly(written), is_day_first)
        zoned = date if date.tzinfo else date.replace(tzinfo=UTC)
        return zoned.astimezone(UTC).replace(microsecond=0)
    except (RecordError, OverflowError):
        return None


def find_order_of_days(written: Iterable[object]) -> bool | None:
    """Return whether the day comes before the month in the dates of a feed; None if unknown."""
    order = find_day_order(written)
    return None if order not in _KNOWN else order is DayOrder.DAY_FIRST


def _spell_plainly(written: str) -> str:
    """Return a date whose year comes first with hyphens in it, and with an ordinary clock."""
    text = _BLANKS.sub(" ", _NAMED_ZONE.sub("", written.strip()))
    text = _EAST_ASIAN_CLOCK.sub(r"\1:\2:\g<3>", _EAST_ASIAN.sub(r"\1-\2-\3", text)).rstrip(":")
    return _BLANKS_BETWEEN.sub(lambda day: f"{day[1]}-{int(day[2]):02}-{int(day[3]):02}", text)
