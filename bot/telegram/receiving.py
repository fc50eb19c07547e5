"""Receives updates, polled or pushed.

Telegram considers an update received once a later offset is requested. The library's own updater
requests it at once, so a crash loses what it holds in memory. Here the offset stays at the oldest
update still under way; updates that arrive again meanwhile are recognised and skipped. Telegram
repeats up to a hundred updates from the offset on. When many are under way, they are stored in the
database and confirmed, so that a busy chat delays nobody else.

Telegram repeats a pushed update until it is acknowledged, which happens after it was handled.
"""

import asyncio
import hmac
import itertools
import json
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from telegram import Update
from telegram.error import Conflict, InvalidToken, RetryAfter, TelegramError

from bot.adapter import AdapterFailed
from bot.listening import read_body
from bot.telegram.client import Bot, mend_halves, read_wait
from db.chat.events import Inbox
from engine.errors import StorageError, explain_error
from engine.messages import Message

_PAUSE_SECONDS = 0.5

logger = logging.getLogger("presagio.telegram")

Handle = Callable[[Update], Awaitable[None]]

ALLOWED_UPDATES = (
    "message",
    "edited_message",
    "channel_post",
    "callback_query",
    "inline_query",
    "my_chat_member",
)
HOLD_SECONDS = 25.0
# Between two polls while something is under way: Telegram then answers at once, even without
# updates.
_BREATH_SECONDS = 0.1
_LONGEST_PAUSE = 30.0
# Telegram repeats the oldest hundred unconfirmed updates; well below that number they already
# cost much traffic.
_MANY = 20
_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
_SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - not a secret


class Latest:
    """Picks, of each person's questions, the one that is followed by a pause."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._last: dict[int, int] = {}

    async def stays(self, person: int) -> bool:
        """Wait a moment; return False if the person asked something else meanwhile."""
        number = self._last[person] = next(self._numbers)
        await asyncio.sleep(_PAUSE_SECONDS)
        if self._last.get(person) != number:
            return False
        del self._last[person]
        return True


@dataclass(slots=True)
class _UnderWay:
    task: asyncio.Task[None]
    raw: dict[str, Any]
    kept: bool  # in the database, so that Telegram may forget it


class Updates:
    """Hands each update to `handle`. Stored updates are deleted once they were handled."""

    def __init__(self, bot: Bot, handle: Handle, inbox: Inbox) -> None:
        self._bot = bot
        self._handle = handle
        self._inbox = inbox
        self._under_way: dict[int, _UnderWay] = {}

    async def resume(self) -> None:
        """Begin handling updates that an earlier process left stored. Raises StorageError."""
        for number, raw in (await self._inbox.left()).items():
            self.begin(number, raw, kept=True)

    def begin(self, number: int, raw: dict[str, Any], *, kept: bool = False) -> None:
        """Begin handling an update, which Telegram still holds if it is not `kept` here."""
        task = asyncio.create_task(self._deal_with(number, raw))
        self._under_way[number] = _UnderWay(task=task, raw=raw, kept=kept)
        task.add_done_callback(lambda _: self._under_way.pop(number, None))

    @property
    def numbers(self) -> set[int]:
        """Return the numbers of all updates under way."""
        return set(self._under_way)

    @property
    def waiting_numbers(self) -> list[int]:
        """Return the numbers of those under way that Telegram still has to hold."""
        return [number for number, handled in self._under_way.items() if not handled.kept]

    async def keep(self) -> None:
        """Store what Telegram still holds, so that it can hand out later updates.

        Raises StorageError.
        """
        waiting = self.waiting_numbers
        await self._inbox.keep({number: self._under_way[number].raw for number in waiting})
        for number in waiting:
            if number in self._under_way:
                self._under_way[number].kept = True
        await self._forget([number for number in waiting if number not in self._under_way])

    async def wait_until_idle(self, seconds: float) -> None:
        """Wait until nothing is under way, for at most `seconds`."""
        if tasks := self._tasks:
            await asyncio.wait(tasks, timeout=seconds)

    async def let_go(self) -> None:
        """Cancel what is still under way."""
        left = self._tasks
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    @property
    def _tasks(self) -> list[asyncio.Task[None]]:
        return [handled.task for handled in self._under_way.values()]

    async def _deal_with(self, number: int, raw: dict[str, Any]) -> None:
        try:
            if update := read_raw(raw, self._bot):
                await self._handle(update)
        except Exception as error:
            logger.error("update %s failed: %s", number, explain_error(error))  # noqa: TRY400 - a traceback may quote a message
        if self._under_way[number].kept:
            await self._forget([number])

    async def _forget(self, numbers: list[int]) -> None:
        try:
            if numbers:
                await self._inbox.drop(numbers)
        except StorageError as error:
            # It comes again after the next start and is recognised then.
            logger.warning("updates were not forgotten: %s", error)


def read_raw(raw: object, bot: Bot) -> Update | None:
    """Return an update, or None if it cannot be read; its number is then logged."""
    if not isinstance(raw, dict):
        return None
    try:
        return Update.de_json(raw, bot)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        logger.warning("update %s cannot be read: %s", raw.get("update_id"), explain_error(error))
    return None


class Poller:
    """Polls for updates and begins handling each one once."""

    def __init__(self, bot: Bot, updates: Updates) -> None:
        self._bot = bot
        self._updates = updates
        self._seen: set[int] = set()  # the numbers that the last poll brought
        self._next = 0  # one past the last update received
        self._failures = 0

    @property
    def has_answered(self) -> bool:
        """Whether Telegram answered the last poll."""
        return not self._failures

    async def run(self) -> None:
        """Poll until cancelled; updates under way then continue. Raises InvalidToken."""
        while True:
            try:
                updates = await self._bot.get_raw_updates(self._offset, self._hold, ALLOWED_UPDATES)
            except InvalidToken:
                raise
            except TelegramError as error:
                await self._pause(error)
                continue
            self._failures = 0
            fresh = self._accept(updates)
            waiting = self._updates.waiting_numbers
            if len(waiting) >= _MANY:
                try:
                    await self._updates.keep()
                except StorageError as error:
                    logger.warning("updates stay with Telegram: %s", error)
                    await asyncio.sleep(_BREATH_SECONDS)
            elif not fresh and waiting:
                await asyncio.sleep(_BREATH_SECONDS)

    async def confirm(self, seconds: float) -> None:
        """Confirm to Telegram which updates were handled."""
        if not self._next:
            return
        try:
            async with asyncio.timeout(seconds):
                await self._bot.get_raw_updates(self._offset, 0, ALLOWED_UPDATES)
        except (TelegramError, TimeoutError) as error:
            logger.info("the last updates were not confirmed: %s", error)

    @property
    def _offset(self) -> int:
        return min(self._updates.waiting_numbers, default=self._next)

    @property
    def _hold(self) -> float:
        # After an outage, ask for an immediate answer to learn that it is over.
        return 0.0 if self._updates.waiting_numbers or self._failures else HOLD_SECONDS

    def _accept(self, updates: list[dict[str, Any]]) -> int:
        """Begin handling new updates and return how many there were."""
        numbered = {
            raw["update_id"]: raw for raw in updates if isinstance(raw.get("update_id"), int)
        }
        seen = self._seen | self._updates.numbers
        fresh = [number for number in numbered if number not in seen]
        # Not by comparing numbers: after a quiet week Telegram restarts at a random one.
        self._seen = set(numbered)
        self._next = max(numbered, default=self._next - 1) + 1
        for number in fresh:
            self._updates.begin(number, numbered[number])
        return len(fresh)

    async def _pause(self, error: TelegramError) -> None:
        self._failures += 1
        pause = pause_after(error, self._failures)
        if isinstance(error, Conflict):
            logger.warning("another process polls with this token; trying again in %.0f s", pause)
        else:
            logger.warning("Telegram does not answer (%s); trying again in %.1f s", error, pause)
        await asyncio.sleep(pause)


def pause_after(error: Exception, failures: int) -> float:
    """Return the seconds to wait after so many failures in a row."""
    if isinstance(error, RetryAfter):
        return read_wait(error)
    # The exponent is capped: thousands of failures would overflow.
    return min(2.0 ** min(failures - 1, 10), _LONGEST_PAUSE)


class PushedUpdates:
    """Takes pushed updates while open, and acknowledges each only after handling it.

    Telegram repeats updates that were not acknowledged, also after a crash.
    """

    def __init__(self, bot: Bot, handle: Handle, *, secret: str) -> None:
        self._bot = bot
        self._handle = handle
        self._secret = secret
        self._open = False

    def check_secret(self) -> None:
        """Raise AdapterFailed if the secret protects nothing or Telegram would refuse it."""
        if not _SECRET.fullmatch(self._secret):
            raise AdapterFailed(
                Message("A webhook needs a secret."),
                fix=Message("Set TELEGRAM_WEBHOOK_SECRET to 1-256 letters, digits, _ or -."),
            )

    def open(self) -> None:
        """Take updates from now on. Raises AdapterFailed as `check_secret` does."""
        self.check_secret()
        self._open = True

    def close(self) -> None:
        """Take no new updates, which Telegram repeats later; those taken are still answered."""
        self._open = False

    async def answer(self, request: Request) -> Response:
        """Handle an update: 403 without the secret, 503 while closed, 400 for anything else."""
        # Compared as bytes: letters in another encoding might not be text.
        given = request.headers.get(_SECRET_HEADER, "").encode("latin-1")
        if not hmac.compare_digest(given, self._secret.encode()):
            return Response(status_code=403)
        if not self._open:
            return Response(status_code=503)
        if (raw := _parse_update(await read_body(request))) is None:
            return Response(status_code=400)
        try:
            if update := read_raw(raw, self._bot):
                await self._handle(update)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            # The library assumes that every field has the right type.
            logger.warning("update %s cannot be read: %s", raw["update_id"], explain_error(error))
            return Response(status_code=400)
        return Response()


def _parse_update(body: bytes) -> dict[str, Any] | None:
    """Return the unparsed update, or None if the body is not one."""
    try:
        raw = mend_halves(json.loads(body))
    except (ValueError, RecursionError):
        return None
    return raw if isinstance(raw, dict) and type(raw.get("update_id")) is int else None
