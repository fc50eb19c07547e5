"""The storage ports of the model, kept in memory, for tests that are not about storage."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Generic, TypeVar

from engine.budget import BudgetSource, PlannedCall
from engine.values import Usage, add_usage

Kept = TypeVar("Kept")


@dataclass
class MemoryCache(Generic[Kept]):
    """A Cache of verdicts, answers or expansions."""

    stored: dict[str, Kept] = field(default_factory=dict)

    async def get(self, key: str) -> Kept | None:
        return self.stored.get(key)

    async def put(self, key: str, value: Kept, *, now: datetime) -> None:
        self.stored[key] = value


@dataclass
class MemoryLedger:
    """A UsageLedger that also remembers each call as (day, model, purpose, usage)."""

    calls: list[tuple[date, str, str, Usage]] = field(default_factory=list)
    sources: list[BudgetSource] = field(default_factory=list)  # of each call
    under_way: dict[int, PlannedCall] = field(default_factory=dict)

    async def spent(self, day: date) -> dict[BudgetSource, Usage]:
        found: dict[BudgetSource, list[Usage]] = defaultdict(list)
        for source, (called, _, _, usage) in zip(self.sources, self.calls, strict=True):
            if called == day:
                found[source].append(usage)
        return {source: add_usage(usages) or Usage() for source, usages in found.items()}

    async def record(
        self, usage: Usage, *, model: str, purpose: str, source: BudgetSource, now: datetime
    ) -> None:
        self.calls.append((now.astimezone(UTC).date(), model, purpose, usage))
        self.sources.append(source)

    async def reserve(
        self,
        planned: PlannedCall,
        check: Callable[[Mapping[BudgetSource, Usage]], None],
        *,
        now: datetime,
    ) -> int:
        spent = await self.spent(now.astimezone(UTC).date())
        for one in self.under_way.values():
            guessed = Usage(prompt_tokens=one.tokens, completion_tokens=0, cost_usd=one.cost_usd)
            spent[one.source] = spent.get(one.source, Usage()) + guessed
        check(spent)
        place = max(self.under_way, default=0) + 1
        self.under_way[place] = planned
        return place

    async def release(self, place: int) -> None:
        del self.under_way[place]
