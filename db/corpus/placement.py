"""Places corpora on workers of Citus, and has their texts back for a moment when they change.

Of a placed corpus, the tables of documents and postings are on one worker, and every statement that
reads them is sent there as a whole. The triggers that keep the statistics are here: whoever
changes texts borrows them, so that one path and the same SQL serve all corpora. See
docs/decisions/0063-placed.md.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg
import orjson

from db.connection import (
    Connection,
    about_corpus,
    load_statements,
    name_partition,
    postings_table,
    staged_table,
)
from db.corpus.corpora import ALL_POSTED
from db.pool import Store
from engine.errors import CorpusNotFound, UsageError
from engine.messages import Message
from engine.values import Corpus

_PAGE = 5_000  # documents between two reports of progress
_TIMEOUT = 3600  # seconds for one statement; only a hung server needs them
_MOVING = "moving_"


def _format_statement(name: str, corpus_id: int, **parts: str) -> str:
    """Return a statement about a corpus."""
    moving = {
        "moving": _MOVING + name_partition(corpus_id),
        "moving_postings": _MOVING + postings_table(corpus_id),
    }
    return about_corpus("placement", name, corpus_id, **moving | parts)


@asynccontextmanager
async def borrow(
    connection: Connection, corpus: Corpus, statement: str, *values: object
) -> AsyncIterator[None]:
    """Have documents of a placed corpus in the table whose triggers keep the statistics.

    `statement` names the one that selects them. The block, in a transaction that holds the
    lock of the corpus, may change and remove them and store others; at its end all go back to the
    worker. Does nothing for a corpus that is here.
    """
    sql = load_statements("placement")
    has_postings = await connection.fetchval(sql["placed_postings"], corpus.id)
    if has_postings is None:
        yield
        return
    await connection.execute(_format_statement("touch", corpus.id), timeout=_TIMEOUT)
    await connection.execute(_format_statement("lend", corpus.id))
    await _take_documents(connection, corpus, statement, *values)
    before = await connection.fetchval(_format_statement("staged_ids", corpus.id))
    yield
    after = await connection.fetchval(_format_statement("staged_ids", corpus.id))
    if before and has_postings:
        remove = _format_statement("remove_postings", corpus.id)
        await connection.execute(remove, before, timeout=_TIMEOUT)
    if before:
        await connection.execute(_format_statement("remove", corpus.id), before, timeout=_TIMEOUT)
    # Also without rows: a COPY is what has Citus commit in two phases.
    await connection.execute(_format_statement("give_back", corpus.id), timeout=_TIMEOUT)
    if after and has_postings:
        await connection.execute(
            _format_statement("add_postings", corpus.id), after, timeout=_TIMEOUT
        )
    await connection.execute(f"TRUNCATE {staged_table(corpus.id)}")


async def _take_documents(
    connection: Connection, corpus: Corpus, statement: str, *values: object
) -> int:
    """Copy documents from the worker into the partition; return how many."""
    take = _format_statement("take", corpus.id, chosen=_format_statement(statement, corpus.id))
    await connection.execute(take, *values, timeout=_TIMEOUT)
    status = await connection.execute(_format_statement("keep", corpus.id), timeout=_TIMEOUT)
    return int(status.rpartition(" ")[2])


@dataclass(frozen=True, slots=True)
class CitusWorker:
    """What a worker said about itself; without versions, it did not answer."""

    name: str  # host and port
    postgres: str = ""
    citus: str = ""
    undecided: int = 0  # transactions that were prepared more than a minute ago


class Placement(Store, sql="placement"):
    """Moves corpora to workers and back."""

    async def places(self) -> dict[str, str]:
        """Return the worker of each placed corpus, as host:port."""
        async with self._database.connection() as connection:
            if not await connection.fetchval(self._sql["citus"]):
                return {}
            rows = await connection.fetch(self._sql["places"])
        return {row["corpus"]: row["worker"] for row in rows}

    async def workers(self) -> list[CitusWorker]:
        """Return the workers that may hold texts, by name. Raises storage errors."""
        async with self._database.connection() as connection:
            if not await connection.fetchval(self._sql["citus"]):
                return []
            rows = await connection.fetch(self._sql["workers"])
        return [CitusWorker(row["name"], **orjson.loads(row["said"] or "{}")) for row in rows]

    async def move_to_worker(self, corpus: Corpus, progress: Callable[[int], None]) -> str:
        """Move a corpus to the worker that Citus chooses, in one transaction; return its name.

        It is searched meanwhile; whoever changes it waits. `progress` receives the number of
        documents moved. Does nothing if it is placed already. Raises UsageError without Citus or
        workers, and storage errors: everything is as it was then.
        """
        async with self._database.transaction() as connection:
            await self._require_workers(connection)
            state = await self._lock_corpus(connection, corpus)
            if state["placed_postings"] is None:
                has_postings = state["postings_to"] == ALL_POSTED
                await self._copy_tables(connection, corpus, has_postings, progress)
                # The tables on the worker get the names by which they are read.
                document, postings = name_partition(corpus.id), postings_table(corpus.id)
                staged = staged_table(corpus.id)
                await connection.execute(f"ALTER TABLE {document} RENAME TO {staged}")
                await connection.execute(f"TRUNCATE {staged}")
                await connection.execute(f"ALTER TABLE {_MOVING}{document} RENAME TO {document}")
                await connection.execute(f"DROP TABLE IF EXISTS {postings}")
                if has_postings:
                    moving = f"{_MOVING}{postings}"
                    await connection.execute(f"ALTER TABLE {moving} RENAME TO {postings}")
                await connection.execute(self._sql["mark"], corpus.id, has_postings, None)
        return (await self.places())[corpus.name]

    async def move_here(self, corpus: Corpus, progress: Callable[[int], None]) -> None:
        """Bring a corpus back from its worker, in one transaction.

        Does nothing if it is here. Raises storage errors.
        """
        async with self._database.transaction() as connection:
            state = await self._lock_corpus(connection, corpus)
            if state["placed_postings"] is None:
                return
            await connection.execute(_format_statement("touch", corpus.id), timeout=_TIMEOUT)
            staged = staged_table(corpus.id)
            await connection.execute(_format_statement("lend", corpus.id))

            async def bring_page(after: int, last: int) -> int:
                await connection.execute("TRUNCATE lent")
                return await _take_documents(connection, corpus, "between", after, last)

            await self._move_pages(connection, corpus, bring_page, progress)
            await connection.execute(f"DROP TABLE {name_partition(corpus.id)}")
            await connection.execute(f"ALTER TABLE {staged} RENAME TO {name_partition(corpus.id)}")
            postings_to = None
            if state["placed_postings"]:
                await connection.execute(f"DROP TABLE {postings_table(corpus.id)}")
                await connection.execute(about_corpus("postings", "create", corpus.id))
                fill = about_corpus("postings", "fill", corpus.id)
                await connection.execute(fill, 0, None, timeout=_TIMEOUT)
                postings_to = ALL_POSTED
            await connection.execute(self._sql["mark"], corpus.id, None, postings_to)

    async def _require_workers(self, connection: Connection) -> None:
        if not await connection.fetchval(self._sql["citus"]):
            raise UsageError(
                Message("This database is a plain PostgreSQL server: it has no workers."),
                fix=Message("docs/scale.md tells from when Citus pays."),
            )
        if not await connection.fetchval(self._sql["count_workers"]):
            raise UsageError(
                Message("Citus knows no worker that may hold texts."),
                fix=Message("Add one: SELECT citus_add_node('HOST', 5432)"),
            )

    async def _lock_corpus(self, connection: Connection, corpus: Corpus) -> asyncpg.Record:
        """Have writers wait, and return where the corpus is. Raises CorpusNotFound."""
        await connection.execute("SET LOCAL statement_timeout = 0")
        state = await connection.fetchrow(self._sql["lock"], corpus.id, timeout=_TIMEOUT)
        if state is None:
            raise CorpusNotFound(Message("There is no corpus {name!r}.", name=corpus.name))
        return state

    async def _copy_tables(
        self,
        connection: Connection,
        corpus: Corpus,
        has_postings: bool,
        progress: Callable[[int], None],
    ) -> None:
        """Fill tables on a worker beside those that are here."""
        document, postings = name_partition(corpus.id), postings_table(corpus.id)
        moving, moving_postings = _MOVING + document, _MOVING + postings
        await connection.execute(_format_statement("create", corpus.id))
        await connection.execute(self._sql["distribute"], moving)
        copy = _format_statement("copy", corpus.id)

        async def send_page(after: int, last: int) -> int:
            status = await connection.execute(copy, after, last, timeout=_TIMEOUT)
            return int(status.rpartition(" ")[2])

        await self._move_pages(connection, corpus, send_page, progress)
        if has_postings:
            create = _format_statement(
                "create", corpus.id, document=postings, moving=moving_postings
            )
            await connection.execute(create)
            await connection.execute(self._sql["distribute_beside"], moving_postings, moving)
            fill = _format_statement("all_postings", corpus.id)
            await connection.execute(fill, timeout=_TIMEOUT)

    async def _move_pages(
        self,
        connection: Connection,
        corpus: Corpus,
        move: Callable[[int, int], Awaitable[int]],
        progress: Callable[[int], None],
    ) -> None:
        """Have `move` do its work for all ids, those above the first to the second at a time."""
        page, after, moved = _format_statement("page", corpus.id), 0, 0
        while last := await connection.fetchval(page, after, _PAGE, timeout=_TIMEOUT):
            moved += await move(after, last)
            after = last
            progress(moved)
