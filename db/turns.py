"""Events that are being answered, so that none is answered twice by any process.

An event is `taken` while its answer is made, `answering` from just before it is sent, `done`
after. An event that a dead process had only taken may be taken again. One that it was
answering may have been answered: it is left alone, for a repeated answer is worse than none.
"""

import asyncio
import logging
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self

from db.connection import Connection
from db.pool import Database
from db.statements import statements
from engine.errors import StorageError

logger = logging.getLogger("presagio.turns")

# Any constant will do, as long as every process uses the same one.
_LOCK_CLASS = 7426
_KEPT = timedelta(days=7)  # longer than any platform delivers again
_PROOF_SECONDS = 5.0
_RETRY_SECONDS = 1.0


class Turns:
    """Takes events for this process. Holds a connection, which proves that the process lives."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("conversation")
        self._process: int | None = None
        self._presence: asyncio.Task[None] | None = None
        self._leave = asyncio.Event()

    async def __aenter__(self) -> Self:
        announced = asyncio.get_running_loop().create_future()
        self._presence = asyncio.create_task(self._be_present(announced))
        await announced
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave.set()
        if self._presence:
            await self._presence

    async def take(self, platform: str, event_id: str, *, now: datetime) -> bool:
        """Take an event; False when it is or was answered, here or by a living process."""
        async with self._database.connection() as connection:
            return bool(
                await connection.fetchval(
                    self._sql["take"], platform, event_id, self._process, now, _LOCK_CLASS
                )
            )

    async def answering(self, platform: str, event_id: str) -> bool:
        """Note that the answer is about to be sent; False when another process took the event."""
        async with self._database.connection() as connection:
            return bool(
                await connection.fetchval(self._sql["answering"], platform, event_id, self._process)
            )

    async def done(self, platform: str, event_id: str) -> None:
        """Note that the event needs nothing more."""
        async with self._database.connection() as connection:
            await connection.execute(self._sql["done"], platform, event_id, self._process)

    async def release(self, platform: str, event_id: str) -> None:
        """Give an event back that was not answered: a repeated delivery may be taken again."""
        async with self._database.connection() as connection:
            await connection.execute(self._sql["release"], platform, event_id, self._process)

    async def forget(self, *, now: datetime) -> None:
        """Remove what no platform delivers again."""
        async with self._database.connection() as connection:
            await connection.execute(self._sql["forget_turns"], now - _KEPT)

    async def _be_present(self, announced: asyncio.Future[None]) -> None:
        """Hold the lock until told to leave; take it again after a lost connection."""
        while not self._leave.is_set():
            try:
                async with self._database.connection() as connection:
                    await self._hold(connection, announced)
            except StorageError as error:
                if not announced.done():
                    announced.set_exception(error)
                    return
                logger.warning("lost the connection that proves presence: %s", error)
                await self._pause(_RETRY_SECONDS)

    async def _hold(self, connection: Connection, announced: asyncio.Future[None]) -> None:
        if self._process is None:
            self._process = await connection.fetchval(self._sql["process_number"])
        await connection.execute("SELECT pg_advisory_lock($1, $2)", _LOCK_CLASS, self._process)
        if not announced.done():
            announced.set_result(None)
        while not await self._pause(_PROOF_SECONDS):
            await connection.execute("SELECT 1")
        await connection.execute("SELECT pg_advisory_unlock($1, $2)", _LOCK_CLASS, self._process)

    async def _pause(self, seconds: float) -> bool:
        """Wait; True when it is time to leave."""
        try:
            await asyncio.wait_for(self._leave.wait(), seconds)
        except TimeoutError:
            return False
        return True
