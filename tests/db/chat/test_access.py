"""Admissions outlive a group that gets another id, and nobody can flood the owner."""

from datetime import UTC, datetime, timedelta

import pytest

from db.chat.chats import Access, Chats, Quotas, Waiting
from db.pool import Database
from engine.chat import AdmissionState, AskOutcome

NOW = datetime(2026, 1, 8, 12, tzinfo=UTC)


@pytest.fixture
def access(database: Database) -> Access:
    return Access(database)


async def test_a_migrated_group_stays_admitted(access: Access, database: Database) -> None:
    await access.record(
        "telegram", "-1", AdmissionState.ALLOWED, title="A group", language="en", now=NOW
    )
    for _ in range(2):  # a platform says so more than once
        await Chats(database).move("telegram", "-1", "-1001")
    standing = await access.find_standing("telegram", person="7", chat="-1001")
    assert standing.state is AdmissionState.ALLOWED


async def test_at_most_twenty_requests_for_access_wait(access: Access) -> None:
    async def ask(chat: int, *, minutes: int = 0) -> AskOutcome:
        now = NOW + timedelta(minutes=minutes)
        return await access.ask("telegram", str(chat), title=None, language="en", now=now)

    outcomes = [await ask(number, minutes=number) for number in range(25)]
    assert outcomes == [AskOutcome.ASKED] * 20 + [AskOutcome.FULL] * 5
    assert await access.count_waiting("telegram") == 20
    assert await ask(7) is AskOutcome.WAITS
    await access.decide("telegram", "0", AdmissionState.REFUSED, now=NOW)
    assert await ask(99) is AskOutcome.ASKED
    assert await ask(0) is AskOutcome.WAITS
    # The longest waiting without an answer make room after a day.
    assert await ask(3, minutes=24 * 60 + 3) is AskOutcome.WAITS
    assert await ask(100, minutes=24 * 60 + 1) is AskOutcome.ASKED  # 99 asked at the very beginning
    assert await ask(101, minutes=24 * 60 + 1) is AskOutcome.FULL
    assert await ask(101, minutes=24 * 60 + 2) is AskOutcome.ASKED
    assert await access.count_waiting("telegram") == 20
    assert await ask(1, minutes=24 * 60 + 2) is AskOutcome.FULL


async def test_access_of_the_person_overrides_access_of_the_chat(access: Access) -> None:
    await access.record("telegram", "7", AdmissionState.ALLOWED, title=None, language="en", now=NOW)
    await access.ask("telegram", "-1", title=None, language="en", now=NOW)
    standing = await access.find_standing("telegram", person="7", chat="-1")
    assert standing.state is AdmissionState.ALLOWED
    assert (await access.find_standing("slack", person="7", chat="-1")).state is None


async def test_usage_report_names_chats_and_people(access: Access, database: Database) -> None:
    chat = await Chats(database).meet("telegram", "-1", private=False, title="A group")
    await access.record(
        "telegram", "7", AdmissionState.ALLOWED, title="@ana", language="en", now=NOW
    )
    for scope in (f"chat:{chat.id}", f"chat:{chat.id}", "user:telegram:7"):
        await Quotas(database).use(scope, now=NOW)
    group, ana = await access.count_use(NOW)
    assert (group.name, group.title, group.person, group.times) == (
        "telegram:-1",
        "A group",
        False,
        2,
    )
    assert (ana.name, ana.title, ana.person, ana.times) == ("telegram:7", "@ana", True, 1)


async def test_usage_report_names_people_who_were_never_admitted(
    access: Access, database: Database
) -> None:
    quotas = Quotas(database)
    private = await Chats(database).meet("telegram", "8", private=True, title=None)
    for title in ("@bea", "@beatriz", None):
        await quotas.use("user:telegram:8", now=NOW, title=title)
    await quotas.use(f"chat:{private.id}", now=NOW, title="@beatriz")
    await quotas.use("compose:telegram:8", now=NOW)  # no search
    bea, chat = await access.count_use(NOW)
    assert (bea.name, bea.title, bea.times) == ("telegram:8", "@beatriz", 3)
    assert (chat.name, chat.title, chat.times) == ("telegram:8", "@beatriz", 1)


async def test_waiting_messages_belong_to_one_chat_and_expire(database: Database) -> None:
    chats, waiting = Chats(database), Waiting(database)
    one, other = [
        await chats.meet("test", name, private=True, title=None) for name in ("one", "other")
    ]
    number = await waiting.keep(one, None, "/find x", written_at=None, now=NOW)
    found = await waiting.get(one, number)
    assert found
    assert found.message == "/find x"
    assert await waiting.get(other, number) is None
    await waiting.forget(now=NOW.replace(day=10))
    assert await waiting.get(one, number) is None
