"""Who speaks, where, and who the bot is, on Telegram."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from telegram import Chat, ChatMember, ChatMemberRestricted, Message, User
from telegram.constants import ChatType

from bot.face.request import Person, Place

PLATFORM = "telegram"
AdminCheck = Callable[[int, int], Awaitable[bool]]
ChannelSearch = Callable[[str, int], Awaitable[Place]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TelegramIdentity:
    """What the bot knows about itself, and how it checks who is an admin."""

    id: int
    username: str
    hears_all: bool  # no privacy mode, in which only admins see every message of a group
    commands: frozenset[str]  # the names it answers to
    is_admin: AdminCheck  # (chat id, user id)
    channel: ChannelSearch  # (name, user id)


def place_of(message: Message, myself: TelegramIdentity) -> Place:
    """Return the chat or topic that a message was written in."""
    # The thread of a reply chain is not a topic, and the General topic must not be named.
    topic = message.message_thread_id if message.is_topic_message else None
    return Place(
        platform=PLATFORM,
        chat_id=str(message.chat_id),
        private=message.chat.type == ChatType.PRIVATE,
        thread=str(topic) if topic else None,
        title=message.chat.title,
        hears_all=myself.hears_all,
    )


def sender_of(
    user: User | None, myself: TelegramIdentity, *, speaks_as: Chat | None = None
) -> Person:
    """Return who speaks. If somebody speaks in the name of a chat, it has that chat's id.

    It is then not taken for a bot, although Telegram names one of its own bots as the author.
    """
    language = (user.language_code if user else None) or "en"
    if speaks_as:
        return Person(id=str(speaks_as.id), language=language, as_chat=True)
    if user is None:
        return Person(id="nobody", language=language)
    return Person(
        id=str(user.id),
        name=user.name,
        language=language,
        bot=user.is_bot,
        myself=user.id == myself.id,
    )


def channel_search(
    user: User | None, myself: TelegramIdentity
) -> Callable[[str], Awaitable[Place | None]]:
    """Return what finds the channels in which somebody may post."""

    async def find(name: str) -> Place | None:
        return await myself.channel(name, user.id) if user else None

    return find


def admin_check(
    chat_id: int, user: User | None, myself: TelegramIdentity, *, certain: bool = False
) -> Callable[[], Awaitable[bool]]:
    """Return what asks Telegram whether somebody is an admin of a chat, unless it is certain."""

    async def check() -> bool:
        return certain or (user is not None and await myself.is_admin(chat_id, user.id))

    return check


def is_there(member: ChatMember) -> bool:
    """Return whether somebody is in a chat."""
    if isinstance(member, ChatMemberRestricted):
        return member.is_member
    return member.status not in {ChatMember.LEFT, ChatMember.BANNED}
