"""Opens the database: its primary, and the standbys that are read in its place."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Self, TypeVar

import asyncpg

from db import migrate
from db.connection import FOREIGN, Connection, Lent, load_statements, mapped_storage_errors
from db.replicas import Primary, Replicas, ReplicaState, Replication, Server
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
from engine.errors import StorageOutdated, StorageUnreachable
from engine.messages import Message

__all__ = ["Database", "PoolSettings", "Replication", "Store", "server_settings"]

_CLOSING = 5.0  # seconds
_T = TypeVar("_T")


class FallbackReader:
    """Sends statements to the first of its servers that answers, and stays with it.

    Each statement must only read and be a transaction of its own, so that it can be repeated. An
    error is raised if no other server may answer; it is then the last server's.
    """

    def __init__(self, servers: Sequence[Server]) -> None:
        self._servers = list(servers)
        self._connection: Lent | None = None

    async def fetch(self, statement: str, *values: object, local: str = "") -> list[asyncpg.Record]:
        """Return the rows of a statement; `local` is executed before it in its transaction."""

        async def ask(connection: Lent) -> list[asyncpg.Record]:
            if not local:
                return await connection.fetch(statement, *values)
            async with connection.transaction():
                await connection.execute(local)
                return await connection.fetch(statement, *values)

        return await self._answer_first(ask)

    async def fetchrow(self, statement: str, *values: object) -> asyncpg.Record | None:
        """Return the first row of a statement, or None."""
        return await self._answer_first(lambda connection: connection.fetchrow(statement, *values))

    async def fetchval(self, statement: str, *values: object) -> Any:
        """Return the first value of the first row, or None."""
        return await self._answer_first(lambda connection: connection.fetchval(statement, *values))

    async def close(self) -> None:
        """Return the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await self._servers[0].take_back(connection)

    async def _answer_first(self, ask: Callable[[Lent], Awaitable[_T]]) -> _T:
        while True:
            try:
                if self._connection is None:
                    last = len(self._servers) == 1
                    self._connection = await self._servers[0].lend(last=last)
                return await ask(self._connection)
            except FOREIGN as error:
                connected = self._connection is not None
                passed_on = self._servers[0].passes_on(error, connected=connected)
                if not passed_on or len(self._servers) == 1:
                    raise
            await self.close()
            del self._servers[0]


class Database:
    """A pool of connections with the same setup, and the standbys if there are any."""

    def __init__(
        self, sessions: Sessions, settings: PoolSettings, replicas: Replicas | None = None
    ) -> None:
        self._sessions = sessions
        self._primary = Primary(sessions)
        self._settings = settings
        self._replicas = replicas
        self.pooler = sessions.pooler  # what is in between: see db.sessions

    @classmethod
    async def open(
        cls, url: str, settings: PoolSettings | None = None, replication: Replication | None = None
    ) -> Self:
        """Connect, directly or through a pooler, and to the standbys.

        With standbys, a primary that does not answer is no error until something is written. Raises
        StorageUnreachable, StorageRights.
        """
        settings = settings or PoolSettings()
        if replication is None or not replication.urls:
            return cls(await Sessions.open(url, settings), settings)
        lost = False
        try:
            sessions = await Sessions.open(url, settings)
        except StorageUnreachable:
            sessions, lost = await Sessions.later(url, settings), True
        replicas = Replicas(sessions, settings, replication)
        if lost:
            replicas.lost_primary()
        await replicas.start()
        return cls(sessions, settings, replicas)

    @property
    def is_pooled(self) -> bool:
        """True if there is a pooler between here and the server."""
        return self.pooler is not None

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Yield a connection; driver errors inside the block are raised as StorageError."""
        with mapped_storage_errors():
            connection = await self._primary.lend()
            try:
                yield connection
            except asyncpg.ReadOnlySQLTransactionError:  # it is the primary no more
                await self._sessions.pool.expire_connections()
                raise
            finally:
                await self._primary.take_back(connection)

    @asynccontextmanager
    async def read_anywhere(self, *, latest: bool = False) -> AsyncIterator[FallbackReader]:
        """Yield a reader of a standby, or of the primary if none is fit for it.

        With `latest`, what was just stored is read: from the primary, unless it is lost. Each
        statement is a transaction of its own, and repeated elsewhere if its server fails. Driver
        errors inside the block are raised as StorageError.
        """
        replicas = self._replicas
        reader = FallbackReader(replicas.servers(latest=latest) if replicas else [self._primary])
        with mapped_storage_errors():
            try:
                yield reader
            finally:
                await reader.close()

    def note_change(self) -> None:
        """Have this process read what it stored until now, also from standbys."""
        if self._replicas:
            self._replicas.note_change()

    def replicas(self) -> list[ReplicaState]:
        """Return what is known about each standby."""
        return self._replicas.states() if self._replicas else []

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
    async def transaction(self) -> AsyncIterator[Connection]:
        """Yield a connection inside a transaction that commits at the end of the block."""
        async with self.connection() as connection, connection.transaction():
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
        async with self.read_anywhere(latest=True) as reader:
            missing = await migrate.check_migrations(reader)
        if self.is_pooled:
            async with self.connection() as connection:
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
        if self._replicas:
            await self._replicas.close()
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
