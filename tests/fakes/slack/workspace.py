"""The team: what happens in it, and the events that this makes."""

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.fakes.slack import events
from tests.fakes.slack.block_kit import with_ids
from tests.fakes.slack.conversation import Channel, ChannelKind, Message, Person
from tests.fakes.slack.wire import APP, Json, Refusal
from tests.fakes.stand_in import Changes


@dataclass
class Workspace:
    """All of it. `publish` is told of each event: (the subscription it needs, event, channel)."""

    publish: Callable[[str, Json, Channel], None]
    clock: Callable[[], float] = time.time
    changes: Changes = field(default_factory=Changes)
    people: dict[str, Person] = field(default_factory=dict)
    channels: dict[str, Channel] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _last_ts: int = 0

    def __post_init__(self) -> None:
        bot_id = self.fresh_id("B")
        self.bot = Person(id=self.fresh_id("U"), name="presagio", bot_id=bot_id, app_id=APP)
        self.people[self.bot.id] = self.bot

    def fresh_id(self, prefix: str) -> str:
        return f"{prefix}{next(self._numbers):09d}"

    def fresh_ts(self) -> str:
        """Time of day as Slack writes it, in microseconds, never twice the same."""
        self._last_ts = max(self._last_ts + 1, int(self.clock() * 1_000_000))
        return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06d}"

    def add_channel(
        self, name: str, kind: ChannelKind, members: Sequence[Person], *, with_bot: bool
    ) -> Channel:
        prefix = {"channel": "C", "group": "G", "im": "D", "mpim": "G"}[kind]
        everybody = [*members, self.bot] if with_bot else list(members)
        channel = Channel(
            id=self.fresh_id(prefix), name=name, kind=kind, members=everybody, changes=self.changes
        )
        self.channels[channel.id] = channel
        return channel

    def channel(self, channel_id: str) -> Channel:
        """The conversation with that id; channel_not_found if there is none."""
        if channel_id not in self.channels:
            raise Refusal("channel_not_found")
        return self.channels[channel_id]

    def im(self, person: Person) -> Channel:
        """The direct conversation of that person with the bot; there is only one."""
        for channel in self.channels.values():
            if channel.kind == "im" and person in channel.members:
                return channel
        return self.add_channel(f"im-{person.name}", "im", [person], with_bot=True)

    def post(
        self,
        channel: Channel,
        author: Person,
        text: str,
        *,
        blocks: list[Json] | None = None,
        thread_ts: str | None = None,
        metadata: Json | None = None,
        files: list[Json] | None = None,
        attachments: list[Json] | None = None,
        subtype: str = "",
        ephemeral_to: Person | None = None,
    ) -> Message:
        """Add a message and tell of it. Nobody but its reader hears of an ephemeral one."""
        message = Message(
            channel=channel,
            ts=self.fresh_ts(),
            author=author,
            text=text,
            blocks=with_ids(blocks or [], self._fresh_names()),
            thread_ts=thread_ts,
            metadata=metadata,
            files=files or [],
            attachments=attachments or [],
            subtype=subtype,
            ephemeral_to=ephemeral_to,
        )
        if ephemeral_to is None:
            channel.messages.append(message)
            self._publish(channel, events.posted(message, self.bot))
        else:
            channel.ephemerals.append(message)
        self.changes.notify()
        return message

    def edit(self, message: Message, text: str, blocks: list[Json] | None) -> None:
        """Change a message; blocks stay as they are where none are given."""
        before = events.message_json(message)
        message.earlier_texts.append(message.text)
        message.text = text
        if blocks is not None:
            message.blocks = with_ids(blocks, self._fresh_names())
        if message.ephemeral_to is None:
            message.edited = {"user": message.author.id, "ts": self.fresh_ts()}
            self._publish(message.channel, events.edited(message, before, self.bot))
        self.changes.notify()

    def delete(self, message: Message) -> None:
        message.deleted = True
        if message.ephemeral_to is not None:
            message.channel.ephemerals.remove(message)
        else:
            message.channel.messages.remove(message)
            self._publish(message.channel, events.deleted(message, self.fresh_ts()))
        self.changes.notify()

    def react(self, message: Message, person: Person, name: str) -> None:
        message.reactions.setdefault(name, []).append(person.id)
        self.changes.notify()

    def join(self, channel: Channel, person: Person, inviter: Person | None = None) -> None:
        """Make somebody a member: an event of its own, and a line in the channel."""
        channel.members.append(person)
        self._publish(channel, events.joined(channel, person, self.fresh_ts(), inviter))
        self.post(channel, person, f"{person.mention} has joined", subtype="channel_join")

    def _publish(self, channel: Channel, made: Mapping[str, Json]) -> None:
        for subscription, event in made.items():
            self.publish(subscription, event, channel)

    def _fresh_names(self) -> Iterator[str]:
        while True:
            yield self.fresh_id("b")
