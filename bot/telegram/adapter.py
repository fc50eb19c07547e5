"""Sends answers and scheduled posts to Telegram; implements Adapter and Poster of bot.adapter."""

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial

from telegram import (
    CallbackQuery,
    InlineQuery,
    InlineQueryResultArticle,
    InlineQueryResultsButton,
    InputTextMessageContent,
    LinkPreviewOptions,
    Message,
    ReactionTypeEmoji,
    ReplyParameters,
    Update,
)
from telegram.constants import ChatAction, ParseMode
from telegram.error import BadRequest, TelegramError

from bot.adapter import DeliveryError, DeliveryRefused
from bot.pace import EvenPace
from bot.replies.limits import cut, utf16_length
from bot.reply import Reply
from bot.request import Request
from bot.telegram.client import (
    Bot,
    GroupMigrated,
    MessageUnchanged,
    describe_telegram_error,
    has_words,
    map_telegram_errors,
)
from bot.telegram.events import FROM_INLINE, PLATFORM
from bot.telegram.render import LONGEST_TOAST, render_caption, render_keyboard, render_messages
from db.chat.chats import Chats
from engine.chat import Chat

# Telegram accepts thirty a second from one bot; the rest is for answers to people who wait.
_MESSAGES_PER_SECOND = 25.0

logger = logging.getLogger("presagio.telegram")

_INLINE_CACHE_SECONDS = 60
_MAX_BUTTON_LABEL = 64
_NO_PREVIEW = LinkPreviewOptions(is_disabled=True)


class TelegramPoster:
    """One bot account. It keeps within Telegram's limits; where Telegram asks to wait nevertheless,
    the outbox sends again later.

    Bots cannot ask Telegram what was shown in a chat: see docs/decisions/0011-posting.md.
    """

    platform = PLATFORM

    def __init__(self, token: str, *, api_base: str, chats: Chats) -> None:
        self._bot = Bot(token, api_base=api_base, hold=0, limited=False)
        self._chats = chats
        self._pace = EvenPace(_MESSAGES_PER_SECOND)

    async def post(self, chat: Chat, thread: str | None, reply: Reply, *, key: str) -> str:  # noqa: ARG002 - Telegram keeps no key
        """Show the reply and return its message id. Raises as documented in Poster."""
        await asyncio.sleep(self._pace.reserve(time.monotonic()))
        topic = int(thread) if thread else None
        # In one message: a post whose beginning is there already could not be sent again.
        pieces = render_messages(reply)[:1]
        ids = await _send_reply(
            self._bot, self._chats, chat.external_id, reply, pieces=pieces, thread=topic
        )
        return _join_ids(ids)

    async def find_posted(
        self,
        chat: Chat,  # noqa: ARG002 - as the protocol has it
        thread: str | None,  # noqa: ARG002 - as above
        key: str,  # noqa: ARG002 - as above
        since: datetime,  # noqa: ARG002 - as above
    ) -> str | None:
        """Return None: bots cannot read what was shown."""
        return None

    async def close(self) -> None:
        """Close the connections."""
        await self._bot.request.shutdown()


async def _send_reply(
    bot: Bot,
    chats: Chats,
    chat_id: str,
    reply: Reply,
    *,
    pieces: Sequence[str],
    thread: int | None,
    answered: ReplyParameters | None = None,
) -> tuple[int, ...]:
    """Send a reply, whose text is in `pieces`: to the new id of a group that has moved, and to the
    chat of a topic that is gone or closed. Return the ids of its messages."""
    send = partial(_send_messages, bot, reply=reply, pieces=pieces, answered=answered)

    async def send_to(chat: int) -> tuple[int, ...]:
        async with map_telegram_errors():
            try:
                return await send(chat, thread=thread)
            except BadRequest as error:
                without_topic = ("thread not found", "topic_closed")
                if thread is None or not any(has_words(error, words) for words in without_topic):
                    raise
                return await send(chat, thread=None)

    try:
        return await send_to(int(chat_id))
    except GroupMigrated as moved:
        await chats.move(PLATFORM, chat_id, str(moved.to))
        return await send_to(moved.to)


async def _send_messages(
    bot: Bot,
    chat_id: int,
    reply: Reply,
    pieces: Sequence[str],
    *,
    thread: int | None,
    answered: ReplyParameters | None = None,
) -> tuple[int, ...]:
    """Send the picture of a reply, or the pieces of its text, of which the last has the buttons."""
    buttons = render_keyboard(reply.buttons)
    if reply.picture:
        photo = await bot.send_photo(
            chat_id,
            reply.picture,
            caption=render_caption(reply),
            filename=reply.picture_name,
            parse_mode=ParseMode.HTML,
            reply_markup=buttons,
            reply_parameters=answered,
            message_thread_id=thread,
            disable_notification=reply.silent,
        )
        return (photo.message_id,)
    sent = [
        await bot.send_message(
            chat_id,
            piece,
            parse_mode=ParseMode.HTML,
            link_preview_options=_NO_PREVIEW,
            reply_markup=buttons if number == len(pieces) else None,
            reply_parameters=answered,
            message_thread_id=thread,
            disable_notification=reply.silent,
        )
        for number, piece in enumerate(pieces, start=1)
    ]
    return tuple(message.message_id for message in sent)


def _join_ids(ids: Iterable[int]) -> str:
    """Return the ids of messages as Adapter.deliver names them."""
    return " ".join(map(str, ids))


def _split_ids(message: str) -> list[int]:
    """Return the ids that `_join_ids` joined."""
    return list(map(int, message.split()))


class TelegramAdapter:
    """Shows replies in chats, on buttons and in inline mode."""

    platform = PLATFORM

    def __init__(self, bot: Bot, chats: Chats) -> None:
        self._bot = bot
        self._chats = chats
        self._typing_tasks: set[asyncio.Task[None]] = set()

    async def show_busy(self, request: Request) -> None:
        """Show "typing", without waiting for it."""
        if isinstance(request.origin, Update):
            typing = asyncio.create_task(self._show_typing(request))
            self._typing_tasks.add(typing)
            typing.add_done_callback(self._typing_tasks.discard)

    async def show_step(self, request: Request, text: str, shown: str | None) -> str | None:
        """Send or edit the message of a slow answer's step."""
        reply = Reply(words=request.words, text=text)
        try:
            if shown is None:
                return await self._send(request, reply)
            if shown:
                await self._change_message(request, _split_ids(shown)[0], reply)
        except DeliveryError as error:
            logger.debug("no step was shown: %s", error)
        return shown

    async def deliver(self, request: Request, reply: Reply) -> str | None:
        """Show a reply. Raises DeliveryError, ChatGone."""
        origin = request.origin
        if reply.reaction:
            await self._react(request, reply.reaction)
        elif isinstance(origin, InlineQuery):
            async with map_telegram_errors():
                await self._answer_inline_query(origin, reply)
        elif isinstance(origin, CallbackQuery):
            return await self._answer_callback_query(request, origin, reply)
        else:
            return await self._send(request, reply)
        return None

    async def change(self, request: Request, message: str, reply: Reply) -> str:
        """Edit a message; what does not fit into it is sent after it, and what the answer took
        before beside it is deleted."""
        first, *beyond = _split_ids(message)
        others = render_messages(reply)[1:]
        await self._change_message(request, first, reply, alone=not others)
        if beyond:  # before the new ones come, so that nobody reads old and new parts together
            await self.delete(request, _join_ids(beyond))
        chat_id, thread = int(request.place.chat_id), _find_thread(request)
        async with map_telegram_errors():
            sent = await _send_messages(self._bot, chat_id, reply, others, thread=thread)
        return _join_ids((first, *sent))

    async def delete(self, request: Request, message: str) -> None:
        """Delete the messages of an answer."""
        async with map_telegram_errors():
            for number in _split_ids(message):
                await self._bot.delete_message(int(request.place.chat_id), number)

    async def _show_typing(self, request: Request) -> None:
        try:
            await self._bot.send_chat_action(
                int(request.place.chat_id),
                ChatAction.TYPING,
                message_thread_id=_find_thread(request),
            )
        except TelegramError as error:
            logger.debug("no sign of life: %s", describe_telegram_error(error))

    async def _react(self, request: Request, smiley: str) -> None:
        """React to the message of a request; some groups allow no reactions."""
        message = request.origin.effective_message if isinstance(request.origin, Update) else None
        if message is None:
            return
        try:
            async with map_telegram_errors():
                await self._bot.set_message_reaction(
                    message.chat_id, message.message_id, ReactionTypeEmoji(smiley)
                )
        except DeliveryRefused as error:
            logger.debug("no reaction was shown: %s", error)

    async def _answer_callback_query(
        self, request: Request, query: CallbackQuery, reply: Reply
    ) -> str | None:
        """Stop the button's spinner, then edit its message or send what was asked for.

        Return the id of what then says it.
        """
        try:
            toast = cut(reply.toast, LONGEST_TOAST) if reply.toast else None
            await self._bot.answer_callback_query(query.id, text=toast)
        except TelegramError as error:
            logger.info("a button was answered too late: %s", describe_telegram_error(error))
        if reply.replaces and query.message:
            await self._change_message(request, query.message.message_id, reply)
            return str(query.message.message_id)
        if reply.text or reply.hits or reply.items or reply.picture:
            return await self._send(request, reply)
        return None

    async def _change_message(
        self, request: Request, message_id: int, reply: Reply, *, alone: bool = True
    ) -> None:
        """Show the first part of a reply in place of a text, or only its buttons if it has no text.

        The buttons stand below the last part, so here only if it is `alone`. No picture is put in
        place of a text, nor a text in place of a picture: callers send these anew.
        """
        chat_id = int(request.place.chat_id)
        buttons = render_keyboard(reply.buttons) if alone else None
        try:
            async with map_telegram_errors():
                if reply.text or reply.hits or reply.items:
                    await self._bot.edit_message_text(
                        render_messages(reply)[0],
                        chat_id,
                        message_id,
                        parse_mode=ParseMode.HTML,
                        link_preview_options=_NO_PREVIEW,
                        reply_markup=buttons,
                    )
                else:
                    await self._bot.edit_message_reply_markup(
                        chat_id, message_id, reply_markup=buttons
                    )
        except MessageUnchanged:
            pass  # the same vote as before
        except GroupMigrated as moved:
            await self._chats.move(PLATFORM, request.place.chat_id, str(moved.to))
            # Messages of before the move cannot be edited: a refused one is sent anew.
            raise DeliveryRefused(moved.message) from moved

    async def _send(self, request: Request, reply: Reply) -> str | None:
        """Send a reply. Return the ids of its messages, or None if there are none."""
        sent = await _send_reply(
            self._bot,
            self._chats,
            request.place.chat_id,
            reply,
            pieces=render_messages(reply),
            thread=_find_thread(request),
            answered=_find_reply_target(request),
        )
        return _join_ids(sent) or None

    async def _answer_inline_query(self, query: InlineQuery, reply: Reply) -> None:
        results = [
            InlineQueryResultArticle(
                id=str(hit.rank),
                title=" · ".join(filter(None, (hit.age, hit.date_text))) or f"{hit.rank}.",
                description=cut(hit.text, 200),
                input_message_content=InputTextMessageContent(
                    render_messages(Reply(words=reply.words, headline=reply.headline, hits=(hit,)))[
                        0
                    ],
                    parse_mode=ParseMode.HTML,
                ),
            )
            for hit in reply.hits
        ]
        await self._bot.answer_inline_query(
            query.id,
            results,
            button=_render_inline_button(reply),
            cache_time=_INLINE_CACHE_SECONDS if results else 0,
            is_personal=True,
        )


def _render_inline_button(reply: Reply) -> InlineQueryResultsButton | None:
    """Return a button to the private chat for somebody who is told something beside results."""
    if not (reply.ephemeral and reply.text):
        return None
    label = cut(reply.text, _MAX_BUTTON_LABEL, utf16_length)
    return InlineQueryResultsButton(text=label, start_parameter=FROM_INLINE)


def _find_thread(request: Request) -> int | None:
    return int(request.place.thread) if request.place.thread else None


def _find_reply_target(request: Request) -> ReplyParameters | None:
    """Return the message to reply to: in private only where it is not the one just above."""
    origin = request.origin
    message = origin.message if isinstance(origin, Update | CallbackQuery) else None
    stands_above = request.place.private and not request.one_of_several
    if stands_above or not isinstance(message, Message):
        return None
    return ReplyParameters(message.message_id, allow_sending_without_reply=True)
