"""What operators have to mend reaches them in private, and not too often."""

import asyncio
from datetime import timedelta

import pytest

from bot.jobs.content import render_delivery
from bot.jobs.troubles import Troubles
from db.chat.chats import Access, Chats
from db.pool import Database
from db.posting.outbox import Outbox
from engine.chat import BotOwner
from engine.errors import (
    BudgetExhausted,
    BudgetHeld,
    FetchTimeout,
    ModelPaused,
    ModelRefused,
    PresagioError,
    StorageUnreachable,
)
from engine.llm.endpoint import Endpoint, status_fault
from engine.messages import Message
from engine.posting.delivery import LeasedDelivery
from tests.bot.apps import app_on
from tests.bot.prophecies import NOW
from tests.patience import until

LEASE = timedelta(minutes=3)
REFUSED = ModelRefused(
    Message("{host} rejects the API key ({status})", host="a.example", status=401),
    fix=Message("Check {variable}.", variable="OPENROUTER_API_KEY"),
)


class Desk:
    """The operators' post: time passes when it is told to."""

    def __init__(self, storage: Database, *admins: str, platforms: tuple[str, ...]) -> None:
        self.database, self.now = storage, NOW
        self.troubles = Troubles(storage, platforms=platforms, admins=admins, now=lambda: self.now)

    async def report(self, *errors: PresagioError) -> None:
        """Report errors, and wait until all that is told of them is stored."""
        for error in errors:
            self.troubles.report(error)
        running = asyncio.create_task(self.troubles.run())
        await until(lambda: not self.troubles._waiting)
        running.cancel()

    async def owed(self) -> list[LeasedDelivery]:
        """Take what may be sent now."""
        outbox = Outbox(self.database)
        platforms = ("telegram", "slack")
        taken = await outbox.lease(platforms, now=self.now, limit=9, lease=LEASE)
        for one in taken:
            await outbox.begin(one, now=self.now)
            await outbox.sent(one, "1", now=self.now)
        return taken


async def own(storage: Database, language: str = "en") -> None:
    await Chats(storage).meet("slack", "D1", private=True, title=None, asked_in=language)
    access = Access(storage)
    code = await access.code("slack", "CODE", now=NOW, fresh_since=NOW)
    owner = BotOwner(platform="slack", person="U1", chat="D1", language=language)
    assert await access.claim(owner, code, now=NOW, made_since=NOW - timedelta(days=1))


async def said(storage: Database, leased: LeasedDelivery) -> str:
    reply = await render_delivery(app_on(storage), leased.delivery)
    assert reply is not None
    return reply.text or ""


async def test_the_owner_is_told_once_an_hour_of_each_kind(storage: Database) -> None:
    await own(storage)
    desk = Desk(storage, platforms=("slack",))
    await desk.report(REFUSED, REFUSED)
    (first,) = await desk.owed()
    assert (first.delivery.chat.external_id, first.delivery.thread) == ("D1", None)
    assert await said(storage, first) == (
        "This is for whoever runs me: a.example rejects the API key (401) Check OPENROUTER_API_KEY."
    )
    other = Desk(storage, platforms=("slack",))  # another process
    other.now = desk.now = NOW + timedelta(minutes=59)
    await desk.report(REFUSED)
    await other.report(REFUSED, BudgetExhausted(Message("The daily budget is spent.")))
    (second,) = await desk.owed()
    assert "budget" in await said(storage, second)
    desk.now = NOW + timedelta(hours=1)
    await desk.report(REFUSED)
    assert len(await desk.owed()) == 1


async def test_spent_credit_is_told_although_a_key_was_refused_just_before(
    storage: Database,
) -> None:
    await own(storage)
    desk = Desk(storage, platforms=("slack",))
    endpoint = Endpoint(section="llm", base_url="https://a.example/v1", model="m")
    unpaid = status_fault(402, "Insufficient credits", endpoint, headers={}, now=NOW).error
    await desk.report(REFUSED, unpaid, unpaid)
    notices = [await said(storage, leased) for leased in await desk.owed()]
    desk.now += timedelta(seconds=2)
    notices += [await said(storage, leased) for leased in await desk.owed()]
    assert len(notices) == 2
    assert "rejects the API key" in notices[0]
    assert "says that the credit is spent (402)" in notices[1]


async def test_each_operator_is_told_once_on_their_platform(storage: Database) -> None:
    await own(storage, "es")
    admins = ("telegram:42", "slack:U1", "slack:U2", "console:x")
    desk = Desk(storage, *admins, platforms=("slack", "telegram"))
    await desk.report(REFUSED)
    notices = {one.delivery.chat.external_id: await said(storage, one) for one in await desk.owed()}
    assert set(notices) == {"D1", "42", "U2"}
    assert notices["D1"].startswith("Esto es para quien me administra: ")
    assert notices["D1"].endswith("Revisa OPENROUTER_API_KEY.")


async def test_errors_without_an_operator_fix_are_not_reported(storage: Database) -> None:
    await own(storage)
    desk = Desk(storage, platforms=("slack",))
    closed = Message("Without a key no model is asked here.")
    await desk.report(ModelPaused(Message("It is left alone.")), FetchTimeout(Message("Late.")))
    await desk.report(BudgetExhausted(closed, fix=Message("Set web.judge."), plain=closed))
    await desk.report(BudgetHeld(Message("The rest of the budget may not be enough for this.")))
    assert await desk.owed() == []


async def test_an_outage_of_the_database_is_waited_for(
    storage: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await own(storage)
    monkeypatch.setattr("bot.jobs.troubles._AGAIN_SECONDS", 0.01)
    desk = Desk(storage, platforms=("slack",))
    working, failures = desk.troubles._access, [StorageUnreachable(Message("Away."))] * 3

    class Away:
        async def owner(self, platform: str) -> BotOwner | None:
            if failures:
                raise failures.pop()
            return await working.owner(platform)

    monkeypatch.setattr(desk.troubles, "_access", Away())
    await desk.report(REFUSED)
    assert not failures
    assert len(await desk.owed()) == 1
