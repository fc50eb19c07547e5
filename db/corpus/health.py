"""Reports the health of the database, and re-indexes texts whose rules have changed."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from db.connection import about_corpus, load_statements, name_partition, read_row
from db.corpus.corpora import Corpora, Postings
from db.corpus.documents import Documents
from db.corpus.placement import borrow
from db.pool import Database, Store
from engine.errors import CorpusNotFound
from engine.text.clean import clean_for_display, respell_search_text
from engine.values import INDEX_VERSION, Corpus

PAGE = 1000  # documents per transaction: writers of the corpus wait for its end
_TIMEOUT = 600  # seconds for one statement; only a hung server needs them
EXTENSIONS = ("unaccent", "pg_trgm")
_RECOUNT_SECONDS = 600  # a large corpus is read in full


@dataclass(frozen=True, slots=True)
class ReindexResult:
    """How many documents were examined, and how many of them were written."""

    seen: int
    changed: int


class Reindexing(Store, sql="reindex"):
    """Updates the search texts of documents to the rules of this version.

    Each page is one transaction that also stores its position, so a run may be interrupted
    anywhere, repeated, or run in several processes at once. The statistics are exact after each
    page.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._documents = Documents(database)
        self._postings = Postings(database)

    async def rest(self, corpus: Corpus) -> int:
        """Return how many documents are still to be examined."""
        if not corpus.is_outdated:
            return 0
        async with self._database.connection() as connection:
            rest = self._find_statement("rest", corpus)
            return int(await connection.fetchval(rest, corpus.id, timeout=_TIMEOUT))

    async def pages(self, corpus: Corpus) -> AsyncGenerator[ReindexResult, None]:
        """Index the remaining documents and yield the result of each page.

        No connection is held between pages. After the last one the corpus is up to date. Does
        nothing for a corpus that is up to date already, or was dropped. Raises storage errors.
        """
        with suppress(CorpusNotFound):
            while page := await self._reindex_page(corpus):
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

    async def _reindex_page(self, corpus: Corpus) -> ReindexResult | None:
        async with self._database.transaction() as connection:
            await connection.execute(f"SET LOCAL statement_timeout = {_TIMEOUT * 1000}")
            # As every writer of a corpus does, before any other lock.
            state = await connection.fetchrow(self._sql["lock"], corpus.id, timeout=_TIMEOUT)
            if state is None or state["index_version"] >= INDEX_VERSION:
                return None
            page = self._find_statement("page", corpus)
            rows = await connection.fetch(page, corpus.id, state["reindexed_to"], PAGE)
            if rows:
                values = await asyncio.to_thread(_build_columns, rows)
                update = self._find_statement("update", corpus)
                async with borrow(connection, corpus, "among", values[0]):
                    status = await connection.execute(update, *values, timeout=_TIMEOUT)
                changed = int(status.rpartition(" ")[2])
                await connection.execute(self._sql["keep_place"], corpus.id, rows[-1]["id"])
                return ReindexResult(len(rows), changed)
        await self._finish(corpus)
        return None

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
                await connection.execute(f"VACUUM {name_partition(corpus.id)}", timeout=_TIMEOUT)
        await self._documents.settle(corpus)
        await self._execute("finish", corpus.id, INDEX_VERSION)


def _build_columns(rows: Sequence[asyncpg.Record]) -> tuple[list[object], ...]:
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


async def server_version(database: Database) -> str:
    """Return the server's version, such as "18.6"."""
    async with database.connection() as connection:
        return str(await connection.fetchval("SHOW server_version")).split()[0]


async def missing_extensions(database: Database) -> list[str]:
    """Return the required extensions that are not installed in the database."""
    async with database.connection() as connection:
        rows = await connection.fetch(load_statements("health")["extensions"], list(EXTENSIONS))
    installed = {row["extname"] for row in rows}
    return [name for name in EXTENSIONS if name not in installed]


async def reads_quotes(database: Database) -> bool:
    """Return whether the server takes typographic quotes for what they are, not for letters."""
    async with database.connection() as connection:
        return bool(await connection.fetchval(load_statements("health")["reads_quotes"]))


async def takes_writes(database: Database) -> bool:
    """Return whether the server takes writes: it may be a standby, or set to read only."""
    async with database.connection() as connection:
        return bool(await connection.fetchval(load_statements("health")["takes_writes"]))


async def role_that_cannot_store(database: Database) -> str | None:
    """Return the role of the connections if it lacks the right to store, else None."""
    async with database.connection() as connection:
        row = await connection.fetchrow(load_statements("health")["owner"])
    return None if row is None or row["owns"] else str(row["role"])


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedExtension:
    """An extension that the server offers: the version in use, and the one it would install."""

    installed: str | None
    available: str
    installable: bool  # by the role of the connections, as far as the server tells


async def offered_extension(database: Database, name: str) -> OfferedExtension | None:
    """Return the extension, or None if the server does not have it."""
    async with database.connection() as connection:
        row = await connection.fetchrow(load_statements("health")["offered"], name)
    return read_row(OfferedExtension, row) if row else None


async def server_time(database: Database) -> datetime:
    """Return the time on the server's clock."""
    async with database.connection() as connection:
        time: datetime = await connection.fetchval("SELECT clock_timestamp()")
    return time


async def statistics_differ(database: Database, corpus: Corpus) -> str | None:
    """Recount what BM25 relies on; return how it differs from the stored figures, or None."""
    async with database.transaction() as connection:
        await connection.execute(f"SET LOCAL statement_timeout = '{_RECOUNT_SECONDS}s'")
        if not await connection.fetchval(
            load_statements("health")["there"], name_partition(corpus.id)
        ):
            return None  # dropped meanwhile
        row = await connection.fetchrow(
            about_corpus("health", "recount", corpus.id), corpus.id, timeout=_RECOUNT_SECONDS
        )
    if row is None:  # dropped meanwhile
        return None
    wrong = []
    if (row["documents"], row["tokens"]) != (row["kept_documents"], row["kept_tokens"]):
        wrong.append(
            f"{row['documents']:,} documents and {row['tokens']:,} tokens,"
            f" kept as {row['kept_documents']:,} and {row['kept_tokens']:,}"
        )
    if row["empty"] != row["kept_empty"]:
        wrong.append(f"{row['empty']:,} documents without words, kept as {row['kept_empty']:,}")
    if row["lexemes"]:
        wrong.append(f"{row['lexemes']:,} lexemes with wrong figures")
    if postings := await Postings(database).count_differences(corpus):
        wrong.append(f"{postings:,} postings missing or wrong")
    if row["languages"]:
        wrong.append(f"{row['languages']:,} languages with a wrong count")
    return "; ".join(wrong) or None
