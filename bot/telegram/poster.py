"""Posting to Telegram without a request; implements bot.adapter.Poster.

Bots cannot ask Telegram what was shown in a chat: see docs/decisions/0011-posting.md.
"""

import asyncio
import time
from datetime import datetime

from telegram import LinkPreviewOptions, Message
from telegram.constants import ParseMode
from telegram.error import BadRequest

from bot.listening import EvenPace
from bot.reply import Reply
from bot.telegram.client import Bot, Moved, mapped_telegram_errors, says
from bot.telegram.events import PLATFORM
from bot.telegram.render import caption, html_messages, keyboard
from db.chat.chats import Chats
from engine.chat import Chat

# Telegram accepts thirty a second from one bot; the rest is for answers to people who wait.
_A_SECOND = 25.0


class TelegramPoster:
    """One bot account. When Telegram asks to wait all the same, the outbox sends again later."""

    platform = PLATFORM

    def __init__(self, token: str, *, api_base: str, chats: Chats) -> None:
        self._bot = Bot(token, api_base=api_base, hold=0, limited=False)
        self._chats = chats
        self._pace = EvenPace(_A_SECOND)

    async def post(self, chat: Chat, thread: str | None, reply: Reply, *, key: str) -> str:  # noqa: ARG002 - Telegram keeps no key
        """Show the reply and return its message id. Raises as documented in Poster."""
        topic = int(thread) if thread else None
        try:
            message = await self._show(int(chat.external_id), topic, reply)
        except Moved as moved:
            await self._chats.move(PLATFORM, chat.external_id, str(moved.to))
            message = await self._show(moved.to, None, reply)
        return str(message.message_id)

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

    async def _show(self, chat_id: int, topic: int | None, reply: Reply) -> Message:
        await asyncio.sleep(self._pace.reserve(time.monotonic()))
        async with mapped_telegram_errors():
            try:
                return await self._send(chat_id, topic, reply)
            except BadRequest as error:
                if topic is None or not says(error, "thread not found"):
                    raise
                return await self._send(chat_id, None, reply)  # the topic is gone

    async def _send(self, chat_id: int, topic: int | None, reply: Reply) -> Message:
        buttons = keyboard(reply.buttons)
        if reply.picture:
            return await self._bot.send_photo(
                chat_id,
                reply.picture,
                caption=caption(reply),
                filename=reply.picture_name,
                parse_mode=ParseMode.HTML,
                reply_markup=buttons,
                message_thread_id=topic,
                disable_notification=reply.silent,
            )
        return await self._bot.send_message(
            chat_id,
            html_messages(reply)[0],
            parse_mode=ParseMode.HTML,
            link_preview_options=LinkPreviewOptions(is_disabled=True),
            reply_markup=buttons,
            message_thread_id=topic,
            disable_notification=reply.silent,
        )
