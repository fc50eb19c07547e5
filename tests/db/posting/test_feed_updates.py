"""What a poll brought is stored once, in one transaction, and joined to the story it tells."""

import asyncio
from dataclasses import replace

import pytest

from db.connection import load_statements
from db.pool import Database
from db.posting.feeds import Feeds
from db.posting.outbox import Outbox
from db.posting.subscriptions import Finds, Stories
from engine.errors import StorageError
from engine.feeds.feed import ConfiguredFeed, Decision, Feed
from engine.messages import as_message
from engine.posting.delivery import FindState, OwedNotice
from tests.database import fetch_value
from tests.db.news import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    URL,
    brought,
    configured,
    count,
    found,
    make_headline,
    met,
    read,
    tweet,
)
from tests.patience import PATIENCE

OTHER_URL = "https://other.test/feed"
STORM = "Great storm floods the old harbour of Lisbon"
STORM_AGAIN = "Great storm floods old harbour of Lisbon city"
VOTE = "Parliament votes down the budget of the new minister"


async def stored(database: Database, url: str = URL) -> Feed:
    (feed,) = [one.feed for one in await Feeds(database).health(now=NOW) if one.feed.url == url]
    return feed


async def test_the_feed_is_stored_as_decided(database: Database) -> None:
    (before,) = await configured(database, URL)
    after = replace(
        before,
        title="T",
        etag='W/"1"',
        last_modified="yesterday",
        next_poll_at=NOW + DAY,
        polled_at=NOW,
        succeeded_at=NOW - DAY,
        failures=3,
        failing_since=NOW - HOUR,
        told_failing=True,
        moved_to=OTHER_URL,
        moved_times=1,
        error=as_message("no answer"),
    )
    assert await Feeds(database).settle(before, Decision(feed=after), now=NOW) == []
    assert await stored(database) == after


async def test_a_new_headline_is_a_new_story(database: Database) -> None:
    (feed,) = await configured(database, URL)
    headline = replace(make_headline(STORM, link="https://a.test/1"), language="en")
    _, (story,) = await brought(database, feed, headline, now=NOW + HOUR)
    assert (story.title, story.text, story.link) == (headline.title, STORM, "https://a.test/1")
    assert (story.published, story.first_seen_at) == (NOW, NOW + HOUR)
    assert (story.source, story.language, story.categories) == ("The News", "en", ())
    assert await Stories(database).get([story.id, 999]) == [story]


async def test_a_known_headline_makes_no_new_story(database: Database) -> None:
    (feed,) = await configured(database, URL)
    headline = make_headline(STORM, identity="a", link="https://a.test/1")
    feed, _ = await brought(database, feed, headline)
    later = NOW + MINUTE
    again = replace(headline, text=VOTE)  # the title was edited
    feed, stories = await brought(database, feed, again, now=later)
    assert stories == []
    for number in range(3):  # the feed makes up identities
        later += MINUTE
        again = replace(
            headline, identity=f"b{number}", link=f"https://a.test/1?utm_source={number}"
        )
        feed, stories = await brought(database, feed, again, now=later)
        assert stories == []
    assert (await count(database, "headline"), await count(database, "story")) == (1, 1)


async def test_a_guid_that_stands_over_other_news_is_told_by_its_title(database: Database) -> None:
    (feed,) = await configured(database, URL)
    old = make_headline(STORM, identity="a", link="https://a.test/1")
    feed, _ = await brought(database, feed, old)
    new = make_headline(VOTE, identity="a", link="https://a.test/2")
    feed, (story,) = await brought(database, feed, new, now=NOW + HOUR)
    assert story.text == VOTE
    remarked = await stored(database)
    assert "same guid" in str(remarked.remark)
    assert remarked.remarked_at == NOW + HOUR
    feed, again = await brought(database, feed, new, now=NOW + 2 * HOUR)
    assert again == []
    assert (await stored(database)).remarked_at == NOW + HOUR


async def test_headlines_from_before_the_first_poll_make_no_story(database: Database) -> None:
    (feed,) = await configured(database, URL)
    feed, stories = await brought(database, feed, make_headline(STORM, seen_before=True))
    assert stories == []
    feed, stories = await brought(database, feed, make_headline(STORM), now=NOW + HOUR)
    assert stories == []
    assert (await count(database, "headline"), await count(database, "story")) == (1, 0)


async def test_headlines_of_two_feeds_are_one_story(database: Database) -> None:
    one, two = await configured(database, URL, OTHER_URL)
    await Feeds(database).configure_feeds(
        [ConfiguredFeed(url=URL, category="b"), ConfiguredFeed(url=OTHER_URL, category="a")],
        now=NOW,
    )
    one, (storm, vote) = await brought(
        database, one, make_headline(STORM), make_headline(VOTE, link="https://a.test/vote")
    )
    later = make_headline(STORM_AGAIN, published=NOW + 47 * HOUR)
    linked = make_headline("Quite another title", link="http://www.a.test/vote#x")
    two, stories = await brought(database, two, later, linked, now=NOW + 47 * HOUR)
    assert stories == []
    known = await Stories(database).get([storm.id, vote.id])
    assert [(story.title, story.categories) for story in known] == [
        (storm.title, ("a", "b")),
        (vote.title, ("a", "b")),
    ]
    again = make_headline(STORM, identity="again", published=NOW + 49 * HOUR, link="https://b.test")
    two, stories = await brought(database, two, again, now=NOW + 49 * HOUR)
    assert stories == [], "the same words within a week"
    much_later = make_headline(
        STORM_AGAIN, identity="later", published=NOW + 49 * HOUR, link="https://c.test/1"
    )
    two, (new,) = await brought(database, two, much_later, now=NOW + 49 * HOUR)
    assert new.id not in (storm.id, vote.id)


async def test_headlines_of_a_private_feed_share_no_story_with_other_readers(
    database: Database,
) -> None:
    """The words of a story are those of its first headline: all who are told of it may read it."""
    feeds, one, two = Feeds(database), await met(database, "1"), await met(database, "2")
    for chat, name in ((one, "a"), (two, "b"), (two, "c")):
        await feeds.add(chat, f"https://{name}.test/?token={name}", now=NOW - DAY)
    a, b, c = [await stored(database, f"https://{x}.test/?token={x}") for x in "abc"]
    _, (of_one,) = await brought(database, a, make_headline(STORM, link="https://p.test/1"))
    _, (of_two,) = await brought(database, b, make_headline(VOTE, link="https://p.test/1"))
    assert of_one.id != of_two.id
    assert (await brought(database, c, make_headline(VOTE)))[1] == []  # the same readers


async def test_private_news_that_everybody_gets_is_told_in_public_words(database: Database) -> None:
    feeds, chat = Feeds(database), await met(database)
    private = await feeds.add(chat, OTHER_URL, now=NOW - DAY)
    secret = make_headline(f"{STORM}, says our source", link="https://p.test/1?token=s3cret")
    private, (story,) = await brought(database, private, secret)
    await found(database, story, [tweet(1)])
    (shared,) = await configured(database, URL)
    shared, stories = await brought(database, shared, make_headline(STORM, link="https://p.test/2"))
    assert stories == []
    (retold,) = await Stories(database).get([story.id])
    assert (retold.title, retold.text, retold.link) == (f"{STORM}!", STORM, "https://p.test/2")
    assert await count(database, "find") == 0  # it holds the private words
    late = await Finds(database).keep(story, "demo", FindState.DULL, coverage=0.1, now=NOW)
    assert late is None
    await found(database, retold, [tweet(1)])
    again = make_headline(STORM_AGAIN, identity="again")
    assert (await brought(database, shared, again, now=NOW + MINUTE))[1] == []
    assert await count(database, "find") == 1  # told in public words once, it stays so


async def test_a_private_feed_merged_into_a_known_one_keeps_its_history_private(
    database: Database,
) -> None:
    feeds, chat = Feeds(database), await met(database)
    await configured(database, URL)
    private = await feeds.add(chat, OTHER_URL, now=NOW)
    private, _ = await brought(database, private, make_headline(STORM, link="https://a.test/?t=1"))
    moved = replace(read(private, now=NOW + HOUR).feed, url=URL)
    assert await feeds.settle(private, Decision(feed=moved), now=NOW + HOUR) == []
    of_feed = await fetch_value(database, "SELECT feed_id FROM headline")
    assert of_feed == private.id
    assert [feed.url for feed in await feeds.of_chat(chat)] == [URL, OTHER_URL]


async def test_one_entry_polled_by_two_processes_is_one_headline(
    database: Database, processes: list[Database]
) -> None:
    (feed,) = await configured(database, URL)
    decision = read(feed, make_headline(STORM), make_headline(VOTE))
    settled = await asyncio.gather(
        *(Feeds(process).settle(feed, decision, now=NOW) for process in processes)
    )
    assert sorted(len(stories or ()) for stories in settled) == [0, 0, 0, 2]
    assert settled.count(None) == 3
    assert (await count(database, "headline"), await count(database, "story")) == (2, 2)


async def test_a_story_polled_from_many_feeds_at_once_is_stored_once(
    database: Database, processes: list[Database]
) -> None:
    urls = [f"https://{number}.test/feed" for number in range(12)]
    feeds = await configured(database, *urls)

    async def poll(number: int, feed: Feed) -> int:
        words = (STORM, STORM_AGAIN)[number % 2]
        headlines = (
            make_headline(words),
            make_headline(f"Alone{number} bright{number} city{number}"),
        )
        decision = read(feed, *headlines)
        stories = await Feeds(processes[number % 4]).settle(feed, decision, now=NOW)
        return len(stories or ())

    async with asyncio.timeout(PATIENCE):
        new = await asyncio.gather(*(poll(*numbered) for numbered in enumerate(feeds)))
    assert sum(new) == 13
    assert await count(database, "story") == 13
    largest = await fetch_value(
        database, "SELECT max(n) FROM (SELECT count(*) AS n FROM headline GROUP BY story_id) x"
    )
    assert largest == 12


async def test_stories_are_looked_up_by_an_index(database: Database) -> None:
    """The planner would read them all, which takes ten times as long at five thousand."""
    sql = load_statements("news")
    async with database.transaction() as connection:
        await connection.execute(
            "INSERT INTO story (title, text, words, published, first_seen_at)"
            " SELECT n::text, n::text, ARRAY[n::text], $1, $1 FROM generate_series(1, 3000) n",
            NOW,
        )
        await connection.execute("ANALYZE story")
        await connection.execute(sql["join_alone"], 1)
        lookup = f"EXPLAIN {sql['like_stories']}"
        words = [str(number) for number in range(40)]
        plan = await connection.fetch(lookup, ["a.test/1"], words, NOW - DAY, NOW + DAY, 1)
    lines = "\n".join(row[0] for row in plan)
    assert "Bitmap Index Scan on story_words" in lines


async def test_a_poll_that_cannot_be_stored_changes_nothing(database: Database) -> None:
    (feed,) = await configured(database, URL)
    before = await stored(database)
    unstorable = replace(make_headline(VOTE), title="\0")
    with pytest.raises(StorageError):
        await Feeds(database).settle(feed, read(feed, make_headline(STORM), unstorable), now=NOW)
    assert await stored(database) == before
    assert (await count(database, "headline"), await count(database, "story")) == (0, 0)


async def test_a_poll_settled_elsewhere_or_of_a_removed_feed_is_dropped(database: Database) -> None:
    feeds, chat = Feeds(database), await met(database)
    await feeds.add(chat, URL, now=NOW)
    (feed,) = await feeds.claim_due(now=NOW, limit=1, lease=MINUTE)
    notice = OwedNotice(chat=chat, thread=None, key="k", content="{}")
    await brought(database, feed, make_headline(STORM))
    late = read(feed, make_headline(VOTE), now=NOW + HOUR)
    assert await feeds.settle(feed, late, notices=[notice], now=NOW + HOUR) is None
    assert await feeds.remove(chat, URL)
    assert await feeds.settle(late.feed, late, notices=[notice], now=NOW + HOUR) is None
    assert (await count(database, "headline"), await count(database, "delivery")) == (0, 0)


async def test_a_failing_feed_is_stored_together_with_its_notice(database: Database) -> None:
    chat = await met(database)
    (feed,) = await configured(database, URL)
    after = replace(feed, polled_at=NOW, told_failing=True, failures=9)
    notice = OwedNotice(chat=chat, thread="3", key="k", content='{"a":1}')
    broken = replace(notice, key="l", content="no JSON")
    with pytest.raises(StorageError):
        await Feeds(database).settle(feed, Decision(feed=after), notices=[notice, broken], now=NOW)
    assert not (await stored(database)).told_failing
    assert await Feeds(database).settle(feed, Decision(feed=after), notices=[notice], now=NOW) == []
    assert (await stored(database)).told_failing
    (leased,) = await Outbox(database).lease(["test"], now=NOW, limit=9, lease=MINUTE)
    assert (leased.delivery.key, leased.delivery.thread) == ("k", "3")


# Moving


async def test_a_feed_moves_with_its_past(database: Database) -> None:
    (feed,) = await configured(database, URL)
    feed, _ = await brought(database, feed, make_headline(STORM))
    moved = replace(read(feed, now=NOW + HOUR).feed, url=OTHER_URL)
    feeds = Feeds(database)
    assert await feeds.settle(feed, Decision(feed=moved), now=NOW + HOUR) == []
    assert (await stored(database, OTHER_URL)).id == feed.id
    # The settings still name the old address.
    await feeds.configure_feeds([ConfiguredFeed(url=URL, category="c")], now=NOW)
    (only,) = await feeds.health(now=NOW)
    assert (only.feed.id, only.feed.url, only.feed.category) == (feed.id, OTHER_URL, "c")
    moved, stories = await brought(database, moved, make_headline(STORM), now=NOW + 2 * HOUR)
    assert stories == []


async def test_a_feed_that_moves_to_a_known_one_joins_it(database: Database) -> None:
    feeds, chat, other = Feeds(database), await met(database, "1"), await met(database, "2")
    (old,) = await configured(database, URL)
    old, _ = await brought(database, old, make_headline(STORM))
    await feeds.add(chat, URL, category="mine", now=NOW)
    new = await feeds.add(other, OTHER_URL, now=NOW)
    later = NOW + HOUR
    decision = read(
        replace(old, url=OTHER_URL), make_headline(STORM), make_headline(VOTE), now=later
    )
    stories = await feeds.settle(old, decision, now=later)
    assert [story.text for story in stories or ()] == [VOTE]
    (only,) = await feeds.health(now=later)
    assert (only.feed.id, only.feed.url, only.feed.configured, only.chats) == (
        new.id,
        OTHER_URL,
        True,
        2,
    )
    assert (await feeds.of_chat(chat))[0].category == "mine"
    assert (await count(database, "headline"), await count(database, "story")) == (2, 2)
    (claimed,) = await feeds.claim_due(now=later, limit=9, lease=MINUTE)
    again = read(claimed, make_headline(VOTE), make_headline(STORM), now=later)
    assert await feeds.settle(claimed, again, now=later) == []


async def test_two_configured_feeds_are_never_merged(database: Database) -> None:
    old, _ = await configured(database, URL, OTHER_URL)
    moved = replace(read(old).feed, url=OTHER_URL)
    assert await Feeds(database).settle(old, Decision(feed=moved), now=NOW) == []
    health = await Feeds(database).health(now=NOW)
    assert [one.feed.url for one in health] == [URL, OTHER_URL]


# Forgetting


async def test_headlines_still_in_the_feed_are_not_forgotten(database: Database) -> None:
    feeds = Feeds(database)
    (feed,) = await configured(database, URL)
    feed, _ = await brought(database, feed, make_headline(STORM), make_headline(VOTE))
    later = NOW + 100 * DAY
    await feeds.forget(before=later)  # it was not read since
    assert await count(database, "headline") == 2
    feed, _ = await brought(database, feed, make_headline(STORM), now=later)
    await feeds.forget(before=later)
    assert await count(database, "headline") == 1
    unchanged = replace(feed, polled_at=later + 100 * DAY)
    assert await feeds.settle(feed, Decision(feed=unchanged), now=later + 100 * DAY) == []
    await feeds.forget(before=later + 100 * DAY)
    assert await count(database, "headline") == 1
    later += 101 * DAY
    _, stories = await brought(database, replace(unchanged), make_headline(STORM), now=later)
    assert stories == []


# The window


@pytest.mark.parametrize(("hours", "same"), [(48, True), (-48, True), (49, False), (-49, False)])
async def test_a_story_is_recognised_by_its_words_for_two_days(
    database: Database, hours: int, same: bool
) -> None:
    """A poll that brings this one headline looks as far back, and ahead of its date, as that."""
    one, two = await configured(database, URL, OTHER_URL)
    await brought(database, one, make_headline(STORM))
    later = make_headline(STORM_AGAIN, published=NOW + hours * HOUR)
    _, new = await brought(database, two, later, now=NOW + 50 * HOUR)
    assert len(new) == (0 if same else 1)
