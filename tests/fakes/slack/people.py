"""What people of the team can do, as tests write it: `await alice.says(general, "hello")`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fakes.slack import payloads
from tests.fakes.slack.block_kit import interactive_elements
from tests.fakes.slack.conversation import Channel, Message, Person
from tests.fakes.slack.mrkdwn import rich_text, typed
from tests.fakes.slack.wire import Json

if TYPE_CHECKING:
    from tests.fakes.slack.delivery import Envelope
    from tests.fakes.slack.server import SlackServer


@dataclass(eq=False, kw_only=True)
class User(Person):
    """Somebody, or another app. What they type is escaped as Slack does, unless it is `raw`.

    Each verb returns when Slack has begun to tell the app; `server.quiet()` waits for the rest.
    """

    server: SlackServer = field(repr=False)

    async def says(
        self,
        channel: Channel,
        text: str,
        *,
        thread: Message | None = None,
        raw: bool = False,
        files: list[Json] | None = None,
        attachments: list[Json] | None = None,
    ) -> Message:
        """A message, in a thread if one is given; with files its subtype is file_share."""
        wire = text if raw else typed(text)
        message = self.server.workspace.post(
            channel,
            self,
            wire,
            blocks=[] if self.bot_id else rich_text(wire, self.server.workspace.fresh_id("b")),
            thread_ts=thread.root_ts if thread else None,
            files=files,
            attachments=attachments,
            subtype="file_share" if files else "",
        )
        await self.server.all_begun()
        return message

    async def mentions_bot(
        self, channel: Channel, text: str, *, thread: Message | None = None
    ) -> Message:
        bot = self.server.bot
        return await self.says(channel, f"{bot.mention} {typed(text)}", thread=thread, raw=True)

    async def shares_file(
        self, channel: Channel, name: str, text: str = "", *, content: bytes = b"..."
    ) -> Message:
        file = self.server.files.share(name, content)
        return await self.says(channel, text, files=[file])

    async def shares_message(
        self, channel: Channel, shared: str, *, ts: str, text: str = ""
    ) -> Message:
        """Share what somebody wrote elsewhere at `ts`, with words of one's own or without."""
        attachment = {
            "is_msg_unfurl": True,
            "is_share": True,
            "ts": ts,
            "text": shared,
            "fallback": shared,
        }
        return await self.says(channel, text, attachments=[attachment])

    async def edits(self, message: Message, text: str, *, raw: bool = False) -> None:
        wire = text if raw else typed(text)
        blocks = rich_text(wire, self.server.workspace.fresh_id("b"))
        self.server.workspace.edit(message, wire, blocks)
        await self.server.all_begun()

    async def deletes(self, message: Message) -> None:
        self.server.workspace.delete(message)
        await self.server.all_begun()

    async def joins(self, channel: Channel) -> None:
        self.server.workspace.join(channel, self)
        await self.server.all_begun()

    async def invites_bot(self, channel: Channel) -> None:
        self.server.workspace.join(channel, self.server.bot, inviter=self)
        await self.server.all_begun()

    async def commands(self, channel: Channel, command: str, text: str = "") -> Envelope:
        """A slash command. The text goes out as typed."""
        self.server.api.app.check_command(command)
        self.server.api.used_scopes.add("commands")
        answerable = self._answerable(channel, None)
        payload = payloads.slash_command(self, channel, command, text, answerable)
        return await self.server.tell("slash_commands", payload)

    async def clicks(self, message: Message, what: str, choice: str = "") -> Envelope:
        """Press or choose the element with that action_id, or else with that text."""
        block_id, element = _element(message, what)
        ts = self.server.workspace.fresh_ts()
        action = payloads.action(block_id, element, choice, ts)
        answerable = self._answerable(message.channel, message)
        payload = payloads.block_actions(self, message, action, answerable)
        return await self.server.tell("interactive", payload)

    async def uses_shortcut(self, message: Message, callback_id: str) -> Envelope:
        self.server.api.app.check_shortcut(callback_id)
        self.server.api.used_scopes.add("commands")
        answerable = self._answerable(message.channel, message)
        payload = payloads.message_action(self, message, callback_id, answerable)
        return await self.server.tell("interactive", payload)

    def _answerable(self, channel: Channel, original: Message | None) -> payloads.Answerable:
        url = self.server.response_urls.issue(channel, self, original)
        return payloads.Answerable(url, self.server.workspace.fresh_id(""))


def _element(message: Message, what: str) -> tuple[str, dict[str, Any]]:
    elements = interactive_elements(message.blocks)
    for block_id, element in elements:
        if element["action_id"] == what:
            return block_id, element
    for block_id, element in elements:
        if element.get("text", {}).get("text") == what:
            return block_id, element
    raise LookupError(f"nothing like {what!r} to press among {list(message.buttons)}")
