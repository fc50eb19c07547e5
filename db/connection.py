"""The types of a connection, from the pool or opened separately, and of what reads."""

from typing import Any, Protocol, TypeAlias

import asyncpg

Connection: TypeAlias = (
    "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
)

# One of a pool, to be given back.
Lent: TypeAlias = "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"


class Fetches(Protocol):
    """What reads with single statements: a connection, or a reader of db.replicas."""

    async def fetch(self, query: str, /, *args: object) -> list[asyncpg.Record]:
        """Return the rows."""

    async def fetchrow(self, query: str, /, *args: object) -> asyncpg.Record | None:
        """Return the first row, or None."""

    async def fetchval(self, query: str, /, *args: object) -> Any:
        """Return the first value of the first row, or None."""
