"""Stores feeds: who follows them, which are due, and which everybody gets."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime, timedelta

import asyncpg

from db.connection import statements
from db.pool import Database
from db.posting import feed_updates as settling
from db.posting.subscriptions import subscription_of
from engine.chat import Chat
from engine.feeds.feed import ConfiguredFeed, Decision, Feed, FeedHealth, Story
from engine.messages import message_from_json
from engine.posting.delivery import OwedNotice, Subscription


class SharedFeeds:
    """Reads and writes the shared_feed table. `Feeds.configured` applies it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("shared_feeds")

    async def add(self, url: str, *, category: str | None = None, now: datetime) -> bool:
        """Share a feed with everybody; if it was shared before, set its category, return False."""
        async with self._database.connection() as connection:
            return bool(await connection.fetchval(self._sql["share"], url, category, now))

    async def remove(self, url: str) -> bool:
        """Stop sharing a feed with everybody; return False if it was not shared."""
        async with self._database.connection() as connection:
            return bool(await connection.fetchval(self._sql["unshare"], url))

    async def list(self) -> list[ConfiguredFeed]:
        """Return the shared feeds, sorted by URL."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["shared"])
        return [ConfiguredFeed(**row) for row in rows]


class FeedOffers:
    """Numbers the feeds that a chat can choose from: a button has no room for an address.

    An offered feed that nobody chooses is not polled, and is removed like any feed without
    followers.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("shared_feeds")

    async def offer(self, urls: Sequence[str], *, now: datetime) -> Mapping[str, int]:
        """Return a number for each address, the same for as long as the address is known."""
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["offer"], urls, now)
            rows = await connection.fetch(self._sql["offered"], urls)
        return {row["url"]: row["id"] for row in rows}

    async def url(self, number: int) -> str | None:
        """Return the address of a number, or None if it was removed."""
        async with self._database.connection() as connection:
            found = await connection.fetchval(self._sql["offered_url"], number)
        return None if found is None else str(found)


_COLUMNS = tuple(field.name for field in fields(Feed) if field.name != "configured")
_COUNTED = timedelta(days=7)

_LOCK_CLASS = 7429  # any constant that no other lock uses


class Feeds:
    """Reads and writes the feed, chat_feed, headline and story tables."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("news")

    async def configure_feeds(self, feeds: Sequence[ConfiguredFeed], *, now: datetime) -> None:
        """Give everybody exactly these and the shared feeds. Safe to repeat, in many processes.

        If both name a feed, the category is that of `feeds`.
        """
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["one_at_a_time"], _LOCK_CLASS)
            shared = await connection.fetch(statements("shared_feeds")["shared"])
            category = {row["url"]: row["category"] for row in shared}
            category |= {feed.url: feed.category for feed in feeds}
            urls, categories = list(category), list(category.values())
            await connection.execute(self._sql["unconfigure"], urls)
            await connection.execute(self._sql["configure_known"], urls, categories)
            await connection.execute(self._sql["configure_new"], urls, categories, now)

    async def claim_due(self, *, now: datetime, limit: int, lease: timedelta) -> list[Feed]:
        """Return feeds to poll now, reserved for this process until the lease ends."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["claim_due"], now, limit, now + lease)
        return [_read_feed(row) for row in rows]

    async def release(self, feeds: Sequence[Feed]) -> None:
        """Release feeds that were claimed and not polled."""
        async with self._database.connection() as connection:
            await connection.execute(
                self._sql["release_feeds"],
                [feed.id for feed in feeds],
                [feed.polled_at for feed in feeds],
            )

    async def settle(
        self,
        before: Feed,
        decision: Decision,
        *,
        notices: Sequence[OwedNotice] = (),
        now: datetime,
    ) -> list[Story] | None:
        """Apply the decision of a poll, in one transaction; return the new stories.

        `notices` are those of `decision.notices`, one for each follower: they are owed in the same
        transaction. Returns None, and stores nothing, if the feed was settled elsewhere since
        `before` was read, or is gone.
        """
        after, headlines = decision.feed, decision.headlines
        if after.url == before.url and not headlines and not notices:  # one row to write
            async with self._database.connection() as connection:
                settled = await settling.settle_feed(connection, before, after, read=False, now=now)
            return [] if settled else None
        async with self._database.transaction() as connection:
            read = bool(headlines)
            if not await settling.settle_feed(connection, before, after, read=read, now=now):
                return None
            await settling.owe_notices(connection, notices, now=now)
            if after.url != before.url:
                polled = await settling.move_feed(connection, before.id, after.url)
                after = replace(after, id=polled)
            return await settling.store_headlines(connection, after, headlines, now=now)

    async def add(
        self,
        chat: Chat,
        url: str,
        *,
        title: str | None = None,
        category: str | None = None,
        now: datetime,
    ) -> Feed:
        """Make a chat follow a feed; a known feed is reused. Adding again changes the category.

        `title` names it until it is polled.
        """
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(self._sql["add_feed"], url, now, title)
            assert row is not None  # noqa: S101 - the statement returns its row either way
            await connection.execute(self._sql["follow"], chat.id, row["id"], category, now)
        return _as_known(_read_feed(row), category)

    async def remove(self, chat: Chat, feed: int | str) -> bool:
        """Make a chat stop following a feed (id or URL); return False if it did not follow it."""
        number, url = (feed, None) if isinstance(feed, int) else (None, feed)
        async with self._database.transaction() as connection:
            found = await connection.fetchval(self._sql["lock_followed"], chat.id, number, url)
            if found is None:
                return False
            # A concurrent follower has waited for the lock, or is seen below.
            await connection.execute(self._sql["unfollow"], chat.id, found)
            await connection.execute(self._sql["drop_unfollowed"], found)
        return True

    async def of_chat(self, chat: Chat) -> list[Feed]:
        """Return the feeds that a chat gets, sorted by URL: those of the settings and its own.

        The category is the chat's own if it set one.
        """
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["feeds_of_chat"], chat.id)
        return [_as_known(_read_feed(row), row["own_category"]) for row in rows]

    async def health(self, *, now: datetime) -> list[FeedHealth]:
        """Return all feeds with followers, sorted by URL."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["feed_health"], now - _COUNTED)
        return [
            FeedHealth(
                feed=_read_feed(row),
                headlines_a_day=row["headlines"] / _COUNTED.days,
                chats=row["chats"],
            )
            for row in rows
        ]

    async def followers(self, feed_id: int) -> list[Subscription]:
        """Return the chats to tell about trouble with a feed.

        These are the chats that added it, unless their mode is off, and for a feed of the settings
        also every subscribed chat whose categories include it.
        """
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["followers"], feed_id)
        return [subscription_of(row) for row in rows]

    async def forget(self, *, before: datetime) -> None:
        """Remove headlines not seen since `before`, and feeds that nobody follows."""
        async with self._database.transaction() as connection:
            await connection.execute(
                self._sql["forget_headlines"], before, 2 * settling.SEEN_AGAIN_AFTER
            )
            await connection.execute(self._sql["forget_feeds"], before)


def _read_feed(row: asyncpg.Record) -> Feed:
    columns = {name: row[name] for name in _COLUMNS}
    columns["error"] = row["error"] and message_from_json(row["error"])
    return Feed(**columns, configured=row["configured_url"] is not None)


def _as_known(feed: Feed, category: str | None) -> Feed:
    return replace(feed, category=category or feed.category)
