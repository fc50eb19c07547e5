"""Socket Mode of the stand-in, frame by frame."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.request import SocketModeRequest

from tests.fakes.bolt import web_client
from tests.fakes.slack import Channel, SlackServer, Timing, User
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


async def test_a_connection_is_greeted_with_a_hello(slack: SlackServer) -> None:
    url = await address(slack)
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:
        hello = await socket.receive_json()
    assert (hello["type"], hello["num_connections"]) == ("hello", 1)
    assert hello["connection_info"]["app_id"]


async def test_a_websocket_url_opens_only_one_connection(slack: SlackServer) -> None:
    url = await address(slack)
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(url):
            pass
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(url)
    assert refused.value.status == 403
    assert slack.sockets.handshakes == [101, 403]


async def test_a_refused_handshake_uses_the_address_up(slack: SlackServer) -> None:
    url = await address(slack)
    slack.refuse_connections(1)
    async with aiohttp.ClientSession() as session:
        for status in (503, 403):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await session.ws_connect(url)
            assert refused.value.status == status


async def test_an_event_is_acknowledged_with_its_latency(
    slack: SlackServer, alice: User, general: Channel
) -> None:
    async with connection(slack) as socket:
        await alice.says(general, "hello")
        frame = await socket.receive_json()
        assert (frame["type"], frame["retry_attempt"], frame["retry_reason"]) == (
            "events_api",
            0,
            "",
        )
        assert frame["accepts_response_payload"] is False
        await acknowledge(socket, frame)
        (envelope,) = slack.envelopes
        ack = await envelope.until_acked()
    assert SocketModeRequest.from_dict(frame) is not None
    assert ack.latency >= 0
    assert ack.payload is None


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


async def test_an_acknowledgement_ends_the_retries() -> None:
    async with SlackServer(timing=Timing(ack_within=0.1, retries=(0.0, 60.0))) as slack:
        alice = slack.user("alice")
        async with connection(slack) as socket:
            await alice.says(slack.im(alice), "hello")
            await socket.receive_json()
            await acknowledge(socket, await socket.receive_json())
            (envelope,) = slack.envelopes
            await envelope.until_settled()
    assert envelope.acked
    assert len(envelope.attempts) == 2


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


async def test_an_event_that_finds_nobody_waits_for_the_next_connection() -> None:
    async with SlackServer(timing=Timing(retries=(0.05,) * 100)) as slack:
        alice = slack.user("alice")
        await alice.says(slack.im(alice), "anybody?")
        async with connection(slack) as socket:
            frame = await socket.receive_json()
            await acknowledge(socket, frame)
            await slack.quiet()
    assert frame["retry_reason"] == "connection_failed"
    assert slack.envelopes[0].acked


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


async def test_a_command_can_be_answered_in_its_acknowledgement(
    slack: SlackServer, alice: User
) -> None:
    general = slack.channel("general", [alice], with_bot=False)  # it hears nothing of its answers
    async with connection(slack) as socket:
        await alice.commands(general, "/prophecy")
        await acknowledge(socket, await socket.receive_json(), text="one moment")
        quiet = await general.until(lambda message: message.ephemeral_to is alice)
        await alice.commands(general, "/prophecy")
        public = {"text": "to all", "response_type": "in_channel"}
        await acknowledge(socket, await socket.receive_json(), **public)
        loud = await general.until(lambda message: message.ephemeral_to is None)
        refused = await alice.commands(general, "/prophecy")
        await acknowledge(socket, await socket.receive_json(), blocks=[{"type": "section"}])
        await refused.until_acked()
    assert (quiet.text, loud.text) == ("one moment", "to all")
    assert refused.failure == "invalid_blocks"


async def spread(seed: int) -> list[int]:
    """Which of two connections each of twelve events went to."""
    async with SlackServer(seed=seed) as slack:
        alice = slack.user("alice")
        async with connection(slack), connection(slack):
            for number in range(12):
                await alice.says(slack.im(alice), str(number))
            taken = [one.envelopes for one in slack.connections]
            await slack.until(lambda: sum(map(len, taken)) == 12)
            return [int(envelope in taken[1]) for envelope in slack.envelopes]


async def test_each_event_goes_to_one_connection_by_seeded_random_choice() -> None:
    assert await spread(seed=1) == await spread(seed=1) != await spread(seed=2)
    assert set(await spread(seed=1)) == {0, 1}


async def test_order_is_kept_on_one_connection(
    slack: SlackServer, alice: User, general: Channel
) -> None:
    async with connection(slack) as socket:
        for number in range(50):
            await alice.says(general, str(number))
        frames = [await socket.receive_json() for _ in range(50)]
    assert [frame["payload"]["event"]["text"] for frame in frames] == list(map(str, range(50)))


@pytest.mark.parametrize("reason", ["warning", "refresh_requested"])
async def test_an_announced_end_leaves_the_connection_in_use_for_now(
    slack: SlackServer, alice: User, general: Channel, reason: Any
) -> None:
    async with connection(slack) as socket:
        await slack.disconnect(reason)
        announced = await socket.receive_json()
        await alice.says(general, "still here")
        frame = await socket.receive_json()
    assert (announced["type"], announced["reason"]) == ("disconnect", reason)
    assert frame["payload"]["event"]["text"] == "still here"


async def test_link_disabled_closes_connections_and_admits_none(slack: SlackServer) -> None:
    async with connection(slack) as socket:
        await slack.disconnect("link_disabled")
        assert (await socket.receive_json())["reason"] == "link_disabled"
        assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
    with pytest.raises(SlackApiError, match="socket_mode_disabled"):
        await address(slack)


async def test_at_most_ten_connections_are_allowed(slack: SlackServer) -> None:
    async with aiohttp.ClientSession() as session:
        sockets = [await session.ws_connect(await address(slack)) for _ in range(10)]
        await slack.until_connected(10)
        with pytest.raises(SlackApiError, match="too_many_websockets"):
            await address(slack)
        for socket in sockets:
            await socket.close()


async def test_an_acknowledgement_of_an_unknown_event_fails_the_test() -> None:
    slack = await SlackServer().start()
    async with connection(slack) as socket:
        await acknowledge(socket, {"envelope_id": "invented"})
        await slack.until(lambda: slack.host.broken)
    with pytest.raises(ExceptionGroup):
        await slack.stop()
