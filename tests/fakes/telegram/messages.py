"""A message as a person in the chat sees it, and as the bot is told about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fakes.telegram import keyboards
from tests.fakes.telegram.files import Photo
from tests.fakes.telegram.keyboards import Button, Keyboard
from tests.fakes.telegram.text import Entity, Formatted
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from tests.fakes.telegram.chats import Chat
    from tests.fakes.telegram.people import User
    from tests.fakes.telegram.updates import Update


SERVICE = frozenset(
    {
        "forum_topic_created",
        "left_chat_member",
        "migrate_from_chat_id",
        "migrate_to_chat_id",
        "new_chat_members",
        "new_chat_title",
        "pinned_message",
    }
)


@dataclass(eq=False, kw_only=True)
class Message:
    """Its present state; edits change it in place."""

    id: int
    chat: "Chat" = field(repr=False)
    date: int
    body: Formatted = field(default_factory=Formatted)
    sender: "User | None" = None
    sender_chat: "Chat | None" = field(default=None, repr=False)
    photo: Photo | None = None
    keyboard: Keyboard = ()
    reply_to: "Message | None" = field(default=None, repr=False)
    thread_id: int | None = None
    silent: bool = False
    via_bot: "User | None" = field(default=None, repr=False)
    inline_message_id: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    edited_at: int | None = None
    edits: int = 0
    deleted: bool = False
    reactions: dict[int, tuple[str, ...]] = field(default_factory=dict)
    update: "Update | None" = field(default=None, repr=False)

    @property
    def text(self) -> str:
        """What is written: the text, or the caption of a photo."""
        return self.body.text

    @property
    def entities(self) -> tuple[Entity, ...]:
        return self.body.entities

    @property
    def links(self) -> list[tuple[str, str]]:
        """Text and target of each link that a person can follow."""
        shown = [entity for entity in self.entities if entity.type == "text_link"]
        targets = [one.url or "" for one in shown]
        return list(zip(self.body.marked("text_link"), targets, strict=True))

    @property
    def buttons(self) -> list[Button]:
        """All inline buttons, row by row."""
        return [button for row in self.keyboard for button in row]

    @property
    def labels(self) -> list[str]:
        return [button.text for button in self.buttons]

    def button(self, text_or_data: str) -> Button:
        """The button with that data or that text; AssertionError names what there is."""
        for button in self.buttons:
            if text_or_data in (button.data, button.text):
                return button
        raise AssertionError(f"no button {text_or_data!r} among {self.labels}")

    @property
    def from_bot(self) -> bool:
        """Sent by the bot under test."""
        return self.sender is self.chat.world.bot

    @property
    def is_service(self) -> bool:
        """About the chat itself, not something somebody wrote."""
        return bool(self.extra.keys() & SERVICE)

    @property
    def answers(self) -> "list[Message]":
        """The bot's messages that belong to this one (see `World.attribute`)."""
        return self.update.answers if self.update else []

    async def answer(self, timeout: float = PATIENCE) -> "Message":
        """The bot's first answer to this message."""
        try:
            return (await self.chat.world.signal.until(lambda: self.answers, timeout))[0]
        except TimeoutError:
            raise AssertionError(f"no answer to {self.text!r} within {timeout} s") from None

    def payload(self, *, inner: bool = False) -> dict[str, Any]:
        """The Message object; `inner` leaves out what it replies to."""
        body: dict[str, Any] = {"message_id": self.id, "date": self.date}
        body["chat"] = self.chat.payload()
        optional = {
            "from": self.sender and self.sender.payload(),
            "sender_chat": self.sender_chat and self.sender_chat.payload(),
            "via_bot": self.via_bot and self.via_bot.payload(),
            "message_thread_id": self.thread_id,
            "is_topic_message": self.chat.forum and self.thread_id is not None,
            "edit_date": self.edited_at,
            "reply_markup": self.keyboard and keyboards.payload(self.keyboard),
        }
        body |= {name: value for name, value in optional.items() if value}
        replied = self._replied()
        if replied and not inner:
            body["reply_to_message"] = replied.payload(inner=True)
        return body | self._content() | dict(self.extra)

    def _replied(self) -> "Message | None":
        """In a topic, what replies to nothing replies to the topic's first message."""
        topic = self.chat.topics.get(self.thread_id or 0)
        return self.reply_to or (topic.created if topic and topic.created is not self else None)

    def _content(self) -> dict[str, Any]:
        text, entities = ("caption", "caption_entities") if self.photo else ("text", "entities")
        content: dict[str, Any] = {"photo": self.photo.payload()} if self.photo else {}
        if self.text:
            content[text] = self.text
        if self.entities:
            content[entities] = [entity.payload() for entity in self.entities]
        return content
