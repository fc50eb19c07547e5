"""The Web API of the stand-in, called through the official client."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.models.blocks import SectionBlock
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from tests.fakes.bolt import web_client
from tests.fakes.slack import App, Channel, Fault, SlackServer, User


@pytest.fixture
def client(slack: SlackServer) -> AsyncWebClient:
    return web_client(slack)


async def error_of(call: Any) -> str:
    """The error code with which Slack refuses a call."""
    with pytest.raises(SlackApiError) as refused:
        await call
    return str(refused.value.response["error"])


async def raw_call(slack: SlackServer, method: str, **how: Any) -> Any:
    """A call as somebody without the SDK would make it."""
    url = slack.base_url + method
    async with aiohttp.ClientSession() as session, session.post(url, **how) as response:
        return await response.json()


# Who may call


async def test_each_method_requires_the_right_kind_of_token(slack: SlackServer) -> None:
    assert await error_of(web_client(slack, "xoxb-other").auth_test()) == "invalid_auth"
    assert (
        await error_of(web_client(slack, slack.app_token).auth_test()) == "not_allowed_token_type"
    )
    assert (await raw_call(slack, "auth.test"))["error"] == "not_authed"
    opened = web_client(slack).apps_connections_open(app_token=slack.bot_token)
    assert await error_of(opened) == "not_allowed_token_type"


async def test_a_call_without_its_scope_is_refused_and_told_what_it_lacks() -> None:
    async with SlackServer(App(scopes=frozenset({"commands"}))) as slack:
        general = slack.channel("general")
        with pytest.raises(SlackApiError) as refused:
            await web_client(slack).chat_postMessage(channel=general.id, text="hello")
    answer = refused.value.response
    assert answer["error"] == "missing_scope"
    assert (answer["needed"], answer["provided"]) == ("chat:write", "commands")
    assert general.messages == []


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


async def test_an_unknown_method_and_a_missing_argument_are_refused(
    slack: SlackServer, client: AsyncWebClient
) -> None:
    assert await error_of(client.api_call("chat.shout")) == "unknown_method"
    assert await error_of(client.api_call("chat.postMessage")) == "invalid_arguments"


# Messages


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


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ({"text": ""}, "no_text"),
        ({"text": "x" * 40_001}, "msg_too_long"),
        ({"text": "x", "blocks": [{"type": "section"}]}, "invalid_blocks"),
        ({"text": "x", "blocks": "nonsense"}, "invalid_blocks_format"),
        ({"text": "x", "metadata": {"event_type": "only"}}, "invalid_metadata_format"),
    ],
)
async def test_content_that_slack_refuses_is_not_posted(
    slack: SlackServer, client: AsyncWebClient, content: Any, error: str
) -> None:
    general = slack.channel("general")
    call = client.api_call("chat.postMessage", json={"channel": general.id, **content})
    assert await error_of(call) == error
    assert general.messages == []


async def test_posting_requires_membership_or_scope_in_an_open_channel(
    slack: SlackServer, client: AsyncWebClient
) -> None:
    async def error(channel_id: str) -> str:
        return await error_of(client.chat_postMessage(channel=channel_id, text="x"))

    slack.api.app = App(scopes=frozenset({"chat:write"}))
    closed = slack.channel("closed")
    closed.is_archived = True
    assert await error("C404") == "channel_not_found"
    assert await error(slack.channel("public", with_bot=False).id) == "not_in_channel"
    private = slack.channel("private", kind="group", with_bot=False)
    assert await error(private.id) == "channel_not_found"
    assert await error(closed.id) == "is_archived"


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


async def test_only_own_messages_can_be_changed_or_deleted(
    slack: SlackServer, client: AsyncWebClient
) -> None:
    alice = slack.user("alice")
    general = slack.channel("general", [alice])
    hers = await alice.says(general, "mine")
    mine = await client.chat_postMessage(channel=general.id, text="the bot's")
    update = client.chat_update(channel=general.id, ts=hers.ts, text="x")
    assert await error_of(update) == "cant_update_message"
    delete = client.chat_delete(channel=general.id, ts=hers.ts)
    assert await error_of(delete) == "cant_delete_message"
    gone = client.chat_delete(channel=general.id, ts="1.000000")
    assert await error_of(gone) == "message_not_found"
    await client.chat_delete(channel=general.id, ts=mine["ts"])
    assert general.messages == [hers]


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


# Reading


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


# Files and views


async def test_an_upload_must_match_its_declared_length_and_content(
    slack: SlackServer, client: AsyncWebClient
) -> None:
    general = slack.channel("general")
    offer = await client.files_getUploadURLExternal(filename="a.png", length=4)
    url = offer["upload_url"]
    async with aiohttp.ClientSession() as session, session.post(url, data=b"12345") as response:
        assert response.status == 400
    files: Any = [{"id": offer["file_id"], "title": "a"}]
    early = client.files_completeUploadExternal(files=files, channel_id=general.id)
    assert await error_of(early) == "file_not_found"


async def test_a_file_cannot_be_shared_where_the_bot_is_not(
    slack: SlackServer, client: AsyncWebClient
) -> None:
    public = slack.channel("public", with_bot=False)
    upload = client.files_upload_v2(channel=public.id, filename="a.txt", content="x")
    assert await error_of(upload) == "not_in_channel"


# Faults


async def test_rate_limits_come_with_429_and_retry_after(
    slack: SlackServer, client: AsyncWebClient
) -> None:
    slack.fail("auth.test", Fault(error="ratelimited", retry_after=7))
    with pytest.raises(SlackApiError) as refused:
        await client.auth_test()
    assert refused.value.response.status_code == 429
    assert refused.value.response.headers["Retry-After"] == "7"


@pytest.mark.parametrize(
    ("fault", "kept"), [(Fault(drop_before=True), []), (Fault(drop_after=True), ["hello"])]
)
async def test_a_connection_can_be_cut_before_or_after_the_work(
    slack: SlackServer, client: AsyncWebClient, fault: Fault, kept: list[str]
) -> None:
    general = slack.channel("general")
    client.retry_handlers.clear()  # the default one tries again after a cut connection
    slack.fail("chat.postMessage", fault)
    with pytest.raises(aiohttp.ClientError):
        await client.chat_postMessage(channel=general.id, text="hello")
    assert [message.text for message in general.messages] == kept


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
