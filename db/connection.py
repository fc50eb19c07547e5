"""The types of a connection, from the pool or opened separately, and of what reads."""

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import asyncpg

if TYPE_CHECKING:  # not generic at run time
    _Connection = asyncpg.Connection[asyncpg.Record]
else:
    _Connection = asyncpg.Connection

_TABLES = re.compile(r"\b(?:document|postings)_(\d+)\b")

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


class CountingConnection(_Connection):
    """A connection that knows the corpora whose tables it has read or written by name."""

    __slots__ = ("corpora",)

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.corpora: set[int] = set()

    async def execute(self, query: str, *args: Any, **keywords: Any) -> str:
        """Execute a statement, as its base does."""
        self.corpora |= _corpora_in(query)
        return await super().execute(query, *args, **keywords)

    async def fetch(self, query: str, *args: Any, **keywords: Any) -> Any:
        """Return rows, as its base does."""
        self.corpora |= _corpora_in(query)
        return await super().fetch(query, *args, **keywords)

    async def fetchrow(self, query: str, *args: Any, **keywords: Any) -> Any:
        """Return a row, as its base does."""
        self.corpora |= _corpora_in(query)
        return await super().fetchrow(query, *args, **keywords)

    async def fetchval(self, query: str, *args: Any, **keywords: Any) -> Any:
        """Return a value, as its base does."""
        self.corpora |= _corpora_in(query)
        return await super().fetchval(query, *args, **keywords)


@lru_cache(maxsize=1024)
def _corpora_in(statement: str) -> frozenset[int]:
    return frozenset(map(int, _TABLES.findall(statement)))
