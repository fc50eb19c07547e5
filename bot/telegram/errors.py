"""What Telegram refuses, as errors of the project.

Telegram's descriptions may quote markup or text of the message: only those that are known are
told, in the words of the table below.
"""

import re
from collections.abc import Awaitable
from typing import TypeVar

from telegram.error import BadRequest, ChatMigrated, Forbidden, RetryAfter, TelegramError, TimedOut

from bot.face import ChatGone, DeliveryError

_Result = TypeVar("_Result")

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
_CODE = re.compile(r"[a-z]+(_[a-z]+)+")  # "PEER_ID_INVALID", which the library writes small


class Moved(DeliveryError):
    """The group has become a larger one with another id."""

    def __init__(self, to: int) -> None:
        super().__init__("The group has moved.")
        self.to = to


class Unchanged(DeliveryError):
    """The message says this already."""


async def mapped(call: Awaitable[_Result]) -> _Result:
    """Await a call of the library and map its errors.

    Raises DeliveryError, ChatGone, Moved, Unchanged.
    """
    try:
        return await call
    except ChatMigrated as error:
        raise Moved(error.new_chat_id) from error
    except Forbidden as error:
        raise ChatGone(f"Telegram refuses: {said(error)}.") from error
    except BadRequest as error:
        if says(error, "chat not found"):
            raise ChatGone(f"Telegram refuses: {said(error)}.") from error
        if says(error, "not modified"):
            raise Unchanged("Telegram has nothing to change.") from error
        raise DeliveryError(f"Telegram refuses the message: {said(error)}.") from error
    except RetryAfter as error:
        raise DeliveryError("Telegram asks to slow down for too long.") from error
    except TimedOut as error:
        raise DeliveryError("Telegram did not say whether the message arrived.") from error
    except TelegramError as error:
        raise DeliveryError(f"Telegram cannot be reached: {said(error)}.") from error


def says(error: TelegramError, words: str) -> bool:
    """Tell whether Telegram's description holds these words, in small letters."""
    return words in error.message.lower()


def said(error: TelegramError) -> str:
    """Return what is known of an error: its description, else its type and that of its cause."""
    known = next((words for words in _KNOWN if says(error, words)), None)
    if known is None and _CODE.fullmatch(error.message.lower()):
        return error.message.upper()
    types = (type(one).__name__ for one in (error, error.__cause__) if one is not None)
    return known or " from ".join(types)
