"""Leases: rights that one process holds at a time.

A lease is a row that its holder renews. Other processes take it once it is released, or once they
have themselves seen it stay the same for longer than it holds: each by its own clock, which no
correction of the time sets back or forward. What they saw before the server was replaced or its
data restored does not count.

`held` turns False before another process can take the lease, because the holder counts from before
its last renewal, and for less time than the others wait. But a process may be frozen between asking
for `held` and acting on it. Each taking therefore gives the lease a new number (`fence`): a write
that must not come late names it and the holder, and stores nothing once they have changed.
"""

import asyncio
import logging
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Self
from uuid import uuid4

from db.connection import Connection, load_statements
from db.pool import Database
from engine.errors import StorageError
from engine.values import Closable

logger = logging.getLogger("presagio.lease")

# Counts the time that the machine sleeps, if there is such a clock.
_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


def elapsed_seconds() -> float:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A lease as it was found in one place; without a holder nobody ever took it."""

    holder: str | None
    fence: int | None
    renewals: int | None
    seconds: float  # that its holder has for a renewal, at most
    free: bool
    place: str  # tells the server, and the table, from others


@dataclass(frozen=True, slots=True)
class _Seen:
    """A lease as it was when it was last found changed."""

    row: _Row
    since: float


class Lease(Closable):
    """Stands for a lease while it is entered. Holds a connection for that."""

    def __init__(
        self,
        database: Database,
        name: str,
        *,
        times: LeaseTimes | None = None,
        clock: Callable[[], float] = elapsed_seconds,
    ) -> None:
        self._database, self.name, self._clock = database, name, clock
        self._times = times or LeaseTimes()
        self._sql = load_statements("lease")
        self.holder = f"{socket.gethostname()}:{os.getpid()}:{uuid4()}"
        self._seen: _Seen | None = None
        self._place: str | None = None
        self._moved_at: float | None = None  # when the place was found to be another one
        self._fence: int | None = None
        self._took = False  # or may have: an answer can be lost
        self._renewed_at: float | None = None  # None: another process holds it, or none does
        self._settled = asyncio.Event()
        self._change = asyncio.Event()
        self._tried = asyncio.Event()
        self._standing: asyncio.Task[None] | None = None
        self._lapsing: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        """Stand for the lease; return after the first attempt, successful or not."""
        self._standing = asyncio.create_task(self._stand())
        try:
            await self._tried.wait()
        except asyncio.CancelledError:
            self._standing.cancel()
            raise
        return self

    async def aclose(self) -> None:
        """Stand no longer, and let another process take the lease at once."""
        if self._standing:
            self._standing.cancel()
            await asyncio.gather(self._standing, return_exceptions=True)
            self._note_renewal(None)

    @property
    def is_held(self) -> bool:
        """True while this process holds the lease, as far as it can know."""
        return self._renewed_at is not None and self._clock() < self._renewed_at + self._times.sure

    @property
    def fence(self) -> int | None:
        """The number of the lease as this process last held it, or None if it never did."""
        return self._fence

    async def wait_for_change(self) -> bool:
        """Wait until this process gains or loses the lease; return whether it holds it now."""
        await self._change.wait()
        return self.is_held

    async def wait_until_settled(self) -> bool:
        """Wait until this process holds the lease, or another is seen to renew it.

        Return whether it holds the lease now. A lease that a killed process left is waited for.
        """
        await self._settled.wait()
        return self.is_held

    async def _stand(self) -> None:
        while True:
            try:
                async with self._database.own_connection() as connection:
                    await self._stand_on(connection)
            except StorageError as error:
                logger.warning("lost the connection for the lease %r: %s", self.name, error)
            finally:
                if not self.is_held:
                    self._note_renewal(None)
            await asyncio.sleep(self._times.retry)

    async def _stand_on(self, connection: Connection) -> None:
        """Take the lease, and renew it again and again, until the connection is lost."""
        lost = asyncio.Event()
        connection.add_termination_listener(lambda _: lost.set())
        try:
            while True:
                asked_at = self._clock()
                self._note_renewal(asked_at if await self._attempt(connection) else None)
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._times.renewal):
                        await lost.wait()
        except asyncio.CancelledError:
            await self._release(connection)
            raise

    async def _attempt(self, connection: Connection) -> bool:
        """Renew the lease or try to take it; return whether this process holds it."""
        if self._fence is not None and self._seen is None:  # nobody was seen to take it
            if await self._renew(connection):
                return True
            self._note_renewal(None)
        row = await self._look_at_lease(connection)
        if row.holder == self.holder and not row.free and row.fence != self._fence:
            # Its taking succeeded, but the answer was lost.
            self._fence, self._seen = row.fence, None
            return await self._renew(connection)
        return self._may_take(row) and await self._take(connection, row)

    async def _renew(self, connection: Connection) -> bool:
        renewed = await self._ask_lease(connection, "renew", self.name, self.holder, self._fence)
        return renewed is not None

    async def _take(self, connection: Connection, row: _Row) -> bool:
        self._took = True
        values = (self.name, self.holder, self._times.holds, row.holder, row.fence, row.renewals)
        fence = await self._ask_lease(connection, "take", *values)
        if fence is not None:
            self._fence, self._seen = fence, None
        return fence is not None

    async def _look_at_lease(self, connection: Connection) -> _Row:
        """Return the lease as it is now, noting since when it has been so."""
        rows = await connection.fetch(self._sql["look"], self.name, timeout=self._times.answer)
        row, now, seen = _Row(**rows[0]), self._clock(), self._seen
        if self._place not in (None, row.place):
            self._moved_at = now
        self._place = row.place
        if seen is None or seen.row != row:
            if seen is not None and seen.row.place == row.place:
                self._settled.set()
            self._seen = _Seen(row, now)
        return row

    def _may_take(self, row: _Row) -> bool:
        """Return whether no process can rely on the lease any more."""
        now = self._clock()
        if row.free:  # in a restored database, or that of a standby, it may have been taken since
            return self._moved_at is None or now - self._moved_at > self._times.holds
        waits = max(self._times.holds, row.seconds)  # other versions have other times
        return self._seen is not None and now - self._seen.since > waits

    async def _ask_lease(
        self, connection: Connection, statement: str, *values: object
    ) -> int | None:
        answer: int | None = await connection.fetchval(
            self._sql[statement], *values, timeout=self._times.answer
        )
        return answer

    async def _release(self, connection: Connection) -> None:
        """Let another process take the lease at once."""
        self._note_renewal(None)
        if self._took and not connection.is_closed():
            with suppress(Exception):  # others wait for the lease to end
                releasing = self._ask_lease(connection, "release", self.name, self.holder)
                await asyncio.shield(releasing)

    def _note_renewal(self, renewed_at: float | None) -> None:
        was_held, lapsed = self._renewed_at is not None, not self.is_held
        self._renewed_at = renewed_at
        self._tried.set()
        if was_held != (renewed_at is not None) or (was_held and lapsed):
            self._change.set()
            self._change = asyncio.Event()
        if self.is_held:
            self._settled.set()
        self._watch()

    def _watch(self) -> None:
        """Have `changed` return as soon as the lease lapses, whatever the connection does."""
        if self._lapsing:
            self._lapsing.cancel()
        if self._renewed_at is None:
            return
        if not self.is_held:
            self._note_renewal(None)
            return
        # The loop's clock does not count the machine's sleep: it is looked at again.
        left = self._renewed_at + self._times.sure - self._clock()
        self._lapsing = asyncio.get_running_loop().call_later(left, self._watch)
