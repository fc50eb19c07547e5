"""People, conversations and messages: what a test holds in its hands."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from tests.fakes.slack.block_kit import interactive_elements
from tests.fakes.slack.mrkdwn import Link, Seen, read, read_blocks, together
from tests.fakes.slack.wire import Json, Refusal
from tests.fakes.stand_in import Changes
from tests.patience import PATIENCE

ChannelKind = Literal["channel", "group", "im", "mpim"]


@dataclass(eq=False, kw_only=True)
class Person:
    """A member of the team. With a bot_id it is an app; a webhook shows no user id."""

    id: str
    name: str
    tz: str = "Etc/UTC"
    locale: str = "en-US"
    is_admin: bool = False
    is_owner: bool = False
    bot_id: str = ""
    app_id: str = ""
    is_webhook: bool = False
    team: str = ""  # of somebody from another workspace, in a shared channel

    @property
    def mention(self) -> str:
        return f"<@{self.id}>"


@dataclass(eq=False, kw_only=True)
class Message:
    """One message. It changes when it is edited; `ephemeral_to` is the only one who sees it."""

    channel: "Channel"
    ts: str
    author: Person
    text: str
    blocks: list[Json] = field(default_factory=list)
    thread_ts: str | None = None
    metadata: Json | None = None
    files: list[Json] = field(default_factory=list)
    attachments: list[Json] = field(default_factory=list)
    subtype: str = ""
    ephemeral_to: Person | None = None
    edited: Json | None = None
    deleted: bool = False
    reactions: dict[str, list[str]] = field(default_factory=dict)
    earlier_texts: list[str] = field(default_factory=list)

    @property
    def seen(self) -> Seen:
        """What a person sees; the top-level text counts too, as notifications show it."""
        fallback = read(self.text)
        if not self.blocks:
            return fallback
        shown = read_blocks(self.blocks)
        calls = Seen("", fallback.broadcasts, fallback.users, fallback.channels)
        return together([shown, calls])

    @property
    def visible(self) -> str:
        return self.seen.text

    @property
    def mentions_channel(self) -> bool:
        """Whether it calls a crowd: @channel, @here, @everyone or a user group."""
        return bool(self.seen.broadcasts)

    @property
    def mentioned_users(self) -> tuple[str, ...]:
        return self.seen.users

    @property
    def links(self) -> tuple[Link, ...]:
        return self.seen.links

    @property
    def buttons(self) -> dict[str, Json]:
        """Everything that can be pressed or chosen, by action_id."""
        return {part["action_id"]: part for _, part in interactive_elements(self.blocks)}

    @property
    def labels(self) -> list[str]:
        return [button["text"]["text"] for button in self.buttons.values()]

    @property
    def root_ts(self) -> str:
        return self.thread_ts or self.ts


@dataclass(eq=False, kw_only=True)
class Channel:
    """A conversation of any kind, with what was said in it."""

    id: str
    name: str
    kind: ChannelKind
    members: list[Person]
    changes: Changes
    messages: list[Message] = field(default_factory=list)
    ephemerals: list[Message] = field(default_factory=list)
    is_archived: bool = False

    async def until(
        self, predicate: Callable[[Message], bool] = lambda _: True, within: float = PATIENCE
    ) -> Message:
        """The first message, ephemeral ones included, for which the predicate holds."""

        def found() -> Message | None:
            return next(filter(predicate, self.messages + self.ephemerals), None)

        try:
            message = await self.changes.until(found, within)
        except TimeoutError:
            said = [one.text for one in self.messages + self.ephemerals]
            raise TimeoutError(f"no such message in {self.name}, only {said}") from None
        assert message is not None
        return message

    def find(self, ts: object) -> Message:
        """The message with that timestamp; message_not_found if there is none."""
        for message in self.messages:
            if message.ts == ts:
                return message
        raise Refusal("message_not_found")

    def thread(self, ts: str) -> list[Message]:
        """A message and its replies, oldest first."""
        return [message for message in self.messages if ts in (message.ts, message.thread_ts)]
