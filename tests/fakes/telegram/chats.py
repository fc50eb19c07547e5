"""Chats, their members and topics, and what can happen to them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from tests.fakes.telegram.messages import Message
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from tests.fakes.telegram.people import User
    from tests.fakes.telegram.world import World

Kind = Literal["private", "group", "supergroup", "channel"]
Status = Literal["creator", "administrator", "member", "left", "kicked"]
PRESENT = frozenset({"creator", "administrator", "member"})


@dataclass(eq=False)
class Topic:
    """A thread of a forum; its id is that of its first message."""

    id: int
    name: str
    created: Message = field(repr=False)


@dataclass(eq=False, kw_only=True)
class Chat:
    """One chat as the stand-in keeps it."""

    world: "World" = field(repr=False)
    id: int
    type: Kind
    title: str
    username: str | None = None
    forum: bool = False
    privacy_mode: bool = True
    bot_posts: bool = True  # in a channel that the bot administers
    members: dict[int, Status] = field(default_factory=dict)
    topics: dict[int, Topic] = field(default_factory=dict)
    history: list[Message] = field(default_factory=list, repr=False)
    actions: list[str] = field(default_factory=list)
    upgraded_to: "Chat | None" = field(default=None, repr=False)

    @property
    def messages(self) -> list[Message]:
        """What a person who scrolls through the chat sees, oldest first."""
        return [one for one in self.history if not one.deleted]

    @property
    def bot_messages(self) -> list[Message]:
        """The part of it that the bot wrote."""
        return [message for message in self.messages if message.from_bot]

    @property
    def bot_status(self) -> Status:
        return self.members.get(self.world.bot.id, "left")

    def message(self, message_id: int | None) -> Message | None:
        """A message that is still there."""
        return next((message for message in self.messages if message.id == message_id), None)

    async def until(self, seen: Callable[[Message], object], timeout: float = PATIENCE) -> Message:
        """The first message for which `seen` holds, now or later; AssertionError shows the chat."""

        def found() -> Message | None:
            return next((message for message in self.messages if seen(message)), None)

        try:
            return await self.world.signal.until(found, timeout)
        except TimeoutError:
            shown = [message.text for message in self.messages]
            raise AssertionError(f"not seen within {timeout} s; the chat shows {shown}") from None

    def topic(self, name: str) -> Topic:
        """Open a topic in a forum."""
        assert self.forum, "only a forum has topics"
        owner = self.world.users[next(iter(self.members))]
        extra = {"forum_topic_created": {"name": name, "icon_color": 7322096}}
        created = self.world.post(self, sender=owner, extra=extra)
        created.thread_id = created.id
        self.topics[created.id] = Topic(created.id, name, created)
        self.world.tell(created)
        return self.topics[created.id]

    def delete(self, message: Message) -> None:
        """Somebody deletes a message; the bot is not told."""
        message.deleted = True

    def migrate(self, *, announced: bool = True) -> "Chat":
        """Become a supergroup with another id; `announced` sends the two service messages."""
        assert self.type == "group", "only a basic group migrates"
        upgraded = self.world.upgraded(self)
        self.upgraded_to = upgraded
        owner = self.world.users[next(iter(self.members))]
        there = self.world.post(self, sender=owner, extra={"migrate_to_chat_id": upgraded.id})
        here = self.world.post(upgraded, sender=owner, extra={"migrate_from_chat_id": self.id})
        if announced:
            self.world.tell(there)
            self.world.tell(here)
        return upgraded

    def remove_bot(self, *, by: "User | None" = None) -> None:
        """Somebody removes the bot."""
        self.world.change_bot(self, "kicked", by)

    def add_bot(self, *, by: "User | None" = None, status: Status = "member") -> None:
        """Somebody adds or promotes the bot."""
        was_present = self.bot_status in PRESENT
        self.world.change_bot(self, status, by)
        if not was_present:
            joined = {"new_chat_members": [self.world.bot.payload()]}
            actor = by or self.world.users[next(iter(self.members))]
            self.world.tell(self.world.post(self, sender=actor, extra=joined))

    async def posts(self, text: str) -> Message:
        """A post in a channel."""
        assert self.type == "channel", "only a channel posts"
        return self.world.tell(self.world.write(self, text, sender_chat=self), kind="channel_post")

    def payload(self) -> dict[str, Any]:
        """The Chat object."""
        name = "first_name" if self.type == "private" else "title"
        body: dict[str, Any] = {"id": self.id, "type": self.type, name: self.title}
        if self.username:
            body["username"] = self.username
        return body | ({"is_forum": True} if self.forum else {})
