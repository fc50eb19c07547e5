"""Updates as requests."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from telegram import Update

from bot.request import Place, Request, Revision, Trigger
from bot.telegram.events import TelegramIdentity, read_update
from engine.errors import UsageError

NOW = datetime(2024, 6, 1, tzinfo=UTC)
ALICE = {"id": 7, "is_bot": False, "first_name": "Alice", "language_code": "es-AR"}
CHANNEL_BOT = {"id": 136817688, "is_bot": True, "first_name": "Channel", "username": "Channel_Bot"}
ANONYMOUS = {"id": 1087968824, "is_bot": True, "first_name": "Group"}
PRIVATE = {"id": 7, "type": "private", "first_name": "Alice"}
GROUP = {"id": -100, "type": "supergroup", "title": "Friends"}


async def nobody(_chat: int, _user: int) -> bool:
    return False


async def only_alice(_chat: int, user: int) -> bool:
    return user == ALICE["id"]


async def no_channel(name: str, _user: int) -> Place:
    raise UsageError(f"no {name}")


async def no_file(_file: str, _to: Path) -> None:
    raise AssertionError("only offers read files")


MYSELF = TelegramIdentity(
    id=1,
    username="Presagio_bot",
    hears_all=True,
    commands=frozenset({"p", "why"}),
    is_admin=nobody,
    channel=no_channel,
    download=no_file,
)


def read_any(**fields: Any) -> Request | None:
    """The request in a message that says "text", unless the fields say otherwise."""
    text, myself = fields.get("text", ""), fields.pop("myself", MYSELF)
    about: dict[str, Any] = {"message_id": 5, "date": 1, "chat": GROUP, "from": ALICE}
    if text.startswith("/"):
        length = len(text.split()[0])
        about["entities"] = [{"type": "bot_command", "offset": 0, "length": length}]
    return read_update(
        Update.de_json({"update_id": 1, fields.pop("kind", "message"): about | fields}, None),
        myself,
        now=NOW,
    )


def read(**fields: Any) -> Request:
    request = read_any(**fields)
    assert request
    return request


@pytest.mark.parametrize(
    ("chat", "text", "trigger", "meant"),
    [
        (PRIVATE, "It rains", Trigger.ADDRESSED, "It rains"),
        (PRIVATE, "/why 2", Trigger.COMMAND, "/why 2"),
        (PRIVATE, "/WHY@presagio_BOT\n2", Trigger.COMMAND, "/why 2"),
        (PRIVATE, "/nonsense", Trigger.COMMAND, "/nonsense"),
        (GROUP, "It rains", Trigger.OVERHEARD, "It rains"),
        (GROUP, "It rains, @presagio_bot", Trigger.ADDRESSED, "It rains,"),
        (GROUP, "@presagio_bot2 It rains", Trigger.OVERHEARD, "@presagio_bot2 It rains"),
        (GROUP, "/p a@other_bot", Trigger.COMMAND, "/p a@other_bot"),
        (GROUP, "/nonsense@presagio_bot", Trigger.COMMAND, "/nonsense"),
    ],
)
def test_trigger_and_text_of_known_messages(
    chat: dict[str, Any], text: str, trigger: Trigger, meant: str
) -> None:
    request = read(chat=chat, text=text)
    assert (request.trigger, request.text) == (trigger, meant)


@pytest.mark.parametrize(
    ("text", "around"),
    [
        ("@presagio_bot It rains", None),
        ("Hey @presagio_bot it rains", ("Hey", "it rains")),
        ("It rains again, @presagio_bot!", None),
        ("I asked @Presagio_bot, about that", ("I asked", "about that")),
        ("I asked about that", None),
    ],
)
def test_text_around_a_mention_is_split(text: str, around: tuple[str, str] | None) -> None:
    request = read(text=text)
    assert request.around_name == around


@pytest.mark.parametrize("text", ["/p@other_bot x", "/nonsense", "/why@presagio_bot2"])
def test_a_command_for_others_is_no_request(text: str) -> None:
    assert read_any(text=text) is None


def test_the_person_and_the_place_are_known() -> None:
    request = read(text="It rains")
    assert (request.person.id, request.person.language) == ("7", "es-AR")
    place = request.place
    assert (place.chat_id, place.private, place.title) == ("-100", False, "Friends")
    assert request.event == ("telegram", "-100:5")


def test_sender_speaking_as_a_channel_is_no_bot() -> None:
    channel = {"id": -200, "type": "channel", "title": "News"}
    request = read(text="/p x", **{"from": CHANNEL_BOT, "sender_chat": channel})
    assert (request.person.id, request.person.bot) == ("-200", False)


def test_channel_senders_share_one_quota_in_a_group() -> None:
    channels = [{"id": -200 - n, "type": "channel", "title": "News"} for n in range(3)]
    said = [
        read(text="/p x", **{"from": CHANNEL_BOT, "sender_chat": channel}) for channel in channels
    ]
    said.append(read(text="/p x", **{"from": ANONYMOUS, "sender_chat": GROUP}))
    assert {one.payer for one in said} == {"telegram:-100"}
    # Who they are for the lists of the settings, they stay.
    assert {one.who for one in said} == {f"telegram:{n}" for n in (-100, -200, -201, -202)}
    alice = read(text="/p x")
    assert alice.payer == alice.who == "telegram:7"


async def test_an_anonymous_admin_is_an_admin_and_nobody_else_is() -> None:
    anonymous = read(text="/p x", **{"from": ANONYMOUS, "sender_chat": GROUP})
    alice = read(text="/p x")
    admin = read(text="/p x", myself=replace(MYSELF, is_admin=only_alice))
    assert await admin.inquiries.is_admin()
    assert not anonymous.person.bot
    assert (await anonymous.inquiries.is_admin(), await alice.inquiries.is_admin()) == (True, False)


def test_another_bot_and_the_bot_itself_are_told_apart() -> None:
    other = read(text="/p x", **{"from": CHANNEL_BOT})
    own = read(text="/p x", **{"from": {"id": 1, "is_bot": True, "first_name": "Presagio"}})
    assert (other.person.bot, other.person.myself) == (True, False)
    assert own.person.myself


@pytest.mark.parametrize(
    "fields", [{}, {"new_chat_members": [ALICE]}, {"text": "It rains", "via_bot": CHANNEL_BOT}]
)
def test_service_and_inline_messages_are_no_request(fields: dict[str, Any]) -> None:
    assert read_any(**fields) is None


def test_forwarded_message_of_the_bot_has_no_text() -> None:
    myself = {"id": 1, "is_bot": True, "first_name": "Presagio"}
    back = read(text="It rains", forward_origin={"type": "user", "date": 1, "sender_user": myself})
    others = read(text="It rains", forward_origin={"type": "user", "date": 1, "sender_user": ALICE})
    assert (back.text, others.text) == ("", "It rains")


PHOTO = {"photo": [{"file_id": "a", "file_unique_id": "b", "width": 1, "height": 1}]}
MINE = {"message_id": 3, "date": 0, "chat": GROUP, "text": "Rain!", "from": {**ALICE, "id": 1}}
THEIRS = {**MINE, "from": ALICE}


@pytest.mark.parametrize(
    ("fields", "meant"),
    [
        (PHOTO | {"chat": PRIVATE}, True),
        (PHOTO | {"chat": PRIVATE, "media_group_id": "1"}, False),
        (PHOTO, False),
        (PHOTO | {"reply_to_message": MINE}, True),
        (PHOTO | {"reply_to_message": THEIRS}, False),
        ({"dice": {"emoji": "🎲", "value": 3}, "reply_to_message": MINE}, False),
    ],
)
def test_a_picture_without_words_is_meant_in_private_and_in_reply_to_the_bot(
    fields: dict[str, Any], meant: bool
) -> None:
    request = read_any(**fields)
    assert bool(request and request.unreadable) is meant


OF_2018 = 1543827600
ORIGIN = {"type": "hidden_user", "date": OF_2018, "sender_user_name": "Somebody"}


@pytest.mark.parametrize(
    ("fields", "written_at"),
    [
        ({"text": "It rains"}, None),
        ({"text": "It rains", "forward_origin": ORIGIN}, OF_2018),
        ({"caption": "It rains", "forward_origin": ORIGIN}, OF_2018),
        ({"text": "@presagio_bot", "reply_to_message": {"text": "It rains"}}, 7),
        (
            {
                "text": "@presagio_bot",
                "reply_to_message": {"text": "It rains", "forward_origin": ORIGIN},
            },
            OF_2018,
        ),
        # What is asked of an answer is asked now.
        ({"text": "@presagio_bot It rains", "reply_to_message": {"text": "Oh"}}, None),
    ],
)
def test_forwarded_or_quoted_text_has_its_original_date(
    fields: dict[str, Any], written_at: int | None
) -> None:
    if answered := fields.get("reply_to_message"):
        about = {"message_id": 4, "date": 7, "chat": GROUP, "from": ALICE}
        fields = fields | {"reply_to_message": about | answered}
    request = read(**fields)
    expected = None if written_at is None else datetime.fromtimestamp(written_at, UTC)
    assert request.written_at == expected


@pytest.mark.parametrize(("topic", "thread"), [(True, "9"), (False, None)])
def test_only_topics_are_threads(topic: bool, thread: str | None) -> None:
    request = read(text="It rains", message_thread_id=9, is_topic_message=topic)
    assert request.place.thread == thread


def test_command_carries_the_quoted_text() -> None:
    answered = {"message_id": 4, "date": 7, "chat": GROUP, "from": ALICE, "text": "It rains"}
    request = read(text="/why", reply_to_message=answered)
    assert (request.text, request.quoted.text) == ("/why", "It rains")
    assert (request.quoted.message, request.quoted_event) == ("4", f"{GROUP['id']}:4")
    assert request.quoted.written_at == datetime.fromtimestamp(7, UTC)


def test_command_carries_the_buttons_of_the_quoted_answer() -> None:
    keyboard = {"inline_keyboard": [[{"text": "Why?", "callback_data": "why:7:0"}]]}
    me = {"id": 1, "is_bot": True, "first_name": "P"}
    answered = {"message_id": 4, "date": 7, "chat": GROUP, "from": me, "reply_markup": keyboard}
    request = read(text="/why", reply_to_message=answered)
    assert request.quoted.buttons == ["why:7:0"]
    request = read(text="/why", reply_to_message=answered | {"from": ALICE})
    assert list(request.quoted.buttons) == []


def test_edited_message_becomes_a_revision() -> None:
    before = read(text="It rains")
    after = read(kind="edited_message", text="It snows")
    assert (after.text, after.revision) == ("It snows", Revision(event_id=before.event_id))
    assert after.event_id == f"{before.event_id}:edited"


def test_the_address_behind_a_label_is_read_after_it() -> None:
    link = {"type": "text_link", "offset": 3, "length": 4, "url": "https://news.example/a"}
    said = read(text="\U0001f600 this is news", entities=[link])
    assert said.text == "\U0001f600 this https://news.example/a  is news"
    shown = {**link, "offset": 0, "length": 22}
    same = read(text="https://news.example/a", entities=[shown])
    assert same.text == "https://news.example/a"


@pytest.mark.parametrize("admin", [False, True])
async def test_bot_in_privacy_mode_hears_all_only_as_admin(admin: bool) -> None:
    async def is_admin(_chat: int, user: int) -> bool:
        return admin and user == MYSELF.id

    myself = replace(MYSELF, hears_all=False, is_admin=is_admin)
    request = read(text="It rains", myself=myself)
    assert await request.inquiries.hears_all() is admin


POST = {"message_id": 3, "date": 0, "chat": GROUP, "text": "Harbour master resigns. More below."}
ELSEWHERE = {
    "origin": {
        "type": "channel",
        "date": 0,
        "chat": {"id": -200, "type": "channel", "title": "Wire"},
        "message_id": 9,
    }
}
QUOTE = {"text": "Harbour master resigns", "position": 0}


@pytest.mark.parametrize(
    ("fields", "meant"),
    [
        ({"reply_to_message": POST}, "Harbour master resigns. More below."),
        ({"reply_to_message": POST, "quote": QUOTE}, "Harbour master resigns"),
        ({"external_reply": ELSEWHERE, "quote": QUOTE}, "Harbour master resigns"),
        ({"external_reply": ELSEWHERE}, ""),
    ],
)
def test_a_bare_mention_is_about_what_is_quoted_of_the_message_above(
    fields: dict[str, Any], meant: str
) -> None:
    mention = {"type": "mention", "offset": 0, "length": 13}
    request = read(text="@presagio_bot", entities=[mention], **fields)
    assert (request.text, request.quoted.text) == (meant, meant)
    assert request.quoted.written_at == datetime.fromtimestamp(0, UTC)
    if meant:
        assert request.written_at == datetime.fromtimestamp(0, UTC)


@pytest.mark.parametrize(
    ("linked", "read_as"),
    [
        ("wire.example/a/1", "https://wire.example/a/1"),
        ("www.wire.example/a/1", "https://www.wire.example/a/1"),
        ("https://wire.example/a/1", "https://wire.example/a/1"),
        ("Amazon.com", "Amazon.com"),
    ],
)
def test_a_link_without_a_scheme_is_a_link_and_a_name_is_none(linked: str, read_as: str) -> None:
    text = f"🦅 See {linked} now"
    entity = {"type": "url", "offset": 7, "length": len(linked)}
    request = read(text=text, entities=[entity])
    assert request.text == f"🦅 See {read_as} now"


def test_a_poll_asks_its_question() -> None:
    poll = {
        "id": "1", "question": "Will the port open?", "options": [], "total_voter_count": 0,
        "is_closed": False, "is_anonymous": True, "type": "regular",
        "allows_multiple_answers": False, "allows_revoting": False, "members_only": False,
    }  # fmt: skip
    request = read(chat=PRIVATE, poll=poll)
    assert request.text == "Will the port open?"
