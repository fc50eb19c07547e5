"""Connections that count the corpora they touch, and say which worker keeps a statement waiting.

PostgreSQL does not give up a worker of Citus that hangs, and Citus seldom names one that was lost.
docs/decisions/0063-placed.md
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import asyncpg

from db.connection import FOREIGN, INTERRUPTED, find_worker, load_statements
from engine.errors import StorageInterrupted
from engine.messages import Message

if TYPE_CHECKING:  # not generic at run time
    _Connection = asyncpg.Connection[asyncpg.Record]
else:
    _Connection = asyncpg.Connection

Connect: TypeAlias = Callable[[], Awaitable["asyncpg.Connection[asyncpg.Record]"]]

_T = TypeVar("_T")
_TABLES = re.compile(r"\b(?:document|postings)_(\d+)\b")
_COMMIT = "COMMIT;"  # as the driver ends transactions
_PATIENCE = 1.5  # seconds until workers are asked whether they are there
_ANSWER = "SET citus.node_connection_timeout = '3s'"


class CountingConnection(_Connection):
    """A connection that knows the corpora whose tables it has read or written by name."""

    __slots__ = ("_lost", "connect", "corpora")

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.corpora: set[int] = set()
        self.connect: Connect | None = None  # begins another session; None where no workers are
        self._lost: StorageInterrupted | None = None

    async def execute(self, query: str, *args: Any, **keywords: Any) -> str:
        """Execute a statement, as its base does."""
        return await self._watch_statement(
            query, partial(super().execute, query, *args, **keywords)
        )

    async def fetch(self, query: str, *args: Any, **keywords: Any) -> Any:
        """Return rows, as its base does."""
        return await self._watch_statement(query, partial(super().fetch, query, *args, **keywords))

    async def fetchrow(self, query: str, *args: Any, **keywords: Any) -> Any:
        """Return a row, as its base does."""
        return await self._watch_statement(
            query, partial(super().fetchrow, query, *args, **keywords)
        )

    async def fetchval(self, query: str, *args: Any, **keywords: Any) -> Any:
        """Return a value, as its base does."""
        return await self._watch_statement(
            query, partial(super().fetchval, query, *args, **keywords)
        )

    async def _watch_statement(self, statement: str, ask: Callable[[], Awaitable[_T]]) -> _T:
        """Return the answer to a statement.

        Raises StorageInterrupted if a worker does not answer, from then on for every statement
        if it hangs; and errors of the driver.
        """
        named = _corpora_in(statement)
        self.corpora |= named
        if self._lost:
            raise self._lost
        touched = self.corpora if statement == _COMMIT else named
        if not touched or self.connect is None:
            return await ask()
        watch = asyncio.create_task(self._watch_workers(touched))
        try:
            return await ask()
        except FOREIGN as error:
            if lost := self._lost or await self._explain_error(error, touched):
                raise lost from error
            raise
        finally:
            watch.cancel()

    async def _watch_workers(self, corpora: Collection[int]) -> None:
        """Drop the connection as soon as a worker that holds one of `corpora` does not answer.

        Its session waits for the worker, and could not even be told to give up.
        """
        while self._lost is None:
            await asyncio.sleep(_PATIENCE)
            self._lost = await self._find_lost(corpora)
        self.terminate()

    async def _explain_error(
        self, error: BaseException, corpora: Collection[int]
    ) -> StorageInterrupted | None:
        may_be_workers = isinstance(error, (*INTERRUPTED, asyncpg.InternalServerError))
        if self.is_closed() or not may_be_workers:
            return None
        return await self._find_lost(corpora, find_worker(error))

    async def _find_lost(
        self, corpora: Collection[int], worker: str | None = None
    ) -> StorageInterrupted | None:
        """Return the error that names a corpus and its worker, which is `worker` or is silent."""
        if self.connect is None:
            return None
        with suppress(*FOREIGN):
            session = await self.connect()
            try:
                await session.execute(_ANSWER)
                silent = load_statements("placement")["silent"]
                row = await session.fetchrow(silent, f"{{{','.join(map(str, corpora))}}}", worker)
            finally:
                session.terminate()
            if row:
                return StorageInterrupted(
                    Message("The worker {worker}, which holds {name}, does not answer.", **row),
                    fix=Message("{name} can be used again as soon as it does.", name=row["name"]),
                )
        return None


@lru_cache(maxsize=1024)
def _corpora_in(statement: str) -> frozenset[int]:
    return frozenset(map(int, _TABLES.findall(statement)))
