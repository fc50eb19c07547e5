"""Payloads of events, commands and interactions around what events.py makes.

Shapes: docs.slack.dev/apis/events-api and /reference/interaction-payloads.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tests.fakes.slack.conversation import Channel, Message, Person
from tests.fakes.slack.events import message_json
from tests.fakes.slack.wire import APP, DOMAIN, TEAM, Json

_TOKEN = "the-deprecated-verification-token"
_TEAM = {"id": TEAM, "domain": DOMAIN}


@dataclass(frozen=True, slots=True)
class Answerable:
    """What comes with everything a person does on purpose: both work only for a while."""

    response_url: str
    trigger_id: str

    @property
    def fields(self) -> Json:
        return {"response_url": self.response_url, "trigger_id": self.trigger_id}


def event_callback(event: Json, *, event_id: str, now: float, bot: Person) -> Json:
    """An event as the Events API wraps it, the same over HTTP and Socket Mode."""
    installed = {
        "enterprise_id": None,
        "team_id": TEAM,
        "user_id": bot.id,
        "is_bot": True,
        "is_enterprise_install": False,
    }
    return {
        "token": _TOKEN,
        "team_id": TEAM,
        "api_app_id": APP,
        "event": event,
        "type": "event_callback",
        "event_id": event_id,
        "event_time": int(now),
        "authorizations": [installed],
        "is_ext_shared_channel": False,
        "event_context": f"4-{event_id}",
    }


def slash_command(
    person: Person, channel: Channel, command: str, text: str, answerable: Answerable
) -> Json:
    """A command as typed; it says nothing about threads."""
    shown = {"im": "directmessage", "group": "privategroup"}
    return {
        "token": _TOKEN,
        "team_id": TEAM,
        "team_domain": DOMAIN,
        "channel_id": channel.id,
        "channel_name": shown.get(channel.kind, channel.name),
        "user_id": person.id,
        "user_name": person.name,
        "command": command,
        "text": text,
        "api_app_id": APP,
        "is_enterprise_install": "false",
        **answerable.fields,
    }


def block_actions(person: Person, message: Message, action: Json, answerable: Answerable) -> Json:
    """Somebody pressed or chose something. An ephemeral message itself is not sent along."""
    is_ephemeral = message.ephemeral_to is not None
    container = {
        "type": "message",
        "message_ts": message.ts,
        "channel_id": message.channel.id,
        "is_ephemeral": is_ephemeral,
    }
    if message.thread_ts:
        container["thread_ts"] = message.thread_ts
    shown = {} if is_ephemeral else {"message": message_json(message)}
    return {
        "type": "block_actions",
        **_interaction(person),
        "container": container,
        "channel": _channel(message.channel),
        "state": {"values": {}},
        "actions": [action],
        **shown,
        **answerable.fields,
    }


def message_action(
    person: Person, message: Message, callback_id: str, answerable: Answerable
) -> Json:
    """Somebody chose a message shortcut."""
    return {
        "type": "message_action",
        **_interaction(person),
        "channel": _channel(message.channel),
        "callback_id": callback_id,
        "action_ts": message.ts,
        "message_ts": message.ts,
        "message": message_json(message),
        **answerable.fields,
    }


def action(block_id: str, element: Mapping[str, object], choice: str, ts: str) -> Json:
    """One entry of `actions`; `choice` is the value chosen in a menu."""
    same = {key: element[key] for key in ("action_id", "type", "text", "value") if key in element}
    options = element.get("options")
    if isinstance(options, list):
        same["selected_option"] = next(option for option in options if option["value"] == choice)
    return {"block_id": block_id, "action_ts": ts, **same}


def _interaction(person: Person) -> Json:
    user = {"id": person.id, "username": person.name, "name": person.name, "team_id": TEAM}
    shared = {"token": _TOKEN, "api_app_id": APP, "is_enterprise_install": False}
    return {"user": user, "team": _TEAM, "enterprise": None, **shared}


def _channel(channel: Channel) -> Json:
    return {"id": channel.id, "name": "directmessage" if channel.kind == "im" else channel.name}
