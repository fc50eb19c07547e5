"""Converts rows of documents to values of the engine."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import itemgetter

import asyncpg
import orjson

from db.connection import Fetches, statements
from db.corpus.postings import about_corpus
from db.pool import Database
from engine.query.results import FoundDocument, FoundDocuments
from engine.ranking import Bm25
from engine.search import Candidate, Filters, ItemPlace
from engine.text.terms import Reading
from engine.values import Corpus, DateKind, Flag


async def add_places(
    reader: Fetches, corpus: Corpus, candidates: Sequence[Candidate]
) -> list[Candidate]:
    """Return candidates with the places of those that are parts.

    A statement of its own, so that corpora without parts pay nothing.
    """
    if not corpus.in_parts or not candidates:
        return list(candidates)
    rows = await reader.fetch(
        about_corpus("places", "places", corpus.id), [one.id for one in candidates]
    )
    known = {row["id"]: ItemPlace(**{k: v for k, v in row.items() if k != "id"}) for row in rows}
    return [replace(one, place=known.get(one.id)) for one in candidates]


async def placed_documents(
    reader: Fetches, corpus: Corpus, found: FoundDocuments
) -> FoundDocuments:
    """Return found documents with the places of those that are parts."""
    if not corpus.in_parts:
        return found
    candidates = await add_places(reader, corpus, [one.candidate for one in found.documents])
    documents: list[FoundDocument] = [
        replace(one, candidate=candidate)
        for one, candidate in zip(found.documents, candidates, strict=True)
    ]
    return replace(found, documents=documents)


def passes(before: str, after: str, require: str, exclude: str) -> str:
    """Return the condition on a document, with the filters at these parameters."""
    return statements("search")["passes"].format(
        before=before, after=after, require=require, exclude=exclude
    )


def passing_flags(filters: Filters) -> list[int] | None:
    """Return every combination of flags that passes, because the planner knows nothing of bits."""
    if not filters.require and not filters.exclude:
        return None
    return [
        flags
        for flags in range(2 * max(Flag))
        if flags & filters.require == filters.require and not flags & filters.exclude
    ]


class Readings:
    """Reads words and phrases into lexemes, with the corpus' statistics for them."""

    def __init__(self, database: Database, bm25: Bm25 | None = None) -> None:
        self._database = database
        self._bm25 = bm25 or Bm25()

    async def read(self, corpus: Corpus, texts: Sequence[str]) -> list[Reading]:
        """Return the lexemes of normalised texts in the corpus' languages."""
        async with self._database.read_anywhere() as reader:
            rows = await reader.fetch(
                statements("search")["read"], corpus.id, texts, corpus.read_in
            )
        return [Reading(**row) for row in rows]


# Looking up a member of an enumeration takes longer than reading a column.
_flags = lru_cache(maxsize=None)(Flag)
_date_kinds: dict[str | None, DateKind | None] = {None: None} | {one.value: one for one in DateKind}
_STORED = (
    "id", "external_id", "text", "context", "created_at", "author", "url", "lang", "length",
    "platform",
)  # fmt: skip
_stored = itemgetter(*_STORED)
_SETTERS = [
    Candidate.__dict__[name].__set__
    for name in (
        *_STORED, "flags", "dated_by", "bm25", "matched", "similarity", "ranks", "asked_for",
        "place", "voice",
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
    coded = (_flags(row["flags"]), _date_kinds[row["dated_by"]])
    values = (*_stored(row), *coded, bm25, matched or {}, None, {}, {}, None, None)
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
        attachments=_read_text_list(row["attachments"]),
        participants=_read_text_list(row["participants"]),
    )


def _read_text_list(written: str | None) -> tuple[str, ...]:
    """Return the texts in a list of `meta`, which holds whatever the source had."""
    found = orjson.loads(written) if written and written.startswith("[") else ()
    return tuple(one for one in found if isinstance(one, str))
