"""response_url of the stand-in, through the official webhook client."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from slack_sdk.models.blocks import ActionsBlock, ButtonElement
from slack_sdk.webhook.async_client import AsyncWebhookClient

from tests.fakes.bolt import web_client
from tests.fakes.slack import Channel, Fault, Message, SlackServer, User


class Clock:
    """Time that a test sets forward."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def slack(clock: Clock) -> AsyncIterator[SlackServer]:
    async with SlackServer(clock=clock) as server:
        yield server


async def hook(alice: User, channel: Channel) -> AsyncWebhookClient:
    envelope = await alice.commands(channel, "/prophecy")
    return AsyncWebhookClient(envelope.payload["response_url"])


async def clicked(slack: SlackServer, alice: User) -> tuple[Message, AsyncWebhookClient]:
    """A message with a button, and the address that came with pressing it."""
    channel = slack.channel("busy", [alice])
    blocks = [ActionsBlock(elements=[ButtonElement(text="More", action_id="more")])]
    await web_client(slack).chat_postMessage(channel=channel.id, text="press", blocks=blocks)
    message = channel.messages[0]
    envelope = await alice.clicks(message, "More")
    return message, AsyncWebhookClient(envelope.payload["response_url"])


async def test_a_response_is_ephemeral_by_default_and_needs_no_membership(
    alice: User, general: Channel
) -> None:
    answer = await (await hook(alice, general)).send(text="only you")
    assert (answer.status_code, answer.body) == (200, '{"ok": true}')
    assert [ephemeral.ephemeral_to for ephemeral in general.ephemerals] == [alice]


async def test_a_response_can_be_public_and_threaded(alice: User, general: Channel) -> None:
    parent = await alice.says(general, "parent")
    client = await hook(alice, general)
    await client.send_dict(
        {"text": "for all", "response_type": "in_channel", "thread_ts": parent.ts}
    )
    message = general.messages[-1]
    assert (message.text, message.thread_ts, message.ephemeral_to) == ("for all", parent.ts, None)


async def test_a_response_url_accepts_five_responses(alice: User, general: Channel) -> None:
    client = await hook(alice, general)
    answers = [await client.send(text=str(number)) for number in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [404]
    assert "used_url" in answers[-1].body
    assert len(general.ephemerals) == 5


async def test_a_response_url_expires_after_half_an_hour(
    alice: User, general: Channel, clock: Clock
) -> None:
    client = await hook(alice, general)
    clock.now += 30 * 60
    assert (await client.send(text="just in time")).status_code == 200
    clock.now += 1
    late = await client.send(text="too late")
    assert late.status_code == 404
    assert "expired_url" in late.body


async def test_the_original_is_replaced_or_deleted(slack: SlackServer, alice: User) -> None:
    message, client = await clicked(slack, alice)
    await client.send(text="replaced", replace_original=True)
    assert (message.text, message.blocks) == ("replaced", [])
    await client.send(text="beside it", replace_original=False)
    assert [ephemeral.text for ephemeral in message.channel.ephemerals] == ["beside it"]
    await client.send(delete_original=True)
    assert message.deleted
    assert message not in message.channel.messages


async def test_an_ephemeral_original_can_be_replaced_only_by_response_url(
    slack: SlackServer, alice: User
) -> None:
    channel = slack.channel("busy", [alice])
    blocks = [ActionsBlock(elements=[ButtonElement(text="More", action_id="more")])]
    client = web_client(slack)
    await client.chat_postEphemeral(channel=channel.id, user=alice.id, text="x", blocks=blocks)
    (message,) = channel.ephemerals
    envelope = await alice.clicks(message, "more")
    assert envelope.payload["container"]["is_ephemeral"]
    assert "message" not in envelope.payload
    webhook = AsyncWebhookClient(envelope.payload["response_url"])
    await webhook.send(text="replaced", replace_original=True)
    assert channel.ephemerals == [message]
    assert message.text == "replaced"


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ({"text": ""}, "no_text"),
        ({"blocks": [{"type": "section"}]}, "invalid_blocks"),
        ({"text": "x" * 40_001}, "msg_too_long"),
    ],
)
async def test_a_refused_response_does_not_count_towards_the_limit(
    alice: User, general: Channel, content: Any, error: str
) -> None:
    client = await hook(alice, general)
    refused = await client.send_dict(content)
    assert refused.status_code == 400
    assert error in refused.body
    answers = [await client.send(text="x") for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200] * 5


async def test_failures_of_the_response_url_can_be_planned(
    slack: SlackServer, alice: User, general: Channel
) -> None:
    client = await hook(alice, general)
    slack.fail("response_url", Fault(status=500))
    assert (await client.send(text="lost")).status_code == 500
    assert (await client.send(text="kept")).status_code == 200
    assert [ephemeral.text for ephemeral in general.ephemerals] == ["kept"]
