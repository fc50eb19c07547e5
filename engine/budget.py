"""The daily limit on what the language model may consume."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from engine.errors import BudgetExhausted
from engine.types import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits for one day (UTC); None = no limit, 0 = nothing allowed."""

    tokens: int | None = None
    cost_usd: float | None = None

    @property
    def limited(self) -> bool:
        """False when there is nothing to check."""
        return self.tokens is not None or self.cost_usd is not None


def require_budget(budget: Budget, spent: Usage, *, now: datetime) -> None:
    """Raise BudgetExhausted when what was `spent` today has reached a limit.

    Calls under way are not counted, so concurrent ones may pass the limit by their own cost.
    """
    tokens = (spent.prompt_tokens or 0) + (spent.completion_tokens or 0)
    if budget.tokens is not None and tokens >= budget.tokens:
        raise _exhausted(f"{budget.tokens:,} tokens", "daily_tokens", now)
    if budget.cost_usd is not None and (spent.cost_usd or 0.0) >= budget.cost_usd:
        raise _exhausted(f"${budget.cost_usd:.2f}", "daily_usd", now)


def _exhausted(limit: str, setting: str, now: datetime) -> BudgetExhausted:
    tomorrow = now.astimezone(UTC).date() + timedelta(days=1)
    return BudgetExhausted(
        f"The daily model budget of {limit} is spent.",
        fix=f"It starts anew at 00:00 UTC on {tomorrow.isoformat()}; or raise llm.{setting}.",
    )
