"""Translates what people ask for by commands, buttons and shortcuts into requests."""

from datetime import datetime

from bot.face.request import Place, Request, Trigger
from bot.slack.events import (
    ACTION_PREFIX,
    PLATFORM,
    Payload,
    SlackIdentity,
    is_private,
    moment_of,
    person_of,
    plain_text,
    shared_part,
)

SHORTCUT = "find_prophecy"

_UNNAMED_PLACES = {"directmessage", "privategroup"}


async def read_command(body: Payload, myself: SlackIdentity, *, now: datetime) -> Request:
    """Return the request in a slash command. "/presagio why" and "/omen-why" are "/why"."""
    # No command has a hyphen: what precedes one is the prefix that the manifest was made with.
    name, text = body["command"].lstrip("/").rpartition("-")[2], body.get("text", "").strip()
    if name == "presagio":
        name, _, text = (text or "help").lstrip("/").partition(" ")
    return Request(
        event_id=f"command:{body['trigger_id']}",
        place=Place(
            platform=PLATFORM,
            chat_id=body["channel_id"],
            private=is_private(body["channel_id"]),
            title=_title(body),
        ),
        person=await person_of(body["user_id"], myself),
        trigger=Trigger.COMMAND,
        text=f"/{name} {plain_text(text)}".strip(),
        now=now,
        is_admin=lambda: myself.is_admin(body["user_id"]),
        origin=body,
    )


async def read_press(body: Payload, myself: SlackIdentity, *, now: datetime) -> Request | None:
    """Return the request of a pressed button, or None if the button is not ours."""
    pressed = (body.get("actions") or [{}])[0]
    home = home_channel(body)
    channel = home or (body.get("channel") or {}).get("id")
    if not channel or not str(pressed.get("action_id")).startswith(ACTION_PREFIX):
        return None
    return Request(
        event_id=f"press:{body['trigger_id']}",
        place=Place(
            platform=PLATFORM,
            chat_id=channel,
            private=is_private(channel),
            # An ephemeral message is not included in the event; its container is.
            thread=(body.get("container") or {}).get("thread_ts"),
            home=home is not None,
        ),
        person=await person_of(body["user"]["id"], myself),
        trigger=Trigger.BUTTON,
        text=str(pressed.get("value") or ""),
        now=now,
        is_admin=lambda: myself.is_admin(body["user"]["id"]),
        origin=body,
    )


async def read_shortcut(body: Payload, myself: SlackIdentity, *, now: datetime) -> Request | None:
    """Return the request in "Find the prophecy" on a message."""
    message, channel = body.get("message") or {}, (body.get("channel") or {}).get("id")
    if not channel:
        return None
    source = message if message.get("text") else shared_part(message)
    return Request(
        event_id=f"shortcut:{body['trigger_id']}",
        place=Place(
            platform=PLATFORM,
            chat_id=channel,
            private=is_private(channel),
            thread=message.get("thread_ts") or message.get("ts"),
        ),
        person=await person_of(body["user"]["id"], myself),
        trigger=Trigger.ADDRESSED,
        # Written as a command: some channels accept nothing else.
        text=f"/prophecy {plain_text(str(source.get('text', '')))}",
        now=now,
        written_at=moment_of(source.get("ts")),
        is_admin=lambda: myself.is_admin(body["user"]["id"]),
        origin=body,
    )


def home_channel(body: Payload) -> str | None:
    """Return the private chat of whoever pressed a button at the bot's home, or None elsewhere.

    Slack names no channel there: the face has noted it in the view.
    """
    view = body.get("view") or {}
    return str(view.get("private_metadata") or "") or None if view.get("type") == "home" else None


def _title(body: Payload) -> str | None:
    """Return the name of a public channel; Slack keeps those of other places to itself."""
    name = body.get("channel_name")
    return f"#{name}" if name and name not in _UNNAMED_PLACES else None
