"""Stores messages that wait until somebody chooses the archive to search."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from db.pool import Database
from db.statements import statements
from engine.chat import Chat

_KEPT = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingMessage:
    """A message as it was written, with its command, and where."""

    message: str
    thread: str | None
    written_at: datetime | None


class Waiting:
    """Reads and writes waiting messages. One may be answered several times, from other archives."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("access")

    async def keep(
        self,
        chat: Chat,
        thread: str | None,
        message: str,
        *,
        written_at: datetime | None,
        now: datetime,
    ) -> int:
        """Store a message and return its id."""
        async with self._database.connection() as connection:
            return int(
                await connection.fetchval(
                    self._sql["keep_waiting"], chat.id, thread, message, written_at, now
                )
            )

    async def get(self, chat: Chat, number: int) -> WaitingMessage | None:
        """Return a message of this chat, or None if it is forgotten."""
        async with self._database.connection() as connection:
            row = await connection.fetchrow(self._sql["waiting"], number, chat.id)
        return None if row is None else WaitingMessage(**dict(row))

    async def forget(self, *, now: datetime) -> None:
        """Remove messages that are older than a day."""
        async with self._database.connection() as connection:
            await connection.execute(self._sql["forget_waiting"], now - _KEPT)
