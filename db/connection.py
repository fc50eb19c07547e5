"""The types of a connection, from the pool or opened separately, and of what reads."""

import re
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import asyncpg

_HEADER = re.compile(r"^-- name: (\w+)(?:\([^)]*\))?\n", re.MULTILINE)


@cache
def statements(file: str) -> dict[str, str]:
    """Return the statements of `db/sql/<file>.sql` by name."""
    text = (files("db") / "sql" / f"{file}.sql").read_text(encoding="utf-8")
    _, *parts = _HEADER.split(text)
    return {name: body.strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}


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
