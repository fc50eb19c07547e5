"""The Web API of the stand-in, called through the official client."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.models.blocks import SectionBlock
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from tests.fakes.bolt import web_client
from tests.fakes.slack import App, Channel, SlackServer, User


@pytest.fixture
def client(slack: SlackServer) -> AsyncWebClient:
    return web_client(slack)


async def error_of(call: Any) -> str:
    """The error code with which Slack refuses a call."""
    with pytest.raises(SlackApiError) as refused:
        await call
    return str(refused.value.response["error"])


@pytest.mark.parametrize(
    ("kind", "scope"), [("channel", "channels:read"), ("group", "groups:read"), ("im", "im:read")]
)
async def test_reading_asks_for_the_scope_of_that_kind_of_conversation(
    kind: Any, scope: str
) -> None:
    async with SlackServer(App(scopes=frozenset({"chat:write"}))) as slack:
        channel = slack.channel("somewhere", [slack.user("alice")], kind=kind)
        with pytest.raises(SlackApiError) as refused:
            await web_client(slack).conversations_info(channel=channel.id)
    assert refused.value.response["needed"] == scope


async def test_mentions_in_the_text_count_in_addition_to_blocks(
    slack: SlackServer, client: AsyncWebClient
) -> None:
    alice = slack.user("alice")
    general = slack.channel("general", [alice])
    harmless = [SectionBlock(text="&lt;!channel&gt;")]
    place = {"channel": general.id, "blocks": [block.to_dict() for block in harmless]}
    for text in ("quiet", f"<!channel> {alice.mention}"):
        await client.api_call("chat.postMessage", json={**place, "text": text})
    quiet, loud = general.messages
    assert (quiet.visible, quiet.mentions_channel, quiet.mentioned_users) == (
        "<!channel>",
        False,
        (),
    )
    assert (loud.visible, loud.mentions_channel) == ("<!channel>", True)
    assert loud.mentioned_users == (alice.id,)


async def test_updates_keep_unmentioned_blocks_and_have_a_lower_limit(
    slack: SlackServer, client: AsyncWebClient
) -> None:
    general = slack.channel("general")
    divider = [{"type": "divider"}]
    sent = await client.chat_postMessage(channel=general.id, text="old", blocks=divider)
    (message,) = general.messages
    await client.chat_update(channel=general.id, ts=sent["ts"], text="new")
    assert (message.text, message.earlier_texts, len(message.blocks)) == ("new", ["old"], 1)
    await client.chat_update(channel=general.id, ts=sent["ts"], text="newer", blocks=[])
    assert message.blocks == []
    long = client.chat_update(channel=general.id, ts=sent["ts"], text="é" * 2001)
    assert await error_of(long) == "msg_too_long"
    escapes = client.chat_update(channel=general.id, ts=sent["ts"], text="<" * 1001)
    assert await error_of(escapes) == "msg_too_long"


async def test_ephemeral_messages_are_for_one_member_and_cannot_be_updated(
    slack: SlackServer, client: AsyncWebClient
) -> None:
    alice, bob = slack.user("alice"), slack.user("bob")
    general = slack.channel("general", [alice])
    sent = await client.chat_postEphemeral(channel=general.id, user=alice.id, text="psst")
    assert [ephemeral.ephemeral_to for ephemeral in general.ephemerals] == [alice]
    assert general.messages == []
    stranger = client.chat_postEphemeral(channel=general.id, user=bob.id, text="x")
    assert await error_of(stranger) == "user_not_in_channel"
    update = client.chat_update(channel=general.id, ts=sent["message_ts"], text="x")
    assert await error_of(update) == "message_not_found"


async def test_metadata_comes_back_only_when_asked_for(
    slack: SlackServer, client: AsyncWebClient
) -> None:
    general = slack.channel("general")
    metadata = {"event_type": "prophecy", "event_payload": {"id": 7}}
    await client.chat_postMessage(channel=general.id, text="x", metadata=metadata)
    plain = await client.conversations_history(channel=general.id)
    assert "metadata" not in plain["messages"][0]
    asked = await client.conversations_history(channel=general.id, include_all_metadata=True)
    assert asked["messages"][0]["metadata"] == metadata


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
