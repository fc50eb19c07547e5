"""Leases: rights that one process holds at a time.

A lease is a row that its holder renews. Other processes take it once it is released, or once they
have themselves seen it stay the same for longer than it holds: each by its own clock, which no
correction of the time sets back or forward. Each taking gives the lease a new number (`fence`), by
which a process that was frozen finds out that it has lost it.

`held` turns False before another process can take the lease, because the holder counts from before
its last renewal, and for less time than the others wait.
"""

import asyncio
import logging
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from uuid import uuid4

from db.connection import Connection
from db.pool import Database
from db.statements import statements
from engine.errors import StorageError

logger = logging.getLogger("presagio.lease")

# Counts the time that the machine sleeps, if there is such a clock.
_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


def elapsed() -> float:
    """Return the seconds of a clock that nobody sets."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTimes:
    """The times of a lease, in seconds."""

    holds: float = 15.0  # without being renewed
    sure: float = 10.0  # that the holder relies on its last renewal
    renewal: float = 3.0  # between two renewals, and between two looks at the lease of another
    answer: float = 5.0  # that the database has for a statement
    retry: float = 1.0  # after a lost connection

    def __post_init__(self) -> None:
        if not self.renewal < self.sure < self.holds:
            raise ValueError("a holder must stop relying on a lease before others take it")


@dataclass(frozen=True, slots=True)
class _Seen:
    """A lease as it was when it was last found changed."""

    fence: int
    renewals: int
    since: float


class Lease:
    """Stands for a lease while it is entered. Holds a connection for that."""

    def __init__(
        self,
        database: Database,
        name: str,
        *,
        times: LeaseTimes | None = None,
        clock: Callable[[], float] = elapsed,
    ) -> None:
        self._database, self.name, self._clock = database, name, clock
        self._times = times or LeaseTimes()
        self._sql = statements("lease")
        self.holder = f"{socket.gethostname()}:{os.getpid()}:{uuid4()}"
        self._seen: _Seen | None = None
        self._fence: int | None = None
        self._renewed_at: float | None = None  # None: another process holds it, or none does
        self._settled = asyncio.Event()
        self._change = asyncio.Event()
        self._tried = asyncio.Event()
        self._standing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Stand for the lease; return after the first attempt, successful or not."""
        self._standing = asyncio.create_task(self._stand())
        try:
            await self._tried.wait()
        except asyncio.CancelledError:
            self._standing.cancel()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._standing:
            self._standing.cancel()
            await asyncio.gather(self._standing, return_exceptions=True)

    @property
    def held(self) -> bool:
        """True while this process holds the lease, as far as it can know."""
        return self._renewed_at is not None and self._clock() < self._renewed_at + self._times.sure

    @property
    def fence(self) -> int | None:
        """The number of the lease as this process last held it, or None if it never did."""
        return self._fence

    async def changed(self) -> bool:
        """Wait until this process gains or loses the lease; return whether it holds it now."""
        await self._change.wait()
        return self.held

    async def settled(self) -> bool:
        """Wait until this process holds the lease, or another is seen to renew it.

        Return whether it holds the lease now. A lease that a killed process left is waited for.
        """
        await self._settled.wait()
        return self.held

    async def _stand(self) -> None:
        while True:
            try:
                async with self._database.own_connection() as connection:
                    await self._stand_on(connection)
            except StorageError as error:
                logger.warning("lost the connection for the lease %r: %s", self.name, error)
            finally:
                if not self.held:
                    self._note(None)
            await asyncio.sleep(self._times.retry)

    async def _stand_on(self, connection: Connection) -> None:
        """Take the lease, and renew it again and again, until the connection is lost."""
        lost = asyncio.Event()
        connection.add_termination_listener(lambda _: lost.set())
        try:
            while True:
                asked_at = self._clock()
                self._note(asked_at if await self._attempt(connection) else None)
                with suppress(TimeoutError):
                    await asyncio.wait_for(lost.wait(), self._times.renewal)
        except asyncio.CancelledError:
            await self._release(connection)
            raise

    async def _attempt(self, connection: Connection) -> bool:
        """Renew the lease or try to take it; return whether this process holds it."""
        nobody_took_it = self._fence is not None and self._seen is None
        if nobody_took_it and await self._ask(connection, "renew"):
            return True
        seen = await self._look(connection)
        if seen is None:
            return False
        fence = await connection.fetchval(
            self._sql["take"],
            self.name,
            self.holder,
            self._times.holds,
            seen.fence,
            seen.renewals,
            timeout=self._times.answer,
        )
        if fence is not None:
            self._fence, self._seen = fence, None
        return fence is not None

    async def _look(self, connection: Connection) -> _Seen | None:
        """Return the lease if it may be taken, or None."""
        row = await connection.fetchrow(self._sql["look"], self.name, timeout=self._times.answer)
        now = self._clock()
        if row is None:
            return _Seen(0, 0, now)
        seen = self._seen
        if seen is None or (seen.fence, seen.renewals) != (row["fence"], row["renewals"]):
            if seen is not None:
                self._settled.set()
            seen = self._seen = _Seen(row["fence"], row["renewals"], now)
        return seen if row["released"] or now - seen.since > self._times.holds else None

    async def _ask(self, connection: Connection, statement: str) -> bool:
        values = (self.name, self._fence, self.holder)
        return bool(
            await connection.fetchval(self._sql[statement], *values, timeout=self._times.answer)
        )

    async def _release(self, connection: Connection) -> None:
        """Let another process take the lease at once."""
        held, self._renewed_at = self.held, None
        if held and not connection.is_closed():
            with suppress(Exception):  # others wait for the lease to end
                await asyncio.shield(self._ask(connection, "release"))

    def _note(self, renewed_at: float | None) -> None:
        was_held, lapsed = self._renewed_at is not None, not self.held
        self._renewed_at = renewed_at
        self._tried.set()
        if was_held != (renewed_at is not None) or (was_held and lapsed):
            self._change.set()
            self._change = asyncio.Event()
        if renewed_at is not None:
            self._settled.set()
