"""The type of a connection, lent by the pool or opened alone."""

from typing import TypeAlias

import asyncpg

Connection: TypeAlias = (
    "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
)
