"""Deletes what is stored about a person or a chat, where either asks for it."""

from dataclasses import dataclass
from datetime import UTC, datetime

from db.connection import Connection
from db.pool import Database
from db.statements import statements


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """How much was deleted. `compositions` and `votes` are those in chats that remain."""

    chats: int = 0
    votes: int = 0
    compositions: int = 0
    searches: int = 0  # in the search log

    def __bool__(self) -> bool:
        return (self.chats, self.votes, self.compositions, self.searches) != (0, 0, 0, 0)


class Forgetting:
    """Deletes for good. Owners, refused admissions and the counts of today remain, so that nobody
    gets around a limit; what names nobody remains until it expires.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("forgetting")

    async def chat(self, platform: str, external_id: str) -> Forgotten:
        """Delete a chat with all that belongs to it. Raises StorageError."""
        async with self._database.transaction() as connection:
            return await self._chat(connection, platform, external_id)

    async def person(self, platform: str, person: str, *, chat: str, now: datetime) -> Forgotten:
        """Delete what is stored about a person, with the private chat. Raises StorageError."""
        who, today = f"{platform}:{person}", now.astimezone(UTC).date()
        async with self._database.transaction() as connection:
            gone = await self._chat(connection, platform, chat)
            await connection.execute(self._sql["admission"], platform, person)
            await connection.execute(self._sql["counts"], who, today)
            await connection.execute(self._sql["questions"], who)
            return Forgotten(
                chats=gone.chats,
                votes=await connection.fetchval(self._sql["votes"], who),
                compositions=await connection.fetchval(self._sql["compositions"], who),
                searches=gone.searches,
            )

    async def _chat(self, connection: Connection, platform: str, external_id: str) -> Forgotten:
        named = (platform, external_id)
        feeds = [row["feed_id"] for row in await connection.fetch(self._sql["feeds"], *named)]
        chat_id = await connection.fetchval(self._sql["chat"], *named)
        if chat_id is not None:
            await connection.execute(self._sql["drafts"], chat_id)
            await connection.execute(self._sql["chat_counts"], chat_id)
            await connection.execute(self._sql["unread_feeds"], feeds)
        await connection.execute(self._sql["admission"], *named)
        searches = await connection.fetchval(self._sql["searches"], *named)
        return Forgotten(chats=int(chat_id is not None), searches=searches)
