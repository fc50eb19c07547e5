"""Opens the database: a pool of connections, with transactions and migrations on them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, ClassVar, Self

import asyncpg

from db import migrate
from db.connection import Connection, Lent, load_statements, mapped_storage_errors
from db.sessions import (
    SEARCH_PATH,
    PoolSettings,
    Sessions,
    adapt_settings,
    find_lacking,
    give_role,
    refuse_settings,
    renew_session,
    server_settings,
)
from engine.errors import StorageOutdated
from engine.messages import Message

__all__ = ["Database", "PoolSettings", "Store", "server_settings"]

_CLOSING = 5.0  # seconds
_QUEUE_SECONDS = 10.0  # for a connection, where the server allows fewer than the pool has
_LOOK_AGAIN = 0.25


class Database:
    """A pool of connections with the same setup."""

    def __init__(self, url: str, sessions: Sessions, settings: PoolSettings) -> None:
        self.url = url
        self._sessions = sessions
        self._settings = settings
        self.pooler = sessions.pooler  # what is in between: see db.sessions
        self._queue = asyncio.Lock()  # of those that wait for a connection; it is fair
        self._returned = asyncio.Event()

    @classmethod
    async def open(cls, url: str, settings: PoolSettings | None = None) -> Self:
        """Connect, directly or through a pooler. Raises StorageUnreachable, StorageRights."""
        settings = settings or PoolSettings()
        return cls(url, await Sessions.open(url, settings), settings)

    @property
    def is_pooled(self) -> bool:
        """True if there is a pooler between here and the server."""
        return self.pooler is not None

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Yield a connection; driver errors inside the block are raised as StorageError."""
        with mapped_storage_errors():
            connection = await self._lend_connection()
            try:
                yield connection
            except asyncpg.ReadOnlySQLTransactionError:  # it is the primary no more
                await self._sessions.pool.expire_connections()
                raise
            finally:
                try:
                    await self._sessions.give_back(connection)
                finally:
                    self._returned.set()

    async def _lend_connection(self) -> Lent:
        """Return a connection of the pool. Where the server allows fewer than the pool has, wait in
        a queue for one that is returned. Raises errors of the driver."""
        if not self._queue.locked():
            with suppress(asyncpg.TooManyConnectionsError):
                return await self._sessions.pool.acquire()
        refused = asyncpg.TooManyConnectionsError("all are in use")
        try:
            async with asyncio.timeout(_QUEUE_SECONDS), self._queue:
                while True:
                    self._returned.clear()
                    try:
                        return await self._sessions.pool.acquire()
                    except asyncpg.TooManyConnectionsError as error:
                        refused = error
                    await self._wait_for_return()
        except TimeoutError:
            raise refused from None

    async def _wait_for_return(self) -> None:
        """Wait for a connection of this pool, or for a while: others may return one of theirs."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_AGAIN):
                await self._returned.wait()

    @asynccontextmanager
    async def own_connection(self) -> AsyncIterator[Connection]:
        """Yield a connection outside the pool, for long use; its session ends with the block."""
        with mapped_storage_errors():
            connection = await self._sessions.connect()
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
            await self._ready_behind_pooler()
        async with self.own_connection() as connection:  # interrupted, it ends with its session
            ran = await migrate.migrate(connection)
            if ran and self.is_pooled:
                await renew_session(connection)
        return ran

    async def _ready_behind_pooler(self) -> None:
        async with self.own_connection() as connection:
            settings = await adapt_settings(connection, server_settings(self._settings))
            await give_role(connection, settings)
            if await find_lacking(connection, settings):
                await renew_session(connection)

    async def require_current(self) -> None:
        """Raise StorageOutdated if migrations are missing, or settings behind a pooler."""
        async with self.connection() as connection:
            missing = await migrate.check_migrations(connection)
            if self.is_pooled:
                needed = await adapt_settings(connection, server_settings(self._settings))
                lacked = await find_lacking(connection, needed)
                if not missing or SEARCH_PATH in lacked:  # without one, tables are not seen
                    refuse_settings(lacked)
        if missing:
            new = missing == migrate.list_migrations()
            raise StorageOutdated(
                Message("The database is not set up.")
                if new
                else Message("The database was set up by an older version of presagio."),
                fix=Message("Run: presagio init"),
            )

    async def close(self) -> None:
        """Close all connections, giving running statements a few seconds to end."""
        try:
            async with asyncio.timeout(_CLOSING):
                await self._sessions.pool.close()
        except TimeoutError:
            self._sessions.pool.terminate()


class Store:
    """The base of what runs the statements of one file, `sql`, on some tables.

    Each of the methods here runs one on a connection of its own. They raise storage errors.
    """

    _file: ClassVar[str]

    def __init_subclass__(cls, *, sql: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        if sql:
            cls._file = sql

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = load_statements(self._file)

    async def _fetch_rows(self, statement: str, *values: Any) -> list[asyncpg.Record]:
        async with self._database.connection() as connection:
            return await connection.fetch(self._sql[statement], *values)

    async def _fetch_row(self, statement: str, *values: Any) -> asyncpg.Record | None:
        async with self._database.connection() as connection:
            return await connection.fetchrow(self._sql[statement], *values)

    async def _fetch_value(self, statement: str, *values: Any) -> Any:
        async with self._database.connection() as connection:
            return await connection.fetchval(self._sql[statement], *values)

    async def _execute(self, statement: str, *values: Any) -> str:
        async with self._database.connection() as connection:
            return await connection.execute(self._sql[statement], *values)
