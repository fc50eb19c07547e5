"""Sends what reads to the first of several servers that answers."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar

import asyncpg

from db.connection import FOREIGN, LOST, Lent
from db.sessions import Sessions

_T = TypeVar("_T")


class Server(Protocol):
    """A server that lends connections to readers."""

    async def lend(self, *, last: bool = False) -> Lent:
        """Return a connection, waiting for it if there is no other server to ask.

        Raises errors of the driver.
        """

    async def take_back(self, connection: Lent) -> None:
        """Take a connection back, whatever state it is in."""

    def passes_on(self, error: BaseException, *, connected: bool) -> bool:
        """Tell whether another server may answer what failed here with this error."""


class Primary:
    """The primary as one server among those that can be read."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def lend(self, *, last: bool = False) -> Lent:  # noqa: ARG002 - it is always waited for
        """Return a connection. Raises errors of the driver."""
        return await self._sessions.pool.acquire()

    async def take_back(self, connection: Lent) -> None:
        """Return a connection to its pool."""
        await self._sessions.give_back(connection)

    def passes_on(self, error: BaseException, *, connected: bool) -> bool:
        """Tell whether a standby may answer: only if the primary cannot be reached."""
        if isinstance(error, asyncpg.QueryCanceledError | TimeoutError):
            return not connected
        return isinstance(error, (*LOST, OSError, asyncpg.OperatorInterventionError))


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
