"""A chat gets a story once, however many of its feeds tell it, and whoever shares these feeds."""

from collections import Counter
from dataclasses import replace
from datetime import datetime
from itertools import combinations

import pytest

from bot.jobs.digest import decide_due_posts
from db.pool import Database
from db.posting.feeds import Feeds
from db.posting.subscriptions import Stories, Subscriptions
from engine.budget import Budget
from engine.feeds.feed import Feed, NewHeadline
from engine.posting.retold import StoryComparer
from engine.search import Hit
from tests.bot.apps import app_on
from tests.bot.conversing import corpus
from tests.bot.jobs.test_digest import deciding
from tests.db.news import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    brought,
    configured,
    found,
    make_headline,
    subscribed,
    tweet,
)
from tests.fakes.model import ModelServer, Step, answer, client_of, failure, slow

RETOLD = '{"same": [[2, 1]]}'


@pytest.mark.parametrize(
    ("reply", "budget", "told"),
    [
        (answer(RETOLD), -1, ["Fed holds rates"]),
        (answer('{"same": []}'), -1, ["Fed holds rates", "Powell leaves costs unchanged"]),
        (failure(503), -1, ["Fed holds rates", "Powell leaves costs unchanged"]),
        (slow(2), -1, ["Fed holds rates", "Powell leaves costs unchanged"]),
        (answer(RETOLD), 0, ["Fed holds rates", "Powell leaves costs unchanged"]),
    ],
)
@pytest.mark.parametrize("same_day", [True, False])
async def test_a_story_in_quite_other_words_is_told_once_where_a_model_says_so(
    storage: Database,
    monkeypatch: pytest.MonkeyPatch,
    reply: Step,
    budget: int,
    told: list[str],
    same_day: bool,
) -> None:
    monkeypatch.setattr("bot.jobs.digest._COMPARE_SECONDS", 1.0)
    chat = (await subscribed(storage)).chat
    feeds = [
        await Feeds(storage).add(chat, f"https://{name}.test/feed", now=NOW - DAY)
        for name in ("first", "second")
    ]
    limit = None if budget < 0 else budget
    async with ModelServer() as model, client_of(model, budget=Budget(tokens=limit)) as client:
        model.retellings = reply
        work = app_on(storage, [corpus("demo")], comparer=StoryComparer(client))
        for day, text in enumerate(("Fed holds rates", "Powell leaves costs unchanged")):
            now = NOW + (0 if same_day else day) * DAY + day * MINUTE
            await brought(storage, feeds[day], make_headline(text, published=now), now=now)
            for story in await Stories(storage).find_unsearched("demo", since=NOW, limit=9):
                await found(storage, story, foretold(story.id), now=now)
            if not same_day:
                await decide_due_posts(work, now=NOW + (day + 1) * DAY)
        await decide_due_posts(work, now=NOW + DAY if same_day else NOW + 3 * DAY)
        asked = len(model.comparisons)
    posted = await Subscriptions(storage).list_posted(chat, since=NOW)
    assert sorted(post.headline for post in posted) == told
    assert asked == (budget < 0), "nothing was told before the first, so that is not asked about"


FEEDS = range(4)
DAYS = 10
WAYS = [way for size in FEEDS for way in combinations(FEEDS, size + 1)]


def tell(day: int, feed: int) -> NewHeadline:
    """The news of a day in the words of a feed: nearly the same, or others with the same link, or
    others with the same tweets."""
    city, what = f"city{day}x", f"harbour{day}x"
    words = [
        f"Mayor of {city} opens {what} after years of costly delays and quarrels",
        f"Mayor of {city} opens {what} after years of costly delays and quarrels again",
        f"MAYOR of {city} opens {what}: after years of costly delays and quarrels, finally",
        f"After years of costly delays and quarrels mayor of {city} opens {what}",
    ]
    other = [f"{word} {word}s {city}" for word in ("Ribbon", "Crowd", "Ship", "Champagne")]
    link = f"https://agency.test/{day}" if day % 3 == 1 else f"https://paper{feed}.test/{day}"
    text = (words if day % 3 == 0 else other)[feed]
    return make_headline(text, link=link, published=NOW + day * DAY, identity=f"{day} {feed}")


def foretold(number: int) -> list[Hit]:
    """Tweets of one story, of which none is like any other."""
    hits = [tweet(10 * number + one) for one in range(3)]
    return [
        replace(hit, candidate=replace(hit.candidate, text=hit.candidate.external_id * 20))
        for hit in hits
    ]


async def test_a_feed_that_was_away_tells_nothing_again_under_a_headline_of_the_same_days(
    storage: Database,
) -> None:
    chat = (await subscribed(storage)).chat
    early, late = [
        await Feeds(storage).add(chat, f"https://{name}.test/feed", now=NOW - DAY)
        for name in ("early", "late")
    ]
    work = deciding(storage)

    async def bring(feed: Feed, *headlines: NewHeadline, now: datetime) -> None:
        await brought(storage, feed, *headlines, now=now)
        for story in await Stories(storage).find_unsearched("demo", since=NOW, limit=9):
            tweets = foretold(1)[: 2 if len(headlines) > 1 else 1]
            await found(storage, story, tweets, now=now)

    back_at = NOW + 5 * DAY + HOUR
    again = make_headline("Crowd saw the harbour open")
    further = make_headline("Crowd leaves the harbour again", published=back_at)
    await bring(early, make_headline("Crowd cheers new harbour"), now=NOW + MINUTE)
    for day in range(1, 9):
        if day == 6:
            await bring(late, again, further, now=back_at)
        await decide_due_posts(work, now=NOW + day * DAY + MINUTE)
    posted = await Subscriptions(storage).list_posted(chat, since=NOW)
    assert [post.appeared_at for post in posted] == [NOW, back_at], "what came later is news"


@pytest.mark.parametrize("shared_by_all", [0, 1])
async def test_ten_days_of_four_feeds_shared_in_all_ways_tell_each_story_once(
    storage: Database, shared_by_all: int
) -> None:
    """Feeds take turns in telling a story first, and the last tells it after the day's post."""
    urls = [f"https://paper{number}.test/feed" for number in FEEDS]
    feeds: dict[int, Feed] = dict(enumerate(await configured(storage, *urls[:shared_by_all])))
    chats = {}
    for way in WAYS:
        subscription = await subscribed(storage, "".join(map(str, way)))
        chats[subscription.chat.id] = way
        for feed in way:
            if feed >= shared_by_all:
                feeds[feed] = await Feeds(storage).add(subscription.chat, urls[feed], now=NOW - DAY)
    work = deciding(storage)
    for day in range(DAYS):
        post_at = NOW + (day + 1) * DAY
        for place, minutes in enumerate((-40, -30, -20, 20)):
            if place == len(FEEDS) - 1:
                await decide_due_posts(work, now=post_at + MINUTE)
            feed, now = (day + place) % len(FEEDS), post_at + minutes * MINUTE
            feeds[feed], _ = await brought(storage, feeds[feed], tell(day, feed), now=now)
            for story in await Stories(storage).find_unsearched("demo", since=NOW, limit=9):
                tweets = foretold(1000 + day if day % 3 == 2 else story.id)
                await found(storage, story, tweets, now=now)
    await decide_due_posts(work, now=NOW + (DAYS + 1) * DAY + MINUTE)
    async with storage.connection() as connection:
        rows = await connection.fetch(
            "SELECT chat_id, extract(day FROM s.published - $1)::integer AS day"
            "  FROM posted JOIN story s ON s.id = story_id",
            NOW,
        )
    told_times = Counter((row["chat_id"], row["day"]) for row in rows)
    assert told_times == dict.fromkeys(((chat, day) for chat in chats for day in range(DAYS)), 1)
