"""Slack's events, commands, buttons and shortcuts as requests."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.request import Person, Place, Request, Trigger

PLATFORM = "slack"
SHORTCUT = "find_prophecy"
Payload = Mapping[str, Any]

# What a subtype may be and still be a person's message.
_SPOKEN = {None, "thread_broadcast", "file_share", "me_message"}
_LINK = re.compile(r"<(https?://[^|>]+)(?:\|[^>]*)?>")
_NAMED = re.compile(r"<[@#!][^|>]*\|([^>]*)>")
_UNNAMED = re.compile(r"<[@#!][^>]*>")
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What Slack knows of a person."""

    language: str
    time_zone: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Myself:
    """What the bot knows of itself, and how it asks about people."""

    user_id: str
    bot_id: str
    profile: Callable[[str], Awaitable[Profile]]
    is_admin: Callable[[str], Awaitable[bool]]


def plain_text(text: str) -> str:
    """Return mrkdwn as the person saw it: links bare, names without brackets."""
    text = _UNNAMED.sub("", _NAMED.sub(r"\1", _LINK.sub(r"\1", text)))
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)
    return text.strip()


async def read_message(
    event: Payload, body: Payload, myself: Myself, *, now: datetime
) -> Request | None:
    """Return the request in a `message` or `app_mention` event, or None.

    A mention in a channel comes as both: the message is left to the mention.
    """
    if event.get("subtype") not in _SPOKEN or not event.get("user"):
        return None
    mention = f"<@{myself.user_id}>"
    mentioned = mention in event.get("text", "")
    private = event.get("channel_type") == "im"
    if event["type"] == "message" and mentioned and not private:
        return None
    addressed = private or event["type"] == "app_mention"
    return Request(
        # A message has one timestamp, however often and as whatever it is delivered.
        event_id=f"{event['channel']}:{event['ts']}",
        place=Place(
            platform=PLATFORM,
            chat_id=event["channel"],
            private=private,
            # In a channel the answer opens a thread on the message.
            thread=event.get("thread_ts") or (None if private else event["ts"]),
        ),
        person=await _person(event["user"], myself, bot=bool(event.get("bot_id"))),
        trigger=Trigger.ADDRESSED if addressed else Trigger.OVERHEARD,
        text=plain_text(event.get("text", "").replace(mention, " ")),
        now=now,
        edited="edited" in event,
        is_admin=lambda: myself.is_admin(event["user"]),
        origin=body,
    )


async def read_command(body: Payload, myself: Myself, *, now: datetime) -> Request:
    """Return the request in a slash command. "/presagio why" is "/why"."""
    name, text = body["command"].lstrip("/"), body.get("text", "").strip()
    if name == "presagio":
        name, _, text = (text or "help").lstrip("/").partition(" ")
    return Request(
        event_id=f"command:{body['trigger_id']}",
        place=Place(
            platform=PLATFORM,
            chat_id=body["channel_id"],
            private=body.get("channel_name") == "directmessage",
        ),
        person=await _person(body["user_id"], myself),
        trigger=Trigger.COMMAND,
        text=f"/{name} {plain_text(text)}".strip(),
        now=now,
        is_admin=lambda: myself.is_admin(body["user_id"]),
        origin=body,
    )


async def read_press(body: Payload, myself: Myself, *, now: datetime) -> Request | None:
    """Return the request in a pressed button, or None for one that is not ours."""
    actions = body.get("actions") or [{}]
    channel = (body.get("channel") or {}).get("id")
    if not channel or not actions[0].get("value"):
        return None
    message = body.get("message") or {}
    return Request(
        event_id=f"press:{body.get('trigger_id') or actions[0].get('action_ts')}",
        place=Place(
            platform=PLATFORM,
            chat_id=channel,
            private=channel.startswith("D"),
            thread=message.get("thread_ts"),
        ),
        person=await _person(body["user"]["id"], myself),
        trigger=Trigger.BUTTON,
        text=actions[0]["value"],
        now=now,
        is_admin=lambda: myself.is_admin(body["user"]["id"]),
        origin=body,
    )


async def read_shortcut(body: Payload, myself: Myself, *, now: datetime) -> Request | None:
    """Return the request in "Find the prophecy" on a message."""
    message, channel = body.get("message") or {}, (body.get("channel") or {}).get("id")
    if not channel:
        return None
    return Request(
        event_id=f"shortcut:{body['trigger_id']}",
        place=Place(
            platform=PLATFORM,
            chat_id=channel,
            private=channel.startswith("D"),
            thread=message.get("thread_ts") or message.get("ts"),
        ),
        person=await _person(body["user"]["id"], myself),
        trigger=Trigger.ADDRESSED,
        text=plain_text(message.get("text", "")),
        now=now,
        is_admin=lambda: myself.is_admin(body["user"]["id"]),
        origin=body,
    )


async def _person(user_id: str, myself: Myself, *, bot: bool = False) -> Person:
    own = user_id == myself.user_id
    if bot or own:
        return Person(id=user_id, bot=True, myself=own)
    profile = await myself.profile(user_id)
    return Person(id=user_id, language=profile.language, time_zone=profile.time_zone)
