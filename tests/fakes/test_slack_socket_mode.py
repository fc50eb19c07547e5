"""Socket Mode of the stand-in, frame by frame."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from tests.fakes.bolt import web_client
from tests.fakes.slack import SlackServer, Timing
from tests.patience import PATIENCE

LATE = Timing(ack_within=0.1, retries=(0.0, 0.05))


async def address(slack: SlackServer) -> str:
    answer = await web_client(slack).apps_connections_open(app_token=slack.app_token)
    return str(answer["url"])


@asynccontextmanager
async def connection(slack: SlackServer) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """A connection that has been greeted."""
    url = await address(slack)
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:
        assert (await socket.receive_json())["type"] == "hello"
        yield socket


async def acknowledge(socket: aiohttp.ClientWebSocketResponse, frame: Any, **payload: Any) -> None:
    answer = {"envelope_id": frame["envelope_id"]}
    await socket.send_json(answer | ({"payload": payload} if payload else {}))


async def test_a_websocket_url_opens_only_one_connection(slack: SlackServer) -> None:
    url = await address(slack)
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(url):
            pass
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(url)
    assert refused.value.status == 403
    assert slack.sockets.handshakes == [101, 403]


async def test_an_unacknowledged_event_is_sent_again_with_number_and_reason() -> None:
    async with SlackServer(timing=LATE) as slack:
        alice = slack.user("alice")
        async with connection(slack) as socket:
            await alice.says(slack.im(alice), "hello")
            frames = [await socket.receive_json() for _ in range(3)]
            (envelope,) = slack.envelopes
            await envelope.until_settled()
    retries = [(frame["retry_attempt"], frame["retry_reason"]) for frame in frames]
    assert retries == [(0, ""), (1, "timeout"), (2, "timeout")]
    assert len({frame["envelope_id"] for frame in frames}) == 1
    assert len({frame["payload"]["event_id"] for frame in frames}) == 1
    assert not envelope.acked


async def test_a_retry_takes_whichever_connection_is_open() -> None:
    async with SlackServer(timing=Timing(ack_within=PATIENCE)) as slack:
        alice = slack.user("alice")
        async with connection(slack) as socket:
            await alice.says(slack.im(alice), "hello")
            await socket.receive_json()
        async with connection(slack) as other:
            (envelope,) = slack.envelopes
            again = asyncio.create_task(slack.redeliver(envelope))
            frame = await other.receive_json()
            await acknowledge(other, frame)
            assert await again == ""
    assert frame["retry_attempt"] >= 1


async def test_an_unacknowledged_command_is_not_retried_and_the_person_is_notified() -> None:
    async with SlackServer(timing=LATE) as slack:
        alice = slack.user("alice")
        nobody = await alice.commands(slack.im(alice), "/prophecy")
        await nobody.until_settled()
        async with connection(slack) as socket:
            silent = await alice.commands(slack.im(alice), "/prophecy", "Pope visits Cuba")
            frame = await socket.receive_json()
            await silent.until_settled()
    assert (nobody.failure, silent.failure) == ("dispatch_failed", "operation_timeout")
    assert len(silent.attempts) == 1
    assert frame["accepts_response_payload"] is True
    assert "retry_attempt" not in frame


async def test_an_acknowledgement_of_an_unknown_event_fails_the_test() -> None:
    slack = await SlackServer().start()
    async with connection(slack) as socket:
        await acknowledge(socket, {"envelope_id": "invented"})
        await slack.until(lambda: slack.host.broken)
    with pytest.raises(ExceptionGroup):
        await slack.stop()
