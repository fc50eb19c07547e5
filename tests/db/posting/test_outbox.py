"""What chats are owed is decided once, leased to one, and settled by whoever holds it."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from db.chat.answers import Answers
from db.chat.chats import Chats
from db.pool import Database
from db.posting.outbox import Outbox, owe_notices
from db.posting.subscriptions import Subscriptions
from engine.chat import Chat
from engine.errors import StorageError
from engine.messages import Message, as_message
from engine.posting.delivery import (
    DeliveryState,
    LeasedDelivery,
    OwedNotice,
    OwedPost,
    PostingMode,
    SelectedFind,
    Subscription,
)
from tests.db.news import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    count,
    decide_daily,
    decide_instant,
    found,
    met,
    some_chosen,
    some_stories,
    subscribed,
    tweet,
)
from tests.patience import PATIENCE

TODAY = NOW.date()
DECIDED = ("digest", "delivery", "posted", "answer")


@pytest.fixture
def outbox(database: Database) -> Outbox:
    return Outbox(database)


async def owe(
    database: Database, subscription: Subscription, key: str, *, now: datetime = NOW
) -> None:
    notice = OwedNotice(chat=subscription.chat, thread="7", key=key, content='{"say": "\\u0000"}')
    async with database.connection() as connection:
        await owe_notices(connection, [notice], now=now)


async def lease(outbox: Outbox, *, now: datetime = NOW, limit: int = 100) -> list[LeasedDelivery]:
    return await outbox.lease(["test"], now=now, limit=limit, lease=MINUTE)


async def lease_one(outbox: Outbox, *, now: datetime = NOW) -> LeasedDelivery:
    (leased,) = await lease(outbox, now=now)
    return leased


async def decided(database: Database) -> dict[str, int]:
    return {table: await count(database, table) for table in DECIDED}


# Deciding


async def test_a_daily_post_is_stored_with_its_answers(database: Database, outbox: Outbox) -> None:
    subscription = replace(await subscribed(database), thread="9")
    selected = await some_chosen(database, 2)
    content = '{"posts": [1, 2]}'
    assert await decide_daily(
        outbox, subscription, TODAY, content=content, selected=selected, now=NOW
    )
    delivery = (await lease_one(outbox)).delivery
    assert (delivery.key, delivery.content) == (f"daily:{subscription.chat.id}:{TODAY}", content)
    assert (delivery.chat, delivery.thread) == (subscription.chat, "9")
    assert (delivery.attempts, delivery.begun_before) == (1, False)
    for one, number in zip(selected, delivery.answers, strict=True):
        answer = await Answers(database).get(subscription.chat, number)
        assert answer is not None
        assert (answer.prophecy, answer.page) == (one.find.prophecy, (one.hit,))
    posted = await Subscriptions(database).list_posted(subscription.chat, since=NOW)
    assert [(one.story_id, one.external_id, one.text) for one in posted] == [
        (one.find.story.id, one.hit.candidate.external_id, one.hit.candidate.text)
        for one in selected
    ]
    assert not await Subscriptions(database).list_posted(subscription.chat, since=NOW + SECOND)


async def test_the_answer_shows_the_hit_that_was_chosen(database: Database, outbox: Outbox) -> None:
    subscription = await subscribed(database, mode=PostingMode.INSTANT)
    (story,) = await some_stories(database, 1)
    find = await found(database, story, [tweet(1), tweet(2), tweet(3)])
    selected = SelectedFind(find=find, hit=find.prophecy.hits[1])
    assert await decide_instant(outbox, subscription, selected, content="{}", now=NOW)
    (number,) = (await lease_one(outbox)).delivery.answers
    answer = await Answers(database).get(subscription.chat, number)
    assert answer is not None
    assert [hit.candidate.external_id for hit in answer.page] == ["2"]


async def decide_asked(
    outbox: Outbox, subscription: Subscription, key: str, selected: Sequence[SelectedFind]
) -> bool:
    decision = OwedPost(
        subscription=subscription, key=key, content="{}", selected=tuple(selected), asked=True
    )
    return (await outbox.decide([decision], now=NOW))[0]


async def test_deciding_many_chats_at_once_decides_each_that_is_still_valid(
    database: Database, outbox: Outbox
) -> None:
    selected = await some_chosen(database, 2)
    chats = [await subscribed(database, str(number)) for number in range(6)]
    await Chats(database).set_active("test", "1", active=False)  # gone
    await Subscriptions(database).set(replace(chats[2], mode=PostingMode.INSTANT), now=NOW)
    assert await decide_daily(outbox, chats[3], TODAY, content=None)  # decided elsewhere
    other = await decide_daily(outbox, chats[4], TODAY - DAY, content="{}", selected=selected[:1])
    assert other

    def daily(subscription: Subscription) -> OwedPost:
        key = f"daily:{subscription.chat.id}:{TODAY}"
        return OwedPost(
            subscription=subscription, key=key, content="{}", selected=tuple(selected), day=TODAY
        )

    before = await decided(database)
    done = await outbox.decide([daily(chat) for chat in reversed(chats)], now=NOW)
    assert done == [True, False, False, False, False, True]
    after = await decided(database)
    assert {table: after[table] - before[table] for table in DECIDED} == {
        "digest": 2,
        "delivery": 2,
        "posted": 4,
        "answer": 4,
    }
    assert await outbox.decide([], now=NOW) == []


async def test_a_post_that_was_asked_for_is_stored_once_and_closes_no_date(
    database: Database, outbox: Outbox
) -> None:
    subscription = Subscription(chat=await met(database), thread="9")  # which never subscribed
    selected = await some_chosen(database, 1)

    async def ask(key: str) -> bool:
        return await decide_asked(outbox, subscription, key, selected)

    assert await ask("today:1:a")
    assert not await ask("today:1:a"), "the same event again"
    assert not await ask("today:1:b"), "the story was posted"
    assert await decided(database) == {"digest": 0, "delivery": 1, "posted": 1, "answer": 1}
    assert (await lease_one(outbox)).delivery.thread == "9"


async def test_an_event_that_was_answered_is_not_answered_with_another_story(
    database: Database, outbox: Outbox
) -> None:
    subscription = await subscribed(database)
    first, second = await some_chosen(database, 2)
    assert await decide_asked(outbox, subscription, "today:1:a", [first])
    before = await decided(database)
    assert not await decide_asked(outbox, subscription, "today:1:a", [second])
    assert await decided(database) == before
    assert await decide_asked(outbox, subscription, "today:1:b", [second])


async def test_a_picture_is_owed_with_its_post_and_follows_it(
    database: Database, outbox: Outbox
) -> None:
    subscription = await subscribed(database)
    [selected] = await some_chosen(database, 1)
    instant = replace(subscription, mode=PostingMode.INSTANT)
    assert not await decide_instant(outbox, instant, selected, content="1", picture="2", now=NOW)
    assert await decided(database) == dict.fromkeys(DECIDED, 0)  # the chat wants daily posts
    assert await decide_daily(
        outbox,
        subscription,
        TODAY,
        content='"post"',
        selected=[selected],
        picture='"picture"',
        now=NOW,
    )
    said = []
    for minute in range(2):
        leased = await lease_one(outbox, now=NOW + timedelta(minutes=minute))
        said.append((leased.delivery.key, leased.delivery.content))
        assert await outbox.sent(leased, "m", now=NOW)
    key = f"daily:{subscription.chat.id}:{TODAY}"
    assert said == [(key, '"post"'), (f"picture:{key}", '"picture"')]


async def test_a_draft_follows_the_pictures_that_are_the_post(
    database: Database, outbox: Outbox
) -> None:
    own = replace(await subscribed(database), topic="77", thread="77", silent=True)
    subscription = await Subscriptions(database).set(own, now=NOW)
    assert await decide_daily(
        outbox,
        subscription,
        TODAY,
        content='"post"',
        selected=await some_chosen(database, 2),
        instead=['"one"', '"two"'],
        draft='"draft"',
        now=NOW,
    )
    said = []
    for minute in range(3):
        leased = await lease_one(outbox, now=NOW + timedelta(minutes=minute))
        delivery = leased.delivery
        assert (delivery.thread, delivery.silent) == ("77", True)
        said.append((delivery.key, delivery.content, len(delivery.answers)))
        assert await outbox.sent(leased, "m", now=NOW)
    key = f"daily:{subscription.chat.id}:{TODAY}:77"
    assert said == [(key, '"one"', 1), (f"{key}:2", '"two"', 1), (f"draft:{key}", '"draft"', 0)]


async def test_a_date_is_decided_once_also_for_nothing(database: Database, outbox: Outbox) -> None:
    subscription = await subscribed(database)
    selected = await some_chosen(database, 1)
    assert await decide_daily(outbox, subscription, TODAY, content=None, now=NOW)
    before = await decided(database)
    assert not await decide_daily(
        outbox, subscription, TODAY, content="{}", selected=selected, now=NOW
    )
    assert await decided(database) == before == {**dict.fromkeys(DECIDED, 0), "digest": 1}
    assert await decide_daily(
        outbox, subscription, TODAY + DAY, content="{}", selected=selected, now=NOW
    )


@pytest.mark.parametrize("mode", [PostingMode.DAILY, PostingMode.INSTANT])
async def test_only_one_of_many_concurrent_decisions_succeeds(
    database: Database, processes: list[Database], mode: PostingMode
) -> None:
    subscription = await subscribed(database, mode=mode)
    selected = await some_chosen(database, 1)
    outboxes = [Outbox(process) for process in processes] * 4

    async def decide(outbox: Outbox) -> bool:
        if mode is PostingMode.INSTANT:
            return await decide_instant(outbox, subscription, selected[0], content="{}", now=NOW)
        return await decide_daily(
            outbox, subscription, TODAY, content="{}", selected=selected, now=NOW
        )

    won = await asyncio.gather(*map(decide, outboxes))
    assert sorted(won) == [False] * 15 + [True]
    daily = 1 if mode is PostingMode.DAILY else 0
    assert await decided(database) == {"digest": daily, "delivery": 1, "posted": 1, "answer": 1}


async def test_a_decision_that_fails_leaves_nothing(database: Database, outbox: Outbox) -> None:
    subscription = await subscribed(database)
    selected = await some_chosen(database, 2)
    before = await decided(database)
    with pytest.raises(StorageError):
        await decide_daily(
            outbox, subscription, TODAY, content="no JSON", selected=selected, now=NOW
        )
    with pytest.raises(StorageError):  # the last of its rows
        await decide_daily(
            outbox, subscription, TODAY, content="{}", selected=[*selected, selected[0]], now=NOW
        )
    assert await decided(database) == before


async def test_a_story_posted_meanwhile_undoes_the_daily_post(
    database: Database, outbox: Outbox
) -> None:
    subscription = await subscribed(database, mode=PostingMode.INSTANT)
    selected = await some_chosen(database, 2)
    assert await decide_instant(outbox, subscription, selected[0], content="{}", now=NOW)
    before = await decided(database)
    assert not await decide_daily(
        outbox, subscription, TODAY, content="{}", selected=selected, now=NOW + 300 * DAY
    )
    assert await decided(database) == before
    assert await decide_daily(
        outbox, subscription, TODAY, content="{}", selected=selected[1:], now=NOW
    )


async def test_news_posted_meanwhile_as_the_story_of_another_feed_undoes_the_daily_post(
    database: Database, outbox: Outbox
) -> None:
    subscription = await subscribed(database, mode=PostingMode.INSTANT)
    first, second = await some_chosen(database, 2)
    assert await decide_instant(outbox, subscription, first, content="{}")
    same = replace(second, find=replace(second.find, words=first.find.words))
    assert not await decide_daily(outbox, subscription, TODAY, content="{}", selected=[same])
    assert await decide_daily(outbox, subscription, TODAY, content="{}", selected=[second])


async def test_a_tweet_is_not_repeated_for_half_a_year(database: Database, outbox: Outbox) -> None:
    subscription = await subscribed(database, mode=PostingMode.INSTANT)
    other = await subscribed(database, "2", mode=PostingMode.INSTANT)
    finds = [await found(database, story, [tweet(1)]) for story in await some_stories(database, 2)]
    first, second = (SelectedFind(find=find, hit=find.prophecy.hits[0]) for find in finds)
    later = NOW + 179 * DAY
    assert await decide_instant(outbox, subscription, first, content="{}", now=NOW)
    assert not await decide_instant(outbox, subscription, second, content="{}", now=later)
    assert await decide_instant(outbox, other, second, content="{}", now=later)
    assert await decide_instant(outbox, subscription, second, content="{}", now=later + 2 * DAY)


async def test_two_stories_with_one_tweet_decided_at_once_are_one_post(
    database: Database, processes: list[Database]
) -> None:
    subscription = await subscribed(database, mode=PostingMode.INSTANT)
    finds = [await found(database, story, [tweet(1)]) for story in await some_stories(database, 12)]

    async def decide(number: int) -> bool:
        selected = SelectedFind(find=finds[number], hit=finds[number].prophecy.hits[0])
        outbox = Outbox(processes[number % 4])
        return await decide_instant(outbox, subscription, selected, content="{}", now=NOW)

    async with asyncio.timeout(PATIENCE):
        won = await asyncio.gather(*map(decide, range(12)))
    assert sorted(won) == [False] * 11 + [True]


async def test_a_decision_is_dropped_if_the_chat_left_or_changed(
    database: Database, outbox: Outbox
) -> None:
    subscription = await subscribed(database)
    subscriptions = Subscriptions(database)
    (selected,) = await some_chosen(database, 1)
    await subscriptions.set(replace(subscription, mode=PostingMode.OFF), now=NOW)
    assert not await decide_daily(outbox, subscription, TODAY, content="{}", now=NOW)
    await subscriptions.set(replace(subscription, mode=PostingMode.INSTANT), now=NOW)
    assert not await decide_daily(outbox, subscription, TODAY, content="{}", now=NOW)
    instant = replace(subscription, mode=PostingMode.INSTANT)
    await Chats(database).set_active("test", "1", active=False)
    assert not await decide_instant(outbox, instant, selected, content="{}", now=NOW)
    assert await decided(database) == dict.fromkeys(DECIDED, 0)
    await met(database)  # it speaks again
    assert await decide_instant(outbox, instant, selected, content="{}", now=NOW)


async def test_a_notice_is_owed_once(database: Database, outbox: Outbox) -> None:
    subscription = await subscribed(database)
    await asyncio.gather(*(owe(database, subscription, "notice") for _ in range(8)))
    assert (await lease_one(outbox)).delivery.key == "notice"


# Leasing


async def test_no_two_processes_lease_the_same_delivery(
    database: Database, processes: list[Database]
) -> None:
    for number in range(60):
        subscription = await subscribed(database, str(number))
        await owe(database, subscription, f"k{number}")

    async def drain(process: Database) -> list[str]:
        keys: list[str] = []
        while leased := await lease(Outbox(process), limit=3):
            keys += [one.delivery.key for one in leased]
        return keys

    taken = await asyncio.gather(*map(drain, processes))
    keys = [key for one in taken for key in one]
    # Who skipped what another was just leasing may have ended early; nothing is left for long.
    keys += await drain(processes[0])
    assert sorted(keys) == sorted(f"k{number}" for number in range(60))


async def test_the_former_holder_of_an_expired_lease_cannot_settle(
    database: Database, outbox: Outbox
) -> None:
    await owe(database, await subscribed(database), "a")
    old = await lease_one(outbox)
    assert not await lease(outbox, now=NOW + MINUTE - SECOND)
    assert not await outbox.begin(old, now=NOW + MINUTE)
    new = await lease_one(outbox, now=NOW + MINUTE)
    assert not await outbox.begin(old, now=NOW)
    assert not await outbox.sent(old, "1", now=NOW)
    assert not await outbox.retry(old, at=NOW, error=as_message("x"), not_shown=True)
    assert not await outbox.release(old)
    assert not await outbox.fail(old, as_message("x"), now=NOW)
    assert await outbox.begin(new, now=NOW + MINUTE)
    assert await outbox.sent(new, "2", now=NOW + MINUTE)
    assert not await outbox.sent(new, "2", now=NOW + MINUTE)
    assert not await lease(outbox, now=NOW + DAY)


async def test_the_holder_of_an_expired_lease_may_settle_if_nobody_took_it(
    database: Database, outbox: Outbox
) -> None:
    await owe(database, await subscribed(database), "a")
    leased = await lease_one(outbox)
    assert await outbox.begin(leased, now=NOW)
    assert await outbox.sent(leased, "1", now=NOW + HOUR)
    assert not await lease(outbox, now=NOW + DAY)


async def test_a_new_lease_tells_if_sending_had_begun(database: Database, outbox: Outbox) -> None:
    await owe(database, await subscribed(database), "a")
    first = await lease_one(outbox)
    assert await outbox.begin(first, now=NOW)
    second = await lease_one(outbox, now=NOW + MINUTE)
    assert (second.delivery.attempts, second.delivery.begun_before) == (2, True)
    assert await outbox.begin(second, now=NOW + MINUTE)
    later = NOW + HOUR
    assert await outbox.retry(second, at=later, error=as_message("no answer"), not_shown=False)
    third = await lease_one(outbox, now=later)
    assert (third.delivery.attempts, third.delivery.begun_before) == (3, True)
    assert await outbox.begin(third, now=later)
    assert await outbox.retry(third, at=later, error=as_message("slow down"), not_shown=True)
    fourth = await lease_one(outbox, now=later)
    assert (fourth.delivery.attempts, fourth.delivery.begun_before) == (4, False)


async def test_an_untouched_released_delivery_can_be_leased_at_once(
    database: Database, outbox: Outbox
) -> None:
    await owe(database, await subscribed(database), "a")
    first = await lease_one(outbox)
    assert await outbox.release(first)
    second = await lease_one(outbox)
    assert (second.delivery.attempts, second.delivery.begun_before) == (1, False)
    assert second.lease != first.lease


async def test_a_chat_gets_one_delivery_per_second_in_order(
    database: Database, outbox: Outbox
) -> None:
    one, two = await subscribed(database, "1"), await subscribed(database, "2")
    for key in ("a", "b", "c"):
        await owe(database, one, key)
    await owe(database, two, "d")
    first, other = await lease(outbox)
    assert [first.delivery.key, other.delivery.key] == ["a", "d"]
    assert not await lease(outbox)
    assert await outbox.sent(other, "1", now=NOW)
    assert await outbox.begin(first, now=NOW)
    assert await outbox.sent(first, "1", now=NOW)
    assert not await lease(outbox, now=NOW + SECOND * 0.9)
    second = await lease_one(outbox, now=NOW + SECOND)
    assert second.delivery.key == "b"
    # While the second waits for another attempt, the third does not overtake it.
    assert await outbox.begin(second, now=NOW + SECOND)
    at = NOW + HOUR
    assert await outbox.retry(second, at=at, error=as_message("slow down"), not_shown=True)
    assert not await lease(outbox, now=at - SECOND)
    again = await lease_one(outbox, now=at)
    assert again.delivery.key == "b"
    assert await outbox.fail(again, as_message("refused"), now=at)
    assert (await lease_one(outbox, now=at)).delivery.key == "c"


async def test_no_chat_is_delayed_after_the_clock_was_set_back(
    database: Database, outbox: Outbox
) -> None:
    subscription, set_back = await subscribed(database), NOW - 2 * HOUR
    for key in ("a", "b", "c"):
        await owe(database, subscription, key)
    first = await lease_one(outbox)
    assert await outbox.begin(first, now=NOW)
    assert await outbox.sent(first, "1", now=NOW)
    second = await lease_one(outbox, now=set_back)
    assert second.delivery.key == "b"
    assert await outbox.begin(second, now=set_back)
    assert await outbox.retry(
        second, at=set_back + MINUTE, error=as_message("slow down"), not_shown=True
    )
    assert not await lease(outbox, now=set_back + MINUTE - SECOND)  # what was tried keeps its time
    second = await lease_one(outbox, now=set_back + MINUTE)
    assert await outbox.begin(second, now=set_back + MINUTE)
    assert await outbox.sent(second, "2", now=set_back + MINUTE)
    assert not await lease(outbox, now=set_back + MINUTE)  # one a second, as ever
    assert (await lease_one(outbox, now=set_back + MINUTE + SECOND)).delivery.key == "c"


async def test_an_earlier_delivery_added_late_waits_for_the_one_being_sent(
    database: Database, database_url: str, outbox: Outbox
) -> None:
    subscription = await subscribed(database)
    async with database.transaction() as connection:
        await connection.execute(
            "INSERT INTO delivery (key, chat_id, content, next_attempt_at, created_at)"
            " VALUES ('early', $1, '{}', $2, $2)",
            subscription.chat.id,
            NOW,
        )
        await owe(database, subscription, "late")
        assert (await lease_one(outbox)).delivery.key == "late"
    assert not await lease(outbox)


async def test_gone_chats_and_other_platforms_are_left_out(
    database: Database, outbox: Outbox
) -> None:
    await owe(database, await subscribed(database), "a")
    assert not await outbox.lease(["other"], now=NOW, limit=9, lease=MINUTE)
    await Chats(database).set_active("test", "1", active=False)
    assert not await lease(outbox)
    await met(database)
    assert (await lease_one(outbox)).delivery.key == "a"


async def test_a_chat_that_moves_keeps_all_that_is_owed(database: Database, outbox: Outbox) -> None:
    subscription = await subscribed(database)
    selected = await some_chosen(database, 1)
    assert await decide_daily(outbox, subscription, TODAY, content="{}", selected=selected, now=NOW)
    leased = await lease_one(outbox)
    assert await outbox.begin(leased, now=NOW)
    await Chats(database).move("test", "1", "2")
    chat = await met(database, "2")
    subscriptions = Subscriptions(database)
    kept = await subscriptions.get(chat)
    assert kept is not None
    assert replace(kept, chat=subscription.chat) == subscription
    assert len(await subscriptions.list_posted(chat, since=NOW)) == 1
    assert not await decide_daily(outbox, kept, TODAY, content="{}", now=NOW)
    assert await outbox.retry(leased, at=NOW + SECOND, error=as_message("moved"), not_shown=True)
    again = await lease_one(outbox, now=NOW + SECOND)
    assert again.delivery.chat == chat
    assert again.delivery.chat.external_id == "2"


async def test_deliveries_queued_under_the_new_chat_id_are_moved(
    database: Database, outbox: Outbox
) -> None:
    old, new = await subscribed(database, "1"), await subscribed(database, "2")
    await owe(database, old, "a")
    await owe(database, new, "b")
    await Chats(database).move("test", "1", "2")
    first = await lease_one(outbox)
    assert await outbox.sent(first, "1", now=NOW)
    second = await lease_one(outbox)
    assert [first.delivery.key, second.delivery.key] == ["a", "b"]
    assert {first.delivery.chat.id, second.delivery.chat.id} == {old.chat.id}


# Looking back


async def test_delivery_history_shows_each_outcome(database: Database, outbox: Outbox) -> None:
    subscription, other = await subscribed(database, "1"), await subscribed(database, "2")
    await owe(database, other, "z")
    for key in ("a", "b"):
        await owe(database, subscription, key)
    first = next(one for one in await lease(outbox) if one.delivery.key == "a")
    assert await outbox.sent(first, "1", now=NOW)
    second = next(one for one in await lease(outbox) if one.delivery.key == "b")
    assert await outbox.fail(second, as_message("refused"), now=NOW)
    await owe(database, subscription, "c")
    past = await outbox.history(subscription.chat, 9)
    assert [(one.key, one.state, one.error) for one in past] == [
        ("c", DeliveryState.OWED, None),
        ("b", DeliveryState.FAILED, "refused"),
        ("a", DeliveryState.SENT, None),
    ]
    assert past[0].content == '{"say": "\\u0000"}'
    assert [one.key for one in await outbox.history(subscription.chat, 1)] == ["c"]


async def test_health_counts_what_is_owed_and_given_up(database: Database, outbox: Outbox) -> None:
    empty = await outbox.health(NOW - DAY)
    assert (empty.owed, empty.oldest_owed_at, empty.last_error) == (0, None, None)
    for number in range(3):
        await owe(database, await subscribed(database, str(number)), f"k{number}", now=NOW - HOUR)
    leased = await lease(outbox)
    assert await outbox.fail(leased[0], as_message("refused"), now=NOW)
    assert await outbox.retry(leased[1], at=NOW + HOUR, error=as_message("busy"), not_shown=True)
    health = await outbox.health(NOW - DAY)
    assert (health.owed, health.retried, health.failed) == (2, 1, 1)
    assert (health.oldest_owed_at, health.last_error) == (NOW - HOUR, "busy")
    assert (await outbox.health(NOW + DAY)).failed == 0


async def test_old_deliveries_are_forgotten_unless_still_queued(
    database: Database, outbox: Outbox
) -> None:
    gone, here = await subscribed(database, "1"), await subscribed(database, "2")
    selected = await some_chosen(database, 1)
    assert await decide_daily(outbox, here, TODAY, content="{}", selected=selected, now=NOW)
    sent = await lease_one(outbox)
    assert await outbox.sent(sent, "1", now=NOW)
    await owe(database, here, "owed")
    await owe(database, gone, "gone")
    await Chats(database).set_active("test", "1", active=False)
    await outbox.forget(now=NOW + 2 * HOUR)
    assert (await decided(database)) == {"digest": 1, "delivery": 3, "posted": 1, "answer": 1}
    assert not [one for one in await outbox.history(gone.chat, 1) if one.error]
    await outbox.forget(now=NOW + 2 * DAY)
    (given_up,) = await outbox.history(gone.chat, 1)
    assert (given_up.state, given_up.error) == (DeliveryState.FAILED, "the chat is gone")
    await outbox.forget(now=NOW + 93 * DAY)
    assert [one.key for one in await outbox.history(here.chat, 9)] == ["owed"]
    assert (await decided(database)) == {"digest": 0, "delivery": 1, "posted": 1, "answer": 1}
    await outbox.forget(now=NOW + 800 * DAY)
    assert (await decided(database)) == {"digest": 0, "delivery": 1, "posted": 0, "answer": 1}


async def test_unsubscribing_gives_up_what_is_owed_and_not_being_sent(
    database: Database, outbox: Outbox
) -> None:
    subscription = await subscribed(database)
    await owe(database, subscription, "a")
    await owe(database, subscription, "b")
    sending = await lease_one(outbox)
    off = replace(subscription, mode=PostingMode.OFF)
    await Subscriptions(database).set(off, now=NOW)
    assert await outbox.sent(sending, "1", now=NOW)
    assert not await lease(outbox, now=NOW + DAY)
    past = await outbox.history(subscription.chat, 9)
    assert [(one.key, one.error) for one in past] == [("b", "the chat unsubscribed"), ("a", None)]


async def test_an_unsubscribed_chat_still_gets_notices_for_operators(
    database: Database, outbox: Outbox
) -> None:
    subscription = await subscribed(database)
    await owe(database, subscription, "a post")
    assert await outbox.owe_trouble(subscription.chat, "Kind", "{}", pace=DAY, now=NOW)
    await Subscriptions(database).set(replace(subscription, mode=PostingMode.OFF), now=NOW)
    left = await lease_one(outbox)
    assert left.delivery.key.startswith("trouble:")
    assert await outbox.sent(left, "1", now=NOW)
    assert not await lease(outbox, now=NOW + DAY)


async def test_trouble_of_a_kind_is_owed_again_when_its_pace_is_over(
    database: Database, outbox: Outbox
) -> None:
    chat, other = await met(database, "1"), await met(database, "2")

    async def owed(chat: Chat, kind: str, now: datetime) -> bool:
        return await outbox.owe_trouble(chat, kind, "{}", pace=HOUR, now=now)

    assert await owed(chat, "Refused", NOW)
    assert not await owed(chat, "Refused", NOW + HOUR - SECOND)
    assert await owed(chat, "Spent", NOW + HOUR - SECOND)
    assert await owed(other, "Refused", NOW + HOUR - SECOND)
    assert await owed(chat, "Refused", NOW + HOUR)


async def test_trouble_that_many_processes_meet_at_once_is_owed_once(
    database: Database, processes: list[Database]
) -> None:
    chat = await met(database)

    async def owed(number: int) -> bool:
        outbox, now = Outbox(processes[number % 4]), NOW + number * SECOND
        return await outbox.owe_trouble(chat, "Refused", "{}", pace=HOUR, now=now)

    async with asyncio.timeout(PATIENCE):
        won = await asyncio.gather(*map(owed, range(16)))
    assert sorted(won) == [False] * 15 + [True]


@pytest.mark.parametrize(
    ("days", "left"),
    [
        (29, {"digest": 1, "delivery": 1, "posted": 1, "answer": 1}),
        (32, {"digest": 0, "delivery": 1, "posted": 1, "answer": 1}),
        (89, {"digest": 0, "delivery": 1, "posted": 1, "answer": 1}),
        (91, {"digest": 0, "delivery": 0, "posted": 1, "answer": 1}),
        (729, {"digest": 0, "delivery": 0, "posted": 1, "answer": 1}),
        (731, {"digest": 0, "delivery": 0, "posted": 0, "answer": 1}),
    ],
)
async def test_sent_records_are_kept_for_their_retention_period(
    database: Database, outbox: Outbox, days: int, left: dict[str, int]
) -> None:
    """Dates a month, deliveries a quarter, what a chat was told two years."""
    subscription, selected = await subscribed(database), await some_chosen(database, 1)
    assert await decide_daily(outbox, subscription, TODAY, content="{}", selected=selected, now=NOW)
    assert await outbox.sent(await lease_one(outbox), "1", now=NOW)
    await outbox.forget(now=NOW + days * DAY)
    assert await decided(database) == left


async def test_a_delivery_that_finally_arrived_has_no_error(
    database: Database, outbox: Outbox
) -> None:
    subscription = await subscribed(database)
    await owe(database, subscription, "a")
    assert await outbox.retry(
        await lease_one(outbox), at=NOW, error=as_message("busy"), not_shown=True
    )
    assert [one.error for one in await outbox.history(subscription.chat, 1)] == ["busy"]
    assert await outbox.sent(await lease_one(outbox), "1", now=NOW)
    assert [one.error for one in await outbox.history(subscription.chat, 1)] == [None]


async def test_why_a_delivery_failed_is_kept_for_readers_of_any_language(
    database: Database, outbox: Outbox
) -> None:
    subscription = await subscribed(database)
    await owe(database, subscription, "a")
    leased = await lease_one(outbox)
    error = Message("Slack refuses: {said}.", said="is_archived")
    assert await outbox.fail(leased, error, now=NOW)
    (past,) = await outbox.history(subscription.chat, 1)
    assert (past.error, past.error and past.error.values) == (error, {"said": "is_archived"})
    assert (await outbox.health(NOW - HOUR)).last_error == error
