"""Finds are kept once a story and corpus, and shown to the chats that may see the story."""

from dataclasses import replace
from datetime import datetime

import pytest

from db.chat.chats import Chats
from db.pool import Database
from db.posting.feeds import Feeds
from db.posting.outbox import Outbox
from db.posting.subscriptions import Finds, Stories
from engine.chat import Chat
from engine.feeds.feed import ConfiguredFeed
from engine.feeds.stories import words_of
from engine.posting.delivery import (
    FindState,
    PostingMode,
    QuietDay,
    SelectedFind,
    StoryFind,
    Subscription,
)
from tests.bot.prophecies import UNJUDGED, make_prophecy
from tests.database import run_sql
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
    decide_daily,
    decide_instant,
    found,
    make_headline,
    some_stories,
    subscribed,
    tweet,
)

STORM = "Great storm floods the old harbour of Lisbon"


async def seen(
    database: Database, subscription: Subscription, *, since: datetime = NOW, corpus: str = "demo"
) -> list[StoryFind]:
    return await Finds(database).for_chat(subscription, corpus, since=since)


async def test_only_postable_finds_are_read_for_a_decision(database: Database) -> None:
    """Not what a model judged too low for any chat, and not what was posted in it."""
    subscription = await subscribed(database)
    high, low, posted, unjudged = await some_stories(database, 4)
    good = await found(database, high, [tweet(1)])
    await found(database, low, [tweet(2)])
    find = await found(database, posted, [tweet(3)])
    async with database.connection() as connection:
        await connection.execute("UPDATE find SET best = 5")
        await connection.execute("UPDATE find SET best = 3 WHERE story_id = $1", low.id)
    prophecy = make_prophecy(tweet(4), verdict=UNJUDGED)
    finds = Finds(database)
    await finds.keep(unjudged, "demo", FindState.UNJUDGED, coverage=0.9, prophecy=prophecy, now=NOW)
    selected = SelectedFind(find=find, hit=find.prophecy.hits[0])
    assert await decide_instant(Outbox(database), subscription, selected, content="{}", now=NOW)
    everything = await finds.for_chat(subscription, "demo", since=NOW)
    some = (await finds.postable([(subscription, "demo")], since=NOW))[subscription.chat.id]
    assert [one.story.id for one in everything] == [high.id, low.id, posted.id, unjudged.id]
    assert [one.story.id for one in some] == [high.id, unjudged.id]
    assert some[0] == good


async def test_many_chats_are_read_at_once_as_each_would_be_alone(database: Database) -> None:
    chats = [await subscribed(database, str(number)) for number in range(4)]
    stories = await some_stories(database, 3)
    feeds = Feeds(database)
    await feeds.add(chats[0].chat, "https://own.test/feed", category="mine", now=NOW)
    (own,) = await feeds.claim_due(now=NOW, limit=9, lease=MINUTE)
    _, [alone] = await brought(database, own, make_headline("Sugar tax doubles in the north"))
    stories = [*stories, alone]
    for number, story in enumerate(stories):
        await found(database, story, [tweet(number)])
        await found(database, story, [tweet(number + 10)], corpus="other")
    await run_sql(database, "UPDATE find SET best = 6")
    corpora = ["demo", "demo", "other", "nothing"]
    wanted = list(zip(chats, corpora, strict=True))
    finds = Finds(database)
    together = await finds.postable(wanted, since=NOW)
    assert together == {
        one.chat.id: await finds.for_chat(one, corpus, since=NOW) for one, corpus in wanted[:3]
    }
    assert [len(together[chat.chat.id]) for chat in chats[:3]] == [4, 3, 3]
    assert await finds.postable(wanted[3:], since=NOW) == {}


async def test_a_find_comes_back_as_it_was_kept(database: Database) -> None:
    subscription = await subscribed(database)
    one, two = await some_stories(database, 2)
    judged = await found(database, one, [tweet(1), tweet(2)])
    assert await seen(database, subscription) == [judged]
    assert await seen(database, subscription, corpus="other") == []
    assert await seen(database, subscription, since=NOW + SECOND) == []
    prophecy = make_prophecy(tweet(3), verdict=UNJUDGED, notice="over budget")
    number = await Finds(database).keep(
        two, "demo", FindState.UNJUDGED, coverage=0.7, prophecy=prophecy, now=NOW
    )
    assert number is not None
    unjudged = replace(judged, id=number, story=two, prophecy=prophecy, words=words_of(two.text))
    assert await seen(database, subscription) == [judged, unjudged]


async def test_a_judged_find_is_not_replaced_by_an_unjudged_one(database: Database) -> None:
    finds, subscription = Finds(database), await subscribed(database)
    (story,) = await some_stories(database, 1)
    waiting = await finds.keep(story, "demo", FindState.PROMISING, coverage=0.5, now=NOW)
    assert await seen(database, subscription) == []
    later = NOW + HOUR
    judged = await found(database, story, [tweet(1)], now=later)
    assert judged.id == waiting
    for state in (FindState.DULL, FindState.PROMISING, FindState.UNJUDGED):
        kept = await finds.keep(story, "demo", state, coverage=0.1, now=later + HOUR)
        assert kept == judged.id
    assert await seen(database, subscription) == [judged]
    assert await finds.find_waiting(FindState.PROMISING, ["demo"], since=NOW, limit=9) == []
    again = await found(database, story, [tweet(2)], now=later + HOUR)
    assert await seen(database, subscription) == [again]


async def test_a_late_search_does_not_have_a_story_judged_again(database: Database) -> None:
    finds = Finds(database)
    (story,) = await some_stories(database, 1)
    await finds.keep(story, "demo", FindState.UNJUDGED, coverage=0.5, now=NOW)
    await finds.keep(story, "demo", FindState.PROMISING, coverage=0.5, now=NOW)
    assert await finds.find_waiting(FindState.PROMISING, ["demo"], since=NOW, limit=9) == []


async def test_no_find_is_kept_for_a_forgotten_story(database: Database) -> None:
    (story,) = await some_stories(database, 1)
    unknown = replace(story, id=story.id + 99)
    kept = await Finds(database).keep(unknown, "demo", FindState.DULL, coverage=0.0, now=NOW)
    assert (kept, await count(database, "find")) == (None, 0)


async def test_the_most_promising_finds_come_first(database: Database) -> None:
    finds = Finds(database)
    stories = await some_stories(database, 4)
    for story, coverage in zip(stories, (0.2, 0.9, 0.5, 0.7), strict=True):
        await finds.keep(story, "demo", FindState.PROMISING, coverage=coverage, now=NOW)
    await finds.keep(stories[0], "other", FindState.PROMISING, coverage=0.8, now=NOW)
    await finds.keep(stories[1], "other", FindState.DULL, coverage=0.8, now=NOW)
    await finds.keep(stories[3], "demo", FindState.UNJUDGED, coverage=0.7, now=NOW)
    promising = await finds.find_waiting(FindState.PROMISING, ["demo", "other"], since=NOW, limit=3)
    assert promising == [
        (stories[1], "demo", 0.9),
        (stories[0], "other", 0.8),
        (stories[2], "demo", 0.5),
    ]
    promising = await finds.find_waiting(FindState.PROMISING, ["demo"], since=NOW, limit=9)
    assert [one.coverage for one in promising] == [0.9, 0.5, 0.2]
    since = NOW + SECOND
    assert await finds.find_waiting(FindState.PROMISING, ["demo"], since=since, limit=9) == []


async def test_what_was_left_unjudged_waits_for_a_model_as_of_then(database: Database) -> None:
    finds = Finds(database)
    stories = await some_stories(database, 3)
    for story, coverage in zip(stories, (0.4, 0.9, 0.6), strict=True):
        await finds.keep(story, "demo", FindState.UNJUDGED, coverage=coverage, now=NOW)
    await finds.keep(stories[0], "demo", FindState.UNJUDGED, coverage=0.4, now=NOW + HOUR)
    await found(database, stories[2], [tweet(1)])
    unjudged = await finds.find_waiting(FindState.UNJUDGED, ["demo", "other"], since=NOW, limit=9)
    assert unjudged == [(stories[1], "demo", 0.9), (stories[0], "demo", 0.4)]
    assert await finds.find_waiting(FindState.UNJUDGED, ["demo"], since=NOW + SECOND, limit=9) == []


async def test_a_quiet_day_tells_whether_anything_was_judged(database: Database) -> None:
    finds, outbox, subscription = Finds(database), Outbox(database), await subscribed(database)
    wanted = [(subscription, "demo"), (subscription, "other")]
    nothing = QuietDay(judged=False, waits=False, told=False)
    assert await finds.quiet_days(wanted, since=NOW) == [nothing, nothing]
    first, second, dull = await some_stories(database, 3)
    await finds.keep(dull, "demo", FindState.DULL, coverage=0.0, now=NOW)
    assert await finds.quiet_days(wanted, since=NOW) == [nothing, nothing]
    await finds.keep(first, "demo", FindState.PROMISING, coverage=0.5, now=NOW)
    waits = replace(nothing, waits=True)
    assert await finds.quiet_days(wanted, since=NOW) == [waits, nothing]
    assert await finds.quiet_days(wanted, since=NOW + SECOND) == [nothing, nothing]
    await decide_daily(outbox, subscription, NOW.date(), content='{"judged": false}')
    told = replace(waits, told=True)
    assert (await finds.quiet_days(wanted, since=NOW))[0] == told
    await found(database, second, [tweet(1)])
    assert (await finds.quiet_days(wanted, since=NOW))[0] == replace(told, judged=True)
    await decide_daily(outbox, subscription, (NOW + DAY).date(), content='{"stories": []}')
    assert not (await finds.quiet_days(wanted, since=NOW))[0].told


async def test_unpromising_finds_are_given_up(database: Database) -> None:
    finds = Finds(database)
    stories = await some_stories(database, 3)
    searched = zip(stories, (0.2, 0.5, 0.2), (NOW, NOW, NOW + SECOND), strict=True)
    for story, coverage, at in searched:
        await finds.keep(story, "demo", FindState.PROMISING, coverage=coverage, now=at)
    await finds.give_up(found_before=NOW + SECOND, below=0.33)
    promising = await finds.find_waiting(FindState.PROMISING, ["demo"], since=NOW, limit=9)
    assert [(one.story, one.coverage) for one in promising] == [
        (stories[1], 0.5),
        (stories[2], 0.2),
    ]


async def test_a_chat_sees_its_feeds_and_those_of_the_settings_alone(database: Database) -> None:
    feeds = Feeds(database)
    one, two = await subscribed(database, "1"), await subscribed(database, "2")
    await feeds.add(one.chat, "https://own.test", category="club", now=NOW)
    (feed,) = await feeds.claim_due(now=NOW, limit=1, lease=MINUTE)
    feed, (own,) = await brought(
        database, feed, make_headline(STORM, link="https://own.test/1?key=secret")
    )
    await found(database, own, [tweet(1)])
    assert [one.story.categories for one in await seen(database, one)] == [("club",)]
    assert await seen(database, two) == []
    # Now a feed of the settings tells the story: the other chat gets it as told there.
    await feeds.configure_feeds([ConfiguredFeed(url=URL, category="all")], now=NOW)
    (public,) = await feeds.claim_due(now=NOW, limit=1, lease=MINUTE)
    headline = replace(
        make_headline(STORM, link="https://news.test/1", published=NOW - HOUR), title="Storm!"
    )
    _, stories = await brought(database, public, headline)
    assert stories == []
    (story,) = await Stories(database).get([own.id])
    find = await found(database, story, [tweet(1)])
    (theirs,) = await seen(database, two)
    assert (theirs.id, theirs.story.id) == (find.id, own.id)
    assert (theirs.story.title, theirs.story.link) == ("Storm!", "https://news.test/1")
    assert (theirs.story.published, theirs.story.categories) == (NOW - HOUR, ("all",))
    (mine,) = await seen(database, one)
    assert (mine.story.title, mine.story.link) == (own.title, own.link)
    assert mine.story.categories == ("all", "club")


@pytest.mark.parametrize(
    ("link", "text", "hours"),
    [
        (None, STORM, 30),
        (URL, "Lisbon counts its boats", 30),
        (URL, "Lisbon counts its boats", 600),
    ],
)
async def test_a_find_counts_from_when_a_feed_of_the_chat_tells_its_story(
    database: Database, link: str | None, text: str, hours: int
) -> None:
    """By its words within days, by its link however late."""
    feeds, finds = Feeds(database), Finds(database)
    one, two = await subscribed(database, "1"), await subscribed(database, "2")
    first, second = "https://own.test/first", "https://own.test/second"
    await feeds.add(one.chat, first, category=None, now=NOW)
    (feed,) = await feeds.claim_due(now=NOW, limit=1, lease=MINUTE)
    _, (story,) = await brought(database, feed, make_headline(STORM, link=link))
    find = await found(database, story, [tweet(1)])
    await run_sql(database, "UPDATE find SET best = 6")
    later = NOW + hours * HOUR
    for url in (first, second):
        await feeds.add(two.chat, url, category=None, now=later)
    claimed = await feeds.claim_due(now=later, limit=9, lease=MINUTE)
    (feed,) = [each for each in claimed if each.url == second]
    _, stories = await brought(
        database, feed, make_headline(text, link=URL, published=later), now=later
    )
    assert stories == []
    since, wanted = later - 25 * HOUR, [(one, "demo"), (two, "demo")]
    assert await seen(database, one, since=since) == []  # it could be told at its time
    (told,) = await seen(database, two, since=since)
    assert (told.id, told.story.link, told.story.first_seen_at) == (find.id, URL, later)
    assert await finds.postable(wanted, since=since) == {two.chat.id: [told]}
    assert [day.judged for day in await finds.quiet_days(wanted, since=since)] == [False, True]
    assert await seen(database, two, since=later + SECOND) == []
    assert await finds.postable(wanted, since=later + SECOND) == {}


async def test_a_chat_sees_nothing_that_a_feed_brought_before_it_came(database: Database) -> None:
    feeds = Feeds(database)
    one, two = await subscribed(database, "1"), await subscribed(database, "2")
    await feeds.add(one.chat, URL, now=NOW)
    (feed,) = await feeds.claim_due(now=NOW, limit=1, lease=MINUTE)
    feed, (story,) = await brought(database, feed, make_headline(STORM))
    await found(database, story, [tweet(1)])
    await feeds.add(two.chat, URL, now=NOW + HOUR)
    assert len(await seen(database, one)) == 1
    assert await seen(database, two) == []


async def test_the_category_of_the_chat_overrides_the_configured_one(database: Database) -> None:
    subscription = await subscribed(database)
    feeds = Feeds(database)
    (feed,) = await configured(database, URL)
    await feeds.configure_feeds([ConfiguredFeed(url=URL, category="all")], now=NOW)
    _, (story,) = await brought(database, feed, make_headline(STORM))
    await found(database, story, [tweet(1)])
    await feeds.add(subscription.chat, URL, category="mine", now=NOW + HOUR)
    (find,) = await seen(database, subscription)
    assert find.story.categories == ("mine",)


async def test_old_finds_are_forgotten(database: Database) -> None:
    (story,) = await some_stories(database, 1)
    await found(database, story, [tweet(1)])
    await Finds(database).forget(before=NOW)
    assert await count(database, "find") == 1
    await Finds(database).forget(before=NOW + DAY)
    assert (await count(database, "find"), await count(database, "story")) == (0, 1)


async def test_stories_are_counted_by_what_is_known_of_them(database: Database) -> None:
    finds, chat = Finds(database), (await subscribed(database)).chat
    one, two, three, _ = await some_stories(database, 4)
    await found(database, one, [tweet(1)])
    await finds.keep(two, "demo", FindState.DULL, coverage=0.1, now=NOW)
    await finds.keep(three, "other", FindState.DULL, coverage=0.1, now=NOW)
    assert await finds.count_states(chat, "demo", since=NOW) == {
        FindState.JUDGED: 1,
        FindState.DULL: 1,
        None: 2,
    }
    assert await finds.count_states(chat, "demo", since=NOW + SECOND) == {}
    await Feeds(database).configure_feeds([], now=NOW)
    assert await finds.count_states(chat, "demo", since=NOW) == {}, "nobody sees them any more"


async def reader(database: Database, name: str, corpus: str | None) -> Chat:
    chat = (await subscribed(database, name)).chat
    await Chats(database).change(replace(chat, corpus=corpus))
    return chat


async def test_unsearched_stories_come_oldest_first_up_to_the_limit(database: Database) -> None:
    stories, finds = Stories(database), Finds(database)
    (feed,) = await configured(database, URL)
    feed, (old,) = await brought(database, feed, make_headline("Old things are told of the town"))
    later = NOW + HOUR
    headlines = make_headline("Rain falls on the hills"), make_headline("Snow lies in the valley")
    feed, (one, two) = await brought(database, feed, *headlines, now=later)
    assert await stories.find_unsearched("demo", since=NOW, limit=9) == [old, one, two]
    assert await stories.find_unsearched("demo", since=NOW, limit=2) == [old, one]
    assert await stories.find_unsearched("demo", since=later, limit=9) == [one, two]
    await finds.keep(one, "demo", FindState.DULL, coverage=0.1, now=later)
    assert await stories.find_unsearched("demo", since=later, limit=9) == [two]
    assert await stories.find_unsearched("other", since=later, limit=9) == [one, two]


async def test_only_stories_visible_to_a_reader_of_the_corpus_are_searched(
    database: Database,
) -> None:
    stories, feeds = Stories(database), Feeds(database)
    (public,) = await some_stories(database, 1)
    chat = await reader(database, "1", "alone")
    await feeds.add(chat, "https://own.test", now=NOW)
    (feed,) = await feeds.claim_due(now=NOW, limit=1, lease=MINUTE)
    _, (own,) = await brought(database, feed, make_headline("The club meets on Friday evening"))

    async def searched(corpus: str) -> list[int]:
        found = await stories.find_unsearched(corpus, since=NOW, limit=9, configured="demo")
        return [story.id for story in found]

    assert await searched("alone") == [public.id, own.id]
    assert await searched("demo") == []
    other = await reader(database, "2", None)
    assert await searched("demo") == [public.id]
    await subscribed(database, "2", PostingMode.OFF)
    assert await searched("demo") == []
    await subscribed(database, "2", PostingMode.DAILY)
    assert await searched("demo") == [public.id]
    await Chats(database).set_active(other.platform, "2", active=False)
    assert await searched("demo") == []


async def test_an_old_story_is_searched_for_the_readers_of_a_feed_that_tells_it_now(
    database: Database,
) -> None:
    """By its link, in their corpus; not for those of the feed that told it first."""
    (feed,) = await configured(database, URL)
    await brought(database, feed, make_headline(STORM, link=URL))
    chat, later = await reader(database, "1", "alone"), NOW + 5 * DAY
    await Feeds(database).add(chat, "https://own.test", now=later)

    async def searched(corpus: str) -> list[str]:
        stories = await Stories(database).find_unsearched(
            corpus, since=later - DAY, limit=9, configured="demo"
        )
        return [story.text for story in stories]

    assert await searched("alone") == []
    (own,) = [
        each
        for each in await Feeds(database).claim_due(now=later, limit=9, lease=MINUTE)
        if not each.configured
    ]
    again = make_headline("Lisbon counts its boats", link=URL, published=later)
    assert (await brought(database, own, again, now=later))[1] == []
    assert await searched("alone") == [STORM]
    assert await searched("demo") == []


async def test_forgetting_old_stories_deletes_their_finds_but_not_posted_records(
    database: Database,
) -> None:
    (story,) = await some_stories(database, 1)
    await found(database, story, [tweet(1)])
    await Stories(database).forget(before=NOW)
    assert await count(database, "story") == 1
    await Stories(database).forget(before=NOW + DAY)
    assert (await count(database, "story"), await count(database, "find")) == (0, 0)
    assert await count(database, "headline") == 1  # it is not new again
    assert await Stories(database).get([story.id]) == []


async def test_the_change_counter_rises_with_everything_that_may_add_searches(
    database: Database,
) -> None:
    stories = Stories(database)
    before = await stories.changes()
    assert await stories.changes() == before
    subscription = await subscribed(database)
    after_subscribing = await stories.changes()
    await some_stories(database, 1)
    after_news = await stories.changes()
    await Chats(database).change(replace(subscription.chat, corpus="other"))
    assert before < after_subscribing < after_news < await stories.changes()
