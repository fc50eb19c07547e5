"""What each chat wants to be told unasked."""

from datetime import datetime

from db.pool import Database
from engine.chat import Chat
from engine.posting.types import Posted, Subscription


class Subscriptions:
    """Reads and writes the subscription table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def set(self, subscription: Subscription, *, now: datetime) -> Subscription:
        """Store what a chat wants and return it as stored.

        `since` becomes `now` where the chat is new or its mode, hour or weekdays change, and
        stays what it was otherwise. Mode off also gives up what is owed and not being sent.
        """
        raise NotImplementedError

    async def get(self, chat: Chat) -> Subscription | None:
        """Return what a chat wants; None when it never said."""
        raise NotImplementedError

    async def active(self) -> list[Subscription]:
        """Return all subscriptions that are not off, of chats that are not gone."""
        raise NotImplementedError

    async def corpora(self, configured: str) -> list[str]:
        """Return the corpora of active subscriptions; `configured` where a chat names none."""
        raise NotImplementedError

    async def posted(self, chat: Chat, *, since: datetime) -> list[Posted]:
        """Return what was posted in a chat since then, or is owed to it, oldest first."""
        raise NotImplementedError
