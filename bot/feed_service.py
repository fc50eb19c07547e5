"""The feeds of a chat or of everybody: looked up, listed, added, removed, exported and imported."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.app import App
from bot.settings import Settings
from db.posting.feeds import Feeds
from engine.chat import Chat
from engine.errors import UsageError
from engine.feeds.feed import ConfiguredFeed, Feed, FeedHealth
from engine.feeds.lookup import FoundFeed, OpmlFeed, ReadableFeed, well_known
from engine.messages import Message
from engine.settings import UNLIMITED
from engine.text.address import public_address


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFeeds:
    """How many feeds of a list were added, were there before, and were too many."""

    added: int
    present: int
    left_out: int


@dataclass(frozen=True, slots=True)
class FeedService:
    """Looks up and changes feeds: those of a chat, or, without one, those that everybody gets."""

    app: App
    maximum: int = UNLIMITED  # of feeds that a chat may add

    async def look_up(self, address: str) -> ReadableFeed | tuple[FoundFeed, ...]:
        """Return the feed at an address or of a well-known name, or those that a page names.

        Raises FetchError.
        """
        named = well_known(address)
        return await self.app.feed_lookup().look_up(named.url if named else address)

    async def list_health(self, chat: Chat | None, *, now: datetime) -> list[FeedHealth]:
        """Return all feeds, or those of a chat, with how they fare."""
        await self._configure(now)
        healths = await self._stored.health(now=now)
        own = None if chat is None else {feed.id for feed in await self._stored.of_chat(chat)}
        return [health for health in healths if own is None or health.feed.id in own]

    async def export(self, chat: Chat | None, *, secrets: bool, now: datetime) -> list[OpmlFeed]:
        """Return the feeds for a list; without `secrets`, no address that everybody gets and that
        holds one. Everybody's are without chats' own, which a list must not make everybody's."""
        return [
            OpmlFeed(url=feed.url, title=feed.title, category=feed.category)
            for feed in await self._list(chat, now)
            if secrets or not feed.configured or public_address(feed.url) == feed.url
        ]

    async def add(self, chat: Chat | None, feed: OpmlFeed, *, now: datetime) -> bool:
        """Let a chat or everybody get a feed, and return False if that was so.

        Raises UsageError if the chat has as many as it may add.
        """
        present = await self._list(chat, now)
        same = next((other for other in present if other.url == feed.url), None)
        if (same is None or same.configured) and self._count_room(present) == 0:
            raise UsageError(
                Message(
                    "A chat may add {maximum} feeds, and this one has."
                    " /feeds remove NUMBER makes room.",
                    maximum=self.maximum,
                )
            )
        await self._store(chat, [feed], now)
        return same is None

    async def import_feeds(
        self, chat: Chat | None, feeds: Sequence[OpmlFeed], *, now: datetime
    ) -> ImportedFeeds:
        """Add the feeds of a list that are not there yet, as many as a chat may have."""
        present = await self._list(chat, now)
        urls = {feed.url for feed in present}
        new = [feed for feed in feeds if feed.url not in urls]
        added = new[: self._count_room(present)]
        await self._store(chat, added, now)
        return ImportedFeeds(
            added=len(added), present=len(feeds) - len(new), left_out=len(new) - len(added)
        )

    async def remove(self, chat: Chat | None, feed: int | str, *, now: datetime) -> bool:
        """Take a feed from a chat, by its number or address, or from everybody; return False if it
        was not added there."""
        if chat is not None:
            return await self._stored.remove(chat, feed)
        removed = await self._stored.unshare(str(feed))
        await self._configure(now)
        return removed

    @property
    def _stored(self) -> Feeds:
        return Feeds(self.app.database)

    async def _list(self, chat: Chat | None, now: datetime) -> list[Feed]:
        if chat is not None:
            return await self._stored.of_chat(chat)
        healths = await self.list_health(None, now=now)
        return [health.feed for health in healths if health.feed.configured]

    def _count_room(self, present: Sequence[Feed]) -> int | None:
        """Return how many more feeds may be added, or None if any number may."""
        own = sum(not feed.configured for feed in present)
        return None if self.maximum == UNLIMITED else max(self.maximum - own, 0)

    async def _store(self, chat: Chat | None, feeds: Sequence[OpmlFeed], now: datetime) -> None:
        for feed in feeds:
            url, category = feed.url, feed.category
            if chat is None:
                await self._stored.share(url, category=category, now=now)
            else:
                await self._stored.add(chat, url, title=feed.title, category=category, now=now)
        if chat is None:
            await self._configure(now)

    async def _configure(self, now: datetime) -> None:
        await self._stored.configure_feeds(configured_feeds(self.app.settings), now=now)


def configured_feeds(settings: Settings) -> tuple[ConfiguredFeed, ...]:
    """Return the feeds of the [[feeds]] tables."""
    return tuple(
        ConfiguredFeed(url=feed.url, category=feed.category or None) for feed in settings.feeds
    )
