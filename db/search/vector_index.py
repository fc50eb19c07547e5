"""Builds and drops the indexes of vectors, beside searches and whoever stores vectors.

An index is built concurrently: nobody waits for it, and searches compare every vector until it is
valid. What a killed build leaves is dropped and built again. See docs/decisions/0048-index.md.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from db.connection import Connection
from db.lease import Lease, LeaseTimes
from db.pool import Database
from db.statements import statements

logger = logging.getLogger("presagio.vectors")

_LEASE = "index of vectors"
_LONGEST = 24 * 3600.0  # seconds
_LOOK = 1.0  # seconds between two looks at a build that nobody waits for any more
_MEMORY = "SET {local} statement_timeout = 0; SET {local} maintenance_work_mem = '512MB'"


class VectorIndexes:
    """Indexes by name. One is built at a time in a database, by the process that has the lease."""

    def __init__(self, database: Database, times: LeaseTimes | None = None) -> None:
        self._database, self._times = database, times
        self._sql = statements("embeddings")

    async def build(self, name: str, create: str) -> None:
        """Have a valid index of this name; `create` has a place for {concurrently}.

        Returns once there is one, whoever built it. Raises StorageError.
        """
        if await self._is_valid(name):
            return
        async with self._building():
            if self._database.pooled:
                await self._build_at_once(name, create)
            else:
                await self._build_beside(name, create)

    async def drop(self, name: str) -> None:
        """Drop the index if there is one. Raises StorageError."""
        if await self._is_valid(name) is None:
            return
        async with self._building():
            if self._database.pooled:
                async with self._database.connection() as connection:
                    await connection.execute(f"DROP INDEX IF EXISTS {name}")
            else:
                async with self._session() as connection:
                    await self._drop_beside(connection, name)

    async def _build_beside(self, name: str, create: str) -> None:
        async with self._session() as connection:
            while await connection.fetchval(self._sql["is_built"], name):  # noqa: ASYNC110 - only the server knows
                # The server goes on when a process is killed.
                await asyncio.sleep(_LOOK)
            if await self._is_valid(name) is False:
                logger.info("the index %s is incomplete and is built again", name)
                await self._drop_beside(connection, name)
            await connection.execute(create.format(concurrently="CONCURRENTLY"), timeout=_LONGEST)

    async def _build_at_once(self, name: str, create: str) -> None:
        """Build in one transaction, because a pooler's sessions end statements after a while.

        Whoever stores vectors of the model waits.
        """
        async with self._database.transaction() as connection:
            await connection.execute(_MEMORY.format(local="LOCAL"))
            if await self._is_valid(name) is False:
                await connection.execute(f"DROP INDEX IF EXISTS {name}")
            await connection.execute(create.format(concurrently=""), timeout=_LONGEST)

    async def _drop_beside(self, connection: Connection, name: str) -> None:
        await connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}", timeout=_LONGEST)

    async def _is_valid(self, name: str) -> bool | None:
        """Return whether the index is complete, or None if there is none."""
        async with self._database.connection() as connection:
            return cast("bool | None", await connection.fetchval(self._sql["is_valid"], name))

    @asynccontextmanager
    async def _building(self) -> AsyncIterator[None]:
        async with Lease(self._database, _LEASE, times=self._times) as lease:
            while not lease.held:
                await lease.changed()
            yield

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[Connection]:
        """Yield a connection outside the pool whose statements take as long as they need."""
        async with self._database.own_connection() as connection:
            await connection.execute(_MEMORY.format(local=""))
            yield connection
