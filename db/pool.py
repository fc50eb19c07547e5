"""Opens connections to PostgreSQL."""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import asyncpg

from db import migrate
from db.connection import Connection
from db.errors import mapped_storage_errors, storage_error, storage_unreachable
from db.pooler import give_role, is_pooled, lacking, refuse
from engine.errors import StorageOutdated
from engine.messages import Message

_CLOSING = 5.0  # seconds
_ERRNO = re.compile(r"\[Errno -?\d+\] ")
_CONNECT_FAILED = re.compile(r"^\[Errno \d+\] Connect call failed \('([^']+)', (\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    """Sizes and time limits, in connections and seconds."""

    size: int = 4
    connect_timeout: float = 10.0
    command_timeout: float = 30.0  # the client gives up
    statement_timeout: float = 30.0  # the server gives up: a lost client leaves nothing running


class Database:
    """A pool of connections with the same setup."""

    def __init__(
        self,
        pool: "asyncpg.Pool[asyncpg.Record]",
        connect: Callable[[], Awaitable["asyncpg.Connection[asyncpg.Record]"]],
        settings: PoolSettings,
        *,
        pooled: bool,
    ) -> None:
        self._pool = pool
        self._connect = connect
        self._settings = settings
        self.pooled = pooled  # by a pooler in between: see db.pooler

    @classmethod
    async def open(cls, url: str, settings: PoolSettings | None = None) -> Self:
        """Connect, directly or through a pooler. Raises StorageUnreachable, StorageRights."""
        settings = settings or PoolSettings()
        try:
            return await cls._open(url, settings, pooled=False)
        except _Pooled:
            return await cls._open(url, settings, pooled=True)
        except (
            asyncpg.PostgresError,
            asyncpg.InterfaceError,
            asyncpg.InternalClientError,
            ValueError,
            OSError,
        ) as exc:
            raise _unreachable(exc) from exc

    @classmethod
    async def _open(cls, url: str, settings: PoolSettings, *, pooled: bool) -> Self:
        connecting: dict[str, Any] = {
            "timeout": settings.connect_timeout,
            "command_timeout": settings.command_timeout,
            "server_settings": server_settings(settings),
        }
        if pooled:
            connecting["server_settings"] = {"application_name": _application_name()}
            connecting["statement_cache_size"] = 0
        try:
            pool = await asyncpg.create_pool(
                url,
                min_size=1,
                max_size=settings.size,
                init=_prepare,
                max_cacheable_statement_size=0,  # no limit: ranking statements are long
                reset=_left_as_found,
                **connecting,
            )
        except asyncpg.ProtocolViolationError as exc:
            if pooled or "startup parameter" not in str(exc):
                raise
            raise _Pooled from exc
        if not pooled:
            async with pool.acquire() as connection:
                pooled_unasked = await is_pooled(connection)
            if pooled_unasked:
                pool.terminate()
                raise _Pooled
        connect = partial(asyncpg.connect, url, **connecting)
        return cls(pool, connect, settings, pooled=pooled)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Yield a connection; driver errors inside the block are raised as StorageError."""
        with mapped_storage_errors():
            async with self._pool.acquire() as connection:
                yield connection

    @asynccontextmanager
    async def own_connection(self) -> AsyncIterator[Connection]:
        """Yield a connection outside the pool, for long use; its session ends with the block."""
        with mapped_storage_errors():
            connection = await self._connect()
            try:
                yield connection
            finally:
                connection.terminate()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Yield a connection inside a transaction that commits at the end of the block."""
        async with self.connection() as connection, connection.transaction():
            yield connection

    async def migrate(self) -> list[str]:
        """Bring the tables up to date and return the names of the migrations that ran."""
        async with self.own_connection() as connection:  # interrupted, it ends with its session
            if self.pooled:
                await give_role(connection, server_settings(self._settings))
            return await migrate.migrate(connection)

    async def require_current(self) -> None:
        """Raise StorageOutdated if migrations are missing, or settings behind a pooler."""
        async with self.connection() as connection:
            missing = await migrate.check(connection)
            if self.pooled and not missing:
                refuse(await lacking(connection, server_settings(self._settings)))
        if missing:
            new = missing == migrate.available()
            raise StorageOutdated(
                Message("The database is not set up.")
                if new
                else Message("The database was set up by an older version of presagio."),
                fix=Message("Run: presagio init"),
            )

    async def close(self) -> None:
        """Close all connections, giving running statements a few seconds to end."""
        try:
            await asyncio.wait_for(self._pool.close(), timeout=_CLOSING)
        except TimeoutError:
            self._pool.terminate()


class _Pooled(Exception):
    """There is a pooler between here and the server."""


def _application_name() -> str:
    return f"presagio {os.getpid()}"


def server_settings(settings: PoolSettings) -> dict[str, str]:
    """Return the settings that every session must have."""
    return {
        "application_name": _application_name(),
        "statement_timeout": str(int(settings.statement_timeout * 1000)),
        # One plan per connection: see docs/decisions/0004-retrieval.md.
        "plan_cache_mode": "force_generic_plan",
        "jit": "off",
        # Starting a worker takes as long as a search, and other searches need its core.
        "max_parallel_workers_per_gather": "0",
        # The similarity from which a word is a neighbour of an unknown one: see db/sql/search.sql.
        "pg_trgm.similarity_threshold": "0.55",
    }


async def _left_as_found(_: Connection) -> None:
    """Skip the reset when a connection is returned: it costs a round trip after every statement.

    Code that changes more than a transaction does (settings, locks, cursors, listening) must open
    its own connection. An open transaction is rolled back all the same.
    """


async def _prepare(connection: Connection) -> None:
    # Bound as parsed values: a text cast to tsquery would be parsed again for every row.
    await connection.set_type_codec(
        "tsquery", schema="pg_catalog", encoder=str, decoder=str, format="text"
    )


def _unreachable(error: Exception) -> Exception:
    if isinstance(error, asyncpg.PostgresError):
        return storage_error(error)
    if isinstance(error, ValueError):  # it may quote the URL with its password
        return storage_unreachable(
            "the address makes no sense; write /, #, ? and @ in a password as %XX"
        )
    if isinstance(error, asyncpg.InternalClientError):
        return storage_unreachable("what answered there does not speak as PostgreSQL does")
    return storage_unreachable(_told(error))


def _told(error: Exception) -> str:
    """Return what an error says, without its number: "connection refused at 127.0.0.1:5432"."""
    found = _CONNECT_FAILED.search(str(error))
    if found and isinstance(error, OSError) and error.errno:
        return f"{os.strerror(error.errno).lower()} at {found[1]}:{found[2]}"
    return _ERRNO.sub("", str(error)) or type(error).__name__
