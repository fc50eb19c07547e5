"""What chats want is remembered, and since when."""

from dataclasses import replace
from datetime import time

from db.chat.chats import Chats
from db.pool import Database
from db.posting.subscriptions import Subscriptions
from engine.posting.types import PostingMode, Subscription
from tests.db.news import DAY, HOUR, NOW, met, subscribed


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
        threshold=3,
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
    assert stored == replace(wanted, since=NOW)
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
        template="{{ tweet }}",
        compose=True,
    )
    stored = await subscriptions.set(own, now=NOW)
    assert stored == replace(own, since=NOW)
    assert await subscriptions.get(whole.chat, "77") == stored
    assert await subscriptions.get(whole.chat) == whole
    assert await subscriptions.active() == [whole, stored]


async def test_the_defaults_come_back(database: Database) -> None:
    chat = await met(database)
    plain = Subscription(chat=chat)
    assert await Subscriptions(database).set(plain, now=NOW) == replace(plain, since=NOW)


async def test_since_moves_with_what_makes_a_post_due_alone(database: Database) -> None:
    subscriptions = Subscriptions(database)
    stored = await subscriptions.set(Subscription(chat=await met(database)), now=NOW)
    for same in (
        replace(stored, best=1),
        replace(stored, must=("a",)),
        replace(stored, thread="1"),
        replace(stored, threshold=6),
    ):
        assert await subscriptions.set(same, now=NOW + DAY) == same
    for number, other in enumerate(
        (
            replace(stored, mode=PostingMode.OFF),
            replace(stored, mode=PostingMode.DAILY),
            replace(stored, at=time(7)),
            replace(stored, at=time(7), weekdays=(1,)),
        )
    ):
        now = NOW + number * HOUR + HOUR
        assert await subscriptions.set(other, now=now) == replace(other, since=now)


async def test_active_are_those_that_want_something_and_are_there(database: Database) -> None:
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


async def test_corpora_are_those_that_somebody_reads(database: Database) -> None:
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
