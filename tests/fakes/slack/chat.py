"""Methods of the Web API about messages: chat.* and reactions.*"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.fakes.slack.block_kit import check_blocks
from tests.fakes.slack.conversation import Channel, Message
from tests.fakes.slack.events import message_json
from tests.fakes.slack.mrkdwn import escaped, unescaped
from tests.fakes.slack.web_api import Method, WebApi, required
from tests.fakes.slack.wire import Json, Refusal
from tests.fakes.slack.workspace import Workspace

if TYPE_CHECKING:
    from tests.fakes.slack.files import Files

POSTED_TEXT = 40_000  # characters
UPDATED_TEXT = 4_000  # bytes, after escaping


@dataclass
class Chat:
    """Acts on the workspace as the bot."""

    workspace: Workspace
    api: WebApi
    files: "Files"

    def methods(self) -> Mapping[str, Method]:
        return {
            "chat.postMessage": self.post_message,
            "chat.postEphemeral": self.post_ephemeral,
            "chat.update": self.update,
            "chat.delete": self.delete,
            "reactions.add": self.add_reaction,
        }

    def post_message(self, arguments: Json) -> Json:
        channel = self._writable(arguments)
        check_content(arguments)
        self.files.require_shown(arguments.get("blocks"))
        message = self.workspace.post(
            channel,
            self.workspace.bot,
            arguments.get("text") or "",
            blocks=arguments.get("blocks"),
            thread_ts=arguments.get("thread_ts"),
            metadata=_metadata(arguments),
        )
        shown = message_json(message, with_metadata=True)
        return {"channel": channel.id, "ts": message.ts, "message": shown}

    def post_ephemeral(self, arguments: Json) -> Json:
        channel = self._writable(arguments)
        (user_id,) = required(arguments, "user")
        reader = self.workspace.people.get(user_id)
        if reader not in channel.members:
            raise Refusal("user_not_in_channel")
        check_content(arguments)
        message = self.workspace.post(
            channel,
            self.workspace.bot,
            arguments.get("text") or "",
            blocks=arguments.get("blocks"),
            thread_ts=arguments.get("thread_ts"),
            ephemeral_to=reader,
        )
        return {"message_ts": message.ts}

    def update(self, arguments: Json) -> Json:
        message = self._own(arguments, "cant_update_message")
        check_content(arguments, has_other_content=bool(message.blocks))
        text = str(arguments.get("text") or message.text)
        if len(escaped(unescaped(text)).encode()) > UPDATED_TEXT:
            raise Refusal("msg_too_long")
        message.metadata = _metadata(arguments) or message.metadata
        self.workspace.edit(message, text, arguments.get("blocks"))
        shown = message_json(message, with_metadata=True)
        return {"channel": message.channel.id, "ts": message.ts, "text": text, "message": shown}

    def delete(self, arguments: Json) -> Json:
        message = self._own(arguments, "cant_delete_message")
        self.workspace.delete(message)
        return {"channel": message.channel.id, "ts": message.ts}

    def add_reaction(self, arguments: Json) -> Json:
        message, name = self._reaction(arguments)
        if self.workspace.bot.id in message.reactions.get(name, []):
            raise Refusal("already_reacted")
        self.workspace.react(message, self.workspace.bot, name)
        return {}

    def _reaction(self, arguments: Json) -> tuple[Message, str]:
        channel = self._writable(arguments)
        ts, name = required(arguments, "timestamp", "name")
        if ":" in name:
            raise Refusal("invalid_name")
        return channel.find(ts), name

    def _writable(self, arguments: Json) -> Channel:
        """The conversation, or the direct one with a user whose id was given instead."""
        (name,) = required(arguments, "channel")
        person = self.workspace.people.get(name)
        channel = self.workspace.im(person) if person else self.workspace.channel(name)
        if channel.is_archived:
            raise Refusal("is_archived")
        if self.workspace.bot not in channel.members:
            check_reach(channel, self.api)
        return channel

    def _own(self, arguments: Json, otherwise: str) -> Message:
        channel = self.workspace.channel(*required(arguments, "channel"))
        message = channel.find(*required(arguments, "ts"))
        if message.author is not self.workspace.bot:
            raise Refusal(otherwise)
        return message


def check_reach(channel: Channel, api: WebApi) -> None:
    """What a bot outside of a conversation is told when it wants to write there."""
    if channel.kind != "channel":
        raise Refusal("channel_not_found")
    if not api.app.has("chat:write.public"):
        raise Refusal("not_in_channel")
    api.require("chat:write.public")


def check_content(content: Json, *, has_other_content: bool = False) -> None:
    """Refuse what Slack refuses in texts and blocks of any message."""
    text = content.get("text") or ""
    blocks = content.get("blocks")
    if blocks:
        check_blocks(blocks)
    if not (text or blocks or content.get("attachments") or has_other_content):
        raise Refusal("no_text")
    if len(text) > POSTED_TEXT:
        raise Refusal("msg_too_long")


def _metadata(arguments: Json) -> Json | None:
    metadata = arguments.get("metadata")
    if not metadata:
        return None
    if not isinstance(metadata, dict) or metadata.keys() != {"event_type", "event_payload"}:
        raise Refusal("invalid_metadata_format")
    return metadata
