"""Stores what one poll of a feed changes, inside one transaction."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from operator import itemgetter

import asyncpg

from db.connection import Connection, statements
from engine.feeds.decide import (
    SAME_HEADLINE_WITHIN,
    StoryWords,
    identity_hash,
    join,
    telling_words,
    words_hash,
    words_of,
)
from engine.feeds.feed import Feed, NewHeadline, Story
from engine.messages import message_json
from engine.posting.delivery import OwedNotice

SEEN_AGAIN_AFTER = timedelta(days=1)  # entries that stay in a feed are not written at each poll

_LOCK_CLASS = 7428  # any constant that no other lock uses


async def settle_feed(
    connection: Connection, before: Feed, after: Feed, *, read: bool, now: datetime
) -> bool:
    """Store the state of a feed; return False if it was settled since `before`, or is gone."""
    return bool(
        await connection.fetchval(
            statements("news")["settle_feed"],
            before.id,
            before.polled_at,
            after.title,
            after.etag,
            after.last_modified,
            after.next_poll_at,
            now,
            after.succeeded_at,
            after.failures,
            after.failing_since,
            after.told_failing,
            after.gone,
            after.moved_to,
            after.moved_times,
            after.error and message_json(after.error),
            read,
        )
    )


async def owe_notices(
    connection: Connection, notices: Sequence[OwedNotice], *, now: datetime
) -> None:
    """Owe each notice, unless its key was used before."""
    await connection.executemany(
        statements("posting")["owe"],
        [
            (notice.key, notice.chat.id, notice.thread, notice.content, now, False)
            for notice in notices
        ],
    )


async def move_feed(connection: Connection, feed_id: int, url: str) -> int:
    """Change the address of a feed, and return the id of the feed to continue with.

    If another feed has that address already, it takes over followers and headlines. The two stay
    separate if the settings name both, or if only chats added the moving feed, whose past is
    private to them.
    """
    sql = statements("news")
    rows = {row["id"]: row for row in await connection.fetch(sql["lock_moving"], feed_id, url)}
    other = next((row for row in rows.values() if row["id"] != feed_id), None)
    if other is None:
        await connection.execute(sql["move_feed"], feed_id, url)
        return feed_id
    if not rows[feed_id]["configured_url"] or other["configured_url"]:
        return feed_id
    await _merge(connection, feed_id, int(other["id"]))
    return int(other["id"])


async def _merge(connection: Connection, feed_id: int, into: int) -> None:
    sql = statements("news")
    await connection.execute(sql["merge_followers"], feed_id, into)
    await connection.execute(sql["merge_headlines"], feed_id, into)
    await connection.execute(sql["merge_stories"], feed_id, into)
    gone = await connection.fetchrow(sql["delete_feed"], feed_id)
    if gone and gone["configured_url"]:
        await connection.execute(
            sql["inherit_configuration"], into, gone["configured_url"], gone["category"]
        )


async def store_headlines(
    connection: Connection, feed: Feed, headlines: Sequence[NewHeadline], *, now: datetime
) -> list[Story]:
    """Store the headlines that the feed brings for the first time; return the new stories.

    Only one transaction at a time joins headlines to stories: two that bring the same news at once
    would otherwise make two stories of it.
    """
    unseen = await _select_unseen(connection, feed, headlines, now)
    news = [headline for headline in unseen if not headline.seen_before]
    of_story: dict[str, int] = {}
    stories: list[Story] = []
    if news:
        await connection.execute(statements("news")["join_alone"], _LOCK_CLASS)
        joined = join(news, await _like(connection, feed, news))
        await _retell(connection, feed, news, joined)
        stories, ids = await _store_stories(connection, feed, news, joined, now)
        of_story = {
            headline.identity: ids.get(story.id, story.id)
            for headline, story in zip(news, joined, strict=True)
        }
    await connection.executemany(
        statements("news")["insert_headline"],
        [
            (feed.id, identity_hash(new), words_hash(new), of_story.get(new.identity),
             new.title, new.link, new.published, now)
            for new in unseen
        ],
    )  # fmt: skip
    return stories


async def _select_unseen(
    connection: Connection, feed: Feed, headlines: Sequence[NewHeadline], now: datetime
) -> list[NewHeadline]:
    identities = [identity_hash(headline) for headline in headlines]
    words = [words_hash(headline) for headline in headlines]
    rows = await connection.fetch(
        statements("news")["known_headlines"],
        feed.id, identities, words, now, now - SEEN_AGAIN_AFTER,
    )  # fmt: skip
    known = {row["identity_hash"] for row in rows}, {row["words_hash"] for row in rows}
    return [
        headline
        for headline, *hashes in zip(headlines, identities, words, strict=True)
        if hashes[0] not in known[0] and hashes[1] not in known[1]
    ]


async def _like(
    connection: Connection, feed: Feed, news: Sequence[NewHeadline]
) -> list[StoryWords]:
    """Return every story that one of `news` may belong to, oldest first."""
    links = [headline.link_key for headline in news if headline.link_key is not None]
    words = {word for headline in news for word in telling_words(words_of(headline.text))}
    moments = [headline.published for headline in news]
    rows = await connection.fetch(
        statements("news")["like_stories"],
        links,
        sorted(words),
        min(moments) - SAME_HEADLINE_WITHIN,
        max(moments) + SAME_HEADLINE_WITHIN,
        feed.id,
    )
    # Sorted here: to return an order the planner would walk through all of them.
    return [_story_words(row) for row in sorted(rows, key=itemgetter("id"))]


async def _retell(
    connection: Connection,
    feed: Feed,
    news: Sequence[NewHeadline],
    joined: Sequence[StoryWords],
) -> None:
    """Retell stories that only some chats may read in the words of `feed`, if it is shared by all.

    Finds for their old words are removed: they would show these words to everybody.
    """
    known = [
        (headline, story) for headline, story in zip(news, joined, strict=True) if story.id > 0
    ]
    if not known:
        return
    sql = statements("news")
    rows = await connection.fetchmany(
        sql["retell_story"],
        [
            (story.id, feed.id, headline.title, headline.text, headline.link, headline.link_key,
             words_of(headline.text), headline.language)
            for headline, story in known
        ],
    )  # fmt: skip
    if rows:
        await connection.execute(sql["forget_finds_of"], [row["id"] for row in rows])


def _story_words(row: asyncpg.Record) -> StoryWords:
    return StoryWords(
        id=row["id"],
        link_key=row["link_key"],
        words=tuple(row["words"]),
        published=row["published"],
    )


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
        statements("news")["insert_story"],
        [
            (feed.id, new.title, new.text, new.link, new.link_key, story.words, new.language,
             new.published, now)
            for new, story in first.values()
        ],
    )  # fmt: skip
    ids = {number: int(row["id"]) for number, row in zip(first, rows, strict=True)}
    return [_story(feed, first[number][0], ids[number], now) for number in first], ids


def _story(feed: Feed, headline: NewHeadline, number: int, now: datetime) -> Story:
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
