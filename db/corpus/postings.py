"""Names the partitions of corpora, and keeps the postings of those of long texts.

docs/decisions/0030-postings.md says which corpora have them and why not all. Triggers change them
with the documents; here they are stored for documents that had been there before.
"""

from collections.abc import AsyncGenerator
from functools import lru_cache

import asyncpg

from db.connection import Connection, statements
from db.lease import Lease
from db.pool import Database
from engine.values import Corpus, Kind


def partition(corpus_id: int) -> str:
    """Return the table of one corpus' documents; its name contains nothing but a number."""
    return f"document_{int(corpus_id)}"


def postings_table(corpus_id: int) -> str:
    """Return the table of one corpus' postings, which only some corpora have."""
    return f"postings_{int(corpus_id)}"


@lru_cache(maxsize=1024)
def about_corpus(file: str, name: str, corpus_id: int) -> str:
    """Return a statement of `db/sql/<file>.sql` about one corpus.

    {document} and {postings} in it stand for the corpus' tables, {corpus} for its id.
    """
    names = {
        "document": partition(corpus_id),
        "postings": postings_table(corpus_id),
        "corpus": str(int(corpus_id)),
    }
    return statements(file)[name].format(**names)


PAGE = 1000  # documents per transaction: writers of the corpus wait for its end
# Tokens. Longer texts repeat most of their words, and then thresholds keep few of them unread.
LONG = 60
_ALL = 2**63 - 1  # instead of an id: every document has its postings
_TIMEOUT = 600  # seconds for one statement; only a hung server needs them


def has_postings(kind: Kind, *, average_length: float) -> bool:
    """Tell whether a corpus is to have postings: a library always, others if texts are long."""
    return kind is Kind.LIBRARY or average_length >= LONG


async def create_postings(connection: Connection, corpus_id: int) -> None:
    """Create the table for a corpus without documents; triggers fill it from then on."""
    await connection.execute(about_corpus("postings", "create", corpus_id))
    await connection.execute(statements("postings")["keep_place"], corpus_id, _ALL)


async def clean_postings(connection: Connection, corpus_id: int) -> None:
    """Note which pages every transaction sees, so that searches read the index alone."""
    await connection.execute(f"VACUUM (ANALYZE) {postings_table(corpus_id)}", timeout=_TIMEOUT)


class Postings:
    """Stores the postings of corpora that are to have them and do not have all of them yet.

    Each page is one transaction that also stores its position, so a run may be interrupted
    anywhere, repeated, or run in several processes at once. Until the last page is stored, the
    corpus is searched without postings.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("postings")

    async def pages(self, corpus: Corpus) -> AsyncGenerator[int, None]:
        """Store the missing postings and yield the number of documents of each page.

        No connection is held between pages. Does nothing for a corpus that has them all, is not to
        have any, or was dropped. Raises storage errors.
        """
        if corpus.postings or not has_postings(corpus.kind, average_length=corpus.average_length):
            return
        while stored := await self._page(corpus):
            yield stored

    async def count_differences(self, corpus: Corpus) -> int:
        """Recount the postings; return how many are missing, left over or wrong."""
        async with self._database.transaction() as connection:
            await connection.execute(f"SET LOCAL statement_timeout = {_TIMEOUT * 1000}")
            state = await connection.fetchrow(self._sql["state"], corpus.id)
            if state is None or state["postings_to"] is None:
                return 0
            recount = about_corpus("postings", "differing", corpus.id)
            return int(await connection.fetchval(recount, state["postings_to"], timeout=_TIMEOUT))

    async def _page(self, corpus: Corpus) -> int:
        """Store one page; after the last one complete the table and return 0."""
        async with self._database.transaction() as connection:
            place = await self._lock_place(connection, corpus)
            if place is None:
                return 0
            page = await self._fill(connection, corpus, place, PAGE)
            if page["documents"]:
                await connection.execute(self._sql["keep_place"], corpus.id, page["last"])
                return int(page["documents"])
        await self._compact(corpus)
        async with self._database.transaction() as connection:
            place = await self._lock_place(connection, corpus)
            if place is not None:
                await self._fill(connection, corpus, place, None)  # what came meanwhile
                await connection.execute(self._sql["keep_place"], corpus.id, _ALL)
        return 0

    async def _compact(self, corpus: Corpus) -> None:
        """Rebuild the index, whose pages are half empty after being filled in this order.

        Two processes that did so at once would wait for each other: the second leaves it out.
        """
        if self._database.is_pooled:  # behind a pooler, a session cannot be given the time
            return
        async with Lease(self._database, f"postings {corpus.id}") as lease:
            if not lease.is_held:
                return
            async with self._database.own_connection() as connection:
                await connection.execute("SET statement_timeout = 0")
                table = postings_table(corpus.id)
                await connection.execute(f"REINDEX TABLE CONCURRENTLY {table}", timeout=_TIMEOUT)
                await clean_postings(connection, corpus.id)

    async def _lock_place(self, connection: Connection, corpus: Corpus) -> int | None:
        """Lock the corpus and return the id to go on after, or None if nothing is missing."""
        await connection.execute(f"SET LOCAL statement_timeout = {_TIMEOUT * 1000}")
        # As every writer of a corpus does, before any other lock.
        state = await connection.fetchrow(self._sql["lock"], corpus.id, timeout=_TIMEOUT)
        if state is None or state["postings_to"] == _ALL:
            return None
        if state["postings_to"] is None:
            await connection.execute(about_corpus("postings", "create", corpus.id))
            await connection.execute(self._sql["keep_place"], corpus.id, 0)
        return state["postings_to"] or 0

    async def _fill(
        self, connection: Connection, corpus: Corpus, after: int, limit: int | None
    ) -> asyncpg.Record:
        statement = about_corpus("postings", "fill", corpus.id)
        page = await connection.fetchrow(statement, after, limit, timeout=_TIMEOUT)
        assert page  # noqa: S101 - an aggregate has a row
        return page
