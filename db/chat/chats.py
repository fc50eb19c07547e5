"""Stores chats and their settings."""

from collections.abc import Mapping
from typing import Any

from db.pool import Database
from db.statements import statements
from engine.chat import Chat, Listening, PostPicture


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

    async def known(self, platform: str, external_id: str) -> Chat | None:
        """Return the chat if it is known."""
        async with self._database.reading(latest=True) as reader:
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
                chat.listening.value,
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
            "listening": Listening(columns["listening"]),
            "picture": PostPicture(columns["picture"]),
        }
    )
