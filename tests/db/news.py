"""Chats, feeds, stories and finds to try the stores of news with."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from db.chat.chats import Chats
from db.pool import Database
from db.posting.feeds import Feeds
from db.posting.outbox import Outbox
from db.posting.subscriptions import Finds, Subscriptions
from engine.chat import Chat
from engine.feeds.feed import ConfiguredFeed, Decision, Feed, NewHeadline, Story
from engine.feeds.stories import words_of
from engine.posting.delivery import (
    FindState,
    OwedPost,
    PostingMode,
    SelectedFind,
    StoryFind,
    Subscription,
)
from engine.search import Hit
from engine.text.address import link_key
from tests.bot.prophecies import make_hit, make_prophecy
from tests.database import fetch_value

NOW = datetime(2026, 11, 22, 9, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = (
    timedelta(seconds=1),
    timedelta(minutes=1),
    timedelta(hours=1),
    timedelta(days=1),
)
URL = "https://news.test/feed"


async def met(database: Database, external_id: str = "1") -> Chat:
    return await Chats(database).meet("test", external_id, private=False, title=None)


async def subscribed(
    database: Database, external_id: str = "1", mode: PostingMode = PostingMode.DAILY
) -> Subscription:
    chat = await met(database, external_id)
    return await Subscriptions(database).set(Subscription(chat=chat, mode=mode), now=NOW - DAY)


def make_headline(
    text: str,
    *,
    identity: str | None = None,
    link: str | None = None,
    published: datetime = NOW,
    seen_before: bool = False,
) -> NewHeadline:
    return NewHeadline(
        identity=identity or text,
        title=f"{text}!",
        text=text,
        published=published,
        link=link,
        link_key=link_key(link) if link else None,
        seen_before=seen_before,
    )


async def configured(database: Database, *urls: str, now: datetime = NOW) -> list[Feed]:
    """Put feeds into the settings, and claim them."""
    feeds = Feeds(database)
    await feeds.configure_feeds([ConfiguredFeed(url=url) for url in urls], now=now)
    claimed = await feeds.claim_due(now=now, limit=len(urls), lease=MINUTE)
    return sorted(claimed, key=lambda feed: urls.index(feed.url))


def read(feed: Feed, *headlines: NewHeadline, now: datetime = NOW) -> Decision:
    """What follows from a poll that brought these headlines."""
    after = replace(
        feed,
        title="The News",
        next_poll_at=now + HOUR,
        polled_at=now,
        succeeded_at=now,
    )
    return Decision(feed=after, headlines=headlines)


async def brought(
    database: Database, feed: Feed, *headlines: NewHeadline, now: datetime = NOW
) -> tuple[Feed, list[Story]]:
    """Settle such a poll; return the feed as it is then, and the new stories."""
    decision = read(feed, *headlines, now=now)
    stories = await Feeds(database).settle(feed, decision, now=now)
    assert stories is not None
    return decision.feed, stories


async def some_stories(database: Database, number: int) -> list[Story]:
    """Stories of one feed of the settings."""
    (feed,) = await configured(database, URL)
    texts = [f"number{one} happens in city{one} town{one}" for one in range(number)]
    return (await brought(database, feed, *map(make_headline, texts)))[1]


def tweet(number: int) -> Hit:
    hit = make_hit()
    return replace(hit, candidate=replace(hit.candidate, external_id=str(number)))


async def found(
    database: Database,
    story: Story,
    hits: Sequence[Hit],
    *,
    corpus: str = "demo",
    now: datetime = NOW,
) -> StoryFind:
    """Keep what was judged for a story."""
    prophecy = make_prophecy(*hits)
    number = await Finds(database).keep(
        story, corpus, FindState.JUDGED, coverage=0.5, prophecy=prophecy, now=now
    )
    assert number is not None
    return StoryFind(
        id=number,
        story=story,
        corpus=corpus,
        prophecy=prophecy,
        words=words_of(story.text),
        link_key=link_key(story.link) if story.link else None,
        appeared_at=story.published,
    )


async def some_chosen(
    database: Database, number: int, *, corpus: str = "demo"
) -> list[SelectedFind]:
    """Finds of different stories and different tweets."""
    stories = await some_stories(database, number)
    finds = [await found(database, story, [tweet(story.id)], corpus=corpus) for story in stories]
    return [SelectedFind(find=find, hit=find.prophecy.hits[0]) for find in finds]


async def count(database: Database, table: str) -> int:
    return int(await fetch_value(database, f"SELECT count(*) FROM {table}"))


async def decide_daily(
    outbox: Outbox,
    subscription: Subscription,
    day: date,
    *,
    content: str | None,
    selected: Sequence[SelectedFind] = (),
    now: datetime = NOW,
    picture: str | None = None,
    instead: Sequence[str] = (),
    draft: str | None = None,
) -> bool:
    """Decide the daily post of one chat, as a round does for many."""
    post = OwedPost(
        subscription=subscription,
        key=":".join(
            filter(None, ("daily", str(subscription.chat.id), str(day), subscription.topic))
        ),
        content=content,
        selected=tuple(selected),
        picture=picture,
        instead=tuple(instead),
        draft=draft,
        day=day,
    )
    return (await outbox.decide([post], now=now))[0]


async def decide_instant(
    outbox: Outbox,
    subscription: Subscription,
    selected: SelectedFind,
    *,
    content: str,
    picture: str | None = None,
    now: datetime = NOW,
) -> bool:
    """Decide to tell one chat of one story."""
    post = OwedPost(
        subscription=subscription,
        key=f"story:{subscription.chat.id}:{selected.find.story.id}",
        content=content,
        selected=(selected,),
        picture=picture,
    )
    return (await outbox.decide([post], now=now))[0]
