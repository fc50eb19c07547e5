"""Watches the primary and its standbys, and chooses who answers a reader."""

import asyncio
import logging
import time
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass

from db.errors import FOREIGN
from db.replicas.lag import Notes
from db.replicas.reader import Server
from db.replicas.replica import ANSWER, Lookout, Primary, Replica, ReplicaState
from db.sessions import PoolSettings, Sessions
from engine.errors import StorageError

logger = logging.getLogger("presagio.database")

_FAILURES = (*FOREIGN, StorageError)
_PATIENCE = 1.0  # seconds that a start waits for the standbys


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
        self._watch(self._watch_primary())
        for replica, event in zip(self._replicas, looked, strict=True):
            self._watch(self._watch_replica(replica, event))
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

    def changed(self) -> None:
        """From now on read from standbys that hold what was stored until now."""
        self._changed = time.monotonic()

    def servers(self, *, latest: bool) -> list[Server]:
        """Return who is to be asked, one after the other; with `latest`, the primary first."""
        there = [replica for replica in self._replicas if replica.answers]
        there.sort(key=lambda replica: -replica.held)
        if not self._primary_answers:
            return [*there, self._primary]
        free = [one for one in there if one.held >= self._since() and not one.full]
        if latest or not free:
            return [self._primary, *there]
        chosen = min(free, key=lambda replica: replica.busy)
        return [chosen, self._primary, *(one for one in there if one is not chosen)]

    def states(self) -> list[ReplicaState]:
        """Return what is known about each standby."""
        now, since = time.monotonic(), self._since()
        return [replica.state(now, since=since) for replica in self._replicas]

    def lost_primary(self) -> None:
        """Read from standbys until the primary answers again."""
        if self._primary_answers:
            logger.warning("the database does not answer: standbys are read, however late")
        self._primary_answers = False

    def _since(self) -> float:
        return max(self._changed, time.monotonic() - self._replication.max_lag)

    def _watch(self, watching: Coroutine[None, None, None]) -> None:
        self._tasks.append(asyncio.create_task(watching))

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
                await replica.look(self._notes)
            except _FAILURES as error:
                replica.lose(str(error) or "it does not answer")
                pause = self._replication.long_pause
            if replica.fault and replica.fault != before:
                logger.warning("standby %s is not read: %s", replica.name, replica.fault)
            looked.set()
            await asyncio.sleep(pause)
