"""Stories are told with what brought them, and searched once a corpus by those that read it."""

from dataclasses import replace

from db.chat.chats import Chats
from db.pool import Database
from db.posting.feeds import Feeds
from db.posting.subscriptions import Finds, Stories
from engine.chat import Chat
from engine.posting.delivery import FindState, PostingMode
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
    some_stories,
    subscribed,
    tweet,
)


async def reader(database: Database, name: str, corpus: str | None) -> Chat:
    chat = (await subscribed(database, name)).chat
    await Chats(database).change(replace(chat, corpus=corpus))
    return chat


async def test_unsearched_stories_come_oldest_first_up_to_the_limit(
    database: Database,
) -> None:
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
