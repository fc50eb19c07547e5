"""Long polling that confirms an update only when it has been dealt with.

Telegram takes an update for received once a later offset is asked for. The library's own updater
asks at once, so a crash loses what it holds in memory. Here the offset stays below the oldest
update that is still under way; what comes a second time meanwhile is known and skipped.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from telegram import Update
from telegram.error import Conflict, InvalidToken, RetryAfter, TelegramError
from telegram.ext import ExtBot

logger = logging.getLogger("presagio.telegram")

ALLOWED_UPDATES = ("message", "callback_query", "inline_query", "my_chat_member")
_HOLD_SECONDS = 25
_BREATH_SECONDS = 0.2  # between questions while something is under way, which answers at once
_LONGEST_PAUSE = 30.0


class Poller:
    """Asks for updates and hands each one, once, to `handle` as a task of its own."""

    def __init__(self, bot: ExtBot[None], handle: Callable[[Update], Awaitable[None]]) -> None:
        self._bot = bot
        self._handle = handle
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self._next = 0  # above every update seen
        self._failures = 0

    async def run(self) -> None:
        """Poll until cancelled; what is under way then goes on. Raises InvalidToken."""
        while True:
            try:
                found = await self._ask()
                self._failures = 0
            except InvalidToken:
                raise
            except TelegramError as error:
                await self._pause(error)
                continue
            fresh = [raw for raw in found if self._accept(raw)]
            if self._under_way and not fresh:
                # Unconfirmed updates are answered at once; wait for one of them instead.
                await asyncio.wait(self._under_way.values(), timeout=_BREATH_SECONDS)

    async def settle(self, seconds: float) -> None:
        """Wait for what is under way, then confirm all that was dealt with."""
        if self._under_way:
            await asyncio.wait(self._under_way.values(), timeout=seconds)
        for task in list(self._under_way.values()):
            task.cancel()
        try:
            await self._ask(hold=0)
        except TelegramError as error:
            logger.info("the last updates were not confirmed: %s", error)

    @property
    def _offset(self) -> int:
        return min(self._under_way, default=self._next)

    async def _ask(self, hold: int = _HOLD_SECONDS) -> Sequence[dict[str, Any]]:
        """Return raw updates: one that cannot be read must not hide the others."""
        # While the oldest update is under way Telegram answers at once anyway.
        asked: object = await self._bot.do_api_request(
            "getUpdates",
            api_kwargs={
                "offset": self._offset,
                "timeout": 0 if self._under_way else hold,
                "allowed_updates": list(ALLOWED_UPDATES),
            },
            read_timeout=hold + 10,
        )
        return [raw for raw in asked if isinstance(raw, dict)] if isinstance(asked, list) else []

    def _accept(self, raw: dict[str, Any]) -> bool:
        """Start what is new; False for what is under way or was dealt with."""
        number = raw.get("update_id")
        if not isinstance(number, int) or number < self._next:
            return False
        self._next = number + 1
        try:
            update = Update.de_json(raw, self._bot)
        except (KeyError, TypeError, ValueError, AttributeError):
            logger.exception("update %s cannot be read and is passed over", number)
            return True
        task = asyncio.create_task(self._deal_with(update))
        self._under_way[number] = task
        task.add_done_callback(lambda _: self._under_way.pop(number, None))
        return True

    async def _deal_with(self, update: Update) -> None:
        try:
            await self._handle(update)
        except Exception:
            logger.exception("update %s failed", update.update_id)

    async def _pause(self, error: TelegramError) -> None:
        self._failures += 1
        pause = min(2.0**self._failures / 2, _LONGEST_PAUSE)
        if isinstance(error, RetryAfter):
            after = error.retry_after
            pause = after.total_seconds() if not isinstance(after, int | float) else float(after)
        if isinstance(error, Conflict):
            logger.warning("another process polls with this token; trying again in %.0f s", pause)
        else:
            logger.warning("Telegram does not answer (%s); trying again in %.0f s", error, pause)
        await asyncio.sleep(pause)
