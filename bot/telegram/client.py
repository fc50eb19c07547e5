"""The library's bot with a timeout on every wait, and a check that Telegram accepts its token."""

import asyncio
import os
import re
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
from telegram import User
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
    TimedOut,
)
from telegram.ext import BaseRateLimiter, ExtBot
from telegram.request import HTTPXRequest

from bot.adapter import (
    AdapterFailed,
    ChatGone,
    DeliveryError,
    DeliveryRefused,
    PlatformFailed,
    SlowDown,
    TokenRefused,
    Unsure,
    WritingForbidden,
)
from bot.pace import Holds, RateLimit
from engine.messages import Message

_NEVER_SENT = httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout

# What admins of a chat can undo; the message itself is sound.
_FORBIDDEN_FOR_NOW = (
    "topic_closed",
    "topic closed",
    "chat_write_forbidden",
    "chat_restricted",
    "chat_admin_required",
    "chat_guest_send_forbidden",
    "user_banned_in_channel",
    "user_restricted",
    "have no rights to send",
    "not enough rights",
    "need administrator rights",
)
_SENDING_FORBIDDEN = re.compile(r"chat_send_[a-z_]{1,40}_forbidden", re.IGNORECASE)

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

_CONNECTIONS = 64
_SECONDS = 20.0  # also for the upload of a picture
_DOWNLOAD_SECONDS = 180.0
MAX_DOWNLOADED = 20_000_000  # bytes of a file that Telegram gives to bots
_GRACE = 10.0  # what a poll may take beyond its hold time
_RETRIES = 3
_A_SECOND, _A_MINUTE_IN_GROUPS = 30, 20  # messages that Telegram accepts of one bot
_MARGIN = 0.1  # seconds beyond those that Telegram asks to wait
_PAUSES = (0.5, 1.0, 2.0)  # seconds between attempts to connect
# Limits apply to messages in chats; typing signs must not use up what a group may be sent.
_WRITING = ("send", "edit")
_NOT_WRITING = "sendChatAction"

_CHECK_SECONDS = 10.0
_OF_LIBRARIES = re.compile(r"^httpx\.\w+: |\[Errno -?\d+\] ")


class GroupMigrated(DeliveryError):
    """The group became a supergroup with another id."""

    def __init__(self, to: int) -> None:
        super().__init__("The group has moved.")
        self.to = to


class MessageUnchanged(DeliveryError):
    """The message says this already."""


@asynccontextmanager
async def map_telegram_errors() -> AsyncIterator[None]:
    """Map the library's errors to what they mean for the message.

    Raises ChatGone, GroupMigrated, MessageUnchanged, SlowDown, DeliveryRefused, WritingForbidden,
    Unsure, and a plain DeliveryError where the message was not shown and may be tried again.
    """
    try:
        yield
    except InvalidToken:
        # Not "from error": its message contains the token. And the next token may be valid.
        raise DeliveryError(Message("Telegram refuses the token.")) from None
    except ChatMigrated as error:
        raise GroupMigrated(error.new_chat_id) from error
    except TelegramError as error:
        raise _map_error(error) from error


def _map_error(error: TelegramError) -> DeliveryError:  # noqa: PLR0911 - a line a cause
    if isinstance(error, RetryAfter):
        return SlowDown(read_wait(error))
    reason = describe_telegram_error(error)
    if _is_forbidden_for_now(error):
        return WritingForbidden(
            Message("Telegram does not let the bot write: {reason}.", reason=reason),
            fix=Message("Let it write there, or make it an admin; the post is kept for a day."),
        )
    if isinstance(error, Forbidden) or has_words(error, "chat not found"):
        return ChatGone(Message("Telegram refuses: {reason}.", reason=reason))
    if isinstance(error, BadRequest):
        if has_words(error, "not modified"):
            return MessageUnchanged(Message("Telegram has nothing to change."))
        return DeliveryRefused(Message("Telegram refuses the message: {reason}.", reason=reason))
    if isinstance(error.__cause__, _NEVER_SENT):
        return DeliveryError(Message("Telegram cannot be reached: {reason}.", reason=reason))
    unsure = Message("Telegram did not say whether the message arrived: {reason}.", reason=reason)
    is_answer = not isinstance(error, TimedOut) and not isinstance(error.__cause__, httpx.HTTPError)
    return PlatformFailed(unsure) if is_answer else Unsure(unsure)


def _is_forbidden_for_now(error: TelegramError) -> bool:
    """Return whether the chat or topic refuses what the bot writes until an admin changes that."""
    named = any(has_words(error, words) for words in _FORBIDDEN_FOR_NOW)
    return named or _SENDING_FORBIDDEN.search(error.message) is not None


def read_wait(error: RetryAfter) -> float:
    """Return how many seconds Telegram asks to wait."""
    wait = error.retry_after  # timedelta or int, depending on the library's settings
    return wait.total_seconds() if isinstance(wait, timedelta) else float(wait)


def has_words(error: TelegramError, words: str) -> bool:
    """Return whether Telegram's description contains these lower-case words."""
    return words in error.message.lower()


def describe_telegram_error(error: TelegramError) -> str:
    """Return what is known of an error: its description, or its type and that of its cause."""
    known = next((words for words in _KNOWN if has_words(error, words)), None)
    if known is None and _CODE.fullmatch(error.message.lower()):
        return error.message.upper()
    types = (type(cause).__name__ for cause in (error, error.__cause__) if cause is not None)
    return known or " from ".join(types)


# Return times as timedelta, as the library soon will; otherwise it warns at each RetryAfter.
os.environ.setdefault("PTB_TIMEDELTA", "true")


class Bot(ExtBot[None]):
    """One bot account."""

    def __init__(
        self,
        token: str,
        *,
        api_base: str,
        hold: float,
        seconds: float = _SECONDS,
        limited: bool = True,
    ) -> None:
        """`hold` is how many seconds a poll waits for updates, `seconds` what any other request
        may take in all. Without `limited`, nothing is throttled or retried."""
        base = api_base.rstrip("/")
        super().__init__(
            token,
            base_url=f"{base}/bot",
            base_file_url=f"{base}/file/bot",
            request=_Request(_CONNECTIONS, seconds),
            get_updates_request=_Request(4, hold + _GRACE),
            rate_limiter=_Limiter() if limited else None,
        )

    async def download(self, file_id: str, to: Path) -> None:
        """Write a file that somebody sent to a path. Raises TelegramError, OSError."""
        file = await self.get_file(file_id)
        request = _Request(1, _DOWNLOAD_SECONDS)
        await request.initialize()
        try:
            content = await request.retrieve(file.file_path or "")
        finally:
            await request.shutdown()
        await asyncio.to_thread(to.write_bytes, content)

    async def get_raw_updates(
        self, offset: int, hold: float, kinds: Sequence[str]
    ) -> list[dict[str, Any]]:
        """Return updates unparsed: one that cannot be read must not hide the others.

        Raises TelegramError.
        """
        data = {"offset": offset, "timeout": int(hold), "allowed_updates": list(kinds)}
        content: object = await self._post("getUpdates", data, read_timeout=hold + _GRACE)
        return (
            [raw for raw in content if isinstance(raw, dict)] if isinstance(content, list) else []
        )


def mend_halves(update: Any) -> Any:
    """Return parsed JSON in which halves of characters, which nothing can store, are U+FFFD: one
    of the units in which entities are counted, too."""
    match update:
        case str():
            if update.isascii():
                return update
            return update.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case list():
            return [mend_halves(item) for item in update]
        case dict():
            return {name: mend_halves(value) for name, value in update.items()}
        case _:
            return update


class _Request(HTTPXRequest):
    """Limits the total time of every request; the library's timeouts restart with each byte."""

    @staticmethod
    def parse_json_payload(payload: bytes) -> Any:
        """Parse an answer of Telegram. Raises TelegramError."""
        return mend_halves(HTTPXRequest.parse_json_payload(payload))

    def __init__(self, connections: int, seconds: float) -> None:
        super().__init__(connection_pool_size=connections, read_timeout=seconds, pool_timeout=5.0)
        self._seconds = seconds

    async def do_request(self, *request: Any, **options: Any) -> tuple[int, bytes]:
        try:
            async with asyncio.timeout(self._seconds):
                return await self._retry_connecting(*request, **options)
        except TimeoutError as error:
            raise TimedOut from error

    async def _retry_connecting(self, *request: Any, **options: Any) -> tuple[int, bytes]:
        """Retry requests that never reached Telegram; any that might have is not repeated."""
        for pause in _PAUSES:
            try:
                return await super().do_request(*request, **options)
            except NetworkError as error:
                if not isinstance(error.__cause__, httpx.ConnectError | httpx.ConnectTimeout):
                    raise
                await asyncio.sleep(pause)
        return await super().do_request(*request, **options)


class _Limiter(BaseRateLimiter[None]):
    """Spaces messages as Telegram wants, and waits where it refuses them all the same.

    The library's own limiter holds every chat as soon as one is refused.
    """

    def __init__(self) -> None:
        self._all = RateLimit(_A_SECOND, window=1.0)
        self._groups = RateLimit(_A_MINUTE_IN_GROUPS)
        self._holds = Holds()

    async def initialize(self) -> None:
        """Do nothing."""

    async def shutdown(self) -> None:
        """Do nothing."""

    async def process_request(  # noqa: PLR0917 - as the library calls it
        self,
        callback: Callable[..., Coroutine[Any, Any, Any]],
        args: Any,
        kwargs: dict[str, Any],
        endpoint: str,
        data: dict[str, Any],
        rate_limit_args: None,  # noqa: ARG002 - as above
    ) -> Any:
        """Make a request, again if it was refused for being too early. Raises TelegramError."""
        chat = str(data.get("chat_id", ""))
        if not chat or endpoint == _NOT_WRITING or not endpoint.startswith(_WRITING):
            return await callback(*args, **kwargs)
        for _ in range(_RETRIES):
            await self._wait(chat)
            try:
                return await callback(*args, **kwargs)
            except RetryAfter as error:
                self._holds.hold_chat(chat, read_wait(error) + _MARGIN, time.monotonic())
        await self._wait(chat)
        return await callback(*args, **kwargs)

    async def _wait(self, chat: str) -> None:
        held = self._holds.wait(chat, time.monotonic())
        while held:
            await asyncio.sleep(held)
            held = self._holds.wait(chat, time.monotonic())  # it may have been refused again
        now = time.monotonic()
        # Groups and channels have negative ids; Telegram limits each of them.
        in_group = self._groups.reserve(chat, now) if chat.startswith("-") else 0.0
        await asyncio.sleep(max(in_group, self._all.reserve("", now)))


async def check_telegram(token: str, api_base: str, webhook_url: str) -> str:
    """Return a line about the bot. Raises AdapterFailed."""
    bot = Bot(token, api_base=api_base, hold=0, seconds=_CHECK_SECONDS)
    try:
        async with asyncio.timeout(_CHECK_SECONDS), bot:
            state = await bot.get_webhook_info()
            name = f"@{bot.username}"
            rights = _describe_rights(bot.bot)
    except InvalidToken as error:
        raise TokenRefused(
            Message("Telegram refuses the token."),
            fix=Message("Set TELEGRAM_BOT_TOKEN to the token that @BotFather gave."),
        ) from error
    except (TelegramError, TimeoutError) as error:
        reason = _OF_LIBRARIES.sub("", str(error)) or "no answer in time"
        raise AdapterFailed(
            Message("Telegram cannot be reached: {reason}.", reason=reason),
            fix=Message("Check telegram.api_base and the network."),
        ) from error
    if state.url and state.url != webhook_url:
        # Not shown: such an address often contains a secret.
        return f"{name}, updates go to another webhook until presagio serve takes them over"
    way = "webhook" if webhook_url else "polling"
    trouble = f"; the last delivery failed: {state.last_error_message}"
    waiting = f", {state.pending_update_count} updates wait" if state.pending_update_count else ""
    return f"{name}, {way}{waiting}{trouble if state.last_error_message else ''}{rights}"


def _describe_rights(bot: User) -> str:
    """Return what @BotFather was told to withhold, and the command that grants it."""
    withheld = {
        "may not be added to groups (/setjoingroups)": bot.can_join_groups,
        "cannot be asked inline (/setinline)": bot.supports_inline_queries,
    }
    return "".join(f"; {lack} at @BotFather" for lack, granted in withheld.items() if not granted)
