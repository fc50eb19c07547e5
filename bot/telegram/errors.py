"""Maps Telegram's refusals to errors of the project.

Telegram's descriptions may quote markup or text of the message: only known ones are reported, in
the words of the table below.
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import httpx
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Forbidden,
    InvalidToken,
    RetryAfter,
    TelegramError,
)

from bot.face.face import ChatGone, DeliveryError, Refused, SlowDown, Unsure
from engine.messages import Message

_NEVER_SENT = httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout

_KNOWN = (
    "bot can't initiate conversation",
    "bot is not a member",
    "bot was blocked by the user",
    "bot was kicked",
    "can't parse entities",
    "chat not found",
    "file is too big",
    "have no rights to send",
    "message caption is too long",
    "message can't be edited",
    "message is not modified",
    "message is too long",
    "message text is empty",
    "message thread not found",
    "message to be replied not found",
    "message to edit not found",
    "need administrator rights",
    "not enough rights",
    "query is too old",
    "terminated by other getupdates request",
    "user is deactivated",
    "wrong type of the web page content",
)
_CODE = re.compile(r"[a-z]+(_[a-z]+)+")  # "PEER_ID_INVALID", which the library lower-cases


class Moved(DeliveryError):
    """The group became a supergroup with another id."""

    def __init__(self, to: int) -> None:
        super().__init__("The group has moved.")
        self.to = to


class MessageUnchanged(DeliveryError):
    """The message says this already."""


@asynccontextmanager
async def mapped_telegram_errors() -> AsyncIterator[None]:
    """Map the library's errors to what they mean for the message.

    Raises ChatGone, Moved, Unchanged, SlowDown, Refused, Unsure, and a plain DeliveryError where
    the message was not shown and may be tried again.
    """
    try:
        yield
    except InvalidToken:
        # Not "from error": its message contains the token. And the next token may be valid.
        raise DeliveryError(Message("Telegram refuses the token.")) from None
    except ChatMigrated as error:
        raise Moved(error.new_chat_id) from error
    except TelegramError as error:
        raise _meaning(error) from error


def _meaning(error: TelegramError) -> DeliveryError:
    if isinstance(error, RetryAfter):
        return SlowDown(seconds_of(error))
    if isinstance(error, Forbidden) or says(error, "chat not found"):
        return ChatGone(Message("Telegram refuses: {said}.", said=telegram_reason(error)))
    if isinstance(error, BadRequest):
        if says(error, "not modified"):
            return MessageUnchanged(Message("Telegram has nothing to change."))
        return Refused(
            Message("Telegram refuses the message: {said}.", said=telegram_reason(error))
        )
    if isinstance(error.__cause__, _NEVER_SENT):
        return DeliveryError(
            Message("Telegram cannot be reached: {said}.", said=telegram_reason(error))
        )
    return Unsure(
        Message(
            "Telegram did not say whether the message arrived: {said}.", said=telegram_reason(error)
        )
    )


def seconds_of(error: RetryAfter) -> float:
    """Return how many seconds Telegram asks to wait."""
    wait = error.retry_after  # timedelta or int, depending on the library's settings
    return wait.total_seconds() if isinstance(wait, timedelta) else float(wait)


def says(error: TelegramError, words: str) -> bool:
    """Tell whether Telegram's description contains these lower-case words."""
    return words in error.message.lower()


def telegram_reason(error: TelegramError) -> str:
    """Return what is known of an error: its description, or its type and that of its cause."""
    known = next((words for words in _KNOWN if says(error, words)), None)
    if known is None and _CODE.fullmatch(error.message.lower()):
        return error.message.upper()
    types = (type(one).__name__ for one in (error, error.__cause__) if one is not None)
    return known or " from ".join(types)
