"""Long polling that confirms an update only when it has been dealt with.

Telegram takes an update for received once a later offset is asked for. The library's own updater
asks at once, so a crash loses what it holds in memory. Here the offset stays at the oldest update
that is still under way; what comes a second time meanwhile is known and skipped. Telegram hands
out a hundred updates from the offset on, again and again. When many are under way, they are kept
in the database and confirmed, so that a busy chat delays nobody else.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from telegram import Update
from telegram.error import Conflict, InvalidToken, RetryAfter, TelegramError

from bot.incident import reason
from bot.telegram.client import Bot
from db.inbox import Inbox
from engine.errors import StorageError

logger = logging.getLogger("presagio.telegram")

ALLOWED_UPDATES = ("message", "callback_query", "inline_query", "my_chat_member")
HOLD_SECONDS = 25.0
# Between two polls while something is under way: Telegram then answers at once, news or not.
_BREATH_SECONDS = 0.1
_LONGEST_PAUSE = 30.0
# Telegram hands out the oldest hundred that are not confirmed; well below that they become much
# to send again and again.
_MANY = 20


@dataclass(slots=True)
class _UnderWay:
    task: asyncio.Task[None]
    raw: dict[str, Any]
    kept: bool  # in the database, so that Telegram may forget it


class Poller:
    """Asks for updates and hands each one, once, to `handle` as a task of its own."""

    def __init__(self, bot: Bot, handle: Callable[[Update], Awaitable[None]], inbox: Inbox) -> None:
        self._bot = bot
        self._handle = handle
        self._inbox = inbox
        self._under_way: dict[int, _UnderWay] = {}
        self._seen: set[int] = set()  # of what the last poll brought
        self._next = 0  # after the last update that came
        self._failures = 0

    async def run(self) -> None:
        """Poll until cancelled; what is under way then goes on. Raises InvalidToken, StorageError
        when what an earlier process left cannot be read."""
        for number, raw in (await self._inbox.left()).items():
            self._begin(number, raw, kept=True)
        while True:
            try:
                found = await self._bot.raw_updates(self._offset, self._hold, ALLOWED_UPDATES)
            except InvalidToken:
                raise
            except TelegramError as error:
                await self._pause(error)
                continue
            self._failures = 0
            fresh = self._accept(found)
            if len(self._waiting) >= _MANY:
                await self._make_room()
            elif not fresh and self._waiting:
                await asyncio.sleep(_BREATH_SECONDS)

    async def settle(self, seconds: float) -> None:
        """Wait for what is under way, then confirm all that was dealt with."""
        try:
            async with asyncio.timeout(seconds):
                if self._tasks:
                    await asyncio.wait(self._tasks, timeout=seconds / 2)
                if self._next:
                    await self._bot.raw_updates(self._offset, 0, ALLOWED_UPDATES)
        except (TelegramError, TimeoutError) as error:
            logger.info("the last updates were not confirmed: %s", error)
        left = self._tasks
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    @property
    def _tasks(self) -> list[asyncio.Task[None]]:
        return [one.task for one in self._under_way.values()]

    @property
    def _waiting(self) -> list[int]:
        """What Telegram has to keep."""
        return [number for number, one in self._under_way.items() if not one.kept]

    @property
    def _offset(self) -> int:
        return min(self._waiting, default=self._next)

    @property
    def _hold(self) -> float:
        return 0.0 if self._waiting else HOLD_SECONDS

    def _accept(self, found: list[dict[str, Any]]) -> int:
        """Start what is new and return how much that was."""
        numbered = {raw["update_id"]: raw for raw in found if isinstance(raw.get("update_id"), int)}
        known = self._seen | set(self._under_way)
        fresh = [number for number in numbered if number not in known]
        # Not by size: after a quiet week Telegram starts again with any number.
        self._seen = set(numbered)
        self._next = max(numbered, default=self._next - 1) + 1
        for number in fresh:
            self._begin(number, numbered[number], kept=False)
        return len(fresh)

    def _begin(self, number: int, raw: dict[str, Any], *, kept: bool) -> None:
        task = asyncio.create_task(self._deal_with(number, raw))
        self._under_way[number] = _UnderWay(task=task, raw=raw, kept=kept)
        task.add_done_callback(lambda _: self._under_way.pop(number, None))

    async def _make_room(self) -> None:
        """Keep what Telegram would, so that it can hand out what comes behind."""
        waiting = self._waiting
        try:
            await self._inbox.keep({number: self._under_way[number].raw for number in waiting})
        except StorageError as error:
            logger.warning("updates stay with Telegram: %s", error)
            await asyncio.sleep(_BREATH_SECONDS)
            return
        for number in waiting:
            if number in self._under_way:
                self._under_way[number].kept = True
        await self._forget([number for number in waiting if number not in self._under_way])

    async def _deal_with(self, number: int, raw: dict[str, Any]) -> None:
        try:
            if update := read_raw(raw, self._bot):
                await self._handle(update)
        except Exception as error:
            logger.error("update %s failed: %s", number, reason(error))  # noqa: TRY400 - a traceback may quote a message
        if self._under_way[number].kept:
            await self._forget([number])

    async def _forget(self, numbers: list[int]) -> None:
        try:
            if numbers:
                await self._inbox.drop(numbers)
        except StorageError as error:
            # It comes again after the next start and is known then.
            logger.warning("updates were not forgotten: %s", error)

    async def _pause(self, error: TelegramError) -> None:
        self._failures += 1
        pause = pause_after(error, self._failures)
        if isinstance(error, Conflict):
            logger.warning("another process polls with this token; trying again in %.0f s", pause)
        else:
            logger.warning("Telegram does not answer (%s); trying again in %.1f s", error, pause)
        await asyncio.sleep(pause)


def pause_after(error: TelegramError, failures: int) -> float:
    """Return the seconds to wait after so many failures in a row."""
    if isinstance(error, RetryAfter):
        after = error.retry_after
        return after.total_seconds() if isinstance(after, timedelta) else float(after)
    # A power of thousands of failures would be no number any more.
    return min(2.0 ** min(failures - 1, 10), _LONGEST_PAUSE)


def read_raw(raw: object, bot: Bot) -> Update | None:
    """Return an update, or None for one that cannot be read; the log tells its number."""
    if not isinstance(raw, dict):
        return None
    try:
        return Update.de_json(raw, bot)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        logger.warning("update %s cannot be read: %s", raw.get("update_id"), reason(error))
    return None
