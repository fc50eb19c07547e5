"""Translates what Slack tells of a workspace into requests: messages, invitations, presses."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from bot.commands.dialogue_acts import interpret_text
from bot.commands.intents import Intent
from bot.request import (
    Inquiries,
    Person,
    Place,
    RepliedMessage,
    Request,
    Revision,
    SentFile,
    Trigger,
    message_event,
    split_around,
)

PLATFORM = "slack"
ACTION_PREFIX = "presagio:"  # of the action ids of the bot's buttons
Payload = Mapping[str, Any]

# The subtypes that a person's message may have.
_SPOKEN = {None, "thread_broadcast", "file_share", "me_message"}
_DELETED = "message_deleted"
_REVISED = {"message_changed", _DELETED}
_LINK = re.compile(r"<(https?://[^|<>]+)(?:\|([^<>]*))?>")
_CONTACT = re.compile(r"<(?:mailto|tel|sms|callto|facetime|skype):([^|<>]*)(?:\|([^<>]*))?>")
# Codes of emoji, which begin with a letter or a sign: ":30:" is a part of a time.
_EMOJI = re.compile(r"(?<![\w:/]):(?=[a-z+_-])[a-z0-9_+'-]{1,80}:(?::skin-tone-\d:)?(?![\w:])")
_ADDRESS_LABEL = re.compile(
    r"(?:https?://|www\.)?[\w-]+(?:\.[\w-]+)+(?:[/?#:…]\S*)?", re.IGNORECASE
)
_NOT_DISPLAYED = "This content can't be displayed"  # what Slack and apps write for old clients
_NAMED = re.compile(r"<[@#!][^|<>]*\|([^<>]*)>")
_UNNAMED = re.compile(r"<[@#!][^<>]*>")
# About the thread's first message: a bare mention, or a command with at most a number. So are
# questions that are about a message.
_ABOUT_THREAD = re.compile(r"(?:/\w+(?:\s+\d{1,3})?)?")
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))

SHORTCUT = "find_prophecy"
# Words after the first of a headline or a question: fewer are a wrong command.
_FEWEST_AFTER_NAME = 2

_UNNAMED_PLACES = {"directmessage", "privategroup"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackProfile:
    """What Slack knows about a person."""

    language: str
    time_zone: str | None
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackIdentity:
    """What the bot knows about itself, and how it looks up people."""

    user_id: str
    profile: Callable[[str], Awaitable[SlackProfile]]
    is_admin: Callable[[str], Awaitable[bool]]
    is_member: Callable[[str], Awaitable[bool]]  # whether the bot is in a channel
    # A message, by channel and timestamp; empty if Slack does not show it.
    message: Callable[[str, str], Awaitable[Payload]]
    download: Callable[[str, Path], Awaitable[None]]  # (address, where to)


def plain_text(text: str) -> str:
    """Return mrkdwn as the person saw it, without the codes of emoji.

    The label of a link stands before its address, unless it is an address as well.
    """
    text = _CONTACT.sub(lambda found: found[2] or found[1], _LINK.sub(_write_link, text))
    text = _EMOJI.sub(" ", _UNNAMED.sub("", _NAMED.sub(r"\1", text)))
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)
    return text.strip()


def _write_link(match: re.Match[str]) -> str:
    address, label = match[1], (match[2] or "").strip()
    return address if not label or _ADDRESS_LABEL.fullmatch(label) else f"{label} {address}"


def spoken_text(message: Payload) -> str:
    """Return what a message says, as mrkdwn; of an app's post or a workflow's, its title.

    That is its own text, the title of an attachment, or the first line of its blocks; never the
    description below a title, nor what stands in for something that cannot be displayed.
    """
    parts = message.get("attachments") or ()
    candidates = (
        str(message.get("text") or ""),
        *(_write_title(part) for part in parts if part.get("title")),
        _first_line_of(message.get("blocks") or ()),
        *(str(part.get("text") or "") for part in parts),
        *(_first_line_of(part.get("blocks") or ()) for part in parts),
        *(str(part.get("fallback") or "") for part in parts),
    )
    return next((said for said in candidates if said.strip() and _NOT_DISPLAYED not in said), "")


def _write_title(part: Payload) -> str:
    title = str(part["title"])
    address = part.get("title_link") or part.get("from_url")
    return f"<{address}|{title}>" if address else title


def _first_line_of(blocks: Sequence[Payload]) -> str:
    """Return the first line of the first block with text: a header, a section or rich text."""
    texts = (_text_of_block(block).strip() for block in blocks)
    return next((text.partition("\n")[0] for text in texts if text), "")


def _text_of_block(block: Payload) -> str:
    if text := block.get("text"):
        return str(text.get("text") or "") if isinstance(text, Mapping) else str(text)
    if fields := block.get("fields"):
        return str(fields[0].get("text") or "")
    if block.get("type") == "rich_text":
        return "\n".join(map(_text_of_element, block.get("elements") or ()))
    return ""


def _text_of_element(element: Payload) -> str:
    """Return the text of an element of rich text, and of those within it."""
    if element.get("type") == "link":
        address, label = element.get("url"), element.get("text")
        return f"<{address}|{label}>" if label else f"<{address}>"
    inner = element.get("elements")
    if isinstance(inner, list):
        return "".join(map(_text_of_element, inner))
    return str(element.get("text") or "")


async def read_message(
    event: Payload, body: Payload, myself: SlackIdentity, *, now: datetime
) -> Request | None:
    """Return the request in a `message` or `app_mention` event, or None.

    A mention in a channel arrives as both, in any order: both give the same request, which is
    answered only once.
    """
    if event.get("subtype") in _REVISED:
        return await _read_revision(event, body, myself, now=now)
    if event.get("subtype") not in _SPOKEN or not event.get("user") or "edited" in event:
        return None
    mention = f"<@{myself.user_id}>"
    text = event.get("text") or ""
    written = plain_text(text.replace(mention, " "))
    around = split_around(text, re.compile(re.escape(mention)))
    shared = shared_part(event) if not written else {}
    private = is_private(event["channel"])
    addressed = private or mention in text or event["type"] == "app_mention"
    written = written or plain_text(spoken_text(shared))
    thread = event.get("thread_ts")
    root = await _thread_root(event, written, myself) if addressed else {}
    unreadable = addressed and not written and not thread and bool(event.get("files"))
    quoted = {} if private or root.get("user") == myself.user_id else _with_text(root)
    about_thread = not written and bool(quoted)
    return Request(
        # A message has one timestamp, however often and in whatever form it is delivered.
        event_id=message_event(event["channel"], event["ts"]),
        # In a channel, the answer starts a thread on the message.
        place=_place_in(event["channel"], thread or (None if private else event["ts"])),
        person=await person_of(event["user"], myself, bot=bool(event.get("bot_id"))),
        trigger=Trigger.ADDRESSED if addressed else Trigger.OVERHEARD,
        text=plain_text(str(quoted.get("text", ""))) if about_thread else written,
        now=now,
        written_at=moment_of((quoted if about_thread else shared).get("ts")),
        around_name=around and (plain_text(around[0]), plain_text(around[1])),
        unreadable=unreadable,
        attachment=_read_attachment(event, myself) if private else None,
        quoted=RepliedMessage(
            text=plain_text(str(quoted.get("text", ""))),
            message=None if thread == event["ts"] else thread,
            written_at=moment_of(quoted.get("ts")),
            buttons=_button_values(root),
        ),
        inquiries=_inquire_about(event["user"], event["channel"], myself),
        origin=body,
    )


def _inquire_about(user: str, channel: str, myself: SlackIdentity) -> Inquiries:
    return Inquiries(
        is_admin=lambda: myself.is_admin(user), may_post=lambda: myself.is_member(channel)
    )


def _read_attachment(event: Payload, myself: SlackIdentity) -> SentFile | None:
    """Return the first file of a message, or None."""
    file: Payload = next(iter(event.get("files") or ()), {})
    address = file.get("url_private_download") or file.get("url_private")
    if not file.get("name") or not address:
        return None
    fetch = partial(myself.download, str(address))
    return SentFile(name=str(file["name"]), size=int(file.get("size") or 0), fetch=fetch)


async def _thread_root(event: Payload, written: str, myself: SlackIdentity) -> Payload:
    """Return the first message of a thread if what is said there may be about it, or an empty
    payload."""
    thread = event.get("thread_ts")
    if not thread or thread == event["ts"]:
        return {}
    interpretation = interpret_text(written, in_reply=True)
    asks = interpretation is not None and interpretation.intent in {Intent.QUOTED, Intent.ARCHIVE}
    if not (asks or _ABOUT_THREAD.fullmatch(written)):
        return {}
    return await myself.message(event["channel"], thread)


def _with_text(message: Payload) -> Payload:
    """Return what a message says, and when; or the empty payload."""
    return {"text": spoken_text(message), "ts": message.get("ts")} if message else message


def _button_values(message: Payload) -> list[str]:
    """Return the values of the bot's buttons below a message."""
    return [
        str(element.get("value"))
        for block in message.get("blocks") or ()
        for element in block.get("elements") or ()
        if str(element.get("action_id")).startswith(ACTION_PREFIX)
    ]


async def read_joined(
    event: Payload, body: Payload, myself: SlackIdentity, *, now: datetime
) -> Request | None:
    """Return a /start of the person who invited the bot to a channel; None if others join."""
    if event.get("user") != myself.user_id:
        return None
    inviter = str(event.get("inviter") or "")
    return Request(
        event_id=f"joined:{event['channel']}:{event['event_ts']}",
        place=_place_in(event["channel"]),
        person=await person_of(inviter, myself) if inviter else Person(id="nobody"),
        trigger=Trigger.COMMAND,
        text="/start",
        now=now,
        inquiries=_inquire_about(inviter, event["channel"], myself),
        origin=body,
    )


async def _read_revision(
    event: Payload, body: Payload, myself: SlackIdentity, *, now: datetime
) -> Request | None:
    """Return the request of a message that was edited or deleted, or None.

    A message also counts as changed when Slack adds the preview of a link.
    """
    before = event.get("previous_message") or {}
    after = event.get("message") or before
    deleted = event["subtype"] == _DELETED
    if before.get("ts") is None or (not deleted and before.get("text") == after.get("text")):
        return None
    message = {key: value for key, value in after.items() if key != "edited"}
    channel = {"type": "message", "channel": event["channel"]}
    request = await read_message({**message, **channel}, body, myself, now=now)
    if request is None:
        return None
    suffix = "deleted" if deleted else "edited"
    revision = Revision(event_id=request.event_id, deleted=deleted)
    return replace(request, event_id=f"{request.event_id}:{suffix}", revision=revision)


def _place_in(channel: str, thread: str | None = None) -> Place:
    return Place(platform=PLATFORM, chat_id=channel, private=is_private(channel), thread=thread)


def is_private(channel: str) -> bool:
    """Return whether this is a direct message, by the prefix of its id; names may be anything."""
    return channel.startswith("D")


def shared_part(message: Payload) -> Payload:
    """Return the first attachment that says something, such as a shared message, as a message
    without its own attachments; or an empty payload."""
    parts = (
        {"attachments": [part], "ts": part.get("ts")} for part in message.get("attachments") or ()
    )
    return next((part for part in parts if spoken_text(part)), {})


def moment_of(timestamp: object) -> datetime | None:
    """Parse a timestamp, which is text in messages and a number in some attachments."""
    try:
        return datetime.fromtimestamp(float(str(timestamp)), UTC)
    except (ValueError, OverflowError, OSError):
        return None


async def person_of(user_id: str, myself: SlackIdentity, *, bot: bool = False) -> Person:
    own = user_id == myself.user_id
    if bot or own:
        return Person(id=user_id, bot=True, myself=own)
    profile = await myself.profile(user_id)
    return Person(
        id=user_id, name=profile.name, language=profile.language, time_zone=profile.time_zone
    )


async def read_command(
    body: Payload, myself: SlackIdentity, *, now: datetime, is_command: Callable[[str], bool]
) -> Request:
    """Return the request in a slash command. "/presagio why" and "/omen-why" are "/why", and what
    follows "/presagio" and names no command, not even nearly, is said to the bot."""
    # No command has a hyphen: what precedes one is the prefix that the manifest was made with.
    name, text = body["command"].lstrip("/").rpartition("-")[2], body.get("text", "").strip()
    said = ""
    if name == "presagio":
        name, _, text = (text or "help").lstrip("/").partition(" ")
        if len(text.split()) >= _FEWEST_AFTER_NAME and not is_command(name):
            said = plain_text(f"{name} {text}")
    return Request(
        event_id=f"command:{body['trigger_id']}",
        place=replace(_place_in(body["channel_id"]), title=_read_channel_name(body)),
        person=await person_of(body["user_id"], myself),
        trigger=Trigger.COMMAND,
        text=said or f"/{name} {plain_text(text)}".strip(),
        now=now,
        needs_step=True,
        inquiries=_inquire_about(body["user_id"], body["channel_id"], myself),
        origin=body,
    )


async def read_press(body: Payload, myself: SlackIdentity, *, now: datetime) -> Request | None:
    """Return the request of a pressed button, or None if the button is not ours."""
    pressed = (body.get("actions") or [{}])[0]
    channel = (body.get("channel") or {}).get("id")
    if not channel or not str(pressed.get("action_id")).startswith(ACTION_PREFIX):
        return None
    return Request(
        event_id=f"press:{body['trigger_id']}",
        # An ephemeral message is not included in the event; its container is.
        place=_place_in(channel, (body.get("container") or {}).get("thread_ts")),
        person=await person_of(body["user"]["id"], myself),
        trigger=Trigger.BUTTON,
        text=str(pressed.get("value") or ""),
        now=now,
        inquiries=_inquire_about(body["user"]["id"], channel, myself),
        origin=body,
    )


async def read_shortcut(body: Payload, myself: SlackIdentity, *, now: datetime) -> Request | None:
    """Return the request in "Find the prophecy" on a message."""
    message, channel = body.get("message") or {}, (body.get("channel") or {}).get("id")
    if not channel:
        return None
    own = {**message, "attachments": ()}
    source = own if spoken_text(own) else shared_part(message)
    return Request(
        event_id=f"shortcut:{body['trigger_id']}",
        place=_place_in(channel, message.get("thread_ts") or message.get("ts")),
        person=await person_of(body["user"]["id"], myself),
        trigger=Trigger.ADDRESSED,
        # Written as a command: some channels accept nothing else.
        text=f"/prophecy {plain_text(spoken_text(source))}",
        now=now,
        needs_step=True,
        written_at=moment_of(source.get("ts")),
        inquiries=_inquire_about(body["user"]["id"], channel, myself),
        origin=body,
    )


def _read_channel_name(body: Payload) -> str | None:
    """Return the name of a public channel; commands tell none of other places."""
    name = body.get("channel_name")
    return f"#{name}" if name and name not in _UNNAMED_PLACES else None
