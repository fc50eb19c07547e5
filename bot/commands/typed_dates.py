"""Dates that people type beside a headline: "before:2014", "date:2018-12-24", "(2018)" at the
end, "exclude-recent:12"."""

import re
from dataclasses import dataclass, replace
from datetime import datetime

from bot.replies.dates import read_date
from engine.errors import UsageError
from engine.messages import Message
from engine.search import Filters
from engine.settings.searching import MOST_MONTHS

_DATE = r"\d{4}(?:-\d{2}(?:-\d{2})?)?"
_TYPED = re.compile(
    rf"(?<!\S)(?P<name>before|after|date|antes|desde|fecha):(?P<date>{_DATE})(?!\S)", re.IGNORECASE
)
# As the command line has it, too: phones make one dash of two.
_RECENT = re.compile(
    r"(?<!\S)(?:--|[–—])?(?:exclude-recent|sin-recientes)(?::|=|\s+)(?P<months>\d{1,6})(?!\S)",
    re.IGNORECASE,
)
_ENGLISH = {"antes": "before", "desde": "after", "fecha": "date"}
_AT_END = re.compile(rf"\((?P<date>{_DATE})\)[.!]?$")
_WORD = re.compile(r"\w")


_NONE = Filters()


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedHeadline:
    """A headline without the dates typed beside it, and those dates."""

    text: str
    date: datetime | None = None  # the headline's own
    filters: Filters = _NONE
    exclude_recent: int | None = None  # months before the headline


def read_typed(text: str, *, now: datetime) -> TypedHeadline:
    """Return the headline and the dates typed beside it; the last one of a kind counts.

    A year in parentheses is the headline's date unless it is still to come. Text that consists of
    nothing but dates is left unchanged. Raises UsageError for a date that does not exist, and for
    too many months.
    """
    narrowed, recent = _recent(text)
    if recent is not None and _WORD.search(narrowed):
        return replace(read_typed(narrowed, now=now), exclude_recent=recent)
    found = {
        _ENGLISH.get(one["name"].lower(), one["name"].lower()): read_date(one["date"])
        for one in _TYPED.finditer(text)
    }
    rest = " ".join(_TYPED.sub(" ", text).split()) if found else text
    at_end = _AT_END.search(rest.rstrip())
    if at_end and "date" not in found and (date := _past(at_end["date"], now)):
        found, rest = {**found, "date": date}, rest[: at_end.start()].rstrip()
    if not _WORD.search(rest):
        return TypedHeadline(text=text)
    return TypedHeadline(
        text=rest,
        date=found.get("date"),
        filters=Filters(before=found.get("before"), after=found.get("after")),
    )


def _recent(text: str) -> tuple[str, int | None]:
    """Return the text without the months to leave out, and their number. Raises UsageError."""
    found = [int(one["months"]) for one in _RECENT.finditer(text)]
    if not found:
        return text, None
    if found[-1] > MOST_MONTHS:
        raise UsageError(
            Message("{number} months are too many.", number=found[-1]),
            fix=Message("Write at most {number}.", number=MOST_MONTHS),
        )
    return " ".join(_RECENT.sub(" ", text).split()), found[-1]


def _past(text: str, now: datetime) -> datetime | None:
    """Return the moment that the text in parentheses names, or None if it is none of the past."""
    try:
        date = read_date(text)
    except UsageError:
        return None
    return date if date <= now else None
