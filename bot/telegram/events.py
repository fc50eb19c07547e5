"""Translates Telegram's updates into requests."""

import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from telegram import (
    CallbackQuery,
    Chat,
    ChatFullInfo,
    ChatMember,
    ChatMemberRestricted,
    ChatMemberUpdated,
    InlineQuery,
    Message,
    MessageEntity,
    MessageOriginUser,
    Update,
    User,
)
from telegram.constants import ChatType

from bot.adapter import DeliveryError
from bot.request import (
    Inquiries,
    Person,
    Place,
    RepliedMessage,
    Request,
    Revision,
    SentFile,
    Trigger,
    message_event,
    split_around,
)
from bot.telegram.client import MAX_DOWNLOADED

PLATFORM = "telegram"
FROM_INLINE = "inline"  # what /start says for somebody who was sent here from another chat
_LACKS_SCHEME = re.compile(r"(?!\w{1,20}://)[^\s/.]{1,63}(?:\.[^\s/.]{1,63}){1,9}/\S+")


@dataclass(frozen=True, slots=True, kw_only=True)
class TelegramIdentity:
    """What the bot knows about itself, and how it checks who is an admin."""

    id: int
    username: str
    hears_all: bool  # no privacy mode, in which only admins see every message of a group
    commands: frozenset[str]  # the names it answers to
    is_admin: Callable[[int, int], Awaitable[bool]]  # (chat id, user id)
    channel: Callable[[str, int], Awaitable[Place]]  # (name, user id)
    download: Callable[[str, Path], Awaitable[None]]  # (file id, where to)


def _place_of(message: Message) -> Place:
    """Return the chat or topic that a message was written in."""
    # The thread of a reply chain is not a topic, and the General topic must not be named.
    topic = message.message_thread_id if message.is_topic_message else None
    return replace(read_place(message.chat), thread=str(topic) if topic else None)


def read_place(chat: Chat | ChatFullInfo) -> Place:
    """Return a chat as a place."""
    return Place(
        platform=PLATFORM,
        chat_id=str(chat.id),
        private=chat.type == ChatType.PRIVATE,
        title=chat.title,
        broadcast=chat.type == ChatType.CHANNEL,
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
        # The owner lets people in by either.
        name=f"{user.full_name} @{user.username}" if user.username else user.full_name,
        language=language,
        bot=user.is_bot,
        myself=user.id == myself.id,
    )


def _inquire_about(
    chat_id: int, user: User | None, myself: TelegramIdentity, *, admin: bool = False
) -> Inquiries:
    """Return what can be asked about somebody in a chat, who is known to be an `admin` or not."""

    async def is_admin() -> bool:
        return admin or (user is not None and await myself.is_admin(chat_id, user.id))

    async def find_channel(name: str) -> Place | None:
        return await myself.channel(name, user.id) if user else None

    async def hears_all() -> bool:
        with suppress(DeliveryError):
            return myself.hears_all or await myself.is_admin(chat_id, myself.id)
        return False

    return Inquiries(is_admin=is_admin, find_channel=find_channel, hears_all=hears_all)


def is_there(member: ChatMember) -> bool:
    """Return whether somebody is in a chat."""
    if isinstance(member, ChatMemberRestricted):
        return member.is_member
    return member.status not in {ChatMember.LEFT, ChatMember.BANNED}


def read_update(update: Update, myself: TelegramIdentity, *, now: datetime) -> Request | None:
    """Return the request in an update, or None if there is nothing to answer."""
    if update.callback_query:
        return _read_press(update.callback_query, myself, now)
    if update.inline_query:
        return _read_inline(update.inline_query, now)
    if message := update.message or update.channel_post:
        return _read_spoken(update, message, myself, now)
    if update.my_chat_member:
        return _read_joining(update, update.my_chat_member, myself, now)
    if update.edited_message:
        return _read_edit(update, update.edited_message, myself, now)
    return None


def _read_edit(
    update: Update, message: Message, myself: TelegramIdentity, now: datetime
) -> Request | None:
    """Return the request in a message as it was edited; it revises the one in the message."""
    request = _read_spoken(update, message, myself, now)
    if request is None:
        return None
    return replace(
        request, event_id=f"{request.event_id}:edited", revision=Revision(event_id=request.event_id)
    )


def _read_spoken(
    update: Update, message: Message, myself: TelegramIdentity, now: datetime
) -> Request | None:
    text = _read_text(message)
    unreadable = not text and _is_shown_to_me(message, myself)
    if message.via_bot or not (text or unreadable):
        return None
    place = _place_of(message)
    trigger, words, source = _read_addressing(message, text, place, myself)
    forwarded = message.forward_origin
    if isinstance(forwarded, MessageOriginUser) and forwarded.sender_user.id == myself.id:
        words = ""  # the texts that an answer of the bot quotes would be found
    if trigger is None:
        return None
    # Anonymous admins speak as the group itself.
    as_group = message.sender_chat is not None and message.sender_chat.id == message.chat_id
    return Request(
        event_id=message_event(place.chat_id, message.message_id),
        place=place,
        person=sender_of(message.from_user, myself, speaks_as=message.sender_chat),
        trigger=trigger,
        text=words,
        now=now,
        written_at=_written_at(source, message),
        around_name=split_around(text, _find_own_name(myself))
        if trigger is Trigger.ADDRESSED
        else None,
        unreadable=unreadable,
        attachment=_read_attachment(message, myself) if place.private else None,
        quoted=_read_quoted(message, myself),
        inquiries=_inquire_about(message.chat_id, message.from_user, myself, admin=as_group),
        origin=update,
    )


def _read_attachment(message: Message, myself: TelegramIdentity) -> SentFile | None:
    """Return the file of a message, or None."""
    document = message.document
    if document is None or not document.file_name:
        return None
    return SentFile(
        name=document.file_name,
        size=document.file_size or 0,
        fetch=partial(myself.download, document.file_id),
        largest=MAX_DOWNLOADED,
    )


def _is_shown_to_me(message: Message, myself: TelegramIdentity) -> bool:
    """Return whether a message without words is meant to be read: in private, or in reply to the
    bot. Only one of the pictures of an album has the caption, and stickers are laughter."""
    attachment = message.effective_attachment
    if not attachment or message.media_group_id:
        return False
    if message.chat.type == ChatType.PRIVATE:
        return True
    answered = message.reply_to_message
    laughter = message.sticker or message.animation or message.dice
    return bool(answered and _is_mine(answered, myself) and not laughter)


def _read_text(message: Message) -> str:
    """Return the text of a message, its caption or the question of its poll.

    Each address behind a label stands after the label; one that lacks its scheme gets one, unless
    it is a mere name such as "Amazon.com".
    """
    text = message.text or message.caption or ""
    if not text and message.poll:
        text = message.poll.question
    units = text.encode("utf-16-le")
    for entity in reversed(message.entities or message.caption_entities or ()):
        start, end = 2 * entity.offset, 2 * (entity.offset + entity.length)
        if entity.type == MessageEntity.TEXT_LINK and entity.url and entity.url not in text:
            units = units[:end] + f" {entity.url} ".encode("utf-16-le") + units[end:]
        linked = units[start:end].decode("utf-16-le", "replace")
        if entity.type == MessageEntity.URL and _LACKS_SCHEME.fullmatch(linked):
            units = units[:start] + "https://".encode("utf-16-le") + units[start:]
    return units.decode("utf-16-le", "replace").strip()


def _read_quoted(message: Message, myself: TelegramIdentity) -> RepliedMessage:
    """Return the message that this one replies to; it says what was quoted of it, if any was."""
    quoted = message.reply_to_message
    if quoted is None:
        return RepliedMessage(text=_read_replied(message), written_at=_replied_at(message))
    mine = _is_mine(quoted, myself)
    return RepliedMessage(
        text=_read_replied(message),
        message=str(quoted.message_id),
        written_at=_written_at(quoted, message),
        mine=mine,
        buttons=_list_actions(quoted) if mine else (),
    )


def _read_replied(message: Message) -> str:
    """Return what a message replies to: the part that is quoted, or the whole of it.

    Of a message in another chat, only what is quoted is known, or the question of its poll.
    """
    if message.quote:
        return message.quote.text.strip()
    if message.reply_to_message:
        return _read_text(message.reply_to_message)
    elsewhere = message.external_reply
    return elsewhere.poll.question if elsewhere and elsewhere.poll else ""


def _replied_at(message: Message) -> datetime | None:
    """Return when a message in another chat was written, to which this one replies."""
    return message.external_reply.origin.date if message.external_reply else None


def _read_joining(
    update: Update, change: ChatMemberUpdated, myself: TelegramIdentity, now: datetime
) -> Request | None:
    """Return a /start of the person who added the bot to a group or a channel, or None for other
    changes."""
    if change.chat.type == ChatType.PRIVATE:
        return None
    if is_there(change.old_chat_member) or not is_there(change.new_chat_member):
        return None
    return Request(
        event_id=f"joined:{change.chat.id}:{update.update_id}",
        place=read_place(change.chat),
        person=sender_of(change.from_user, myself),
        trigger=Trigger.COMMAND,
        text="/start",
        now=now,
        inquiries=_inquire_about(change.chat.id, change.from_user, myself),
        origin=update,
    )


def _written_at(source: Message, message: Message) -> datetime | None:
    """Return when the forwarded or answered text was written; None means just now."""
    if source.forward_origin:
        return source.forward_origin.date
    if source is message and not message.reply_to_message and not _has_words_of_its_own(message):
        return _replied_at(message)
    return None if source is message else source.date


def _has_words_of_its_own(message: Message) -> bool:
    """Return whether there is more than mentions in a message."""
    mentions = sum(
        entity.length for entity in message.entities or () if entity.type == MessageEntity.MENTION
    )
    return len((message.text or message.caption or "").replace(" ", "")) > mentions


def _read_addressing(
    message: Message, text: str, place: Place, myself: TelegramIdentity
) -> tuple[Trigger | None, str, Message]:
    """Return how the bot is addressed, the text without its name, and the message it is from.

    A command for another bot is ignored, and so is an unknown one in a group, where it may be
    meant for another bot.
    """
    if command := _find_command(message):
        name, _, whom = command[1:].lower().partition("@")
        if whom and whom != myself.username.lower():
            return None, "", message
        if not (whom or place.private or name in myself.commands):
            return None, "", message
        rest = text[len(command) :].strip()
        argument = "" if rest == FROM_INLINE else rest
        return Trigger.COMMAND, f"/{name} {argument}".strip(), message
    bare = _find_own_name(myself).sub(" ", text).strip()
    named, answered = bare != text.strip(), message.reply_to_message
    if named and not bare and (replied := _read_replied(message)):
        # A bare mention in reply to a headline asks about that headline.
        return Trigger.ADDRESSED, replied, answered or message
    if place.private or named:
        return Trigger.ADDRESSED, bare, message
    to_me = answered and _is_mine(answered, myself)
    return Trigger.REPLY if to_me else Trigger.OVERHEARD, text, message


def _find_own_name(myself: TelegramIdentity) -> re.Pattern[str]:
    return re.compile(rf"@{re.escape(myself.username)}\b", re.IGNORECASE)


def _is_mine(message: Message, myself: TelegramIdentity) -> bool:
    return bool(message.from_user and message.from_user.id == myself.id)


def _list_actions(message: Message) -> list[str]:
    rows = message.reply_markup.inline_keyboard if message.reply_markup else ()
    return [
        button.callback_data
        for row in rows
        for button in row
        if isinstance(button.callback_data, str)
    ]


def _find_command(message: Message) -> str | None:
    """Return the command a message begins with, "/why" or "/why@ThisBot"."""
    text = message.text or message.caption or ""
    for entity in message.entities or message.caption_entities or ():
        if entity.type == MessageEntity.BOT_COMMAND and entity.offset == 0:
            return text[: entity.length]  # ASCII, so UTF-16 units equal characters
    return None


def _read_press(query: CallbackQuery, myself: TelegramIdentity, now: datetime) -> Request | None:
    message = query.message
    if message is None or not query.data:
        return None
    return Request(
        event_id=f"callback:{query.id}",
        place=_place_of(message) if isinstance(message, Message) else read_place(message.chat),
        person=sender_of(query.from_user, myself),
        trigger=Trigger.BUTTON,
        text=query.data,
        now=now,
        inquiries=_inquire_about(message.chat.id, query.from_user, myself),
        origin=query,
    )


def _read_inline(query: InlineQuery, now: datetime) -> Request:
    """Return an inline question; its place is the person, who alone sees the results."""
    return Request(
        event_id=f"inline:{query.id}",
        place=Place(
            platform=PLATFORM, chat_id=f"inline:{query.from_user.id}", private=True, kept=False
        ),
        person=Person(id=str(query.from_user.id), language=query.from_user.language_code or "en"),
        trigger=Trigger.ADDRESSED,
        text=query.query,
        now=now,
        origin=query,
    )
