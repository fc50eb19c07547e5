"""From the bytes of a feed to a program that checks the signature: retried, known by its id."""

import asyncio
import base64
import hashlib
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import orjson

from bot.jobs.deliver import deliver_posts
from bot.settings.sections import WebhookSettings
from bot.webhooks import WebhookOff, WebhookState, webhook_states
from db.posting.outbox import Outbox
from engine.contracts.answers import ProphecyAnswer
from engine.errors import PresagioError
from tests.fakes.web import Answer, Asked, reply
from tests.patience import PATIENCE
from tests.scenarios.newsroom import HOUR, MINUTE, Newsroom, Process, newsroom
from tests.scenarios.stage import HEADLINE, TWEETS

KEY = bytes(range(32))
SECRETS = "hook=whsec_" + base64.b64encode(KEY).decode()
HOOK = "/hooks/presagio"
DAY = timedelta(days=1)


@asynccontextmanager
async def hooked(coffee_url: str, answer: Answer) -> AsyncIterator[Newsroom]:
    """A newsroom whose settings name one webhook, which gives this answer."""
    async with newsroom(coffee_url, WEBHOOK_SECRETS=SECRETS) as room:
        hook = WebhookSettings(name="hook", url=room.web.url(HOOK), allow_networks=("127.0.0.0/8",))
        room.webhooks = (hook,)
        room.web.pages[HOOK] = answer
        yield room


async def owing(room: Newsroom) -> Process:
    """A process that has found a prophecy, and owes the webhook an event."""
    process = await room.process()
    await room.news(process)
    assert await process.jobs.digest() == 1
    return process


def received(room: Newsroom) -> list[Asked]:
    return [request for request in room.web.requests if request.path == HOOK]


def genuine(request: Asked) -> bool:
    """Verify a request as its receiver would, by the text of Standard Webhooks alone."""
    headers = request.headers
    signed = b".".join(
        [headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), request.body]
    )
    expected = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    given = [one.split(",", 1) for one in headers["webhook-signature"].split(" ")]
    return any(version == "v1" and value == expected for version, value in given)


async def state(room: Newsroom, process: Process) -> WebhookState:
    (one,) = await webhook_states(process.app.database, room.webhooks)
    return one


async def test_a_find_is_sent_to_a_webhook_at_once(coffee_url: str) -> None:
    async with hooked(coffee_url, reply(204)) as room:
        process = await owing(room)
        await room.deliver(process)
        (request,) = received(room)
        assert genuine(request)
        assert not genuine(Asked(HOOK, request.headers, "POST", request.body + b" "))
        assert len(request.body) < 20_000, "what Standard Webhooks recommends"
        event = orjson.loads(request.body)
        assert event["type"] == "prophecy.found"
        story, prophecy = event["data"]["story"], event["data"]["prophecy"]
        assert story == {
            "title": HEADLINE,
            "link": "https://news.example/2",
            "source": "The Paper",
        }
        assert prophecy["headline"] == HEADLINE
        (hit,) = prophecy["hits"]
        assert hit["text"] == TWEETS[0]
        assert ProphecyAnswer.model_validate(prophecy | {"elapsed_ms": 0})
        assert await process.jobs.digest() == 0
        await room.deliver(process)
        assert len(received(room)) == 1
        posted = await Outbox(process.app.database).public_posts([prophecy["corpus"]], limit=9)
        assert posted == [], "what chats were told stands in public feeds, and no more"
        now = await state(room, process)
        assert (now.active, now.sent, now.owed, now.last_error) == (True, 1, 0, None)


async def test_an_event_is_retried_over_a_restart_under_the_same_id(coffee_url: str) -> None:
    async with hooked(coffee_url, reply(500)) as room:
        first = await owing(room)
        await room.deliver(first)
        room.clock.wind(MINUTE)
        await room.deliver(first)
        health = await state(room, first)
        assert (health.sent, health.owed) == (0, 1)
        assert "did not accept the event (500)" in str(health.last_error)
        room.clock.wind(HOUR)
        room.web.pages[HOOK] = reply(200)
        second = await room.process()
        assert await second.jobs.digest() == 0
        await room.deliver(second)
        requests = received(room)
        assert len(requests) == 3
        assert all(map(genuine, requests))
        assert len({request.headers["webhook-id"] for request in requests}) == 1
        assert len({request.headers["webhook-timestamp"] for request in requests}) == 3
        assert len({request.body for request in requests}) == 1
        assert (await state(room, second)).owed == 0


async def test_a_process_that_dies_while_it_sends_has_its_event_sent_again(
    coffee_url: str,
) -> None:
    taken = asyncio.Event()

    async def says_nothing(_: Asked, __: asyncio.StreamWriter) -> None:
        taken.set()
        await asyncio.Event().wait()

    async with hooked(coffee_url, says_nothing) as room:
        first = await owing(room)
        sending = asyncio.create_task(first.jobs.deliver())
        async with asyncio.timeout(PATIENCE):
            await taken.wait()
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        room.web.pages[HOOK] = reply(200)
        second = await room.process()
        assert await second.jobs.deliver() == 0, "the lease of the first has not ended"
        room.clock.wind(4 * MINUTE)
        assert await second.jobs.deliver() == 1
        before, after = received(room)
        assert before.headers["webhook-id"] == after.headers["webhook-id"]
        assert (await state(room, second)).sent == 1


async def test_410_turns_a_webhook_off_until_it_has_another_address(coffee_url: str) -> None:
    async with hooked(coffee_url, reply(410)) as room:
        process = await owing(room)
        reported: list[PresagioError] = []
        await deliver_posts(
            replace(process.jobs.delivering, report=reported.append), clock=room.clock
        )
        assert [type(error) for error in reported] == [WebhookOff], "operators hear of it"
        again = await room.process()  # a restart changes nothing
        off = await state(room, again)
        assert (off.active, off.failed) == (False, 1)
        assert "wants no more events" in str(off.last_error)
        await room.news(again, "Record coffee harvest brings record prices, growers say")
        assert await again.jobs.digest() == 0
        assert len(received(room)) == 1
        moved = room.webhooks[0].model_copy(update={"url": room.web.url(HOOK + "?v=2")})
        room.webhooks = (moved,)
        assert (await state(room, await room.process())).active


async def test_a_webhook_removed_from_the_settings_gets_nothing(coffee_url: str) -> None:
    async with hooked(coffee_url, reply(500)) as room:
        process = await owing(room)
        await room.deliver(process)
        hooks, room.webhooks = room.webhooks, ()
        without = await room.process()
        await room.news(without, "Record coffee harvest brings record prices, growers say")
        assert await without.jobs.digest() == 0
        (owed,) = await webhook_states(without.app.database, hooks)
        assert (owed.owed, owed.failed) == (0, 1)


async def test_a_receiver_dead_for_a_day_loses_its_queued_events(
    coffee_url: str,
) -> None:
    async with hooked(coffee_url, reply(503)) as room:
        process = await owing(room)
        await room.deliver(process)
        room.clock.wind(DAY + HOUR)
        await room.deliver(process)
        assert (await state(room, process)).failed == 1
        assert len(received(room)) == 1
