"""The Web API of the stand-in, called through the official client."""

import asyncio
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import AsyncRateLimitErrorRetryHandler
from slack_sdk.models.blocks import ActionsBlock, ButtonElement, SectionBlock
from slack_sdk.models.metadata import Metadata
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.bolt import web_client
from tests.fakes.slack import App, Fault, SlackServer


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


async def test_auth_test_names_the_bot_and_its_scopes() -> None:
    app = App(scopes=frozenset({"commands", "chat:write"}))
    async with SlackServer(app) as slack:
        answer = await web_client(slack).auth_test()
    assert answer["user_id"] == slack.bot.id
    assert answer["bot_id"] == slack.bot.bot_id
    assert answer.headers["x-oauth-scopes"] == "chat:write,commands"


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


async def test_used_scopes_are_recorded(slack: SlackServer, client: AsyncWebClient) -> None:
    await client.chat_postMessage(channel=slack.channel("general").id, text="hello")
    assert "chat:write" in slack.api.used_scopes
    assert "files:write" not in slack.api.used_scopes


async def test_arguments_and_token_may_be_form_or_json(slack: SlackServer) -> None:
    general = slack.channel("general")
    blocks = '[{"type": "divider"}]'
    form = {"token": slack.bot_token, "channel": general.id, "text": "form", "blocks": blocks}
    assert (await raw_call(slack, "chat.postMessage", data=form))["ok"]
    headers = {"Authorization": f"Bearer {slack.bot_token}"}
    body = {"channel": general.id, "text": "json"}
    assert (await raw_call(slack, "chat.postMessage", json=body, headers=headers))["ok"]
    assert [message.text for message in general.messages] == ["form", "json"]
    assert general.messages[0].blocks[0]["type"] == "divider"


async def test_an_unknown_method_and_a_missing_argument_are_refused(
    slack: SlackServer, client: AsyncWebClient
) -> None:
    assert await error_of(client.api_call("chat.shout")) == "unknown_method"
    assert await error_of(client.api_call("chat.postMessage")) == "invalid_arguments"


# Messages


async def test_a_posted_message_is_answered_and_kept_as_sent(
    slack: SlackServer, client: AsyncWebClient
) -> None:
    general = slack.channel("general")
    parent = await client.chat_postMessage(channel=general.id, text="parent")
    answer = await client.chat_postMessage(
        channel=general.id,
        text="a &amp; b",
        blocks=[SectionBlock(text="*bold*"), ActionsBlock(elements=[ButtonElement(text="More")])],
        thread_ts=parent["ts"],
        metadata=Metadata(event_type="prophecy", event_payload={"id": 7}),
        unfurl_links=False,
    )
    message = general.messages[1]
    assert answer["ts"] == message.ts > parent["ts"]
    assert answer["message"]["metadata"]["event_payload"] == {"id": 7}
    assert (message.thread_ts, message.visible) == (parent["ts"], "*bold*\nMore")
    assert slack.calls_of("chat.postMessage")[1].arguments["unfurl_links"] is False


async def test_a_message_to_a_person_goes_to_the_direct_conversation(
    slack: SlackServer, client: AsyncWebClient
) -> None:
    alice = slack.user("alice")
    opened = await client.conversations_open(users=alice.id)
    await client.chat_postMessage(channel=alice.id, text="psst")
    assert opened["channel"]["id"] == slack.im(alice).id
    assert [message.text for message in slack.im(alice).messages] == ["psst"]


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


async def test_chat_write_public_reaches_public_channels(
    slack: SlackServer, client: AsyncWebClient
) -> None:
    slack.api.app = App(scopes=frozenset({"chat:write", "chat:write.public"}))
    public = slack.channel("public", with_bot=False)
    await client.chat_postMessage(channel=public.id, text="hello")
    assert len(public.messages) == 1


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


async def test_permalinks_name_the_thread(slack: SlackServer, client: AsyncWebClient) -> None:
    alice = slack.user("alice")
    general = slack.channel("general", [alice])
    parent = await alice.says(general, "parent")
    reply = await alice.says(general, "reply", thread=parent)
    link = await client.chat_getPermalink(channel=general.id, message_ts=reply.ts)
    digits = reply.ts.replace(".", "")
    assert f"/archives/{general.id}/p{digits}?thread_ts={parent.ts}" in link["permalink"]


async def test_reactions_are_added_once(slack: SlackServer, client: AsyncWebClient) -> None:
    alice = slack.user("alice")
    general = slack.channel("general", [alice])
    message = await alice.says(general, "hello")
    place = {"channel": general.id, "timestamp": message.ts}
    await client.reactions_add(**place, name="eyes")
    assert message.reactions == {"eyes": [slack.bot.id]}
    assert await error_of(client.reactions_add(**place, name="eyes")) == "already_reacted"
    assert await error_of(client.reactions_add(**place, name=":eyes:")) == "invalid_name"


# Reading


async def test_people_have_a_time_zone_a_locale_and_rights(
    slack: SlackServer, client: AsyncWebClient
) -> None:
    alice = slack.user("alice", tz="America/Argentina/Buenos_Aires", locale="es-AR", admin=True)
    plain = (await client.users_info(user=alice.id))["user"]
    assert (plain["tz"], plain["tz_offset"]) == ("America/Argentina/Buenos_Aires", -10_800)
    assert (plain["is_admin"], plain["is_owner"], plain["is_bot"]) == (True, False, False)
    assert "locale" not in plain
    asked = await client.users_info(user=alice.id, include_locale=True)
    assert asked["user"]["locale"] == "es-AR"
    assert await error_of(client.users_info(user="U404")) == "user_not_found"


async def test_conversation_info_includes_the_kind(
    slack: SlackServer, client: AsyncWebClient
) -> None:
    alice = slack.user("alice")
    secret = slack.channel("secret", [alice], kind="group")
    shown = await client.conversations_info(channel=secret.id, include_num_members=True)
    assert shown["channel"]["is_private"]
    assert shown["channel"]["num_members"] == 2
    direct = await client.conversations_info(channel=slack.im(alice).id)
    assert (direct["channel"]["is_im"], direct["channel"]["user"]) == (True, alice.id)


async def test_history_goes_backwards_threads_forwards_and_both_in_pages(
    slack: SlackServer, client: AsyncWebClient
) -> None:
    alice = slack.user("alice")
    general = slack.channel("general", [alice])
    first = await alice.says(general, "first")
    for name in ("reply 1", "reply 2"):
        await alice.says(general, name, thread=first)
    await alice.says(general, "second")

    page = await client.conversations_history(channel=general.id, limit=1)
    assert [one["text"] for one in page["messages"]] == ["second"]
    cursor = page["response_metadata"]["next_cursor"]
    rest = await client.conversations_history(channel=general.id, cursor=cursor)
    assert [one["text"] for one in rest["messages"]] == ["first"]
    assert rest["messages"][0]["reply_count"] == 2
    assert not rest["has_more"]

    thread = await client.conversations_replies(channel=general.id, ts=first.ts)
    assert [one["text"] for one in thread["messages"]] == ["first", "reply 1", "reply 2"]
    later = await client.conversations_history(channel=general.id, oldest=first.ts)
    assert [one["text"] for one in later["messages"]] == ["second"]
    nothing = client.conversations_replies(channel=general.id, ts="1.000000")
    assert await error_of(nothing) == "thread_not_found"


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


async def test_members_are_paginated(slack: SlackServer, client: AsyncWebClient) -> None:
    people = [slack.user(f"person-{number}") for number in range(5)]
    general = slack.channel("general", people)
    answer = await client.conversations_members(channel=general.id, limit=4)
    pages = [page["members"] async for page in answer]
    everybody = [*(person.id for person in people), slack.bot.id]
    assert pages == [everybody[:4], everybody[4:]]


# Files and views


async def test_a_file_is_uploaded_and_shown_in_the_thread(
    slack: SlackServer, client: AsyncWebClient
) -> None:
    alice = slack.user("alice")
    general = slack.channel("general", [alice])
    question = await alice.says(general, "a picture, please")
    await client.files_upload_v2(
        channel=general.id,
        thread_ts=question.ts,
        filename="card.png",
        content=b"\x89PNG",
        title="The prophecy",
        initial_comment="here",
    )
    shown = general.messages[-1]
    assert (shown.thread_ts, shown.text) == (question.ts, "here")
    assert shown.files[0]["title"] == "The prophecy"
    assert slack.files.uploads[shown.files[0]["id"]].content == b"\x89PNG"


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


async def test_the_sdk_retry_handler_recovers_from_a_rate_limit(
    slack: SlackServer, client: AsyncWebClient
) -> None:
    client.retry_handlers.append(AsyncRateLimitErrorRetryHandler(max_retry_count=1))
    slack.fail("auth.test", Fault(error="ratelimited", retry_after=0))
    assert (await client.auth_test())["ok"]
    assert [call.answer is None for call in slack.calls] == [True, False]


@pytest.mark.parametrize("fault", [Fault(error="fatal_error"), Fault(status=500)])
async def test_a_planned_error_is_returned_once(
    slack: SlackServer, client: AsyncWebClient, fault: Fault
) -> None:
    general = slack.channel("general")
    slack.fail("chat.postMessage", fault)
    with pytest.raises(SlackApiError):
        await client.chat_postMessage(channel=general.id, text="lost")
    await client.chat_postMessage(channel=general.id, text="kept")
    assert [message.text for message in general.messages] == ["kept"]


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


async def test_the_client_of_the_sdk_posts_again_after_a_cut_connection(
    slack: SlackServer, client: AsyncWebClient
) -> None:
    general = slack.channel("general")
    slack.fail("chat.postMessage", Fault(drop_after=True))
    await client.chat_postMessage(channel=general.id, text="twice")
    assert [message.text for message in general.messages] == ["twice", "twice"]


async def test_a_fault_can_last_until_it_is_mended(
    slack: SlackServer, client: AsyncWebClient
) -> None:
    slack.fail("auth.test", Fault(error="fatal_error"), times=None)
    assert [await error_of(client.auth_test()) for _ in range(3)] == ["fatal_error"] * 3
    slack.mend("auth.test")
    assert (await client.auth_test())["ok"]


async def test_a_hanging_call_is_never_answered(slack: SlackServer, client: AsyncWebClient) -> None:
    slack.fail("auth.test", Fault(hang=True))
    asking = asyncio.create_task(client.auth_test())
    await slack.until(lambda: slack.calls)
    assert not asking.done()
    asking.cancel()
    assert slack.calls[0].answer is None


async def test_a_slow_call_is_answered_late(slack: SlackServer, client: AsyncWebClient) -> None:
    slack.fail("auth.test", Fault(delay=0.05))
    loop = asyncio.get_running_loop()
    before = loop.time()
    assert (await client.auth_test())["ok"]
    assert loop.time() - before >= 0.05
