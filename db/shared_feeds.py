"""Feeds that everybody gets beside those of the settings, and feeds that a chat may choose from."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from db.pool import Database
from db.statements import statements
from engine.feeds.types import ConfiguredFeed


class SharedFeeds:
    """Reads and writes the shared_feed table. `Feeds.configured` carries it out."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("shared_feeds")

    async def add(self, url: str, *, category: str | None = None, now: datetime) -> bool:
        """Let everybody get a feed; False when that was so before: its category is changed."""
        async with self._database.connection() as connection:
            return bool(await connection.fetchval(self._sql["share"], url, category, now))

    async def remove(self, url: str) -> bool:
        """Let not everybody get a feed any more; False when it was not among these."""
        async with self._database.connection() as connection:
            return bool(await connection.fetchval(self._sql["unshare"], url))

    async def list(self) -> list[ConfiguredFeed]:
        """Return them by URL."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["shared"])
        return [ConfiguredFeed(**row) for row in rows]


class FeedOffers:
    """Numbers the feeds that a chat is to choose from: a button has no room for an address.

    An offered feed that nobody chooses is not polled, and forgotten like any that nobody follows.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("shared_feeds")

    async def offer(self, urls: Sequence[str], *, now: datetime) -> Mapping[str, int]:
        """Return a number for each address, always the same while it is known."""
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["offer"], urls, now)
            rows = await connection.fetch(self._sql["offered"], urls)
        return {row["url"]: row["id"] for row in rows}

    async def url(self, number: int) -> str | None:
        """Return the address of a number; None when it was forgotten."""
        async with self._database.connection() as connection:
            found = await connection.fetchval(self._sql["offered_url"], number)
        return None if found is None else str(found)
