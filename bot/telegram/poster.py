"""Posting to Telegram unasked; implements bot.face.Poster.

Telegram cannot be asked what was shown in a chat: see docs/decisions/0011-posting.md.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

import httpx
from telegram import LinkPreviewOptions, Message
from telegram.constants import ParseMode
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
)

from bot.cut import cut, utf16_length
from bot.face import ChatGone, DeliveryError, Refused, SlowDown, Unsure
from bot.reply import Reply
from bot.telegram.client import Bot
from bot.telegram.events import PLATFORM
from bot.telegram.render import LONGEST_CAPTION, escaped, keyboard, messages
from db.chats import Chats
from engine.chat import Chat

_NEVER_SENT = httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout


class TelegramPoster:
    """One bot account. What Telegram asks to do later is left to the outbox."""

    platform = PLATFORM

    def __init__(self, token: str, *, api_base: str, chats: Chats) -> None:
        self._bot = Bot(token, api_base=api_base, hold=0, limited=False)
        self._chats = chats

    async def post(self, chat: Chat, thread: str | None, reply: Reply, *, key: str) -> str:  # noqa: ARG002 - Telegram keeps no key
        """Show the reply and return its message id. Raises what bot.face.Poster says."""
        topic = int(thread) if thread else None
        async with _mapped():
            try:
                message = await self._show(int(chat.external_id), topic, reply)
            except ChatMigrated as moved:
                await self._chats.move(PLATFORM, chat.external_id, str(moved.new_chat_id))
                message = await self._show(moved.new_chat_id, None, reply)
        return str(message.message_id)

    async def find_posted(
        self,
        chat: Chat,  # noqa: ARG002 - as the protocol has it
        thread: str | None,  # noqa: ARG002
        key: str,  # noqa: ARG002
        since: datetime,  # noqa: ARG002
    ) -> str | None:
        """Return None: bots cannot read what was shown."""
        return None

    async def close(self) -> None:
        """Close the connections."""
        await self._bot.request.shutdown()

    async def _show(self, chat_id: int, topic: int | None, reply: Reply) -> Message:
        try:
            return await self._send(chat_id, topic, reply)
        except BadRequest as error:
            if topic is None or "thread not found" not in error.message:
                raise
            return await self._send(chat_id, None, reply)  # the topic is gone

    async def _send(self, chat_id: int, topic: int | None, reply: Reply) -> Message:
        buttons = keyboard(reply.buttons)
        if reply.picture:
            return await self._bot.send_photo(
                chat_id,
                reply.picture,
                caption=escaped(cut(reply.text or "", LONGEST_CAPTION, utf16_length)),
                parse_mode=ParseMode.HTML,
                reply_markup=buttons,
                message_thread_id=topic,
            )
        return await self._bot.send_message(
            chat_id,
            messages(reply)[0],
            parse_mode=ParseMode.HTML,
            link_preview_options=LinkPreviewOptions(is_disabled=True),
            reply_markup=buttons,
            message_thread_id=topic,
        )


@asynccontextmanager
async def _mapped() -> AsyncIterator[None]:
    """Map the library's errors to what they mean for the message."""
    try:
        yield
    except RetryAfter as error:
        wait = error.retry_after
        raise SlowDown(wait.total_seconds() if isinstance(wait, timedelta) else wait) from error
    except Forbidden as error:
        raise ChatGone(f"Telegram refuses: {error.message}.") from error
    except InvalidToken as error:
        # Not its message, which holds the token; and the next token may be right.
        raise DeliveryError("Telegram refuses the token.") from error
    except BadRequest as error:
        if "chat not found" in error.message.lower():
            raise ChatGone(f"Telegram refuses: {error.message}.") from error
        raise Refused(f"Telegram refuses the message: {error.message}.") from error
    except NetworkError as error:
        if isinstance(error.__cause__, _NEVER_SENT):
            raise DeliveryError(f"Telegram cannot be reached: {error.message}.") from error
        raise Unsure(f"Telegram did not say whether it arrived: {error.message}.") from error
    except TelegramError as error:
        raise Unsure(f"Telegram did not say whether it arrived: {error.message}.") from error
