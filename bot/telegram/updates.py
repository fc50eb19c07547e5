"""Updates that are being handled, each in its own task; some are stored in the database."""

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from telegram import Update

from bot.incident import reason
from bot.telegram.client import Bot
from db.chat.events import Inbox
from engine.errors import StorageError

_PAUSE_SECONDS = 0.5


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


logger = logging.getLogger("presagio.telegram")

Handle = Callable[[Update], Awaitable[None]]


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
            self._begin(number, raw, kept=True)

    def begin(self, number: int, raw: dict[str, Any]) -> None:
        """Begin handling an update that Telegram still holds."""
        self._begin(number, raw, kept=False)

    @property
    def numbers(self) -> set[int]:
        """Return the numbers of all updates under way."""
        return set(self._under_way)

    @property
    def waiting(self) -> list[int]:
        """Return the numbers of those under way that Telegram still has to hold."""
        return [number for number, one in self._under_way.items() if not one.kept]

    async def keep(self) -> None:
        """Store what Telegram still holds, so that it can hand out later updates.

        Raises StorageError.
        """
        waiting = self.waiting
        await self._inbox.keep({number: self._under_way[number].raw for number in waiting})
        for number in waiting:
            if number in self._under_way:
                self._under_way[number].kept = True
        await self._forget([number for number in waiting if number not in self._under_way])

    async def settled(self, seconds: float) -> None:
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
        return [one.task for one in self._under_way.values()]

    def _begin(self, number: int, raw: dict[str, Any], *, kept: bool) -> None:
        task = asyncio.create_task(self._deal_with(number, raw))
        self._under_way[number] = _UnderWay(task=task, raw=raw, kept=kept)
        task.add_done_callback(lambda _: self._under_way.pop(number, None))

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
            # It comes again after the next start and is recognised then.
            logger.warning("updates were not forgotten: %s", error)


def read_raw(raw: object, bot: Bot) -> Update | None:
    """Return an update, or None if it cannot be read; its number is then logged."""
    if not isinstance(raw, dict):
        return None
    try:
        return Update.de_json(raw, bot)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        logger.warning("update %s cannot be read: %s", raw.get("update_id"), reason(error))
    return None
