"""Watches the primary and its standbys, chooses who answers a reader."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

import asyncpg

from db.connection import FOREIGN, LOST, Lent, Route, hosts_of, load_statements
from db.sessions import PoolSettings, Sessions
from engine.errors import StorageError

_KEPT = 600  # notes
_QUEUE_SECONDS = 10.0  # for a connection, where the server allows fewer than the pool has
_LOOK_AGAIN = 0.25
# Read only while the primary is lost: others write there, or nobody does.
PROMOTED = "it takes writes of its own"
ANSWER = 5.0  # seconds that a server has to answer what takes it a millisecond
_LENDING = 1.0  # seconds to wait for a connection before another server is asked
logger = logging.getLogger("presagio.database")
_FAILURES = (*FOREIGN, StorageError)
_PATIENCE = 1.0  # seconds that a start waits for the standbys


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
        self._queue = asyncio.Lock()  # of those that wait for a connection; it is fair
        self._returned = asyncio.Event()

    async def lend(self, *, last: bool = False) -> Lent:  # noqa: ARG002 - it is always waited for
        """Return a connection. Where the server allows fewer than the pool has, wait in a queue for
        one that is returned. Raises errors of the driver."""
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

    async def take_back(self, connection: Lent) -> None:
        """Return a connection to its pool."""
        try:
            await self._sessions.give_back(connection)
        finally:
            self._returned.set()

    async def _wait_for_return(self) -> None:
        """Wait for a connection of this pool, or for a while: others may return one of theirs."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_AGAIN):
                await self._returned.wait()

    def passes_on(self, error: BaseException, *, connected: bool) -> bool:
        """Tell whether a standby may answer: only if the primary cannot be reached."""
        if isinstance(error, asyncpg.QueryCanceledError | TimeoutError):
            return not connected
        return isinstance(error, (*LOST, OSError, asyncpg.OperatorInterventionError))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What a server said about itself."""

    system: str  # the same for a primary and its standbys only
    standby: bool
    position: int  # in the log: written by a primary, replayed by a standby
    started: str = ""  # when it was: another moment, another server
    timeline: int = 0  # of a primary: each promotion begins a new one
    paused: bool = False  # its replay, by an administrator
    feedback: bool = False  # whether it keeps the primary from removing what it reads


class Notes:
    """What the primary had written, and when."""

    def __init__(self) -> None:
        self._primary: Sight | None = None
        self._notes: deque[tuple[float, int]] = deque(maxlen=_KEPT)

    def note(self, sight: Sight, at: float) -> None:
        """Note the primary's position; `at` is a moment before it was asked for."""
        if self.fault(sight) or (self._notes and sight.position < self._notes[-1][1]):
            self._notes.clear()  # another server, or one that was restored
        self._primary = sight
        if self._notes and self._notes[-1][1] == sight.position:
            self._notes.pop()
        self._notes.append((at, sight.position))

    def held_by(self, standby: Sight) -> float | None:
        """Return the latest moment of which a standby holds everything, or None if unknown."""
        if self.fault(standby):
            return None
        held = (at for at, position in reversed(self._notes) if position <= standby.position)
        return next(held, None)

    def fault(self, standby: Sight) -> str:
        """Return why a server can never be read in place of the primary, or ""."""
        if self._primary is not None and standby.system != self._primary.system:
            return "it is no copy of the primary's database"
        if standby.standby or (self._primary and standby.started == self._primary.started):
            return ""  # or it is the primary itself
        return PROMOTED


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaState:
    """What is known about a standby."""

    name: str  # host and port
    answers: bool  # and may be read at all
    used: bool  # for reading, at this moment
    primary: bool  # it was promoted, and is the primary now
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
            row = await self._connection.fetchrow(load_statements("replicas")["look"])
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
        self._host = hosts_of(url)[0]
        self.name = str(self._host)
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
    def is_primary(self) -> bool:
        """Return whether it is the primary now, whose connections readers have already."""
        return self.answers and self._sight is not None and not self._sight.standby

    @property
    def held_until(self) -> float:
        """Return the latest moment of which it is known to hold everything."""
        return float("-inf") if self._held is None or not self.answers else self._held

    @property
    def full(self) -> bool:
        """Tell whether a reader would have to wait for another one."""
        return self.busy >= self._size

    async def look(self, notes: Notes, route: Route) -> None:
        """Find out what it holds, and whether it is the primary now.

        Raises storage errors, TimeoutError, errors of the driver.
        """
        if self._sessions is None:
            self._sessions = await Sessions.open(self._url, self._settings, read_only=True)
        sight = await self._lookout.look(self._sessions)
        self._sight, self.fault, self._held = sight, notes.fault(sight), notes.held_by(sight)
        if self.fault == PROMOTED:
            route.note_primary(self._host, sight.timeline)

    def lose(self, fault: str) -> None:
        """Stop reading from it. Whoever waits for it now is answered elsewhere."""
        self._sight, self._held, self.fault = None, None, fault
        self._lookout.close()
        sessions, self._sessions = self._sessions, None
        if sessions is not None:
            sessions.pool.terminate()

    def state(self, now: float, *, since: float) -> ReplicaState:
        """Return its state; it is used if it holds everything that was stored before `since`."""
        used = self.is_primary or self.held_until >= since
        held = now if self.is_primary else self._held
        late = "it is behind" if held else "how far it is behind is unknown"
        if self._sight and self._sight.paused:
            late = "its replay is paused"
        return ReplicaState(
            name=self.name,
            answers=self.answers,
            used=used,
            primary=self.is_primary,
            behind_seconds=None if held is None else now - held,
            fault="" if used else self.fault or late,
            feedback=self._sight is not None and self._sight.feedback,
            reads=self._reads,
            passed_on=self._passed_on,
        )

    async def lend(self, *, last: bool = False) -> Lent:
        """Return a connection. Raises errors of the driver."""
        self._reads += 1
        if self._sessions is None:
            raise ConnectionError(self.fault)
        connection = await self._sessions.pool.acquire(timeout=_LENDING * (10 if last else 1))
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


def _read_anyway(state: ReplicaState) -> ReplicaState:
    return replace(state, answers=True) if state.fault == PROMOTED else state


@dataclass(frozen=True, slots=True, kw_only=True)
class Replication:
    """Where the standbys are, and how far behind they may be."""

    urls: Sequence[str] = ()
    max_lag: float = 10.0  # seconds
    pause: float = 1.0  # seconds between two looks at a server that answers
    long_pause: float = 5.0  # and at one that does not


class Replicas:
    """The standbys of a primary, watched while this is open.

    A standby is read if it holds everything that was committed `max_lag` ago, and everything that
    this process stored before. Else the primary answers; if it is lost, any standby does.
    """

    def __init__(self, primary: Sessions, settings: PoolSettings, replication: Replication) -> None:
        self._primary_sessions, self._primary = primary, Primary(primary)
        self._replicas = [Replica(url, settings) for url in replication.urls]
        self._replication = replication
        self._notes, self._noted = Notes(), asyncio.Event()
        self._primary_answers = True
        self._changed = float("-inf")
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Begin to watch, and wait a moment for the standbys to answer."""
        looked = [asyncio.Event() for _ in self._replicas]
        watches = map(self._watch_replica, self._replicas, looked)
        self._tasks = [*map(asyncio.create_task, (self._watch_primary(), *watches))]
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE if self._primary_answers else ANSWER):
                await asyncio.gather(*(event.wait() for event in looked))

    async def close(self) -> None:
        """Stop watching and drop all connections to standbys."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for replica in self._replicas:
            replica.lose("it is closed")

    def note_change(self) -> None:
        """From now on read from standbys that hold what was stored until now."""
        self._changed = time.monotonic()

    def servers(self, *, latest: bool) -> list[Server]:
        """Return who is to be asked, one after the other; with `latest`, the primary first."""
        there = [replica for replica in self._replicas if replica.answers]
        there.sort(key=lambda replica: -replica.held_until)
        if not self._primary_answers:
            promoted = [replica for replica in self._replicas if replica.fault == PROMOTED]
            # Twice: whoever finds all connections in use, and no primary, waits.
            return [*promoted, *there, self._primary, *promoted, *there]
        there = [replica for replica in there if not replica.is_primary]
        free = [
            standby
            for standby in there
            if standby.held_until >= self._find_minimum_freshness() and not standby.full
        ]
        if latest or not free:
            return [self._primary, *there]
        chosen = min(free, key=lambda replica: replica.busy)
        return [chosen, self._primary, *(standby for standby in there if standby is not chosen)]

    def states(self) -> list[ReplicaState]:
        """Return what is known about each standby."""
        now, since = time.monotonic(), self._find_minimum_freshness()
        states = [replica.state(now, since=since) for replica in self._replicas]
        return states if self._primary_answers else [_read_anyway(state) for state in states]

    def lost_primary(self) -> None:
        """Read from standbys until the primary answers again."""
        if self._primary_answers:
            logger.warning("the database does not answer: standbys are read, however late")
        self._primary_answers = False

    def _find_minimum_freshness(self) -> float:
        return max(self._changed, time.monotonic() - self._replication.max_lag)

    async def _watch_primary(self) -> None:
        lookout = Lookout()
        try:
            while True:
                at = time.monotonic()
                try:
                    self._notes.note(await lookout.look(self._primary_sessions), at)
                    self._primary_answers = True
                except _FAILURES:
                    lookout.close()
                    self.lost_primary()
                self._noted.set()
                await asyncio.sleep(self._replication.pause)
        finally:
            lookout.close()

    async def _watch_replica(self, replica: Replica, looked: asyncio.Event) -> None:
        await self._noted.wait()
        while True:
            before, pause = replica.fault, self._replication.pause
            try:
                await replica.look(self._notes, self._primary_sessions.route)
            except _FAILURES as error:
                replica.lose(str(error) or "it does not answer")
                pause = self._replication.long_pause
            if replica.fault and replica.fault != before:
                logger.warning("standby %s is not read: %s", replica.name, replica.fault)
            looked.set()
            await asyncio.sleep(pause)
