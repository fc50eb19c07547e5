"""What is sent is leased for longer than sending takes, looked up if in doubt, and given back."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.adapter import DeliveryError, Unsure, WritingForbidden
from bot.i18n.words import words_for
from bot.jobs.deliver import DELIVERY_SECONDS, PostSender, compute_backoff
from bot.jobs.troubles import ignore
from bot.reply import Reply
from db.pool import Database
from db.posting.outbox import Outbox, owe_notices
from engine.chat import Chat
from engine.errors import PresagioError, StorageUnreachable
from engine.messages import Message
from engine.posting.delivery import LeasedDelivery, OwedNotice
from tests.bot.apps import app_on
from tests.db.news import HOUR, MINUTE, NOW, met
from tests.patience import PATIENCE


class Poster:
    """A platform that does with a post what a test wants, and notes since when it is searched."""

    platform = "test"

    def __init__(
        self, post: Callable[[], Awaitable[str]], found: str | DeliveryError | None = "found"
    ) -> None:
        self._post, self.found = post, found
        self.searched_since: list[datetime] = []

    async def post(self, chat: Chat, thread: str | None, reply: Reply, *, key: str) -> str:
        return await self._post()

    async def find_posted(
        self, chat: Chat, thread: str | None, key: str, since: datetime
    ) -> str | None:
        self.searched_since.append(since)
        if isinstance(self.found, DeliveryError):
            raise self.found
        return self.found

    async def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
async def outbox(storage: Database, monkeypatch: pytest.MonkeyPatch) -> Outbox:
    """An outbox with one delivery, whose content is of no interest."""

    async def render_delivery(*_: object, **__: object) -> Reply:
        return Reply(words=words_for("en"), text="Rust and rain")

    monkeypatch.setattr("bot.jobs.deliver.render_delivery", render_delivery)
    notice = OwedNotice(chat=await met(storage), thread=None, key="k", content="{}")
    async with storage.connection() as connection:
        await owe_notices(connection, [notice], now=NOW)
    return Outbox(storage)


def to(
    poster: Poster,
    storage: Database,
    outbox: Outbox,
    report: Callable[[PresagioError], None] = ignore,
) -> PostSender:
    sender = PostSender(app_on(storage), [poster], report=report, jitter=lambda: 0.0)
    sender.outbox = outbox
    return sender


async def lease(outbox: Outbox, now: datetime = NOW) -> list[LeasedDelivery]:
    return await outbox.lease(["test"], now=now, limit=9, lease=MINUTE)


async def sent() -> str:
    return "m"


def read_clock(now: datetime) -> datetime:
    return now


class Halted:
    """Something that is reached and does not go on."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()

    async def __call__(self, *_: object, **__: object) -> str:
        self.reached.set()
        return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]  # never


async def cancel_at(halted: Halted, work: PostSender) -> None:
    delivering = asyncio.create_task(work.run(clock=lambda: NOW))
    async with asyncio.timeout(PATIENCE):
        await halted.reached.wait()
    delivering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await delivering


async def test_delivery_being_sent_stays_leased_for_the_longest_sending_time(
    storage: Database, outbox: Outbox
) -> None:
    halted = Halted()
    await cancel_at(halted, to(Poster(halted), storage, outbox))
    assert await lease(outbox, NOW + timedelta(seconds=2 * DELIVERY_SECONDS)) == []
    assert len(await lease(outbox, NOW + HOUR)) == 1


async def test_delivery_cancelled_before_sending_is_released_at_once(
    storage: Database, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    halted = Halted()
    monkeypatch.setattr("bot.jobs.deliver.render_delivery", halted)
    await cancel_at(halted, to(Poster(sent), storage, outbox))
    (leased,) = await lease(outbox)
    assert not leased.delivery.begun_before


async def test_delivery_taken_over_by_another_process_is_not_sent(
    storage: Database, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    posted, now = [], NOW

    async def make_slowly(*_: object, **__: object) -> Reply:
        nonlocal now
        now = NOW + HOUR
        assert len(await lease(outbox, now)) == 1
        return Reply(words=words_for("en"), text="Rust and rain")

    async def post() -> str:
        posted.append(now)
        return "m"

    monkeypatch.setattr("bot.jobs.deliver.render_delivery", make_slowly)
    assert await to(Poster(post), storage, outbox).run(clock=lambda: now) == 1
    assert posted == []


async def lost() -> str:
    raise Unsure(Message("No answer."))


async def test_uncertain_delivery_is_looked_up_from_before_its_due_time(
    storage: Database, outbox: Outbox
) -> None:
    """The platform's clock may be late."""
    await to(Poster(lost), storage, outbox).run(clock=lambda: NOW)
    again = Poster(lost)
    assert await to(again, storage, outbox).run(clock=lambda: NOW + HOUR) == 1
    (since,) = again.searched_since
    assert NOW - HOUR < since < NOW - MINUTE
    assert await lease(outbox, NOW + 2 * HOUR) == []  # it was found


async def test_an_arrival_is_settled_once_the_database_is_back(
    storage: Database, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle, failures = outbox.sent, [StorageUnreachable("It restarts.")]

    async def restarting(leased: LeasedDelivery, message_id: str, *, now: datetime) -> bool:
        if failures:
            raise failures.pop()
        return await settle(leased, message_id, now=now)

    monkeypatch.setattr(outbox, "sent", restarting)
    monkeypatch.setattr("bot.jobs.deliver._SETTLE_AGAIN_SECONDS", 0.0)
    await to(Poster(sent), storage, outbox).run(clock=lambda: NOW)
    assert await lease(outbox, NOW + HOUR) == []


async def test_a_post_that_the_chat_forbids_is_kept_for_a_day_and_told_to_operators(
    storage: Database, outbox: Outbox
) -> None:
    told: list[PresagioError] = []
    refusing = True

    async def post() -> str:
        if refusing:
            raise WritingForbidden("Telegram does not let the bot write: TOPIC_CLOSED.")
        return "m"

    work = to(Poster(post, found=None), storage, outbox, told.append)
    now, tried = NOW, []
    while now < NOW + 5 * HOUR:
        if await work.run(clock=partial(read_clock, now)):
            tried.append(now)
        now += MINUTE
    pauses = [later - earlier for earlier, later in pairwise(tried)]
    assert pauses[0] <= MINUTE and pauses[-1] >= 15 * MINUTE
    assert {str(error) for error in told} == {
        "test:1: Telegram does not let the bot write: TOPIC_CLOSED."
    }
    assert (await outbox.health(NOW)).retried == 1
    refusing = False
    assert await work.run(clock=partial(read_clock, now + HOUR))
    assert (await outbox.health(NOW)).owed == 0


@pytest.mark.parametrize(
    ("attempts", "seconds"), [(1, 5), (2, 10), (3, 20), (7, 320), (8, 640), (9, 900), (5000, 900)]
)
def test_each_pause_is_twice_the_one_before_up_to_a_limit(attempts: int, seconds: float) -> None:
    assert compute_backoff(attempts, 0.0).total_seconds() == seconds


@given(attempts=st.integers(1, 100), jitter=st.floats(0, 1))
def test_jitter_lengthens_a_pause_by_at_most_a_fifth(attempts: int, jitter: float) -> None:
    shortest, longest = compute_backoff(attempts, 0.0), compute_backoff(attempts, 1.0)
    assert shortest <= compute_backoff(attempts, jitter) <= longest
    assert longest / shortest == pytest.approx(1.2)
