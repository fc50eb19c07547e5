"""Re-indexes stored documents after a change of the rules that turn texts into words."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import asyncpg

from db.connection import Connection, statements
from db.corpus.corpora import Corpora
from db.corpus.documents import Documents
from db.corpus.postings import Postings, about_corpus, partition
from db.pool import Database
from engine.errors import CorpusNotFound
from engine.text.clean import clean_for_display, respell_search_text
from engine.values import INDEX_VERSION, Corpus

PAGE = 1000  # documents per transaction: writers of the corpus wait for its end
_TIMEOUT = 600  # seconds for one statement; only a hung server needs them


@dataclass(frozen=True, slots=True)
class Reindexed:
    """How many documents were examined, and how many of them were written."""

    seen: int
    changed: int


class Reindexing:
    """Updates the search texts of documents to the rules of this version.

    Each page is one transaction that also stores its position, so a run may be interrupted
    anywhere, repeated, or run in several processes at once. The statistics are exact after each
    page.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._documents = Documents(database)
        self._postings = Postings(database)
        self._sql = statements("reindex")

    async def rest(self, corpus: Corpus) -> int:
        """Return how many documents are still to be examined."""
        if not corpus.is_outdated:
            return 0
        async with self._database.connection() as connection:
            rest = about_corpus("reindex", "rest", corpus.id)
            return int(await connection.fetchval(rest, corpus.id, timeout=_TIMEOUT))

    async def pages(self, corpus: Corpus) -> AsyncGenerator[Reindexed, None]:
        """Index the remaining documents and yield the result of each page.

        No connection is held between pages. After the last one the corpus is up to date. Does
        nothing for a corpus that is up to date already, or was dropped. Raises storage errors.
        """
        with suppress(CorpusNotFound):
            while page := await self._page(corpus):
                yield page

    async def catch_up(self, *, pause: float) -> int:
        """Index the remaining documents of all corpora; return their number. Raises storage errors.

        Then stores the postings that corpora lack; documents that get them count as well. Waits for
        `pause` seconds after each page, which leaves the server to searches.
        """
        done = 0
        for corpus in await Corpora(self._database).list():
            async for page in self.pages(corpus):
                done += page.seen
                await asyncio.sleep(pause)
            async for documents in self._postings.pages(corpus):
                done += documents
                await asyncio.sleep(pause)
        return done

    async def _page(self, corpus: Corpus) -> Reindexed | None:
        async with self._database.transaction() as connection:
            await connection.execute(f"SET LOCAL statement_timeout = {_TIMEOUT * 1000}")
            # As every writer of a corpus does, before any other lock.
            state = await connection.fetchrow(self._sql["lock"], corpus.id, timeout=_TIMEOUT)
            if state is None or state["index_version"] >= INDEX_VERSION:
                return None
            rows = await connection.fetch(
                about_corpus("reindex", "page", corpus.id),
                corpus.id,
                state["reindexed_to"],
                PAGE,
            )
            if rows:
                changed = await self._write(connection, corpus, rows)
                await connection.execute(self._sql["keep_place"], corpus.id, rows[-1]["id"])
                return Reindexed(len(rows), changed)
        await self._finish(corpus)
        return None

    async def _write(
        self, connection: Connection, corpus: Corpus, rows: Sequence[asyncpg.Record]
    ) -> int:
        values = await asyncio.to_thread(_columns, rows)
        update = about_corpus("reindex", "update", corpus.id)
        status = await connection.execute(update, *values, timeout=_TIMEOUT)
        return int(status.rpartition(" ")[2])

    async def _finish(self, corpus: Corpus) -> None:
        """Settle the corpus as after a load, then mark it as up to date."""
        # A document that was stored meanwhile may have the old words of the one that it answers.
        await self._documents.stitch_threads(corpus)
        async with self._database.transaction() as connection:
            if await connection.fetchrow(self._sql["lock"], corpus.id, timeout=_TIMEOUT):
                await connection.execute(self._sql["forget_lexemes"], corpus.id, timeout=_TIMEOUT)
        if not self._database.is_pooled:  # behind a pooler, a session cannot be given the time
            async with self._database.own_connection() as connection:
                await connection.execute("SET statement_timeout = 0")
                await connection.execute(f"VACUUM {partition(corpus.id)}", timeout=_TIMEOUT)
        await self._documents.settle(corpus)
        async with self._database.connection() as connection:
            await connection.execute(self._sql["finish"], corpus.id, INDEX_VERSION)


def _columns(rows: Sequence[asyncpg.Record]) -> tuple[list[object], ...]:
    """Return the documents' new columns: ids, texts, contexts, and the search texts of both."""
    columns: tuple[list[object], ...] = ([], [], [], [], [])
    for row in rows:
        text, context = row["text"], row["context"]
        beside = row["context_search_text"]
        values = (
            row["id"],
            clean_for_display(text),
            None if context is None else clean_for_display(context),
            respell_search_text(row["search_text"], text, title=row["title"]),
            None if beside is None else respell_search_text(beside, context or ""),
        )
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    return columns
