"""What the stand-in tells the app, as Bolt reads it."""

from typing import Any

import pytest
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.request.payload_utils import (
    is_block_actions,
    is_event,
    is_im_message_event,
    is_message_event,
    is_message_shortcut,
    is_slash_command,
)
from slack_sdk.models.blocks import (
    ActionsBlock,
    Block,
    ButtonElement,
    Option,
    SectionBlock,
    StaticSelectElement,
)

from tests.fakes.bolt import web_client
from tests.fakes.slack import App, Channel, Message, SlackServer, User


def events(slack: SlackServer) -> list[dict[str, Any]]:
    """The inner events that were sent, each checked to be one for Bolt."""
    bodies = [envelope.payload for envelope in slack.envelopes]
    assert all(is_event(body) for body in bodies)
    return [body["event"] for body in bodies]


def read(payload: dict[str, Any]) -> AsyncBoltRequest:
    return AsyncBoltRequest(mode="socket_mode", body=payload)


def outline(slack: SlackServer) -> list[tuple[str, str]]:
    return [(event["type"], event.get("subtype", "")) for event in events(slack)]


async def test_bolt_reads_user_channel_and_thread(
    slack: SlackServer, alice: User, general: Channel
) -> None:
    parent = await alice.says(general, "parent")
    await alice.says(general, "reply", thread=parent)
    body = slack.envelopes[1].payload
    context = read(body).context
    assert is_message_event(body)
    assert (context.user_id, context.channel_id) == (alice.id, general.id)
    assert (context.team_id, context["thread_ts"]) == (body["team_id"], parent.ts)


async def test_typed_text_is_escaped_and_carries_a_block(
    slack: SlackServer, alice: User, general: Channel
) -> None:
    await alice.says(general, "a < b & c, see https://a.b/c <@U1>")
    (event,) = events(slack)
    assert event["text"] == "a &lt; b &amp; c, see <https://a.b/c> &lt;@U1&gt;"
    assert Block.parse_all(event["blocks"])[0].to_dict()["type"] == "rich_text"
    assert event["client_msg_id"]


@pytest.mark.parametrize("kind", ["channel", "group", "im", "mpim"])
async def test_messages_say_what_kind_of_conversation_they_are_in(
    slack: SlackServer, alice: User, kind: Any
) -> None:
    await alice.says(slack.channel("somewhere", [alice], kind=kind), "hello")
    (event,) = events(slack)
    assert event["channel_type"] == kind
    assert is_im_message_event(slack.envelopes[0].payload) is (kind == "im")


async def test_a_mention_makes_two_events_of_one_message(
    slack: SlackServer, alice: User, general: Channel
) -> None:
    message = await alice.mentions_bot(general, "hello")
    assert outline(slack) == [("message", ""), ("app_mention", "")]
    assert {event["ts"] for event in events(slack)} == {message.ts}
    assert len({envelope.payload["event_id"] for envelope in slack.envelopes}) == 2
    assert events(slack)[1]["text"] == f"<@{slack.bot.id}> hello"


async def test_a_mention_in_a_direct_conversation_makes_one_event(
    slack: SlackServer, alice: User
) -> None:
    await alice.mentions_bot(slack.im(alice), "hello")
    assert outline(slack) == [("message", "")]


async def test_an_edit_sends_a_change_event_and_repeats_the_mention(
    slack: SlackServer, alice: User, general: Channel
) -> None:
    message = await alice.mentions_bot(general, "before")
    await alice.edits(message, f"{slack.bot.mention} after", raw=True)
    changed, mention = events(slack)[2:]
    assert changed["subtype"] == "message_changed"
    assert changed["message"]["text"].endswith("after")
    assert changed["previous_message"]["text"].endswith("before")
    assert (mention["type"], mention["ts"]) == ("app_mention", message.ts)
    assert mention["edited"]["user"] == alice.id


async def test_deletions_joins_and_files_send_events(
    slack: SlackServer, alice: User, general: Channel
) -> None:
    message = await alice.says(general, "hello")
    await alice.deletes(message)
    await slack.user("bob").joins(general)
    await alice.shares_file(general, "scan.pdf", "look")
    assert outline(slack) == [
        ("message", ""),
        ("message", "message_deleted"),
        ("member_joined_channel", ""),
        ("message", "channel_join"),
        ("message", "file_share"),
    ]


async def test_messages_of_other_bots_carry_bot_fields(
    slack: SlackServer, general: Channel
) -> None:
    await slack.other_app("feeds").says(general, "news")
    await slack.other_app("hook", webhook=True).says(general, "more news")
    modern, legacy = events(slack)
    assert modern["bot_id"] != slack.bot.bot_id
    assert "subtype" not in modern
    assert legacy["subtype"] == "bot_message"
    assert "user" not in legacy


async def test_the_bot_receives_its_own_messages(slack: SlackServer, general: Channel) -> None:
    await web_client(slack).chat_postMessage(channel=general.id, text="mine")
    (event,) = events(slack)
    assert (event["user"], event["bot_id"]) == (slack.bot.id, slack.bot.bot_id)


async def test_the_bot_receives_nothing_from_channels_it_has_not_joined(
    slack: SlackServer, alice: User
) -> None:
    elsewhere = slack.channel("elsewhere", [alice], with_bot=False)
    await alice.mentions_bot(elsewhere, "hello?")
    assert slack.envelopes == []
    await alice.invites_bot(elsewhere)
    assert outline(slack)[0] == ("member_joined_channel", "")
    assert events(slack)[0]["user"] == slack.bot.id


@pytest.mark.parametrize(
    ("app", "heard"),
    [
        (App(events=frozenset({"app_mention"})), ["app_mention"]),
        (App(events=frozenset({"message.channels"})), ["message"]),
        (App(scopes=frozenset({"app_mentions:read"})), ["app_mention"]),
        (App(scopes=frozenset({"chat:write"})), []),
    ],
)
async def test_events_need_a_subscription_and_a_scope(app: App, heard: list[str]) -> None:
    async with SlackServer(app) as slack:
        alice = slack.user("alice")
        await alice.mentions_bot(slack.channel("general", [alice]), "hello")
        assert [event["type"] for event in events(slack)] == heard


MANIFEST: dict[str, Any] = {
    "display_information": {"name": "Presagio"},
    "features": {
        "slash_commands": [{"command": "/prophecy", "description": "Ask"}],
        "shortcuts": [{"name": "Find", "type": "message", "callback_id": "find"}],
    },
    "oauth_config": {"scopes": {"bot": ["commands", "im:history"]}},
    "settings": {"event_subscriptions": {"bot_events": ["message.im", "app_mention"]}},
}


async def test_a_manifest_decides_what_there_is() -> None:
    async with SlackServer(App.from_manifest(MANIFEST)) as slack:
        alice = slack.user("alice")
        direct, general = slack.im(alice), slack.channel("general", [alice])
        message = await alice.says(direct, "heard")
        await alice.mentions_bot(general, "subscribed, but without the scope")
        await alice.commands(direct, "/prophecy")
        await alice.uses_shortcut(message, "find")
        with pytest.raises(AssertionError, match="not a valid command"):
            await alice.commands(direct, "/other")
        with pytest.raises(AssertionError, match="no shortcut"):
            await alice.uses_shortcut(message, "other")
        kinds = [envelope.kind for envelope in slack.envelopes]
        assert slack.api.used_scopes == {"commands", "im:history"}
    assert kinds == ["events_api", "slash_commands", "interactive"]


async def test_a_command_has_no_thread_but_an_address_to_answer(
    slack: SlackServer, alice: User, general: Channel
) -> None:
    envelope = await alice.commands(general, "/prophecy", "Pope & <Cuba>")
    body = envelope.payload
    context = read(body).context
    assert is_slash_command(body)
    assert (body["command"], body["text"]) == ("/prophecy", "Pope & <Cuba>")
    assert (context.user_id, context.channel_id) == (alice.id, general.id)
    assert context.response_url == body["response_url"]
    assert "thread_ts" not in context
    assert (await alice.commands(slack.im(alice), "/p")).payload["channel_name"] == "directmessage"


async def with_buttons(slack: SlackServer, general: Channel, thread: Message) -> Message:
    """A message of the bot with a button and a menu."""
    options = [Option(text=name, value=name) for name in ("all", "none")]
    menu = StaticSelectElement(placeholder="Listen", action_id="listen", options=options)
    button = ButtonElement(text="More", action_id="more", value="7")
    await web_client(slack).chat_postMessage(
        channel=general.id,
        text="answer",
        blocks=[SectionBlock(text="answer"), ActionsBlock(elements=[button, menu])],
        thread_ts=thread.ts,
    )
    return general.messages[-1]


async def test_a_click_says_what_was_pressed_and_on_what(
    slack: SlackServer, alice: User, general: Channel
) -> None:
    question = await alice.says(general, "question")
    message = await with_buttons(slack, general, question)
    by_text = await alice.clicks(message, "More")
    by_name = await alice.clicks(message, "more")
    body = by_name.payload
    assert is_block_actions(body)
    assert by_text.payload["actions"][0]["action_id"] == "more"
    action = body["actions"][0]
    assert (action["value"], action["block_id"]) == ("7", message.blocks[1]["block_id"])
    assert (body["message"]["ts"], body["container"]["thread_ts"]) == (message.ts, question.ts)
    assert body["response_url"] != by_text.payload["response_url"]
    with pytest.raises(LookupError, match="nothing like"):
        await alice.clicks(message, "Less")


async def test_a_choice_from_a_menu_is_sent_along(
    slack: SlackServer, alice: User, general: Channel
) -> None:
    message = await with_buttons(slack, general, await alice.says(general, "question"))
    envelope = await alice.clicks(message, "listen", "none")
    assert envelope.payload["actions"][0]["selected_option"]["value"] == "none"


async def test_a_shortcut_brings_the_message_even_where_the_bot_is_not(
    slack: SlackServer, alice: User
) -> None:
    elsewhere = slack.channel("elsewhere", [alice], with_bot=False)
    message = await alice.says(elsewhere, "Pope visits Cuba")
    body = (await alice.uses_shortcut(message, "find")).payload
    context = read(body).context
    assert is_message_shortcut(body)
    assert (body["callback_id"], body["message"]["text"]) == ("find", "Pope visits Cuba")
    assert (context.user_id, context.channel_id) == (alice.id, elsewhere.id)


async def test_any_other_event_can_be_sent(slack: SlackServer, alice: User) -> None:
    await slack.tell_event({"type": "app_home_opened", "user": alice.id, "tab": "home"})
    assert outline(slack) == [("app_home_opened", "")]
    assert read(slack.envelopes[0].payload).context.user_id == alice.id
