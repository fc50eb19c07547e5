"""The years that a question asks about: "in 2018", "since 2015", "entre 2014 y 2016"."""

import re
from datetime import UTC, datetime

from engine.search import Filters

_YEAR = r"((?:19|20)\d\d)(?![\d%.,]{0,8}\d)"
_RANGE = re.compile(
    rf"\b(?:between|from|entre|desde|de)\s+{_YEAR}\s+(?:and|to|until|y|a|al|hasta)\s+{_YEAR}"
    rf"|\b{_YEAR}\s?[-–—]\s?{_YEAR}",
    re.IGNORECASE,
)
_SINCE = re.compile(rf"\b(?:since|from|desde|a partir de)\s+{_YEAR}", re.IGNORECASE)
_AFTER = re.compile(rf"\b(?:after|despu[eé]s de|tras)\s+{_YEAR}", re.IGNORECASE)
_BEFORE = re.compile(rf"\b(?:before|antes de)\s+{_YEAR}", re.IGNORECASE)
_UNTIL = re.compile(rf"\b(?:until|till|up to|hasta)\s+{_YEAR}", re.IGNORECASE)
_DURING = re.compile(rf"\b(?:in|during|throughout|en|durante|en el año)\s+{_YEAR}", re.IGNORECASE)


def read_period(question: str) -> Filters | None:
    """Return the time that a question names in years, or None if it names none."""
    if match := _RANGE.search(question):
        first, last = sorted(int(year) for year in match.groups() if year)
        return _between(first, last + 1)
    starts = [(_SINCE, 0), (_AFTER, 1)]
    ends = [(_BEFORE, 0), (_UNTIL, 1)]
    start, end = (
        next(
            (int(match[1]) + more for form, more in forms if (match := form.search(question))), None
        )
        for forms in (starts, ends)
    )
    if start is None and end is None:
        years = sorted(int(match[1]) for match in _DURING.finditer(question))
        return _between(years[0], years[-1] + 1) if years else None
    return _between(start, end)


def _between(start: int | None, end: int | None) -> Filters | None:
    """Return the filter from the first day of one year to that of another; None if none is left."""
    if start is not None and end is not None and start >= end:
        return None
    after, before = (
        None if year is None else datetime(year, 1, 1, tzinfo=UTC) for year in (start, end)
    )
    return Filters(after=after, before=before)
