"""Elects one of many processes as leader, which alone decides what is due.

The leader holds an advisory lock in its own session. The server ends that session, and with it the
lock, when the process or its connection dies, and when the process is silent for a while
(`idle_session_timeout`): a process that hangs, or whose machine is cut off, is also replaced within
30 seconds.

Where time decides, `leads` turns False before another process can lead, because the process counts
from before its last proof and for less time than the server. That does not hold if the server ends
the session on its own, or if the machine of the process was asleep: then two processes may believe
for a moment that they lead. That is harmless. Feeds are claimed with SKIP LOCKED, stories and finds
are unique, and a post is decided once by its unique key (db.posting.outbox).
"""

import asyncio
import logging
from contextlib import suppress
from types import TracebackType
from typing import Self

from db.connection import Connection
from db.pool import Database
from db.statements import statements
from engine.errors import StorageError

logger = logging.getLogger("presagio.leader")

# Any constant will do, as long as every process uses the same one.
_LOCK_CLASS = 7427
_SILENCE_SECONDS = 15  # after which the server ends the session
_SURE_SECONDS = 10.0  # after which a process no longer relies on its last proof
_PROOF_SECONDS = 3.0  # between two proofs, and between two attempts to lead
_ANSWER_SECONDS = 5.0
_RETRY_SECONDS = 1.0


class Leader:
    """Stands for election while it is entered. Holds a connection for that."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("posting")
        self._proved_at: float | None = None  # None: another process leads, or none does
        self._change = asyncio.Event()
        self._tried = asyncio.Event()
        self._standing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Stand for election; return after the first attempt to lead, successful or not."""
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
    def leads(self) -> bool:
        """True while this process holds the lock, as far as it can know."""
        now = asyncio.get_running_loop().time()
        return self._proved_at is not None and now < self._proved_at + _SURE_SECONDS

    async def changed(self) -> bool:
        """Wait until this process gains or loses the lead; return whether it leads now."""
        await self._change.wait()
        return self.leads

    async def _stand(self) -> None:
        while True:
            try:
                async with self._database.own_connection() as connection:
                    await self._stand_on(connection)
            except StorageError as error:
                logger.warning("lost the connection that elects the leader: %s", error)
            finally:
                self._note(None)
            await asyncio.sleep(_RETRY_SECONDS)

    async def _stand_on(self, connection: Connection) -> None:
        """Try to lead, and prove it again and again, until the connection is lost."""
        lost = asyncio.Event()
        connection.add_termination_listener(lambda _: lost.set())
        await connection.execute(self._sql["silence"], str(_SILENCE_SECONDS * 1000))
        while True:
            asked_at = asyncio.get_running_loop().time()
            # The lock is held as long as the session: once it is taken, any answer proves it.
            question = self._sql["lead" if self._proved_at is None else "lead_on"]
            holds = await connection.fetchval(question, _LOCK_CLASS, timeout=_ANSWER_SECONDS)
            self._note(asked_at if holds else None)
            with suppress(TimeoutError):
                await asyncio.wait_for(lost.wait(), _PROOF_SECONDS)

    def _note(self, proved_at: float | None) -> None:
        was_leading, self._proved_at = self._proved_at is not None, proved_at
        self._tried.set()
        if was_leading != (proved_at is not None):
            self._change.set()
            self._change = asyncio.Event()
