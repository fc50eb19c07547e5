"""Feeds that everybody gets beside those of the settings, and numbers for feeds to choose from."""

from dataclasses import replace

from db.pool import Database
from db.posting.feeds import FeedOffers, Feeds, SharedFeeds
from engine.feeds.feed import ConfiguredFeed, Decision
from tests.db.news import DAY, MINUTE, NOW, URL, count, met

OTHER_URL = "https://other.test/feed"


async def known(database: Database) -> list[tuple[str, str | None, bool]]:
    found = [one.feed for one in await Feeds(database).health(now=NOW)]
    return [(feed.url, feed.category, feed.configured) for feed in found]


async def test_a_shared_feed_is_everybodys_until_it_is_removed(database: Database) -> None:
    feeds, shared = Feeds(database), SharedFeeds(database)
    assert await shared.add(OTHER_URL, category="tech", now=NOW)
    await feeds.configure_feeds([ConfiguredFeed(url=URL)], now=NOW)
    assert await known(database) == [(URL, None, True), (OTHER_URL, "tech", True)]
    assert not await shared.add(OTHER_URL, category="research", now=NOW + DAY)
    await feeds.configure_feeds([ConfiguredFeed(url=URL)], now=NOW)
    assert await known(database) == [(URL, None, True), (OTHER_URL, "research", True)]
    assert await shared.list() == [ConfiguredFeed(url=OTHER_URL, category="research")]
    assert await shared.remove(OTHER_URL)
    assert not await shared.remove(OTHER_URL)
    await feeds.configure_feeds([ConfiguredFeed(url=URL)], now=NOW)
    assert await known(database) == [(URL, None, True)]


async def test_the_configured_category_overrides_the_shared_one(database: Database) -> None:
    await SharedFeeds(database).add(URL, category="tech", now=NOW)
    await Feeds(database).configure_feeds([ConfiguredFeed(url=URL, category="news")], now=NOW)
    assert await known(database) == [(URL, "news", True)]


async def test_offered_feeds_have_a_number_and_are_not_polled(database: Database) -> None:
    feeds, offers = Feeds(database), FeedOffers(database)
    followed = await feeds.add(await met(database), URL, now=NOW)
    numbers = await offers.offer([OTHER_URL, URL], now=NOW)
    assert numbers[URL] == followed.id
    assert await offers.offer([OTHER_URL], now=NOW) == {OTHER_URL: numbers[OTHER_URL]}
    assert await offers.url(numbers[OTHER_URL]) == OTHER_URL
    assert [feed.url for feed in await feeds.claim_due(now=NOW, limit=9, lease=MINUTE)] == [URL]
    await feeds.forget(before=NOW + MINUTE)
    assert await offers.url(numbers[OTHER_URL]) is None
    assert await count(database, "feed") == 1


async def test_an_offered_feed_begins_when_it_is_chosen(database: Database) -> None:
    feeds = Feeds(database)
    await FeedOffers(database).offer([OTHER_URL, URL], now=NOW - DAY)
    assert (await feeds.add(await met(database), URL, now=NOW)).created_at == NOW
    await feeds.configure_feeds([ConfiguredFeed(url=OTHER_URL)], now=NOW)
    polled, other = await feeds.claim_due(now=NOW, limit=9, lease=MINUTE)
    assert polled.created_at == other.created_at == NOW
    decision = Decision(feed=replace(polled, polled_at=NOW))
    assert await feeds.settle(polled, decision, now=NOW) is not None
    again = await feeds.add(await met(database, "2"), polled.url, now=NOW + DAY)
    assert again.created_at == NOW, "another chat does not begin it anew"
