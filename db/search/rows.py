"""Converts rows of documents to values of the engine."""

from collections.abc import Mapping, Sequence

import asyncpg
import orjson

from engine.query.types import FoundDocument
from engine.search import Candidate
from engine.types import Flag

_CANDIDATE = (
    "id", "external_id", "text", "context", "created_at", "author", "url", "lang", "length",
)  # fmt: skip


def candidate(
    row: asyncpg.Record, *, bm25: float = 0.0, matched: Mapping[int, int] | None = None
) -> Candidate:
    """Return a row as a candidate."""
    return Candidate(
        **{name: row[name] for name in _CANDIDATE},
        flags=Flag(row["flags"]),
        bm25=bm25,
        matched=matched or {},
    )


def ranked_candidate(row: asyncpg.Record, where: Sequence[tuple[int, int]]) -> Candidate:
    """Return a row with `bm25` and `frequencies` as a candidate; `where` comes from `places`."""
    matched: dict[int, int] = {}
    for term, place in where:
        if tf := row["frequencies"][place]:
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
        platform=row["platform"],
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
