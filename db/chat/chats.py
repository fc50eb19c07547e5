"""Stores chats and their settings, and forgets what a person or a chat left here."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from db.connection import Connection, statements
from db.pool import Database
from engine.chat import Chat, Listening, PostPicture


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


class Chats:
    """Reads and writes the chat table."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("conversation")

    async def meet(
        self,
        platform: str,
        external_id: str,
        *,
        private: bool,
        title: str | None,
        time_zone: str = "UTC",
        asked_in: str | None = None,
    ) -> Chat:
        """Return the chat, storing it if it is new. A chat that speaks is active again.

        `asked_in` is the language of whoever speaks; the chat's first one is kept.
        """
        async with self._database.connection() as connection:
            row = await connection.fetchrow(self._sql["chat"], platform, external_id)
            # Write only if something changed: every event comes through here.
            if (
                row is None
                or not row["active"]
                or title not in (None, row["title"])
                or (asked_in and row["asked_in"] is None)
            ):
                row = await connection.fetchrow(
                    self._sql["meet"], platform, external_id, private, title, time_zone, asked_in
                )
        assert row is not None  # noqa: S101 - the statement returns its row either way
        return chat_from(dict(row))

    async def find_chat(self, platform: str, external_id: str) -> Chat | None:
        """Return the chat if it is known."""
        async with self._database.read_anywhere(latest=True) as reader:
            row = await reader.fetchrow(self._sql["chat"], platform, external_id)
        return None if row is None else chat_from(dict(row))

    async def on_platform(self, platform: str) -> list[Chat]:
        """Return all chats of a platform, by their names there."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["chats_on"], platform)
        return [chat_from(dict(row)) for row in rows]

    async def change(self, chat: Chat) -> None:
        """Store the settings of a chat, and nothing else about it."""
        async with self._database.connection() as connection:
            await connection.execute(
                self._sql["change"],
                chat.id,
                chat.language,
                chat.time_zone,
                chat.corpus,
                str(chat.listening),
                chat.threshold,
                chat.quiet_from,
                chat.quiet_to,
                chat.picture.value,
                chat.full_answers,
                chat.asked_in,
            )

    async def move(self, platform: str, old: str, new: str) -> None:
        """Give a chat the id that the platform moved it to, and keep all its data.

        Safe to repeat: a group that becomes a supergroup reports it several times.
        """
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["bring_owed"], platform, old, new)
            await connection.execute(self._sql["forget_moved"], platform, old, new)
            await connection.execute(self._sql["move"], platform, old, new)
            await connection.execute(self._sql["move_admission"], platform, old, new)

    async def set_active(self, platform: str, external_id: str, *, active: bool) -> None:
        """Note that the bot was blocked or removed, or that it is back.

        Does nothing for an unknown chat.
        """
        async with self._database.connection() as connection:
            await connection.execute(self._sql["set_active"], platform, external_id, active)


def chat_from(columns: Mapping[str, Any]) -> Chat:
    """Return the chat in columns that are named as its fields."""
    return Chat(
        **{
            **columns,
            "listening": Listening.parse(columns["listening"]),
            "picture": PostPicture(columns["picture"]),
        }
    )
