"""People and what they do in front of the bot."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fakes.telegram.chats import Chat, Topic
from tests.fakes.telegram.files import png
from tests.fakes.telegram.messages import Message
from tests.fakes.telegram.queries import InlineQuery, Press
from tests.fakes.telegram.text import clean, finished

if TYPE_CHECKING:
    from tests.fakes.telegram.world import World

CHANNEL_BOT = 136817688  # "Channel": who writes in the name of a channel
ANONYMOUS_ADMIN = 1087968824  # "Group": who anonymous administrators write as


@dataclass(eq=False, kw_only=True)
class User:
    """An account; the bot is one too."""

    world: "World" = field(repr=False)
    id: int
    first_name: str
    username: str | None = None
    language: str | None = None
    is_bot: bool = False

    def payload(self) -> dict[str, Any]:
        """The User object."""
        body = {"id": self.id, "is_bot": self.is_bot, "first_name": self.first_name}
        extra = {"username": self.username, "language_code": self.language}
        return body | {name: value for name, value in extra.items() if value}

    async def says(
        self,
        chat: Chat,
        text: str,
        *,
        reply_to: Message | None = None,
        thread: Topic | None = None,
        anonymous: bool = False,
        channel: Chat | None = None,
    ) -> Message:
        """Write a message; `anonymous` as an administrator who hides behind the group, else in the
        name of a `channel` of one's own.
        """
        message = self.world.write(chat, text, sender=self, reply_to=reply_to, thread=thread)
        if anonymous:
            message.sender, message.sender_chat = self.world.users[ANONYMOUS_ADMIN], chat
        elif channel:
            message.sender, message.sender_chat = self.world.users[CHANNEL_BOT], channel
        return self.world.tell(message)

    async def sends(
        self,
        chat: Chat,
        *,
        reply_to: Message | None = None,
        thread: Topic | None = None,
        **fields: Any,
    ) -> Message:
        """Send something else: the fields of the Message object, such as `sticker={...}`."""
        message = self.world.write(
            chat, "", sender=self, reply_to=reply_to, thread=thread, extra=fields
        )
        return self.world.tell(message)

    async def sends_file(
        self, chat: Chat, name: str, content: bytes, *, size: int | None = None
    ) -> Message:
        """Send a file; `size` is what Telegram says that it has."""
        file = self.world.files.add_document(content)
        said = file.payload() | {"file_name": name, "file_size": size or len(content)}
        return await self.sends(chat, document=said)

    async def sends_photo(
        self,
        chat: Chat,
        *,
        caption: str = "",
        content: bytes | None = None,
        reply_to: Message | None = None,
        thread: Topic | None = None,
        origin: "User | Chat | str | None" = None,
    ) -> Message:
        """Send a picture (white unless given), forwarded if it has an origin."""
        photo = self.world.files.add_photo(content or png(640, 480))
        extra = _forwarded(origin, self.world.now()) if origin else {}
        message = self.world.write(
            chat, caption, sender=self, reply_to=reply_to, thread=thread, photo=photo, extra=extra
        )
        return self.world.tell(message)

    async def forwards(
        self,
        chat: Chat,
        text: str,
        *,
        origin: "User | Chat | str",
        thread: Topic | None = None,
        date: int | None = None,
    ) -> Message:
        """Forward a text of a user, of a channel or group, or of somebody who hides (a name).

        It was written yesterday, unless `date` (Unix time) says otherwise.
        """
        extra = _forwarded(origin, self.world.now(), date)
        return self.world.tell(
            self.world.write(chat, text, sender=self, thread=thread, extra=extra)
        )

    async def edits(self, message: Message, text: str) -> None:
        """Change an own message."""
        assert message.sender is self, "people edit only what they wrote"
        message.body = finished(clean(text))
        message.edited_at = self.world.now()
        message.edits += 1
        self.world.tell(message, kind="edited_message")

    async def presses(self, message: Message, button: str) -> Press:
        """Press the inline button with that text or data."""
        data = message.button(button).data
        assert data is not None, f"the button {button!r} carries no callback data"
        return self.world.press(self, message, data)

    async def asks_inline(
        self, query: str, *, offset: str = "", where: str = "sender"
    ) -> InlineQuery:
        """Type `@bot query` in some chat of type `where`."""
        return self.world.ask_inline(self, query, offset, where)

    async def chooses(self, query: InlineQuery, position: int, chat: Chat) -> Message:
        """Send one of the results that the bot answered to an inline query."""
        return self.world.choose(self, query, position, chat)

    async def blocks_bot(self) -> None:
        """Stop the bot in the private chat."""
        self.world.change_bot(self.world.chats[self.id], "kicked", self)

    async def unblocks_bot(self) -> None:
        """Take it back."""
        self.world.change_bot(self.world.chats[self.id], "member", self)


def _forwarded(origin: "User | Chat | str", now: int, date: int | None = None) -> Mapping[str, Any]:
    date = now - 86_400 if date is None else date
    if isinstance(origin, str):
        return {"forward_origin": {"type": "hidden_user", "date": date, "sender_user_name": origin}}
    if isinstance(origin, User):
        return {"forward_origin": {"type": "user", "date": date, "sender_user": origin.payload()}}
    if origin.type == "channel":
        about = {"type": "channel", "chat": origin.payload(), "message_id": 7}
        return {"forward_origin": about | {"date": date}}
    return {"forward_origin": {"type": "chat", "date": date, "sender_chat": origin.payload()}}
