"""Slack's payloads as requests."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.request import Request, Revision, Trigger
from bot.slack.events import (
    SlackIdentity,
    SlackProfile,
    plain_text,
    read_command,
    read_message,
    read_press,
    read_shortcut,
    spoken_text,
)
from tests.bot.prophecies import NOW


async def profile(_: str) -> SlackProfile:
    return SlackProfile(language="es", time_zone="Europe/Madrid")


async def is_admin(user: str) -> bool:
    return user == "UADMIN"


ROOTS: Mapping[str, Mapping[str, Any]] = {
    "0.9": {"user": "U2", "text": "Ship blocks <https://a.example|canal>", "ts": "0.9"},
    "0.8": {
        "user": "UBOT",
        "text": "An answer",
        "ts": "0.8",
        "blocks": [
            {"type": "section", "text": {"type": "mrkdwn", "text": "An answer"}},
            {
                "type": "actions",
                "elements": [
                    {"type": "button", "action_id": "presagio:0:0", "value": "more:7:3"},
                    {"type": "button", "action_id": "presagio:0:1", "value": "why:7:0"},
                    {"type": "button", "action_id": "another:0:2", "value": "why:8:0"},
                ],
            },
        ],
    },
    "0.7": {"bot_id": "B2", "text": "", "attachments": [{"text": "From a feed"}], "ts": "0.7"},
}


async def thread_root(channel: str, thread: str) -> Mapping[str, Any]:
    assert channel[0] in "CD"
    return ROOTS.get(thread, {})


async def no_file(_address: str, _to: Path) -> None:
    raise AssertionError("only offers read files")


MYSELF = SlackIdentity(
    user_id="UBOT",
    profile=profile,
    is_admin=is_admin,
    is_member=is_admin,
    message=thread_root,
    download=no_file,
)
SAID: Mapping[str, Any] = {
    "type": "message",
    "user": "U1",
    "text": "Coffee",
    "ts": "1.1",
    "channel": "C1",
    "channel_type": "channel",
}


async def read(**changes: Any) -> Request:
    """The request in a message of U1, which must be one."""
    request = await read_message({**SAID, **changes}, {}, MYSELF, now=NOW)
    assert request is not None
    return request


async def read_from_shortcut(message: Mapping[str, Any]) -> Request:
    body = {"channel": {"id": "C1"}, "user": {"id": "U1"}, "trigger_id": "t", "message": message}
    request = await read_shortcut(body, MYSELF, now=NOW)
    assert request is not None
    return request


@pytest.mark.parametrize(
    ("wire", "plain"),
    [
        ("<https://a.example/x?a=1&amp;b=2|a.example>", "https://a.example/x?a=1&b=2"),
        ("see <https://a.example>", "see https://a.example"),
        ("<@U2|ana> and <#C2|news> say", "ana and news say"),
        ("<@U2> <!channel> Coffee", "Coffee"),
        ("1 &lt; 2 &amp;lt; 3", "1 < 2 &lt; 3"),
    ],
)
def test_markup_is_read_as_it_was_shown(wire: str, plain: str) -> None:
    assert plain_text(wire) == plain


@pytest.mark.parametrize(
    ("wire", "plain"),
    [
        (
            "<https://wire.example/a/1|Harbour master resigns> (via Wire)",
            "Harbour master resigns https://wire.example/a/1 (via Wire)",
        ),
        ("<https://wire.example/a/1|wire.example/a/1>", "https://wire.example/a/1"),
        ("<http://wire.example|wire.example>", "http://wire.example"),
        (":rotating_light: Port shut :+1::skin-tone-2: :eagle:", "Port shut"),
        ("Open 10:30:45 to 4:30pm; ratio 1:2:3", "Open 10:30:45 to 4:30pm; ratio 1:2:3"),
        ("std::vector::size", "std::vector::size"),
        ("By <mailto:a@b.example|a@b.example>, <tel:+34911|a call>", "By a@b.example, a call"),
        ("<mailto:a@b.example>", "a@b.example"),
    ],
)  # fmt: skip
def test_labels_stay_and_codes_and_contacts_are_cleaned(wire: str, plain: str) -> None:
    assert " ".join(plain_text(wire).split()) == plain


TITLE = "Harbour master resigns after audit"
LINKED = f"<https://wire.example/a/1|{TITLE}>"
RICH = {
    "type": "rich_text",
    "elements": [
        {
            "type": "rich_text_section",
            "elements": [{"type": "emoji", "name": "eagle"}, {"type": "text", "text": f" {TITLE}"}],
        },
        {"type": "rich_text_section", "elements": [{"type": "text", "text": "The port said so."}]},
    ],
}


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"text": LINKED, "attachments": [{"title": "Other", "text": "Details"}]}, LINKED),
        (
            {"attachments": [{"title": TITLE, "from_url": "https://wire.example/a/1"}]},
            LINKED,
        ),
        ({"text": "", "attachments": [{"fallback": "[no preview]", "title": TITLE}]}, TITLE),
        (
            {
                "text": "This content can't be displayed.",
                "blocks": [
                    {"type": "header", "text": {"type": "plain_text", "text": TITLE}},
                    {"type": "section", "text": {"type": "mrkdwn", "text": "The port said so."}},
                ],
            },
            TITLE,
        ),
        ({"blocks": [{"type": "divider"}, RICH]}, TITLE),
        (
            {"blocks": [{"type": "section", "text": {"text": f"{LINKED}\nThe port said so."}}]},
            LINKED,
        ),
        ({"attachments": [{"text": "A message that was shared", "fallback": "[Monday] A"}]},
         "A message that was shared"),
        ({"attachments": [{"blocks": [RICH], "fallback": "This content can't be displayed."}]},
         TITLE),
        ({"attachments": [{"fallback": "This content can't be displayed."}]}, ""),
        ({}, ""),
    ],
)  # fmt: skip
def test_of_the_post_of_an_app_the_title_is_read(message: Mapping[str, Any], said: str) -> None:
    assert spoken_text(message).strip() == said


@pytest.mark.parametrize(
    ("changes", "trigger", "thread", "private"),
    [
        ({}, Trigger.OVERHEARD, "1.1", False),
        ({"text": "<@UBOT> Coffee"}, Trigger.ADDRESSED, "1.1", False),
        ({"type": "app_mention", "text": "<@UBOT> Coffee"}, Trigger.ADDRESSED, "1.1", False),
        ({"thread_ts": "0.9"}, Trigger.OVERHEARD, "0.9", False),
        ({"channel": "D1"}, Trigger.ADDRESSED, None, True),
        ({"channel": "D1", "thread_ts": "0.9"}, Trigger.ADDRESSED, "0.9", True),
        ({"channel": "G1", "channel_type": "mpim"}, Trigger.OVERHEARD, "1.1", False),
    ],
)
async def test_message_trigger_thread_and_privacy_are_read(
    changes: dict[str, Any], trigger: Trigger, thread: str | None, private: bool
) -> None:
    request = await read(**changes)
    place = request.place
    assert (request.trigger, place.thread, place.private) == (trigger, thread, private)
    assert (request.text, request.person.language) == ("Coffee", "es")
    assert request.event_id == f"{request.place.chat_id}:1.1"


@pytest.mark.parametrize(
    ("text", "around"),
    [
        ("<@UBOT> Coffee", None),
        (
            "I asked <@UBOT> about <https://example.com/a|that>",
            ("I asked", "about that https://example.com/a"),
        ),
        ("I asked", None),
    ],
)
async def test_text_around_a_mention_is_split(text: str, around: tuple[str, str] | None) -> None:
    request = await read(text=text)
    assert request.around_name == around


@pytest.mark.parametrize(
    "changes", [{"subtype": "message_changed"}, {"subtype": "channel_join"}, {"user": None}]
)
async def test_events_without_a_sender_are_no_request(changes: dict[str, Any]) -> None:
    assert await read_message({**SAID, **changes}, {}, MYSELF, now=NOW) is None


@pytest.mark.parametrize(
    ("said", "thread", "text", "quoted"),
    [
        ("", "0.9", "Ship blocks canal https://a.example", "Ship blocks canal https://a.example"),
        ("/prophecy", "0.9", "/prophecy", "Ship blocks canal https://a.example"),
        ("", "0.7", "From a feed", "From a feed"),
        ("", "0.8", "", ""),  # the bot's own answer
        ("", "0.1", "", ""),  # not shown by Slack
        ("", None, "", ""),
        ("Coffee", "0.9", "Coffee", ""),
    ],
)
async def test_a_bare_mention_in_a_thread_is_about_its_first_message(
    said: str, thread: str | None, text: str, quoted: str
) -> None:
    request = await read(text=f"<@UBOT> {said}", thread_ts=thread)
    assert (request.text, request.quoted.text) == (text, quoted)
    expected = datetime.fromtimestamp(float(thread), UTC) if quoted and thread else None
    assert (request.quoted.written_at, request.written_at) == (expected, None if said else expected)


@pytest.mark.parametrize(
    ("channel", "said", "thread", "buttons"),
    [
        ("C1", "<@UBOT> /why", "0.8", ["more:7:3", "why:7:0"]),
        ("C1", "<@UBOT> /picture 2", "0.8", ["more:7:3", "why:7:0"]),
        ("D1", "/why", "0.8", ["more:7:3", "why:7:0"]),
        ("C1", "<@UBOT> /why", "0.9", []),
        ("C1", "<@UBOT> /why", None, []),
        ("C1", "<@UBOT> Coffee", "0.8", []),  # for which Slack is asked nothing
    ],
)
async def test_in_a_thread_a_command_replies_to_its_first_message(
    channel: str, said: str, thread: str | None, buttons: list[str]
) -> None:
    request = await read(channel=channel, text=said, thread_ts=thread)
    assert list(request.quoted.buttons) == buttons
    assert request.quoted.message == thread
    assert request.in_quoted_thread == (thread is not None)
    assert request.quoted_event == (thread and f"{channel}:{thread}")


async def test_the_first_message_of_a_thread_replies_to_none() -> None:
    assert (await read(thread_ts="1.1")).quoted.message is None


async def test_a_message_without_a_mention_takes_nothing_from_its_thread() -> None:
    assert not (await read(text="/why", thread_ts="0.9")).quoted.text


async def test_other_bots_and_the_bot_itself_are_recognised() -> None:
    other, own = await read(bot_id="B2"), await read(user="UBOT")
    assert (other.person.bot, other.person.myself, own.person.myself) == (True, False, True)


@pytest.mark.parametrize(
    ("command", "text", "expected"),
    [
        ("/why", "2", "/why 2"),
        ("/presagio", "why 2", "/why 2"),
        ("/presagio", "/why", "/why"),
        ("/presagio", "", "/help"),
        ("/presagio", "nonsense today", "/nonsense today"),
        ("/presagio", "Pope visits &amp; prays", "Pope visits & prays"),
        ("/presagio", "why Pope visits Cuba", "/why Pope visits Cuba"),
        ("/prophecy", "Pope visits Cuba", "/prophecy Pope visits Cuba"),
    ],
)
async def test_a_subcommand_is_a_command_and_other_words_are_said_to_the_bot(
    command: str, text: str, expected: str
) -> None:
    body = {"command": command, "text": text, "user_id": "UADMIN", "channel_id": "C1"}
    request = await read_command(
        body | {"trigger_id": "t"}, MYSELF, now=NOW, is_command={"why", "help"}.__contains__
    )
    assert (request.text, request.trigger) == (expected, Trigger.COMMAND)
    assert await request.inquiries.is_admin()


@pytest.mark.parametrize(
    ("channel", "name", "private"),
    [
        ("D1", "directmessage", True),
        ("C1", "directmessage", False),
        ("C1", "general", False),
        ("G1", "privategroup", False),
    ],
)
async def test_a_channel_is_no_direct_message_whatever_its_name(
    channel: str, name: str, private: bool
) -> None:
    said = {"command": "/why", "trigger_id": "t", "user_id": "U1"}
    body = said | {"channel_id": channel, "channel_name": name}
    place = (await read_command(body, MYSELF, now=NOW, is_command=bool)).place
    assert place.private is private
    assert place.title == ("#general" if name == "general" else None)


async def test_a_button_of_another_app_is_no_request() -> None:
    body = {"channel": {"id": "C1"}, "actions": [{"action_id": "x", "value": "more:1:3"}]}
    assert await read_press(body, MYSELF, now=NOW) is None


async def test_a_shortcut_reads_what_a_message_shares() -> None:
    message = {"ts": "1.1", "text": "", "attachments": [{"id": 1}, {"text": "Coffee"}]}
    request = await read_from_shortcut(message)
    assert (request.text, request.place.thread) == ("/prophecy Coffee", "1.1")


HEADER = {"type": "header", "text": {"type": "plain_text", "text": "Coffee soars"}}
BODY = {"type": "section", "text": {"type": "mrkdwn", "text": "Growers say"}}


@pytest.mark.parametrize(
    "message",
    [
        {"text": "", "blocks": [HEADER, BODY]},
        {"text": "This content can't be displayed.", "blocks": [{"type": "divider"}, HEADER]},
        {"text": "", "blocks": [{"type": "markdown", "text": "Coffee soars\n\nGrowers say"}]},
        {"text": "", "blocks": [{"type": "section", "fields": [HEADER["text"], BODY["text"]]}]},
        {"text": "", "blocks": [HEADER], "attachments": [{"blocks": [BODY], "ts": "0.5"}]},
        {"text": "", "attachments": [{"blocks": [HEADER, BODY], "ts": "1.1"}]},
    ],
)
async def test_a_shortcut_reads_blocks(message: Mapping[str, Any]) -> None:
    request = await read_from_shortcut({**message, "ts": "1.1"})
    assert request.text == "/prophecy Coffee soars"
    assert request.written_at == datetime(1970, 1, 1, 0, 0, 1, 100_000, tzinfo=UTC)


SHARED = {"is_share": True, "ts": "1543827600.000100", "text": "Coffee &amp; tea"}
OF_2018 = datetime(2018, 12, 3, 9, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "<@UBOT>", " <@UBOT> "])
async def test_a_shared_message_is_as_old_as_its_original(text: str) -> None:
    request = await read(text=text, attachments=[{"ts": "1"}, SHARED])
    assert request.text == "Coffee & tea"
    assert request.written_at == OF_2018 + timedelta(microseconds=100)


async def test_own_words_beside_a_shared_message_have_no_date() -> None:
    request = await read(attachments=[SHARED])
    assert (request.text, request.written_at) == ("Coffee", None)


@pytest.mark.parametrize("ts", [1543827600, "1543827600"])
async def test_the_shortcut_asks_about_the_time_of_its_message(ts: object) -> None:
    for message in ({"text": "Coffee", "ts": ts}, {"attachments": [{**SHARED, "ts": ts}]}):
        assert (await read_from_shortcut(message)).written_at == OF_2018


@pytest.mark.parametrize("ts", [None, "", "soon", "nan", "inf", "1e300", -1e300, []])
async def test_shared_message_without_a_valid_time_has_no_date(ts: object) -> None:
    request = await read(text="", attachments=[{"text": "Coffee", "ts": ts}])
    assert (request.text, request.written_at) == ("Coffee", None)


def revised(subtype: str, **inner: object) -> dict[str, Any]:
    message = {"type": "message", "user": "U1", "text": "<@UBOT> Tea", "ts": "1.1"}
    previous = {**message, "text": "<@UBOT> Coffee"}
    event = {"type": "message", "subtype": subtype, "channel": "C1", "ts": "2.2", "hidden": True}
    after = {"message": {**message, "edited": {"user": "U1", "ts": "2.0"}, **inner}}
    return {**event, "previous_message": previous, **(after if "changed" in subtype else {})}


async def test_edited_message_becomes_a_revision() -> None:
    event = revised("message_changed")
    request = await read_message(event, event, MYSELF, now=NOW)
    assert request
    assert (request.text, request.event_id) == ("Tea", "C1:1.1:edited")
    assert request.revision == Revision(event_id="C1:1.1")
    assert await read_message(event["message"], event, MYSELF, now=NOW) is None


async def test_deleted_message_becomes_a_deletion_revision() -> None:
    event = revised("message_deleted")
    request = await read_message(event, event, MYSELF, now=NOW)
    assert request
    assert request.event_id == "C1:1.1:deleted"
    assert request.revision == Revision(event_id="C1:1.1", deleted=True)


@pytest.mark.parametrize("inner", [{"text": "<@UBOT> Coffee"}, {"user": None}])
async def test_link_previews_and_senderless_edits_are_no_revision(inner: dict[str, Any]) -> None:
    event = revised("message_changed", **inner)
    assert await read_message(event, event, MYSELF, now=NOW) is None
