"""Feeds are followed, shared, claimed by one process at a time, and dropped with the last chat."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from db.chat.chats import Chats
from db.pool import Database
from db.posting.feeds import Feeds
from db.posting.subscriptions import Subscriptions
from engine.feeds.feed import ConfiguredFeed, Decision, Feed
from engine.posting.delivery import PostingMode
from tests.db.news import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    URL,
    brought,
    configured,
    count,
    make_headline,
    met,
    subscribed,
)
from tests.patience import PATIENCE

OTHER_URL = "https://other.test/feed"


async def claim(database: Database, *, now: datetime = NOW, limit: int = 100) -> list[Feed]:
    return await Feeds(database).claim_due(now=now, limit=limit, lease=MINUTE)


async def known(database: Database) -> list[tuple[str, str | None, bool]]:
    found = [one.feed for one in await Feeds(database).health(now=NOW)]
    return [(feed.url, feed.category, feed.configured) for feed in found]


async def settle(database: Database, feed: Feed, **changes: object) -> None:
    after = replace(feed, polled_at=NOW, **changes)  # type: ignore[arg-type]  # of several types
    assert await Feeds(database).settle(feed, Decision(feed=after), now=NOW) is not None


# The settings


async def test_the_feeds_of_the_settings_are_exactly_those(database: Database) -> None:
    feeds = Feeds(database)
    await feeds.configure_feeds([ConfiguredFeed(url=URL), ConfiguredFeed(url=OTHER_URL)], now=NOW)
    assert await known(database) == [(URL, None, True), (OTHER_URL, None, True)]
    await feeds.configure_feeds([ConfiguredFeed(url=URL, category="tech")], now=NOW)
    assert await known(database) == [(URL, "tech", True)]
    await feeds.configure_feeds([], now=NOW)
    assert await known(database) == []
    assert await claim(database) == []
    await feeds.configure_feeds([ConfiguredFeed(url=OTHER_URL)], now=NOW)
    assert await known(database) == [(OTHER_URL, None, True)]
    assert await count(database, "feed") == 2  # nothing of its past is lost by a slip


async def test_concurrent_starts_configure_the_same_feeds(
    database: Database, processes: list[Database]
) -> None:
    wanted = [ConfiguredFeed(url=f"https://{number}.test") for number in range(20)]
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(
            *(Feeds(one).configure_feeds(order, now=NOW) for one, order in zip(
                processes * 2, (wanted, wanted[::-1]) * 4, strict=True))
        )  # fmt: skip
    assert len(await Feeds(database).health(now=NOW)) == 20


async def test_a_feed_that_a_chat_added_may_be_configured_later_and_no_longer(
    database: Database,
) -> None:
    feeds, chat = Feeds(database), await met(database)
    added = await feeds.add(chat, URL, category="mine", now=NOW)
    assert (added.category, added.configured) == ("mine", False)
    await feeds.configure_feeds([ConfiguredFeed(url=URL, category="ours")], now=NOW)
    (only,) = await feeds.health(now=NOW)
    assert (only.feed.id, only.feed.category, only.feed.configured) == (added.id, "ours", True)
    await feeds.configure_feeds([], now=NOW)
    (only,) = await feeds.health(now=NOW)
    assert (only.feed.id, only.feed.configured, only.chats) == (added.id, False, 1)


# Claiming


async def test_no_feed_is_delayed_after_the_clock_was_set_back(database: Database) -> None:
    await Feeds(database).configure_feeds(
        [ConfiguredFeed(url=URL), ConfiguredFeed(url=OTHER_URL)], now=NOW
    )
    polled, under_way = sorted(await claim(database), key=lambda feed: feed.url != URL)
    await settle(database, polled, next_poll_at=NOW + 30 * MINUTE)
    assert await claim(database, now=NOW - 30 * SECOND) == []  # another machine's clock
    set_back = NOW - 120 * MINUTE
    again = await claim(database, now=set_back)
    assert {feed.id for feed in again} == {polled.id, under_way.id}
    for feed in again:
        after = replace(feed, polled_at=set_back, next_poll_at=set_back + 30 * MINUTE)
        assert await Feeds(database).settle(feed, Decision(feed=after), now=set_back) is not None
    assert await claim(database, now=set_back + 29 * MINUTE) == []
    assert len(await claim(database, now=set_back + 30 * MINUTE)) == 2


async def test_no_two_processes_claim_the_same_feed(
    database: Database, processes: list[Database]
) -> None:
    urls = [f"https://{number}.test" for number in range(60)]
    await Feeds(database).configure_feeds([ConfiguredFeed(url=url) for url in urls], now=NOW)

    async def drain(process: Database) -> list[str]:
        taken: list[str] = []
        while claimed := await claim(process, limit=3):
            taken += [feed.url for feed in claimed]
        return taken

    taken = await asyncio.gather(*map(drain, processes))
    everything = [url for one in taken for url in one] + await drain(processes[0])
    assert sorted(everything) == sorted(urls)


async def test_a_claim_ends_with_its_time_or_when_given_back(database: Database) -> None:
    (feed,) = await configured(database, URL)
    assert await claim(database, now=NOW + MINUTE - SECOND) == []
    assert await claim(database, now=NOW + MINUTE) == [feed]
    assert await claim(database, now=NOW + MINUTE) == []
    await Feeds(database).release([feed])
    assert await claim(database, now=NOW + MINUTE) == [feed]


async def test_a_late_release_does_not_end_a_newer_claim(database: Database) -> None:
    (before,) = await configured(database, URL)
    await settle(database, before, next_poll_at=NOW)
    (claimed,) = await claim(database)
    await Feeds(database).release([before])
    assert await claim(database) == []
    await Feeds(database).release([claimed])
    assert await claim(database) == [claimed]


async def test_feeds_due_longest_are_claimed_first_up_to_the_limit(database: Database) -> None:
    urls = [f"https://{number}.test" for number in range(4)]
    for feed, hours in zip(await configured(database, *urls), (3, 1, 2, 4), strict=True):
        await settle(database, feed, next_poll_at=NOW + hours * HOUR)
    later = NOW + 3 * HOUR
    assert await claim(database, now=NOW + HOUR - SECOND) == []
    assert [feed.url for feed in await claim(database, now=later, limit=2)] == [urls[1], urls[2]]
    assert [feed.url for feed in await claim(database, now=later)] == [urls[0]]


async def test_gone_or_unfollowed_feeds_are_not_polled(database: Database) -> None:
    one, _ = await configured(database, URL, OTHER_URL)
    await settle(database, one, gone=True)
    feeds = Feeds(database)
    await feeds.configure_feeds([ConfiguredFeed(url=URL)], now=NOW)
    assert await claim(database, now=NOW + DAY) == []
    # Somebody who adds it again wants it to be tried.
    assert not (await feeds.add(await met(database), URL, now=NOW + DAY)).gone
    assert [feed.url for feed in await claim(database, now=NOW + DAY)] == [URL]


# Chats


async def test_chats_share_a_feed_and_each_has_its_category(database: Database) -> None:
    feeds, one, two = Feeds(database), await met(database, "1"), await met(database, "2")
    mine = await feeds.add(one, URL, category="tech", now=NOW)
    again = await feeds.add(two, URL, now=NOW)
    assert (again.id, again.category) == (mine.id, None)
    assert await feeds.of_chat(one) == [mine]
    assert await feeds.of_chat(two) == [again]
    await feeds.add(one, URL, category="science", now=NOW)
    assert [feed.category for feed in await feeds.of_chat(one)] == ["science"]
    await feeds.configure_feeds([ConfiguredFeed(url=OTHER_URL, category="all")], now=NOW)
    assert [feed.url for feed in await feeds.of_chat(two)] == [URL, OTHER_URL]
    assert await feeds.remove(one, mine.id)
    assert not await feeds.remove(one, mine.id)
    assert not await feeds.remove(one, OTHER_URL)
    assert [feed.url for feed in await feeds.of_chat(one)] == [OTHER_URL]
    assert await count(database, "feed") == 2
    assert await feeds.remove(two, URL)
    assert await count(database, "feed") == 1
    assert not await feeds.remove(two, "https://unknown.test")


async def test_a_feed_survives_when_a_chat_joins_as_the_last_one_leaves(database: Database) -> None:
    feeds, one, two = Feeds(database), await met(database, "1"), await met(database, "2")
    for _ in range(20):
        await feeds.add(one, URL, now=NOW)
        await asyncio.gather(feeds.remove(one, URL), feeds.add(two, URL, now=NOW))
        assert [feed.url for feed in await feeds.of_chat(two)] == [URL]
        assert await feeds.of_chat(one) == []
        await feeds.remove(two, URL)


async def test_health_counts_chats_and_new_headlines_a_day(database: Database) -> None:
    (feed,) = await configured(database, URL)
    old = [make_headline("Something old happened long ago", seen_before=True)]
    feed, _ = await brought(database, feed, *old, now=NOW - DAY)
    texts = [f"number{one} happens in city{one} town{one}" for one in range(14)]
    feed, _ = await brought(database, feed, *map(make_headline, texts))
    await Feeds(database).add(await met(database), URL, now=NOW)
    (health,) = await Feeds(database).health(now=NOW + DAY)
    assert (health.headlines_a_day, health.chats, health.feed.title) == (2.0, 1, "The News")
    (health,) = await Feeds(database).health(now=NOW + 8 * DAY)
    assert health.headlines_a_day == 0


async def follower_names(database: Database, feed: Feed) -> Sequence[str]:
    found = await Feeds(database).followers(feed.id)
    return [one.chat.external_id for one in found]


async def test_trouble_of_a_feed_reaches_only_its_followers(database: Database) -> None:
    feeds = Feeds(database)
    for name, mode in (
        ("daily", PostingMode.DAILY),
        ("off", PostingMode.OFF),
        ("gone", PostingMode.DAILY),
    ):
        await feeds.add((await subscribed(database, name, mode)).chat, URL, now=NOW)
    added = await feeds.add(await met(database, "silent"), URL, now=NOW)
    await Chats(database).set_active("test", "gone", active=False)
    for name, categories in (("tech", ("Tech",)), ("all", ()), ("sports", ("sports",))):
        subscription = replace(await subscribed(database, name), categories=categories)
        await Subscriptions(database).set(subscription, now=NOW)
    await met(database, "stranger")
    assert await follower_names(database, added) == ["daily", "silent"]
    modes = {
        follower.chat.external_id: follower.mode for follower in await feeds.followers(added.id)
    }
    assert modes == {"daily": PostingMode.DAILY, "silent": PostingMode.OFF}
    await feeds.configure_feeds([ConfiguredFeed(url=URL, category="tech")], now=NOW)
    assert await follower_names(database, added) == ["daily", "silent", "tech", "all"]


async def test_feeds_that_nobody_follows_are_forgotten_after_a_while(database: Database) -> None:
    feeds = Feeds(database)
    (feed,) = await configured(database, URL)
    feed, _ = await brought(database, feed, make_headline("A storm is coming to town"))
    await feeds.forget(before=NOW + DAY)
    assert await count(database, "feed") == 1
    await feeds.configure_feeds([], now=NOW)
    await feeds.forget(before=NOW)
    assert await count(database, "feed") == 1
    await feeds.forget(before=NOW + SECOND)
    assert (await count(database, "feed"), await count(database, "headline")) == (0, 0)


async def test_a_shared_feed_is_everybodys_until_it_is_removed(database: Database) -> None:
    feeds = Feeds(database)
    assert await feeds.share(OTHER_URL, category="tech", now=NOW)
    await feeds.configure_feeds([ConfiguredFeed(url=URL)], now=NOW)
    assert await known(database) == [(URL, None, True), (OTHER_URL, "tech", True)]
    assert not await feeds.share(OTHER_URL, category="research", now=NOW + DAY)
    await feeds.configure_feeds([ConfiguredFeed(url=URL)], now=NOW)
    assert await known(database) == [(URL, None, True), (OTHER_URL, "research", True)]
    assert await feeds.unshare(OTHER_URL)
    assert not await feeds.unshare(OTHER_URL)
    await feeds.configure_feeds([ConfiguredFeed(url=URL)], now=NOW)
    assert await known(database) == [(URL, None, True)]


async def test_the_configured_category_overrides_the_shared_one(database: Database) -> None:
    await Feeds(database).share(URL, category="tech", now=NOW)
    await Feeds(database).configure_feeds([ConfiguredFeed(url=URL, category="news")], now=NOW)
    assert await known(database) == [(URL, "news", True)]


async def test_offered_feeds_have_a_number_and_are_not_polled(database: Database) -> None:
    feeds = Feeds(database)
    followed = await feeds.add(await met(database), URL, now=NOW)
    numbers = await feeds.offer([OTHER_URL, URL], now=NOW)
    assert numbers[URL] == followed.id
    assert await feeds.offer([OTHER_URL], now=NOW) == {OTHER_URL: numbers[OTHER_URL]}
    assert await feeds.find_offered(numbers[OTHER_URL]) == OTHER_URL
    assert [feed.url for feed in await feeds.claim_due(now=NOW, limit=9, lease=MINUTE)] == [URL]
    await feeds.forget(before=NOW + MINUTE)
    assert await feeds.find_offered(numbers[OTHER_URL]) is None
    assert await count(database, "feed") == 1


async def test_an_offered_feed_begins_when_it_is_chosen(database: Database) -> None:
    feeds = Feeds(database)
    await Feeds(database).offer([OTHER_URL, URL], now=NOW - DAY)
    assert (await feeds.add(await met(database), URL, now=NOW)).created_at == NOW
    await feeds.configure_feeds([ConfiguredFeed(url=OTHER_URL)], now=NOW)
    polled, other = await feeds.claim_due(now=NOW, limit=9, lease=MINUTE)
    assert polled.created_at == other.created_at == NOW
    decision = Decision(feed=replace(polled, polled_at=NOW))
    assert await feeds.settle(polled, decision, now=NOW) is not None
    again = await feeds.add(await met(database, "2"), polled.url, now=NOW + DAY)
    assert again.created_at == NOW, "another chat does not begin it anew"
