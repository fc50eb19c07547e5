"""Converts rows of documents to values of the engine."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import itemgetter

import asyncpg
import orjson

from engine.query.types import FoundDocument
from engine.search import Candidate
from engine.types import Flag

# Looking up a member of Flag takes longer than reading a column.
_flags = lru_cache(maxsize=None)(Flag)
_STORED = (
    "id", "external_id", "text", "context", "created_at", "author", "url", "lang", "length",
    "platform",
)  # fmt: skip
_stored = itemgetter(*_STORED)
_SETTERS = [
    Candidate.__dict__[name].__set__
    for name in (
        *_STORED, "flags", "bm25", "matched", "similarity", "ranks", "asked_for", "place", "voice",
    )
]  # fmt: skip


def candidate(
    row: asyncpg.Record, *, bm25: float = 0.0, matched: Mapping[int, int] | None = None
) -> Candidate:
    """Return a row as a candidate.

    Sets the fields itself: the __init__ of a frozen dataclass takes four times as long, which for
    150 candidates would be a tenth of a search.
    """
    one = object.__new__(Candidate)
    values = (*_stored(row), _flags(row["flags"]), bm25, matched or {}, None, {}, {}, None, None)
    for set_value, value in zip(_SETTERS, values, strict=True):
        set_value(one, value)
    return one


def ranked_candidate(row: asyncpg.Record, where: Sequence[tuple[int, int]]) -> Candidate:
    """Return a row with `bm25` and `frequencies` as a candidate; `where` comes from `places`."""
    matched: dict[int, int] = {}
    frequencies = row["frequencies"]
    for term, place in where:
        if tf := frequencies[place]:
            matched[term] = matched.get(term, 0) + tf
    return candidate(row, bm25=row["bm25"], matched=matched)


def found_document(
    row: asyncpg.Record,
    *,
    bm25: float = 0.0,
    frequencies: Mapping[str, int] | None = None,
    in_text: Mapping[str, int] | None = None,
) -> FoundDocument:
    """Return a row with everything that is stored of a document."""
    return FoundDocument(
        candidate=candidate(row, bm25=bm25),
        frequencies=frequencies or {},
        in_text=in_text or {},
        title=row["title"],
        role=row["role"],
        thread=row["thread_id"],
        attribution=row["attribution"],
        tags=tuple(row["tags"]),
        mentions=tuple(row["mentions"]),
        engagement=row["engagement"],
        domain=row.get("domain"),
        attachments=_listed(row["attachments"]),
        participants=_listed(row["participants"]),
    )


def _listed(written: str | None) -> tuple[str, ...]:
    """Return the texts in a list of `meta`, which holds whatever the source had."""
    found = orjson.loads(written) if written and written.startswith("[") else ()
    return tuple(one for one in found if isinstance(one, str))
