"""A corpus' hits for a query in the order of time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC

from bot.finding import find
from bot.web.desk import Desk
from bot.web.views import Piece, day_of, pieces_of, web_address
from bot.words import Words
from db.shown import Shown
from engine.find_types import FindHit, Found

MOST = 300  # texts on one page
_YEARS = 3  # a shorter time is counted by months


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One text."""

    id: str
    day: str
    date_text: str
    author: str | None
    url: str | None
    lang: str | None
    pieces: Sequence[Piece]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A year ("2015") or a month ("2015-03") with what was written in it."""

    name: str
    entries: Sequence[Entry]
    percent: int  # of the fullest one


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """All spans from the first text to the last, empty ones included."""

    found: Found
    spans: Sequence[Span]
    by_year: bool

    @property
    def shown(self) -> int:
        """How many texts there are on the page."""
        return sum(len(span.entries) for span in self.spans)


async def timeline(desk: Desk, query: str, corpus: str, words: Words) -> Timeline:
    """Return the best hits of a query of the dialect, oldest first.

    Raises CorpusNotFound, UsageError, StorageError.
    """
    known = await desk.corpus(corpus)
    found = await find(desk.app, query, corpus=known.name, limit=MOST)
    if found.hits and found.corpus != known.name:  # the query names another
        known = await desk.corpus(found.corpus)
    lexemes = {one for hit in found.hits for match in hit.matched for one in match.lexemes}
    ids = [hit.document.candidate.id for hit in found.hits]
    marked = await Shown(desk.app.database).marked(known, ids, lexemes)
    ordered = sorted(found.hits, key=lambda hit: (hit.created_at, hit.document.candidate.id))
    by_year = bool(ordered) and _year(ordered[-1]) - _year(ordered[0]) >= _YEARS
    entries: dict[str, list[Entry]] = {name: [] for name in _names(ordered, by_year=by_year)}
    for hit in ordered:
        candidate = hit.document.candidate
        text = marked.get(candidate.id, candidate.text)
        entries[_name(hit, by_year=by_year)].append(_entry(hit, text, words))
    most = max(map(len, entries.values()), default=0)
    spans = [
        Span(name=name, entries=part, percent=round(100 * len(part) / most))
        for name, part in entries.items()
    ]
    return Timeline(found=found, spans=spans, by_year=by_year)


def _entry(hit: FindHit, text: str, words: Words) -> Entry:
    found = hit.document.candidate
    return Entry(
        id=found.external_id,
        day=day_of(found.created_at),
        date_text=words.date(found.created_at.astimezone(UTC)),
        author=found.author,
        url=web_address(found.url),
        lang=found.lang,
        pieces=pieces_of(text),
    )


def _names(ordered: Sequence[FindHit], *, by_year: bool) -> list[str]:
    """Return the names of all spans from the first hit to the last."""
    if not ordered:
        return []
    first, last = _year(ordered[0]), _year(ordered[-1])
    if by_year:
        return [f"{year:04}" for year in range(first, last + 1)]
    months = [f"{year:04}-{month:02}" for year in range(first, last + 1) for month in range(1, 13)]
    begin, end = (_name(ordered[at], by_year=False) for at in (0, -1))
    return [name for name in months if begin <= name <= end]


def _name(hit: FindHit, *, by_year: bool) -> str:
    return day_of(hit.created_at)[: 4 if by_year else 7]


def _year(hit: FindHit) -> int:
    return hit.created_at.astimezone(UTC).year
