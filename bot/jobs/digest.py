"""Decides which posts are due: the daily ones, and those sent at once.

A round reads the subscriptions that may be due, page by page, and decides a page in one
transaction. What was dealt with is not read again before something may have changed.
"""

import asyncio
import logging
from collections.abc import Sequence
from datetime import date, datetime, timedelta

from bot.incident import reason
from bot.jobs.choosing import Deciding, choices_for, decisions_of
from engine.posting.times import due, instant_allowed, next_look
from engine.posting.types import DueSubscription, OwedPost

logger = logging.getLogger("presagio.digest")

_READ = 10_000  # subscriptions read at once
_PAGE = 500  # subscriptions decided in one transaction
_AT_ONCE = 2  # pages
_NEXT_ROUND = timedelta(seconds=1)


async def digest(work: Deciding, *, now: datetime) -> int:
    """Decide every post that is due, and return how many are owed now.

    An error in one chat does not hold up the others: the first such error is raised after all
    chats were handled. Raises StorageError.
    """
    await work.subscriptions.wake(now=now)
    decided = _Round(work, now)
    while waiting := await work.subscriptions.due(now=now, limit=_READ):
        # What is posted in one topic must not be posted in another: the next topic of a chat waits
        # until its first is decided.
        first = {one.subscription.chat.id: one for one in reversed(waiting)}
        # Chats of one corpus together: what was found in it is read once a page.
        chats = sorted(first.values(), key=lambda one: one.subscription.chat.corpus or "")
        pages = [chats[start : start + _PAGE] for start in range(0, len(chats), _PAGE)]
        # While the database stores one page, the next is chosen.
        for start in range(0, len(pages), _AT_ONCE):
            await asyncio.gather(*map(decided.page, pages[start : start + _AT_ONCE]))
    if decided.failed:
        raise decided.failed
    return decided.posts


class _Round:
    """One round of deciding."""

    def __init__(self, work: Deciding, now: datetime) -> None:
        self._work = work
        self._now = now
        self.posts = 0
        self.failed: Exception | None = None

    async def page(self, page: Sequence[DueSubscription]) -> None:
        """Decide for different chats; if that fails, for each of them by itself."""
        try:
            await self._decide(page)
        except Exception as error:
            if len(page) == 1:
                await self._skip(page[0], error)
                return
            for one in page:
                await self.page([one])

    async def _skip(self, one: DueSubscription, error: Exception) -> None:
        chat = one.subscription.chat.id
        logger.warning("chat %d: nothing was decided: %s", chat, reason(error))
        self.failed = self.failed or error
        await self._work.subscriptions.look_again([(one, self._now + _NEXT_ROUND)])

    async def _decide(self, page: Sequence[DueSubscription]) -> None:
        decisions = await self._decisions(page)
        done = await self._work.outbox.decide(
            [decision for of_chat in decisions for decision in of_chat],
            now=self._now,
            repeated_after=self._work.again_after,
        )
        outcomes = iter(done)
        looks = []
        for one, of_chat in zip(page, decisions, strict=True):
            made = [decision for decision in of_chat if next(outcomes)]
            self._count(made)
            # What cannot be decided now, and what stories remain to be told at once, comes next.
            settled = len(made) == len(of_chat) and all(decision.day for decision in made)
            look = next_look(one.subscription, self._now) if settled else self._now + _NEXT_ROUND
            looks.append((one, look))
        await self._work.subscriptions.look_again(looks)

    async def _decisions(self, page: Sequence[DueSubscription]) -> list[Sequence[OwedPost]]:
        """Return the decisions for each of a page, usually none."""
        days = [self._day(one) for one in page]
        ready = [
            one
            for one, day in zip(page, days, strict=True)
            if day or instant_allowed(one.subscription, self._now)
        ]
        choices = await choices_for(self._work, ready, now=self._now) if ready else {}
        return [
            decisions_of(one.subscription, choice, day) if choice else ()
            for one, day in zip(page, days, strict=True)
            for choice in (choices.get(one.subscription.chat.id),)
        ]

    def _day(self, one: DueSubscription) -> date | None:
        return due(one.subscription, self._now, one.last_decided, self._work.grace)

    def _count(self, made: Sequence[OwedPost]) -> None:
        for decision in made:
            self.posts += decision.content is not None
            if decision.day:
                chat, finds = decision.subscription.chat.id, len(decision.chosen)
                fields = {"chat": chat, "day": decision.day, "finds": finds}
                logger.info("decided", extra={"fields": fields})
