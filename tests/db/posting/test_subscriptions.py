"""What chats want is remembered, and since when."""

from dataclasses import replace
from datetime import datetime, time

import pytest

from db.chat.chats import Chats
from db.pool import Database
from db.posting.outbox import Outbox
from db.posting.subscriptions import Subscriptions
from engine.posting.delivery import DueSubscription, PostingMode, Subscription
from engine.search import HitKind
from tests.db.news import (
    DAY,
    HOUR,
    NOW,
    URL,
    brought,
    configured,
    decide_daily,
    found,
    make_headline,
    met,
    some_stories,
    subscribed,
    tweet,
)


async def test_everything_a_chat_wants_comes_back(database: Database) -> None:
    subscriptions = Subscriptions(database)
    chat = await met(database)
    assert await subscriptions.get(chat) is None
    wanted = Subscription(
        chat=chat,
        mode=PostingMode.INSTANT,
        at=time(23, 59),
        weekdays=(0, 6),
        best=7,
        threshold=HitKind.EARLIER_CASE,
        unjudged=True,
        unjudged_coverage=0.25,
        say_nothing_found=True,
        compose=True,
        thread="12",
        must=("coffee", "té"),
        must_not=("tea",),
        languages=("en", "es"),
        categories=("tech",),
    )
    stored = await subscriptions.set(wanted, now=NOW)
    assert stored == replace(wanted, since=NOW, timed_from=NOW)
    assert await subscriptions.get(chat) == stored
    assert await subscriptions.active() == [stored]


async def test_a_topic_wants_its_own(database: Database) -> None:
    subscriptions = Subscriptions(database)
    whole = await subscribed(database)
    own = replace(
        whole,
        topic="77",
        thread="77",
        feeds=("news",),
        silent=True,
        compose=True,
    )
    stored = await subscriptions.set(own, now=NOW)
    assert stored == replace(own, since=NOW, timed_from=NOW)
    assert await subscriptions.get(whole.chat, "77") == stored
    assert await subscriptions.get(whole.chat) == whole
    assert await subscriptions.active() == [whole, stored]


async def test_posts_are_due_from_their_time_setting_and_stories_from_the_mode(
    database: Database,
) -> None:
    subscriptions = Subscriptions(database)
    stored = await subscriptions.set(Subscription(chat=await met(database)), now=NOW)
    for same in (
        replace(stored, best=1),
        replace(stored, must=("a",)),
        replace(stored, thread="1"),
        replace(stored, threshold=HitKind.PREDICTION),
    ):
        assert await subscriptions.set(same, now=NOW + DAY) == same
    since = NOW
    for number, (other, starts_anew) in enumerate(
        (
            (replace(stored, at=time(7)), False),
            (replace(stored, at=time(7), weekdays=(1,)), False),
            (replace(stored, mode=PostingMode.OFF), True),
            (replace(stored, mode=PostingMode.DAILY), True),
            (replace(stored, mode=PostingMode.INSTANT), True),
            (replace(stored, mode=PostingMode.INSTANT, weekdays=(1,)), True),
        )
    ):
        now = NOW + number * HOUR + HOUR
        since = now if starts_anew else since
        changed = replace(other, since=since, timed_from=now)
        assert await subscriptions.set(other, now=now) == changed


async def test_active_subscriptions_want_posts_and_have_a_present_chat(database: Database) -> None:
    for name, mode in (
        ("1", PostingMode.DAILY),
        ("2", PostingMode.OFF),
        ("3", PostingMode.INSTANT),
        ("4", PostingMode.DAILY),
    ):
        await subscribed(database, name, mode)
    await met(database, "5")
    await Chats(database).set_active("test", "4", active=False)
    active = await Subscriptions(database).active()
    assert [one.chat.external_id for one in active] == ["1", "3"]
    await met(database, "4")  # back again, it goes on
    active = await Subscriptions(database).active()
    assert [one.chat.external_id for one in active] == ["1", "3", "4"]


async def test_subscribed_corpora_are_those_that_a_chat_reads(database: Database) -> None:
    subscriptions, chats = Subscriptions(database), Chats(database)
    assert await subscriptions.corpora("demo") == []
    for name, corpus, mode in (
        ("1", "other", PostingMode.DAILY),
        ("2", None, PostingMode.DAILY),
        ("3", "demo", PostingMode.INSTANT),
        ("4", "unread", PostingMode.OFF),
    ):
        subscription = await subscribed(database, name, mode)
        await chats.change(replace(subscription.chat, corpus=corpus))
    assert await subscriptions.corpora("demo") == ["demo", "other"]
    assert await subscriptions.corpora("third") == ["demo", "other", "third"]


async def due(database: Database, now: datetime = NOW) -> list[DueSubscription]:
    return await Subscriptions(database).due(now=now, limit=9)


async def looked(database: Database, *waiting: DueSubscription, at: datetime) -> None:
    await Subscriptions(database).look_again([(one, at) for one in waiting])


async def test_a_decided_subscription_is_due_again_at_the_given_time(database: Database) -> None:
    subscription = await subscribed(database)
    [waiting] = await due(database)
    assert waiting.subscription == subscription
    assert (waiting.last_decided, waiting.has_feeds) == (None, False)
    await looked(database, waiting, at=NOW + HOUR)
    assert await due(database) == []
    assert await due(database, NOW + HOUR) == [waiting]
    assert await decide_daily(Outbox(database), subscription, NOW.date(), content=None)
    [decided] = await due(database, NOW + HOUR)
    assert decided.last_decided == NOW.date()


@pytest.mark.parametrize(
    "change",
    [
        {"time_zone": "Asia/Tokyo"},
        {"quiet_from": time(22), "quiet_to": time(7)},
        {"corpus": "other"},
    ],
)
async def test_a_changed_chat_is_due_despite_an_older_decision(
    database: Database, change: dict[str, object]
) -> None:
    subscription = await subscribed(database)
    [before] = await due(database)
    await looked(database, before, at=NOW + HOUR)
    await Chats(database).change(replace(subscription.chat, **change))  # type: ignore[arg-type]
    [after] = await due(database)
    await looked(database, before, at=NOW + HOUR)
    assert await due(database) == [after]
    await looked(database, after, at=NOW + HOUR)
    assert await due(database) == []


async def test_a_changed_subscription_is_due_and_an_ended_one_is_not(database: Database) -> None:
    subscription = await subscribed(database)
    [before] = await due(database)
    await looked(database, before, at=NOW + HOUR)
    await Subscriptions(database).set(replace(subscription, at=time(7)), now=NOW)
    await looked(database, before, at=NOW + HOUR)
    assert len(await due(database)) == 1
    await Subscriptions(database).set(replace(subscription, mode=PostingMode.OFF), now=NOW)
    assert await due(database, NOW + 9 * DAY) == []


async def test_a_chat_that_is_gone_is_not_due_until_it_is_back(database: Database) -> None:
    await subscribed(database)
    await Chats(database).set_active("test", "1", active=False)
    assert await due(database, NOW + 9 * DAY) == []
    await Chats(database).set_active("test", "1", active=True)
    assert len(await due(database)) == 1


async def test_a_find_wakes_instant_subscriptions_of_its_corpus(database: Database) -> None:
    chats, subscriptions = Chats(database), Subscriptions(database)
    for name, corpus in (("1", "demo"), ("2", "other"), ("3", None)):
        subscription = await subscribed(database, name, PostingMode.INSTANT)
        await chats.change(replace(subscription.chat, corpus=corpus))
    await subscribed(database, "4", PostingMode.DAILY)
    await looked(database, *await due(database), at=NOW + HOUR)
    await subscriptions.wake(now=NOW)
    assert await due(database) == []
    (story,) = await some_stories(database, 1)
    await found(database, story, [tweet(1)])
    await subscriptions.wake(now=NOW)
    woken = await due(database)
    assert [one.subscription.chat.external_id for one in woken] == ["1", "3"]
    await looked(database, *woken, at=NOW + HOUR)
    await subscriptions.wake(now=NOW)
    assert await due(database) == [], "each find wakes once"
    *_, feed = await configured(database, URL, "https://other.test/feed")
    _, new = await brought(database, feed, make_headline(story.text))
    assert new == [], "the same story"
    await subscriptions.wake(now=NOW)
    assert len(await due(database)) == 2, "another feed may show the story to other chats"


@pytest.mark.parametrize("looked_before", [False, True], ids=["due", "woken"])
async def test_an_outdated_round_does_not_postpone_subscriptions_woken_by_a_find(
    database: Database, *, looked_before: bool
) -> None:
    """A leader that was frozen ends its round after another one has begun the next."""
    await subscribed(database, "1", PostingMode.INSTANT)
    frozen = await due(database)
    if looked_before:
        await looked(database, *frozen, at=NOW + HOUR)
    (story,) = await some_stories(database, 1)
    await found(database, story, [tweet(1)])
    await Subscriptions(database).wake(now=NOW)
    await looked(database, *frozen, at=NOW + DAY)
    assert len(await due(database)) == 1
