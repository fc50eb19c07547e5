"""Documents as they are shown: one by its id, texts with the words marked that were found."""

from collections.abc import Collection, Mapping, Sequence

import asyncpg

from db.partitions import about_corpus
from db.pool import Database
from db.threshold import quoted
from engine.find_types import FoundDocument
from engine.types import Candidate, Corpus, Filters, Flag

MARK_BEGINS, MARK_ENDS = "\x02", "\x03"
_CANDIDATE = (
    "id", "external_id", "text", "context", "created_at", "author", "url", "lang", "length",
)  # fmt: skip


class Shown:
    """Reads single documents."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def document(self, corpus: Corpus, external_id: str) -> FoundDocument | None:
        """Return a document by its id at the source, or None."""
        if "\0" in external_id:  # no text of the database holds one
            return None
        async with self._database.connection() as connection:
            row = await connection.fetchrow(
                about_corpus("shown", "document", corpus.id), corpus.id, external_id
            )
        return None if row is None else _document(row)

    async def marked(
        self, corpus: Corpus, ids: Sequence[int], lexemes: Collection[str]
    ) -> Mapping[int, str]:
        """Return texts by id, with marks around the words that become one of `lexemes`."""
        if not lexemes or not ids:
            return {}
        wanted = "|".join(quoted(lexeme) for lexeme in sorted(lexemes))
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                about_corpus("shown", "marked", corpus.id), corpus.id, ids, wanted
            )
        return {row["id"]: row["text"] for row in rows}

    async def tagged(self, corpus: Corpus, ids: Sequence[int], tag: str) -> set[int]:
        """Return those of `ids` that carry a tag."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                about_corpus("shown", "tagged", corpus.id), corpus.id, ids, tag
            )
        return {row["id"] for row in rows}

    async def count(self, corpus: Corpus, filters: Filters, tag: str | None = None) -> int:
        """Return how many documents the dates and the tag let through."""
        async with self._database.connection() as connection:
            counted = await connection.fetchval(
                about_corpus("shown", "count", corpus.id),
                corpus.id,
                filters.after,
                filters.before,
                tag,
            )
        return int(counted)


def _document(row: asyncpg.Record) -> FoundDocument:
    return FoundDocument(
        candidate=Candidate(
            **{name: row[name] for name in _CANDIDATE},
            flags=Flag(row["flags"]),
            bm25=0.0,
            matched={},
        ),
        frequencies={},
        in_text={},
        title=row["title"],
        role=row["role"],
        platform=row["platform"],
        thread=row["thread_id"],
        attribution=row["attribution"],
        tags=tuple(row["tags"]),
        mentions=tuple(row["mentions"]),
        engagement=row["engagement"],
    )
