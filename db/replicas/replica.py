"""One streaming standby: its sessions, what it holds, and why it is not read."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, urlsplit

import asyncpg

from db.connection import Lent
from db.errors import LOST
from db.replicas.lag import Notes, Sight
from db.sessions import PoolSettings, Sessions
from db.statements import statements

ANSWER = 5.0  # seconds that a server has to answer what takes it a millisecond
_LENDING = 1.0  # seconds to wait for a connection before the primary is asked


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaState:
    """What is known about a standby."""

    name: str  # host and port
    answers: bool  # and may be read at all
    used: bool  # for reading, at this moment
    behind_seconds: float | None  # at most; None = unknown
    fault: str  # why it is not used, or ""
    feedback: bool  # whether it keeps the primary from removing what it reads
    reads: int  # since the start of this process
    passed_on: int  # of those, answered by another server


class Lookout:
    """Looks at a server through a connection of its own, so that no reader is in its way."""

    def __init__(self) -> None:
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None

    async def look(self, sessions: Sessions) -> Sight:
        """Ask the server for its position. Raises errors of the driver, TimeoutError."""
        async with asyncio.timeout(ANSWER):
            if self._connection is None or self._connection.is_closed():
                self._connection = await sessions.connect()
            row = await self._connection.fetchrow(statements("replicas")["look"])
        assert row  # noqa: S101 - the database that is connected to has a row
        return Sight(**row)

    def close(self) -> None:
        """Drop the connection, without a word to the server."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()


class Replica:
    """A standby that lends connections while it answers."""

    def __init__(self, url: str, settings: PoolSettings) -> None:
        self.name = _name(url)
        self._url, self._size = url, settings.size
        self._settings = replace(settings, connect_timeout=min(ANSWER, settings.connect_timeout))
        self._sessions: Sessions | None = None
        self._lookout = Lookout()
        self._sight: Sight | None = None
        self.fault = "it has not answered yet"
        self._held: float | None = None
        self.busy = self._reads = self._passed_on = 0

    @property
    def answers(self) -> bool:
        """Return whether it answered when it was last checked, and may be read at all."""
        return self._sight is not None and not self.fault

    @property
    def held(self) -> float:
        """Return the latest moment of which it is known to hold everything."""
        return float("-inf") if self._held is None or not self.answers else self._held

    @property
    def full(self) -> bool:
        """Tell whether a reader would have to wait for another one."""
        return self.busy >= self._size

    async def look(self, notes: Notes) -> None:
        """Find out what it holds. Raises storage errors, TimeoutError, errors of the driver."""
        if self._sessions is None:
            self._sessions = await Sessions.open(self._url, self._settings, read_only=True)
        sight = await self._lookout.look(self._sessions)
        self._sight, self.fault, self._held = sight, notes.fault(sight), notes.held_by(sight)

    def lose(self, fault: str) -> None:
        """Stop reading from it. Whoever waits for it now is answered elsewhere."""
        self._sight, self._held, self.fault = None, None, fault
        self._lookout.close()
        sessions, self._sessions = self._sessions, None
        if sessions is not None:
            sessions.pool.terminate()

    def state(self, now: float, *, since: float) -> ReplicaState:
        """Return its state; it is used if it holds everything that was stored before `since`."""
        late = "its replay is paused" if self._sight and self._sight.paused else "it is behind"
        used = self.held >= since
        return ReplicaState(
            name=self.name,
            answers=self.answers,
            used=used,
            behind_seconds=None if self._held is None else now - self._held,
            fault="" if used else self.fault or late,
            feedback=self._sight is not None and self._sight.feedback,
            reads=self._reads,
            passed_on=self._passed_on,
        )

    async def lend(self) -> Lent:
        """Return a connection. Raises errors of the driver."""
        self._reads += 1
        if self._sessions is None:
            raise ConnectionError(self.fault)
        connection = await self._sessions.pool.acquire(timeout=_LENDING)
        self.busy += 1
        return connection

    async def take_back(self, connection: Lent) -> None:
        """Take a connection back, also after the sessions have ended."""
        self.busy -= 1
        if self._sessions is not None:
            with suppress(asyncpg.InterfaceError):  # it is one of sessions that were lost
                await self._sessions.give_back(connection)

    def passes_on(self, error: BaseException, *, connected: bool) -> bool:
        """Tell whether the primary may answer: always, unless the time for an answer is over.

        Tables that were made a moment ago are missing here, and recovery cancels who reads what the
        primary has removed.
        """
        if connected and isinstance(error, asyncpg.QueryCanceledError | TimeoutError):
            return False
        self._passed_on += 1
        if isinstance(error, (*LOST, OSError)):
            self._held = None  # until it is looked at again
        return True


class Primary:
    """The primary as one server among those that can be read."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def lend(self) -> Lent:
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


def _name(url: str) -> str:
    """Return the host and port of a URL, without user and password."""
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    host = query["host"][0] if "host" in query else parts.hostname or "localhost"
    port = query["port"][0] if "port" in query else str(parts.port or 5432)
    return f"{host}:{port}"
