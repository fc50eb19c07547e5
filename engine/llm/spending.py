"""Reserving a part of the day's budget while a model call is under way, and recording its cost."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from engine.budget import Budget, BudgetSource, Planned, require_budget, require_open
from engine.ports import UsageLedger
from engine.types import Usage

_CHARACTERS_A_TOKEN = 4  # for the estimate before a call


@asynccontextmanager
async def within_budget(
    budget: Budget, planned: Planned, ledger: UsageLedger, *, now: datetime
) -> AsyncIterator[None]:
    """Reserve budget while the block makes the call; the block itself must record the usage.

    Raises BudgetExhausted before the block begins, and what the ledger raises.
    """
    require_open(budget, planned.source)
    if not budget.limited:
        yield
        return

    def check(spent: Mapping[BudgetSource, Usage]) -> None:
        require_budget(budget, spent, planned.source, now=now)

    place = await ledger.reserve(planned, check, now=now)
    try:
        yield
    finally:
        await ledger.release(place)


class ChatSpending:
    """What the calls of one chat model cost: estimated before a call, recorded after it.

    `source` returns the budget source of the current call.
    """

    def __init__(
        self, budget: Budget, ledger: UsageLedger, source: Callable[[], BudgetSource]
    ) -> None:
        self._budget = budget
        self._ledger = ledger
        self._source = source
        self._price = 0.0  # US dollars per token, from the last answer that reported its cost

    def planned(self, characters: int, *, most_answered: int, until: datetime) -> Planned:
        """Return the estimate of a call that sends `characters`."""
        tokens = characters // _CHARACTERS_A_TOKEN + most_answered
        return Planned(
            source=self._source(), tokens=tokens, cost_usd=tokens * self._price, until=until
        )

    @asynccontextmanager
    async def reserved(
        self,
        planned: Planned,
        bills: Sequence[tuple[str, Usage]],
        *,
        purpose: str,
        now: datetime,
    ) -> AsyncIterator[None]:
        """Reserve budget while the block makes the call, then record what it added to `bills`.

        Bills are pairs of model and usage; those of a failed call are recorded as well. Raises
        what `within_budget` raises.
        """
        async with within_budget(self._budget, planned, self._ledger, now=now):
            try:
                yield
            finally:
                for model, usage in bills:
                    self._learn_price(usage)
                    await self._ledger.record(
                        usage, model=model, purpose=purpose, source=planned.source, now=now
                    )

    def _learn_price(self, usage: Usage) -> None:
        tokens = (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)
        if usage.cost_usd is not None and tokens:
            self._price = usage.cost_usd / tokens
