"""Opens the database, directly or through a pooler: its sessions, transactions and migrations.

Where a URL names several servers, the driver asks them in their order, and with
target_session_attrs=read-write takes the first that writes.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias
from uuid import uuid4

import asyncpg

from db import migrate
from db.connection import (
    DRIVER_ERRORS,
    LOST,
    Connect,
    Connection,
    CountingConnection,
    about_corpus,
    describe_error,
    load_statements,
    mapped_storage_errors,
    storage_error,
    storage_unreachable,
)
from engine.errors import StorageOutdated
from engine.messages import Message
from engine.values import Corpus

# Of the pool, to be given back.
_Lent: TypeAlias = "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"

_CLOSING = 5.0  # seconds
_QUEUE_SECONDS = 10.0  # for a connection, where the server allows fewer than the pool has
_LOOK_AGAIN = 0.25
_GIVING_BACK = 1.0  # seconds to wait for the end of a statement that was given up
# Whatever ends a session's wait is up to the settings of the pool and of the pooler.
_OPTIONAL = frozenset({"application_name", "statement_timeout"})
_SEARCH_PATH = "search_path"
_STATEMENT = "SELECT 'kept by the pooler?'"
_ESCAPES = "write /, #, ? and @ in a password as %XX"
# What a pooler says to whoever asks for settings.
_REFUSED_SETTING = "startup parameter"
# Citus sends no plan for any values to the worker that holds a table. One that does not answer is
# given up soon. Hiding what is on workers from the catalogue would make the driver's question about
# each type of an array last a second.
_WITH_CITUS = """
SELECT set_config('plan_cache_mode', 'force_custom_plan', false),
       set_config('citus.node_connection_timeout', '4s', false),
       set_config('citus.override_table_visibility', 'off', false)
  FROM pg_catalog.pg_extension WHERE extname = 'citus'
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    """Sizes and time limits, in connections and seconds."""

    size: int = 4
    connect_timeout: float = 10.0
    command_timeout: float = 30.0  # the client gives up
    statement_timeout: float = 30.0  # the server gives up: a lost client leaves nothing running
    corpora: int = 50  # that a session may touch before another takes its place


class Database:
    """A pool of connections with the same setup."""

    def __init__(
        self,
        url: str,
        settings: PoolSettings,
        pool: "asyncpg.Pool[asyncpg.Record]",
        connect: Connect,
        *,
        is_pooled: bool,
        keeps_statements: bool,
    ) -> None:
        """`is_pooled` tells whether there is a pooler between here and the server,
        `keeps_statements` whether prepared statements can be used in every session."""
        self.url = url
        self.is_pooled, self.keeps_statements = is_pooled, keeps_statements
        self._settings = settings
        self._pool = pool
        self._connect = connect
        self._queue = asyncio.Lock()  # of those that wait for a connection; it is fair
        self._returned = asyncio.Event()

    @classmethod
    async def open(cls, url: str, settings: PoolSettings | None = None) -> Self:
        """Connect, directly or through a pooler. Raises StorageUnreachable, StorageRights."""
        settings = settings or PoolSettings()
        try:
            url.encode()  # the driver breaks on what it cannot send
            direct = await cls._open_direct(url, settings)
            return direct or await cls._open_behind_pooler(url, settings)
        except (*DRIVER_ERRORS, ValueError) as exc:
            raise _map_connect_error(exc) from exc

    @classmethod
    async def _open_direct(cls, url: str, settings: PoolSettings) -> Self | None:
        """Return None if there is a pooler: it refuses settings, or the server's process is another
        one than the connection was told of."""
        try:
            opened = await cls._open_pool(url, settings, server_settings(settings))
        except asyncpg.ProtocolViolationError as exc:
            if _REFUSED_SETTING not in str(exc):
                raise
            return None
        async with opened._pool.acquire() as connection:
            process = await connection.fetchval("SELECT pg_backend_pid()")
            if connection.get_server_pid() == process:
                return opened
        await opened._pool.close()
        return None

    @classmethod
    async def _open_behind_pooler(cls, url: str, settings: PoolSettings) -> Self:
        options = {"application_name": _application_name()}
        arguments = _build_arguments(settings, options, keeps_statements=False)
        connection = await asyncpg.connect(url, **arguments)
        try:
            kept = await examine_pooler(connection)
        finally:
            await connection.close()
        return await cls._open_pool(url, settings, options, is_pooled=True, keeps_statements=kept)

    @classmethod
    async def _open_pool(
        cls,
        url: str,
        settings: PoolSettings,
        options: Mapping[str, str],
        *,
        is_pooled: bool = False,
        keeps_statements: bool = True,
    ) -> Self:
        arguments = _build_arguments(settings, options, keeps_statements=keeps_statements)
        connect: Any = partial(asyncpg.connect, url, **arguments)
        pool = await asyncpg.create_pool(
            url,
            min_size=1,
            max_size=settings.size,
            init=partial(_prepare_connection, connect),
            connection_class=CountingConnection,
            reset=_left_as_found,
            **arguments,
        )
        return cls(
            url, settings, pool, connect, is_pooled=is_pooled, keeps_statements=keeps_statements
        )

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Yield a connection; driver errors inside the block are raised as StorageError."""
        with mapped_storage_errors():
            connection = await self._lend_connection()
            try:
                yield connection
            except asyncpg.ReadOnlySQLTransactionError:  # it is the primary no more
                await self._pool.expire_connections()
                raise
            finally:
                try:
                    await self._take_back(connection)
                finally:
                    self._returned.set()

    async def _lend_connection(self) -> _Lent:
        """Return a connection of the pool. Where the server allows fewer than the pool has, wait in
        a queue for one that is returned, here or by others. Raises errors of the driver."""
        if not self._queue.locked():
            with suppress(asyncpg.TooManyConnectionsError):
                return await self._pool.acquire()
        refused = asyncpg.TooManyConnectionsError("all are in use")
        try:
            async with asyncio.timeout(_QUEUE_SECONDS), self._queue:
                while True:
                    self._returned.clear()
                    try:
                        return await self._pool.acquire()
                    except asyncpg.TooManyConnectionsError as error:
                        refused = error
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_LOOK_AGAIN):
                            await self._returned.wait()
        except TimeoutError:
            raise refused from None

    async def _take_back(self, connection: _Lent) -> None:
        """Return a session to the pool; end it if it has touched too many corpora.

        It keeps what it knows of their tables until it ends: docs/decisions/0045-many.md. Behind a
        pooler, its sessions do, and the pooler ends them after a while.
        """
        # What is closed already has no corpora any more.
        touched = len(getattr(connection, "corpora", ()))
        if not self.is_pooled and touched > self._settings.corpora:
            await connection.close()
        with suppress(TimeoutError):  # of a server that does not answer: the connection has ended
            await self._pool.release(connection, timeout=_GIVING_BACK)

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
    async def transaction(self, settings: str = "") -> AsyncIterator[Connection]:
        """Yield a connection inside a transaction that commits at the end of the block.

        `settings` are statements (SET LOCAL) to begin with.
        """
        async with self.connection() as connection, connection.transaction():
            if settings:
                await connection.execute(settings)
            yield connection

    async def migrate(self) -> list[str]:
        """Bring the tables up to date and return the names of the migrations that ran."""
        if self.is_pooled:
            async with self.own_connection() as connection:
                settings = await self._adapt_settings(connection)
                await give_role(connection, settings)
                if await _find_lacking(connection, settings):
                    await _renew_session(connection)
        async with self.own_connection() as connection:  # interrupted, it ends with its session
            ran = await migrate.migrate(connection)
            if ran and self.is_pooled:
                await _renew_session(connection)
        return ran

    async def require_current(self) -> None:
        """Raise StorageOutdated if migrations are missing, or settings behind a pooler: searches
        would find other things."""
        async with self.connection() as connection:
            missing = await migrate.check_migrations(connection)
            lacked = (
                await _find_lacking(connection, await self._adapt_settings(connection))
                if self.is_pooled
                else []
            )
        if lacked and (not missing or _SEARCH_PATH in lacked):  # without one, tables are not seen
            raise StorageOutdated(
                Message(
                    "The pooler's sessions lack settings of presagio: {names}.",
                    names=", ".join(lacked),
                ),
                fix=Message(
                    "Run presagio init. If that does not help, write RECONNECT in the pooler's"
                    " console."
                ),
            )
        if missing:
            new = missing == migrate.list_migrations()
            raise StorageOutdated(
                Message("The database is not set up.")
                if new
                else Message("The database was set up by an older version of presagio."),
                fix=Message("Run: presagio init"),
            )

    async def _adapt_settings(self, connection: Connection) -> dict[str, str]:
        """Return the settings that sessions must have on this server: others where Citus is."""
        settings = server_settings(self._settings)
        extension = await connection.fetchval(_WITH_CITUS)
        return {**settings, "plan_cache_mode": extension} if extension else settings

    async def close(self) -> None:
        """Close all connections, giving running statements a few seconds to end."""
        try:
            async with asyncio.timeout(_CLOSING):
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()


def _build_arguments(
    settings: PoolSettings, options: Mapping[str, str], *, keeps_statements: bool
) -> dict[str, Any]:
    """Return the driver's arguments for a connection."""
    arguments = {
        "timeout": settings.connect_timeout,
        "command_timeout": settings.command_timeout,
        "max_cacheable_statement_size": 0,  # no limit: ranking statements are long
        "server_settings": dict(options),
    }
    return arguments if keeps_statements else {**arguments, "statement_cache_size": 0}


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


async def examine_pooler(connection: Connection) -> bool:
    """Return whether a pooler keeps prepared statements: it prepares them in sessions that lack
    them, under names of its own. The connection prepares none by itself."""
    name = f"presagio_{uuid4().hex}"
    async with connection.transaction():
        await connection.prepare(_STATEMENT, name=name)
        rows = await connection.fetch(
            "SELECT name FROM pg_prepared_statements WHERE statement = $1", _STATEMENT
        )
        names = {row["name"] for row in rows}
        if name in names:
            await connection.execute(f"DEALLOCATE {name}")
    return bool(names) and name not in names


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


async def _renew_session(connection: Connection) -> None:
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


async def _find_lacking(connection: Connection, settings: Mapping[str, str]) -> list[str]:
    """Return the names of the settings that have another value in the session."""
    names = [name for name in settings if name not in _OPTIONAL]
    rows = await connection.fetch(
        "SELECT name, current_setting(name, true) AS value FROM unnest($1::text[]) AS name", names
    )
    found = [row["name"] for row in rows if row["value"] != settings[row["name"]]]
    if await connection.fetchval("SELECT current_schema() IS NULL"):  # as pg_dump leaves a session
        found.append(_SEARCH_PATH)
    return found


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


class Store:
    """The base of what runs the statements of one file, `sql`, on some tables.

    Each of the methods here runs one on a connection of its own, about a `corpus` if one is given.
    They raise storage errors.
    """

    _file: ClassVar[str]

    def __init_subclass__(cls, *, sql: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        if sql:
            cls._file = sql

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = load_statements(self._file)

    async def _fetch_rows(
        self, statement: str, *values: Any, corpus: Corpus | None = None
    ) -> list[asyncpg.Record]:
        async with self._database.connection() as connection:
            return await connection.fetch(self._find_statement(statement, corpus), *values)

    async def _fetch_row(self, statement: str, *values: Any) -> asyncpg.Record | None:
        async with self._database.connection() as connection:
            return await connection.fetchrow(self._sql[statement], *values)

    async def _fetch_value(self, statement: str, *values: Any, corpus: Corpus | None = None) -> Any:
        async with self._database.connection() as connection:
            return await connection.fetchval(self._find_statement(statement, corpus), *values)

    async def _execute(self, statement: str, *values: Any) -> str:
        async with self._database.connection() as connection:
            return await connection.execute(self._sql[statement], *values)

    def _find_statement(self, name: str, corpus: Corpus | None) -> str:
        return about_corpus(self._file, name, corpus.id) if corpus else self._sql[name]
