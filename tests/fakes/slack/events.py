"""Events: pure functions from what happened in a conversation to the JSON that Slack makes of it.

Event makers return {subscription: event}: the name of the subscription that an app needs to be
told, and the inner event. Shapes: docs.slack.dev/reference/events.
"""

import uuid

from tests.fakes.slack.conversation import Channel, Message, Person
from tests.fakes.slack.mrkdwn import tokens
from tests.fakes.slack.wire import TEAM, Json

_SUBSCRIPTION = {"channel": "channels", "group": "groups", "im": "im", "mpim": "mpim"}
_LETTER = {"channel": "C", "group": "G", "im": "D", "mpim": "G"}


def message_json(message: Message, *, with_metadata: bool = False) -> Json:
    """A message as the Web API and events show it."""
    reactions = [
        {"name": name, "users": users, "count": len(users)}
        for name, users in message.reactions.items()
    ]
    optional = {
        "subtype": message.subtype,
        "thread_ts": message.thread_ts,
        "blocks": message.blocks,
        "files": message.files,
        "attachments": message.attachments,
        "edited": message.edited,
        "metadata": message.metadata if with_metadata else None,
        "reactions": reactions,
    }
    shown = {key: value for key, value in optional.items() if value}
    return {"type": "message", "ts": message.ts, "text": message.text, **_author(message), **shown}


def _author(message: Message) -> Json:
    author = message.author
    if author.is_webhook:
        return {"subtype": "bot_message", "bot_id": author.bot_id, "username": author.name}
    if not author.bot_id:
        number = uuid.uuid5(uuid.NAMESPACE_OID, message.channel.id + message.ts)
        return {"user": author.id, "team": TEAM, "client_msg_id": str(number)}
    profile = {"id": author.bot_id, "name": author.name, "app_id": author.app_id}
    identity = {"bot_id": author.bot_id, "app_id": author.app_id, "bot_profile": profile}
    return {"user": author.id, "team": TEAM, **identity}


def posted(message: Message, bot: Person) -> dict[str, Json]:
    """A new message; one that mentions the bot outside a direct conversation makes two events."""
    place = {"channel": message.channel.id, "event_ts": message.ts}
    event = {**message_json(message), **place, "channel_type": message.channel.kind}
    return {_subscription(message.channel): event, **_mention(message, bot)}


def edited(message: Message, before: Json, bot: Person) -> dict[str, Json]:
    """A changed message. A mention of the bot in it is told again, with `edited`."""
    assert message.edited is not None
    changed = {"message": message_json(message), "previous_message": before, "hidden": True}
    event = _hidden(message.channel, "message_changed", message.edited["ts"])
    return {_subscription(message.channel): event | changed, **_mention(message, bot)}


def deleted(message: Message, ts: str) -> dict[str, Json]:
    event = _hidden(message.channel, "message_deleted", ts)
    gone = {"deleted_ts": message.ts, "previous_message": message_json(message)}
    return {_subscription(message.channel): event | gone}


def joined(
    channel: Channel, person: Person, ts: str, inviter: Person | None = None
) -> dict[str, Json]:
    event = {
        "type": "member_joined_channel",
        "user": person.id,
        "channel": channel.id,
        "channel_type": _LETTER[channel.kind],
        "team": TEAM,
        "event_ts": ts,
    }
    if inviter:
        event["inviter"] = inviter.id
    return {"member_joined_channel": event}


def _subscription(channel: Channel) -> str:
    return f"message.{_SUBSCRIPTION[channel.kind]}"


def _hidden(channel: Channel, subtype: str, ts: str) -> Json:
    place = {"channel": channel.id, "channel_type": channel.kind}
    return {"type": "message", "subtype": subtype, "ts": ts, "event_ts": ts, **place}


def _mention(message: Message, bot: Person) -> dict[str, Json]:
    mentioned = any(
        token.kind == "user" and token.value == bot.id for token in tokens(message.text)
    )
    if not mentioned or message.subtype or message.channel.kind == "im":
        return {}
    ts = message.edited["ts"] if message.edited else message.ts
    place = {"channel": message.channel.id, "event_ts": ts}
    return {"app_mention": {**message_json(message), "type": "app_mention", **place}}
