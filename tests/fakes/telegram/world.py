"""The state behind the stand-in: who and what exists, and what the bot is told about it."""

import itertools
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.fakes.stand_in import Changes
from tests.fakes.telegram.chats import Chat, Status, Topic
from tests.fakes.telegram.errors import Refusal, bad_request, forbidden, upgraded
from tests.fakes.telegram.files import Files
from tests.fakes.telegram.members import membership
from tests.fakes.telegram.menus import Menus
from tests.fakes.telegram.messages import Message
from tests.fakes.telegram.people import User
from tests.fakes.telegram.privacy import is_visible
from tests.fakes.telegram.queries import InlineAnswer, InlineQuery, Press
from tests.fakes.telegram.text import clean, finished
from tests.fakes.telegram.updates import Update, UpdateQueue
from tests.fakes.telegram.webhook import Webhook


class World:
    """One bot and everything it can meet."""

    def __init__(
        self, bot_username: str, *, privacy_mode: bool, clock: Callable[[], float] = time.time
    ) -> None:
        self.privacy_mode = privacy_mode
        self.withheld = frozenset[str]()  # of the rights that @BotFather may take from a bot
        self.clock = clock
        self.signal = Changes()
        self.updates = UpdateQueue(self.signal)
        self.files = Files()
        self.users: dict[int, User] = {}
        self.chats: dict[int, Chat] = {}
        self.presses: dict[str, Press] = {}
        self.inline: dict[str, InlineQuery] = {}
        self.inline_cache: dict[tuple[str, str, int], tuple[float, InlineAnswer]] = {}
        self.webhook = Webhook(self.updates, self.signal)
        self.menus = Menus()
        self.inline_feedback = False
        self.inline_seconds = 10.0
        self._numbers = itertools.count(1)
        self.bot = self.add_user("Bot", username=bot_username, is_bot=True)

    def now(self) -> int:
        """Unix time in whole seconds, as dates are given."""
        return int(self.clock())

    def number(self) -> int:
        """A number not used before."""
        return next(self._numbers)

    def add_user(self, name: str, **about: Any) -> User:
        about.setdefault("id", 5_000_000_000 + self.number())
        user = User(world=self, first_name=name, **about)
        self.users[user.id] = user
        return user

    def add_chat(self, **about: Any) -> Chat:
        chat = Chat(world=self, **about)
        self.chats[chat.id] = chat
        return chat

    def upgraded(self, chat: Chat) -> Chat:
        """The supergroup that a basic group becomes: same people, empty history."""
        number = -1_000_000_000_000 - self.number()
        twin = replace(
            chat, id=number, type="supergroup", members=dict(chat.members), history=[], actions=[]
        )
        self.chats[twin.id] = twin
        return twin

    def reachable(self, chat_id: int | str) -> Chat:
        """The chat the bot may write to; Refusal says why not."""
        chat = self.chats.get(chat_id) if isinstance(chat_id, int) else self._by_username(chat_id)
        if chat is None:
            raise bad_request("chat not found")
        if chat.upgraded_to:
            raise upgraded(chat.upgraded_to.id)
        if chat.bot_status == "kicked":
            raise _kicked(chat)
        if chat.bot_status == "left":
            raise forbidden(f"bot is not a member of the {chat.type} chat")
        return chat

    def _by_username(self, name: str) -> Chat | None:
        wanted = name.removeprefix("@").lower()
        return next((c for c in self.chats.values() if (c.username or "").lower() == wanted), None)

    # What happens in a chat

    def post(self, chat: Chat, **about: Any) -> Message:
        """Append a message; a supergroup or channel counts its own, all other chats together.

        Their first message was their creation: a topic never has the id 1, which is General's.
        """
        apart = chat.type in ("supergroup", "channel")
        number = len(chat.history) + 2 if apart else self.number()
        message = Message(id=number, chat=chat, date=self.now(), **about)
        chat.history.append(message)
        self.signal.notify()
        return message

    def write(
        self,
        chat: Chat,
        text: str,
        *,
        reply_to: Message | None = None,
        thread: Topic | None = None,
        **about: Any,
    ) -> Message:
        """Append what somebody wrote, in its thread."""
        thread_id = thread.id if thread else implied_thread(chat, reply_to)
        body = finished(clean(text))
        return self.post(chat, body=body, reply_to=reply_to, thread_id=thread_id, **about)

    def tell(self, message: Message, kind: str = "message") -> Message:
        """Make it an update, if the bot may see it."""
        self.signal.notify()
        if is_visible(message):
            update = self.publish(kind, message.payload(), message.chat, message)
            if kind != "edited_message":
                message.update = update
        return message

    def publish(
        self, kind: str, content: Any, chat: Chat | None = None, message: Message | None = None
    ) -> Update:
        update = Update(self.updates.next_id(), kind, content, chat, message)
        self.updates.add(update)
        return update

    def change_bot(self, chat: Chat, status: Status, by: User | None) -> None:
        """The bot's place in a chat changes; it is told whatever it had asked to see."""
        actor = by or self.users[next(iter(chat.members))]
        before, chat.members[self.bot.id] = chat.bot_status, status
        content = {
            "chat": chat.payload(),
            "from": actor.payload(),
            "date": self.now(),
            "old_chat_member": membership(self.bot.payload(), before),
            "new_chat_member": membership(self.bot.payload(), status),
        }
        self.publish("my_chat_member", content, chat)

    # Buttons and inline mode

    def press(self, user: User, message: Message, data: str) -> Press:
        press = Press(str(9_000_000 + self.number()), user, message, data)
        self.presses[press.id] = press
        press.update = self.publish("callback_query", press.payload(), message.chat, message)
        return press

    def ask_inline(self, user: User, text: str, offset: str, where: str) -> InlineQuery:
        query = InlineQuery(str(8_000_000 + self.number()), user, text, offset, where, self.clock())
        self.inline[query.id] = query
        for owner in (user.id, 0):
            until, answer = self.inline_cache.get((text, offset, owner), (0.0, None))
            if answer and until > self.clock():
                query.answers.append(answer)
                return query
        query.update = self.publish("inline_query", query.payload())
        return query

    def choose(self, user: User, query: InlineQuery, position: int, chat: Chat) -> Message:
        """Send an inline result; with buttons it gets an id by which the bot can edit it."""
        result = query.answers[0].results[position]
        about = {"via_bot": self.bot, "body": result.body, "keyboard": result.keyboard}
        message = self.post(chat, sender=user, **about)
        message.inline_message_id = f"AAAA{self.number():08d}" if result.keyboard else None
        if self.inline_feedback:
            chosen = {"result_id": result.id, "from": user.payload(), "query": query.query}
            if message.inline_message_id:
                chosen["inline_message_id"] = message.inline_message_id
            self.publish("chosen_inline_result", chosen)
        return self.tell(message)

    def by_inline_id(self, inline_message_id: str) -> Message:
        """The message that an inline result became."""
        for chat in self.chats.values():
            for message in chat.messages:
                if message.inline_message_id == inline_message_id:
                    return message
        raise bad_request("MESSAGE_ID_INVALID")

    # Which answer belongs to which update

    def attribute(self, message: Message) -> None:
        """Note a bot's message under the update it answers.

        That is the message it replies to. Without a reply it is, in a private chat, the oldest
        message that was handed out and has no answer yet, else the latest event of the chat.
        """
        if message.reply_to and message.reply_to.update:
            message.reply_to.update.answers.append(message)
            return
        kinds = ("message", "callback_query", "channel_post")
        events = [
            one
            for one in self.updates.all.values()
            if one.chat is message.chat and one.deliveries and one.kind in kinds
        ]
        waiting = [event for event in events if event.kind == "message" and not event.answers]
        first = waiting if message.chat.type == "private" else []
        for update in [*first, *reversed(events)][:1]:
            update.answers.append(message)


def implied_thread(chat: Chat, reply_to: Message | None) -> int | None:
    """A reply stays in its thread; in a supergroup without topics replies form threads too."""
    if reply_to is None or chat.type != "supergroup":
        return None
    return reply_to.thread_id or (None if chat.forum else reply_to.id)


def _kicked(chat: Chat) -> Refusal:
    if chat.type == "private":
        return forbidden("bot was blocked by the user")
    return forbidden(f"bot was kicked from the {chat.type} chat")
