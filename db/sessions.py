"""Opens sessions on one server, directly or through a pooler, with the settings that all have."""

import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import asyncpg

from db.connection import Connection, CountingConnection, Lent
from db.errors import storage_error, storage_unreachable
from db.pooler import is_pooled

_ERRNO = re.compile(r"\[Errno -?\d+\] ")
_CONNECT_FAILED = re.compile(r"^\[Errno \d+\] Connect call failed \('([^']+)', (\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    """Sizes and time limits, in connections and seconds."""

    size: int = 4
    connect_timeout: float = 10.0
    command_timeout: float = 30.0  # the client gives up
    statement_timeout: float = 30.0  # the server gives up: a lost client leaves nothing running
    corpora: int = 50  # that a session may touch before another takes its place


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    """A pool of sessions on one server, and a way to begin one outside it."""

    pool: "asyncpg.Pool[asyncpg.Record]"
    connect: Callable[[], Awaitable["asyncpg.Connection[asyncpg.Record]"]]
    pooled: bool  # by a pooler in between: see db.pooler
    corpora: int  # that a session may touch

    async def give_back(self, connection: Lent) -> None:
        """Return a session to the pool; end it if it has touched too many corpora.

        It keeps what it knows of their tables until it ends: docs/decisions/0045-many.md. Behind a
        pooler, its sessions do, and the pooler ends them after a while.
        """
        # What is closed already has no corpora any more.
        if not self.pooled and len(getattr(connection, "corpora", ())) > self.corpora:
            await connection.close()
        await self.pool.release(connection)

    @classmethod
    async def open(cls, url: str, settings: PoolSettings, *, read_only: bool = False) -> Self:
        """Connect, directly or through a pooler. Raises StorageUnreachable, StorageRights.

        Sessions that only read are begun when they are used, and not renewed when they are lost.
        """
        asked, at_once = server_settings(settings), 1
        if read_only:
            at_once = 0
            asked["default_transaction_read_only"] = "on"
        try:
            try:
                return await cls._open(url, settings, asked, at_once, pooled=False)
            except _Pooled:
                return await cls._open(url, settings, asked, at_once, pooled=True)
        except (
            asyncpg.PostgresError,
            asyncpg.InterfaceError,
            asyncpg.InternalClientError,
            ValueError,
            OSError,
        ) as exc:
            raise _unreachable(exc) from exc

    @classmethod
    async def later(cls, url: str, settings: PoolSettings) -> Self:
        """Return sessions on a server that does not answer yet: each connects when it is used.

        Whether a pooler is in between cannot be known; none is assumed.
        """
        return await cls._pool(url, settings, server_settings(settings), 0, pooled=False)

    @classmethod
    async def _open(
        cls, url: str, settings: PoolSettings, asked: dict[str, str], at_once: int, *, pooled: bool
    ) -> Self:
        try:
            opened = await cls._pool(url, settings, asked, at_once, pooled=pooled)
        except asyncpg.ProtocolViolationError as exc:
            if pooled or "startup parameter" not in str(exc):
                raise
            raise _Pooled from exc
        if not pooled:
            async with opened.pool.acquire() as connection:
                pooled_unasked = await is_pooled(connection)
            if pooled_unasked:
                opened.pool.terminate()
                raise _Pooled
        return opened

    @classmethod
    async def _pool(
        cls, url: str, settings: PoolSettings, asked: dict[str, str], at_once: int, *, pooled: bool
    ) -> Self:
        connecting: dict[str, Any] = {
            "timeout": settings.connect_timeout,
            "command_timeout": settings.command_timeout,
            "server_settings": asked,
        }
        if pooled:
            connecting["server_settings"] = {"application_name": _application_name()}
            connecting["statement_cache_size"] = 0
        pool = await asyncpg.create_pool(
            url,
            min_size=at_once,
            max_size=settings.size,
            init=_prepare,
            connection_class=CountingConnection,
            max_cacheable_statement_size=0,  # no limit: ranking statements are long
            reset=_left_as_found,
            **connecting,
        )
        connect = partial(asyncpg.connect, url, **connecting)
        return cls(pool=pool, connect=connect, pooled=pooled, corpora=settings.corpora)


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
