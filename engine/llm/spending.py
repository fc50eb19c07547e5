"""Reserving a part of the day's budget while a model call is under way."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime

from engine.budget import Budget, BudgetSource, Planned, require_budget, require_open
from engine.ports import UsageLedger
from engine.types import Usage


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
