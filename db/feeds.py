"""Feeds: who follows them, which are due, and what a poll changes."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from db.pool import Database
from engine.chat import Chat
from engine.feeds.types import ConfiguredFeed, Decision, Feed, FeedHealth, Story
from engine.posting.types import Subscription


class Feeds:
    """Reads and writes the feed, chat_feed, headline and story tables."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def configured(self, feeds: Sequence[ConfiguredFeed], *, now: datetime) -> None:
        """Make the feeds of the settings exactly these. Safe to repeat, in many processes."""
        raise NotImplementedError

    async def claim_due(self, *, now: datetime, limit: int, lease: timedelta) -> list[Feed]:
        """Return feeds to poll now, for this process alone until the lease ends."""
        raise NotImplementedError

    async def release(self, feeds: Sequence[Feed]) -> None:
        """Give back what was claimed and not polled."""
        raise NotImplementedError

    async def settle(
        self, before: Feed, decision: Decision, *, now: datetime
    ) -> list[Story] | None:
        """Carry out what a poll decided, in one transaction; return the stories that are new.

        None when the feed was settled elsewhere since `before` was read, or is gone: then
        nothing is stored, and its notices are not to be told.
        """
        raise NotImplementedError

    async def add(
        self, chat: Chat, url: str, *, category: str | None = None, now: datetime
    ) -> Feed:
        """Let a chat follow a feed; a known feed is shared. Adding again changes the category."""
        raise NotImplementedError

    async def remove(self, chat: Chat, feed: int | str) -> bool:
        """Let a chat no longer follow a feed (id or URL); False when it did not."""
        raise NotImplementedError

    async def of_chat(self, chat: Chat) -> list[Feed]:
        """Return the feeds that a chat gets: those of the settings and its own.

        The category is the chat's where it gave one.
        """
        raise NotImplementedError

    async def health(self, *, now: datetime) -> list[FeedHealth]:
        """Return all feeds that somebody follows, by URL."""
        raise NotImplementedError

    async def followers(self, feed_id: int) -> list[Subscription]:
        """Return whom to tell of trouble with a feed.

        Those that added it, unless they said off; for a feed of the settings also every
        subscribed chat whose categories let it in.
        """
        raise NotImplementedError

    async def forget(self, *, before: datetime) -> None:
        """Remove headlines not seen since `before`, and feeds that nobody follows."""
        raise NotImplementedError
