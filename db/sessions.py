"""Opens sessions, directly or through a pooler, with the settings that all have.

Where a URL names several servers, the driver asks them in their order, and with
target_session_attrs=read-write takes the first that writes.

A connection counts the corpora it touches, and says which worker keeps a statement waiting:
PostgreSQL does not give up a worker of Citus that hangs, and Citus seldom names one that was lost.
docs/decisions/0063-placed.md
"""

import asyncio
import os
import re
import socket
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar
from uuid import uuid4

import asyncpg

from db.connection import (
    DRIVER_ERRORS,
    INTERRUPTED,
    LOST,
    REFUSED_SETTING,
    Connection,
    Lent,
    describe_error,
    find_worker,
    load_statements,
    storage_error,
    storage_unreachable,
)
from engine.errors import StorageInterrupted, StorageOutdated
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
        except DRIVER_ERRORS as error:
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
        with suppress(*DRIVER_ERRORS):
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


# Whatever ends a session's wait is up to the settings of the pool and of the pooler.
_OPTIONAL = frozenset({"application_name", "statement_timeout"})
SEARCH_PATH = "search_path"
_STATEMENT = "SELECT 'kept by the pooler?'"
_ESCAPES = "write /, #, ? and @ in a password as %XX"
_GIVING_BACK = 1.0  # seconds to wait for the end of a statement that was given up
# Citus sends no plan for any values to the worker that holds a table. One that does not answer is
# given up soon. Hiding what is on workers from the catalogue would make the driver's question about
# each type of an array last a second.
_WITH_CITUS = """
SELECT set_config('plan_cache_mode', 'force_custom_plan', false),
       set_config('citus.node_connection_timeout', '4s', false),
       set_config('citus.override_table_visibility', 'off', false)
  FROM pg_catalog.pg_extension WHERE extname = 'citus'
"""


@dataclass(frozen=True, slots=True)
class Pooler:
    """What is known about a pooler."""

    # Prepared statements can be used in every session: it prepares them where they are missing.
    keeps_statements: bool = False


async def is_pooled(connection: Connection) -> bool:
    """Return True if the server's process is another one than the connection was told of."""
    return bool(connection.get_server_pid() != await connection.fetchval("SELECT pg_backend_pid()"))


async def examine_pooler(connection: Connection) -> Pooler:
    """Return what a connection that prepares no statements by itself tells about the pooler.

    A pooler that keeps prepared statements gives them names of its own.
    """
    name = f"presagio_{uuid4().hex}"
    async with connection.transaction():
        await connection.prepare(_STATEMENT, name=name)
        rows = await connection.fetch(
            "SELECT name FROM pg_prepared_statements WHERE statement = $1", _STATEMENT
        )
        names = {row["name"] for row in rows}
        if name in names:
            await connection.execute(f"DEALLOCATE {name}")
    return Pooler(keeps_statements=bool(names) and name not in names)


async def give_role(connection: Connection, settings: Mapping[str, str]) -> None:
    """Make settings those of new sessions of this role in this database."""
    for name, value in settings.items():
        if name == "application_name":
            continue
        statement = await connection.fetchval(
            "SELECT format('ALTER ROLE CURRENT_USER IN DATABASE %I SET %s = %L',"
            " current_database(), $1::text, $2::text)",
            name,
            value,
        )
        await connection.execute(statement)


async def renew_session(connection: Connection) -> None:
    """End the idle sessions that presagio used, and this one: new ones have the role's settings.

    They also know the tables as they are now.
    """
    await connection.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND usename = current_user AND state = 'idle'"
        " AND application_name ~ '^presagio [0-9]+$' AND pid <> pg_backend_pid()"
    )
    with suppress(asyncpg.OperatorInterventionError, *LOST):
        await connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")


async def find_lacking(connection: Connection, settings: Mapping[str, str]) -> list[str]:
    """Return the names of the settings that have another value in the session."""
    names = [name for name in settings if name not in _OPTIONAL]
    rows = await connection.fetch(
        "SELECT name, current_setting(name, true) AS value FROM unnest($1::text[]) AS name", names
    )
    found = [row["name"] for row in rows if row["value"] != settings[row["name"]]]
    if await connection.fetchval("SELECT current_schema() IS NULL"):  # as pg_dump leaves a session
        found.append(SEARCH_PATH)
    return found


def refuse_settings(names: list[str]) -> None:
    """Raise StorageOutdated if settings are lacking: searches would find other things."""
    if names:
        raise StorageOutdated(
            Message(
                "The pooler's sessions lack settings of presagio: {names}.", names=", ".join(names)
            ),
            fix=Message(
                "Run presagio init. If that does not help, write RECONNECT in the pooler's console."
            ),
        )


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
    """A pool of sessions, and a way to begin one outside it."""

    pool: "asyncpg.Pool[asyncpg.Record]"
    connect: Connect
    pooler: Pooler | None = None  # what is in between
    corpora: int  # that a session may touch

    async def give_back(self, connection: Lent) -> None:
        """Return a session to the pool; end it if it has touched too many corpora.

        It keeps what it knows of their tables until it ends: docs/decisions/0045-many.md. Behind a
        pooler, its sessions do, and the pooler ends them after a while.
        """
        # What is closed already has no corpora any more.
        if self.pooler is None and len(getattr(connection, "corpora", ())) > self.corpora:
            await connection.close()
        with suppress(TimeoutError):  # of a server that does not answer: the connection has ended
            await self.pool.release(connection, timeout=_GIVING_BACK)

    @classmethod
    async def open(cls, url: str, settings: PoolSettings) -> Self:
        """Connect, directly or through a pooler. Raises StorageUnreachable, StorageRights."""
        try:
            url.encode()  # the driver breaks on what it cannot send
            try:
                return await cls._open_direct_sessions(url, settings)
            except _Pooled:
                return await cls._open_pooled_sessions(url, settings)
        except (*DRIVER_ERRORS, ValueError) as exc:
            raise _map_connect_error(exc) from exc

    @classmethod
    async def _open_direct_sessions(cls, url: str, settings: PoolSettings) -> Self:
        with _refused_settings():
            opened = await cls._open_pool(
                url, settings, _build_arguments(settings, server_settings(settings))
            )
        async with opened.pool.acquire() as connection:
            pooled = await is_pooled(connection)
        if pooled:
            await opened.pool.close()
            raise _Pooled
        return opened

    @classmethod
    async def _open_pooled_sessions(cls, url: str, settings: PoolSettings) -> Self:
        connection = await asyncpg.connect(url, **_arguments_behind(settings, Pooler()))
        try:
            pooler = await examine_pooler(connection)
        finally:
            await connection.close()
        return await cls._open_pool(url, settings, _arguments_behind(settings, pooler), pooler)

    @classmethod
    async def _open_pool(
        cls,
        url: str,
        settings: PoolSettings,
        arguments: dict[str, Any],
        pooler: Pooler | None = None,
    ) -> Self:
        begin: Any = partial(asyncpg.connect, url, **arguments)
        pool = await asyncpg.create_pool(
            url,
            min_size=1,
            max_size=settings.size,
            init=partial(_prepare_connection, begin),
            connection_class=CountingConnection,
            reset=_left_as_found,
            **arguments,
        )
        return cls(pool=pool, connect=begin, pooler=pooler, corpora=settings.corpora)


class _Pooled(Exception):
    """There is a pooler between here and the server."""


@contextmanager
def _refused_settings() -> Iterator[None]:
    """Raise _Pooled if the settings of a session are refused, as poolers do."""
    try:
        yield
    except asyncpg.ProtocolViolationError as exc:
        if REFUSED_SETTING not in str(exc):
            raise
        raise _Pooled from exc


def _build_arguments(settings: PoolSettings, options: Mapping[str, str]) -> dict[str, Any]:
    """Return the driver's arguments for a connection."""
    return {
        "timeout": settings.connect_timeout,
        "command_timeout": settings.command_timeout,
        "max_cacheable_statement_size": 0,  # no limit: ranking statements are long
        "server_settings": dict(options),
    }


def _arguments_behind(settings: PoolSettings, pooler: Pooler) -> dict[str, Any]:
    arguments = _build_arguments(settings, {"application_name": _application_name()})
    if not pooler.keeps_statements:
        arguments["statement_cache_size"] = 0
    return arguments


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


async def adapt_settings(connection: Connection, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that sessions must have on this server: others where Citus is."""
    extension = await connection.fetchval(_WITH_CITUS)
    return {**settings, "plan_cache_mode": extension} if extension else dict(settings)


async def _left_as_found(_: Connection) -> None:
    """Skip the reset when a connection is returned: it costs a round trip after every statement.

    Code that changes more than a transaction does (settings, locks, cursors, listening) must open
    its own connection. An open transaction is rolled back all the same.
    """


async def _prepare_connection(begin: Connect, connection: CountingConnection) -> None:
    if await connection.fetchval(_WITH_CITUS):
        connection.connect = begin
    # Bound as parsed values: a text cast to tsquery would be parsed again for every row.
    await connection.set_type_codec(
        "tsquery", schema="pg_catalog", encoder=str, decoder=str, format="text"
    )


def _map_connect_error(error: Exception) -> Exception:
    if isinstance(error, asyncpg.PostgresConnectionError):
        return storage_unreachable(str(error))
    if isinstance(error, asyncpg.PostgresError | asyncpg.TargetServerAttributeNotMatched):
        return storage_error(error)
    if isinstance(error, ValueError | OverflowError):  # it may quote the URL with its password
        port = "a port is a number from 1 to 65535"
        sense = f"the address makes no sense; {_ESCAPES}"
        return storage_unreachable(port if isinstance(error, OverflowError) else sense)
    if isinstance(error, socket.gaierror):  # what it looked for may be a part of the password
        return storage_unreachable(f"{describe_error(error)}; {_ESCAPES}")
    if isinstance(error, asyncpg.InternalClientError):
        return storage_unreachable("what answered there does not speak as PostgreSQL does")
    return storage_unreachable(describe_error(error))
