"""A round decides what is due for many chats at once, and does not look at the others."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.jobs.choosing import Deciding
from bot.jobs.digest import digest
from db.chat.chats import Chats
from db.pool import Database
from db.posting.finds import Finds
from db.posting.outbox import Outbox
from db.posting.subscriptions import Subscriptions
from engine.chat import Chat
from engine.posting.types import PostingMode
from tests.db.news import DAY, NOW, SECOND, count, found, some_stories, subscribed, tweet

DUE = NOW + timedelta(minutes=1)
CHATS = 7


def deciding(database: Database, broken: Sequence[int] = ()) -> Deciding:
    async def corpora_of(chats: Sequence[Chat]) -> dict[int, str]:
        if broken_ones := [chat.id for chat in chats if chat.id in broken]:
            raise LookupError(f"no corpus for {broken_ones[0]}")
        return {chat.id: "demo" for chat in chats}

    return Deciding(
        subscriptions=Subscriptions(database),
        finds=Finds(database),
        outbox=Outbox(database),
        corpora=corpora_of,
    )


async def found_something(database: Database) -> None:
    (story,) = await some_stories(database, 1)
    await found(database, story, [tweet(1)])


async def test_every_chat_that_is_due_is_decided_page_by_page(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.jobs.digest._PAGE", 3)
    chats = [await subscribed(database, str(number)) for number in range(CHATS)]
    topic = replace(chats[0], topic="77", thread="77")
    await Subscriptions(database).set(topic, now=NOW - DAY)
    await found_something(database)
    work = deciding(database)
    assert await digest(work, now=DUE) == CHATS, "the topic is not told what its chat was told"
    assert await count(database, "digest") == CHATS + 1
    assert await digest(work, now=DUE + SECOND) == 0
    assert await count(database, "digest") == CHATS + 1
    assert await work.subscriptions.due(now=DUE + SECOND, limit=9) == []
    assert await digest(work, now=DUE + DAY) == 0, "there is nothing new"
    assert await count(database, "digest") == 2 * (CHATS + 1)


async def test_a_chat_that_fails_does_not_hold_up_the_others(database: Database) -> None:
    chats = [await subscribed(database, str(number)) for number in range(CHATS)]
    await found_something(database)
    broken = chats[2].chat.id
    with pytest.raises(LookupError, match=f"no corpus for {broken}"):
        await digest(deciding(database, [broken]), now=DUE)
    assert await count(database, "delivery") == CHATS - 1
    assert await digest(deciding(database), now=DUE + SECOND) == 1, "it is tried again"


async def test_what_is_told_at_once_is_told_in_the_round_after_it_was_found(
    database: Database,
) -> None:
    work = deciding(database)
    subscription = await subscribed(database, mode=PostingMode.INSTANT)
    assert await digest(work, now=DUE) == 0
    await found_something(database)
    assert await digest(work, now=DUE + SECOND) == 1
    assert await digest(work, now=DUE + 2 * SECOND) == 0
    quiet = replace(subscription.chat, quiet_from=DUE.time(), quiet_to=(DUE + DAY / 24).time())
    await Chats(database).change(quiet)
    assert await digest(work, now=DUE + 3 * SECOND) == 0


async def test_a_chat_without_feeds_of_its_own_sees_what_it_would_see_by_itself(
    database: Database,
) -> None:
    subscription = await subscribed(database)
    for number, story in enumerate(await some_stories(database, 3)):
        await found(database, story, [tweet(number)])
    finds = Finds(database)
    alone = await finds.for_chat(subscription, "demo", since=NOW)
    assert len(alone) == 3
    assert await finds.shared(["demo", "other"], since=NOW) == {"demo": alone}
