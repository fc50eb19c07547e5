"""Dates as people type them."""

import re
from datetime import UTC, datetime

from engine.errors import UsageError

_YEAR = re.compile(r"\d{4}")
_MONTH = re.compile(r"\d{4}-\d{2}")
_FIRST_YEAR = 1000  # far enough from where calendars end for every sum with a date


def read_date(text: str) -> datetime:
    """Return the moment (UTC) that "2015", "2015-03", "2015-03-02" or a full ISO time names.

    What is left out is the beginning; without a zone it is UTC. Raises UsageError.
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
        f"{text!r} is not a date.", fix="Write it as 2015, 2015-03, 2015-03-02 or ISO 8601."
    )
