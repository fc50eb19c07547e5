"""The storage ports of the model, kept in memory, for tests that are not about storage."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from engine.llm_wire import add_usage
from engine.types import Usage, Verdict


@dataclass
class MemoryCache:
    """A JudgmentCache."""

    stored: dict[str, Verdict] = field(default_factory=dict)

    async def get(self, key: str) -> Verdict | None:
        return self.stored.get(key)

    async def put(self, key: str, verdict: Verdict, *, now: datetime) -> None:
        self.stored[key] = verdict


@dataclass
class MemoryLedger:
    """A UsageLedger that also remembers each call as (day, model, purpose, usage)."""

    calls: list[tuple[date, str, str, Usage]] = field(default_factory=list)
    days: dict[date, list[Usage]] = field(default_factory=lambda: defaultdict(list))

    async def spent(self, day: date) -> Usage:
        return add_usage([Usage(prompt_tokens=0, completion_tokens=0, cost_usd=0), *self.days[day]])

    async def record(self, usage: Usage, *, model: str, purpose: str, now: datetime) -> None:
        day = now.astimezone(UTC).date()
        self.calls.append((day, model, purpose, usage))
        self.days[day].append(usage)
