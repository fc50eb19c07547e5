"""Stores feeds and what their polls bring: who follows them, which are due, and their stories."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from operator import itemgetter

import asyncpg

from db.connection import Connection, list_values, load_statements, read_row
from db.pool import Store
from db.posting.outbox import owe_notices
from db.posting.subscriptions import subscription_of
from engine.chat import Chat
from engine.feeds.decide import find_remark
from engine.feeds.feed import ConfiguredFeed, Decision, Feed, FeedHealth, NewHeadline, Story
from engine.feeds.stories import (
    SAME_HEADLINE_WITHIN,
    KnownHeadline,
    StoryWords,
    identify_by_title,
    identity_hash,
    is_reused,
    join_stories,
    select_index_words,
    words_hash,
    words_of,
)
from engine.messages import message_from_json, message_json
from engine.posting.delivery import OwedNotice, Subscription

SEEN_AGAIN_AFTER = timedelta(days=1)  # entries that stay in a feed are not written at each poll
_LOCK_OF_NEWS = 7428  # any constant that no other lock uses
_COUNTED = timedelta(days=7)
_LOCK_OF_FEEDS = 7429  # any constant that no other lock uses
_SETTLED = (
    "title", "etag", "last_modified", "next_poll_at", "polled_at", "succeeded_at", "failures",
    "failing_since", "told_failing", "gone", "moved_to", "moved_times", "error",
)  # fmt: skip


class Feeds(Store, sql="news"):
    """Reads and writes the feed, shared_feed, chat_feed, headline and story tables."""

    async def share(self, url: str, *, category: str | None = None, now: datetime) -> bool:
        """Share a feed with everybody, from `configure_feeds` on; if it was shared before, set its
        category, return False."""
        return bool(await self._fetch_value("share", url, category, now))

    async def unshare(self, url: str) -> bool:
        """Stop sharing a feed with everybody; return False if it was not shared."""
        return bool(await self._fetch_value("unshare", url))

    async def offer(self, urls: Sequence[str], *, now: datetime) -> Mapping[str, int]:
        """Return a number for each address, the same for as long as the address is known: a button
        has no room for an address.

        An offered feed that nobody chooses is not polled, and is removed like any feed without
        followers.
        """
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["offer"], urls, now)
            rows = await connection.fetch(self._sql["offered"], urls)
        return {row["url"]: row["id"] for row in rows}

    async def find_offered(self, number: int) -> str | None:
        """Return the address of a number, or None if it was removed."""
        url: str | None = await self._fetch_value("offered_url", number)
        return url

    async def configure_feeds(self, feeds: Sequence[ConfiguredFeed], *, now: datetime) -> None:
        """Give everybody exactly these and the shared feeds. Safe to repeat, in many processes.

        If both name a feed, the category is that of `feeds`.
        """
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["one_at_a_time"], _LOCK_OF_FEEDS)
            shared = await connection.fetch(self._sql["shared"])
            category = {row["url"]: row["category"] for row in shared}
            category |= {feed.url: feed.category for feed in feeds}
            urls, categories = list(category), list(category.values())
            await connection.execute(self._sql["unconfigure"], urls)
            await connection.execute(self._sql["configure_known"], urls, categories)
            await connection.execute(self._sql["configure_new"], urls, categories, now)

    async def claim_due(self, *, now: datetime, limit: int, lease: timedelta) -> list[Feed]:
        """Return feeds to poll now, reserved for this process until the lease ends."""
        rows = await self._fetch_rows("claim_due", now, limit, now + lease)
        return [_read_feed(row) for row in rows]

    async def release(self, feeds: Sequence[Feed]) -> None:
        """Release feeds that were claimed and not polled."""
        await self._execute(
            "release_feeds", [feed.id for feed in feeds], [feed.polled_at for feed in feeds]
        )

    async def settle(
        self, before: Feed, decision: Decision, *, notices: Sequence[OwedNotice] = (), now: datetime
    ) -> list[Story] | None:
        """Apply the decision of a poll, in one transaction; return the new stories.

        `notices` are those of `decision.notices`, one for each follower: they are owed in the same
        transaction. Returns None, and stores nothing, if the feed was settled elsewhere since
        `before` was read, or is gone.
        """
        after, headlines = decision.feed, decision.headlines
        if after.url == before.url and not headlines and not notices:  # one row to write
            async with self._database.connection() as connection:
                settled = await settle_feed(connection, before, after, read=False, now=now)
            return [] if settled else None
        async with self._database.transaction() as connection:
            read = bool(headlines)
            if not await settle_feed(connection, before, after, read=read, now=now):
                return None
            await owe_notices(connection, notices, now=now)
            if after.url != before.url:
                polled = await move_feed(connection, before.id, after.url)
                after = replace(after, id=polled)
            unseen, reused = await _select_unseen(connection, after, headlines, now)
            remark = find_remark(before, decision, reused=reused, stored=len(unseen))
            if remark:
                await connection.execute(
                    self._sql["remark_on_feed"], after.id, message_json(remark), now
                )
            return await store_headlines(connection, after, unseen, now=now)

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
            followed = await connection.fetchval(self._sql["lock_followed"], chat.id, number, url)
            if followed is None:
                return False
            # A concurrent follower has waited for the lock, or is seen below.
            await connection.execute(self._sql["unfollow"], chat.id, followed)
            await connection.execute(self._sql["drop_unfollowed"], followed)
        return True

    async def of_chat(self, chat: Chat) -> list[Feed]:
        """Return the feeds that a chat gets, sorted by URL: those of the settings and its own.

        The category is the chat's own if it set one.
        """
        rows = await self._fetch_rows("feeds_of_chat", chat.id)
        return [_as_known(_read_feed(row), row["own_category"]) for row in rows]

    async def health(self, *, now: datetime) -> list[FeedHealth]:
        """Return all feeds with followers, sorted by URL."""
        rows = await self._fetch_rows("feed_health", now - _COUNTED)
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
        rows = await self._fetch_rows("followers", feed_id)
        return [subscription_of(row) for row in rows]

    async def forget(self, *, before: datetime) -> None:
        """Remove headlines not seen since `before`, and feeds that nobody follows."""
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["forget_headlines"], before, 2 * SEEN_AGAIN_AFTER)
            await connection.execute(self._sql["forget_feeds"], before)


def _read_feed(row: asyncpg.Record) -> Feed:
    said = {name: row[name] and message_from_json(row[name]) for name in ("error", "remark")}
    return read_row(Feed, row, configured=row["configured_url"] is not None, **said)


def _as_known(feed: Feed, category: str | None) -> Feed:
    return replace(feed, category=category or feed.category)


async def settle_feed(
    connection: Connection, before: Feed, after: Feed, *, read: bool, now: datetime
) -> bool:
    """Store the state of a feed; return False if it was settled since `before`, or is gone."""
    error = after.error and message_json(after.error)
    values = list_values(after, _SETTLED, polled_at=now, error=error)
    settle = load_statements("news")["settle_feed"]
    return bool(await connection.fetchval(settle, before.id, before.polled_at, *values, read))


async def move_feed(connection: Connection, feed_id: int, url: str) -> int:
    """Change the address of a feed, and return the id of the feed to continue with.

    If another feed has that address already, it takes over followers and headlines. The two stay
    separate if the settings name both, or if only chats added the moving feed, whose past is
    private to them.
    """
    sql = load_statements("news")
    rows = {row["id"]: row for row in await connection.fetch(sql["lock_moving"], feed_id, url)}
    other = next((row for row in rows.values() if row["id"] != feed_id), None)
    if other is None:
        await connection.execute(sql["move_feed"], feed_id, url)
        return feed_id
    if not rows[feed_id]["configured_url"] or other["configured_url"]:
        return feed_id
    await _merge_feed(connection, feed_id, int(other["id"]))
    return int(other["id"])


async def _merge_feed(connection: Connection, feed_id: int, into: int) -> None:
    sql = load_statements("news")
    await connection.execute(sql["merge_followers"], feed_id, into)
    await connection.execute(sql["merge_headlines"], feed_id, into)
    await connection.execute(sql["merge_stories"], feed_id, into)
    gone = await connection.fetchrow(sql["delete_feed"], feed_id)
    if gone and gone["configured_url"]:
        await connection.execute(
            sql["inherit_configuration"], into, gone["configured_url"], gone["category"]
        )


async def store_headlines(
    connection: Connection, feed: Feed, unseen: Sequence[NewHeadline], *, now: datetime
) -> list[Story]:
    """Store headlines that the feed brings for the first time; return the new stories.

    Only one transaction at a time joins headlines to stories: two that bring the same news at once
    would otherwise make two stories of it.
    """
    news = [headline for headline in unseen if not headline.seen_before]
    of_story: dict[str, int] = {}
    stories: list[Story] = []
    if news:
        await connection.execute(load_statements("news")["join_alone"], _LOCK_OF_NEWS)
        joined = join_stories(news, await _find_similar_stories(connection, feed, news))
        await _retell_stories(connection, feed, news, joined)
        stories, ids = await _store_stories(connection, feed, news, joined, now)
        of_story = {
            headline.identity: ids.get(story.id, story.id)
            for headline, story in zip(news, joined, strict=True)
        }
    await connection.executemany(
        load_statements("news")["insert_headline"],
        [
            (feed.id, identity_hash(new), words_hash(new), of_story.get(new.identity),
             new.title, new.link, new.published, now)
            for new in unseen
        ],
    )  # fmt: skip
    return stories


async def _select_unseen(
    connection: Connection, feed: Feed, headlines: Sequence[NewHeadline], now: datetime
) -> tuple[list[NewHeadline], int]:
    """Return the headlines that are new, and how many of them have a guid that is not."""
    identities = [identity_hash(headline) for headline in headlines]
    words = [words_hash(headline) for headline in headlines]
    rows = await connection.fetch(
        load_statements("news")["known_headlines"],
        feed.id, identities, words, now, now - SEEN_AGAIN_AFTER,
    )  # fmt: skip
    by_identity = {row["identity_hash"]: row for row in rows}
    known_words = {row["words_hash"] for row in rows}
    unseen: list[NewHeadline] = []
    reused = 0
    for headline, identity, hashed in zip(headlines, identities, words, strict=True):
        if hashed in known_words:
            continue
        row = by_identity.get(identity)
        if row is None:
            unseen.append(headline)
        elif is_reused(headline, read_row(KnownHeadline, row)):
            unseen.append(identify_by_title(headline))
            reused += 1
    return unseen, reused


async def _find_similar_stories(
    connection: Connection, feed: Feed, news: Sequence[NewHeadline]
) -> list[StoryWords]:
    """Return every story that one of `news` may belong to, oldest first."""
    links = [headline.link_key for headline in news if headline.link_key is not None]
    words = {word for headline in news for word in select_index_words(words_of(headline.text))}
    moments = [headline.published for headline in news]
    rows = await connection.fetch(
        load_statements("news")["like_stories"],
        links,
        sorted(words),
        min(moments) - SAME_HEADLINE_WITHIN,
        max(moments) + SAME_HEADLINE_WITHIN,
        feed.id,
    )
    # Sorted here: to return an order the planner would walk through all of them.
    return [read_row(StoryWords, row) for row in sorted(rows, key=itemgetter("id"))]


async def _retell_stories(
    connection: Connection, feed: Feed, news: Sequence[NewHeadline], joined: Sequence[StoryWords]
) -> None:
    """Retell stories that only some chats may read in the words of `feed`, if it is shared by all.

    Finds for their old words are removed: they would show these words to everybody.
    """
    joined_stories = [
        (headline, story) for headline, story in zip(news, joined, strict=True) if story.id > 0
    ]
    if not joined_stories:
        return
    sql = load_statements("news")
    rows = await connection.fetchmany(
        sql["retell_story"],
        [
            (story.id, feed.id, headline.title, headline.text, headline.link, headline.link_key,
             words_of(headline.text), headline.language)
            for headline, story in joined_stories
        ],
    )  # fmt: skip
    if rows:
        await connection.execute(sql["forget_finds_of"], [row["id"] for row in rows])


async def _store_stories(
    connection: Connection,
    feed: Feed,
    news: Sequence[NewHeadline],
    joined: Sequence[StoryWords],
    now: datetime,
) -> tuple[list[Story], dict[int, int]]:
    """Store the new ones among `joined`, each with the words of its first headline.

    Returns them, and the ids that they got.
    """
    first: dict[int, tuple[NewHeadline, StoryWords]] = {}
    for headline, story in zip(news, joined, strict=True):
        if story.id < 0:
            first.setdefault(story.id, (headline, story))
    rows = await connection.fetchmany(
        load_statements("news")["insert_story"],
        [
            (feed.id, new.title, new.text, new.link, new.link_key, story.words, new.language,
             new.published, now)
            for new, story in first.values()
        ],
    )  # fmt: skip
    ids = {number: int(row["id"]) for number, row in zip(first, rows, strict=True)}
    return [_build_story(feed, first[number][0], ids[number], now) for number in first], ids


def _build_story(feed: Feed, headline: NewHeadline, number: int, now: datetime) -> Story:
    return Story(
        id=number,
        title=headline.title,
        text=headline.text,
        published=headline.published,
        first_seen_at=now,
        link=headline.link,
        source=feed.title,
        language=headline.language,
        categories=(feed.category,) if feed.category else (),
    )
