"""The daily limits on what language models may consume, and the parts of them by who asks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from engine.errors import BudgetExhausted
from engine.messages import Message
from engine.types import Usage


class BudgetSource(StrEnum):
    """For whom a model is asked."""

    CONSOLE = "console"  # whoever runs the program: the whole day's budget is his
    POSTS = "posts"  # the daily posts
    CHATS = "chats"
    API = "api"  # programs that give a key
    WEB = "web"  # the page, and the API without a key


_SHARES = {
    BudgetSource.CHATS: (
        Message("The chats' share of the daily model budget is spent."),
        "llm.chat_share",
    ),
    BudgetSource.API: (
        Message("The API's share of the daily model budget is spent."),
        "llm.api_share",
    ),
    BudgetSource.WEB: (
        Message("The web page's share of the daily model budget is spent."),
        "llm.web_share",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits for one day (UTC); None = no limit, 0 = nothing allowed.

    `shares` (0..1) are the most that a source may use of each limit, `reserve` is what all but
    POSTS and CONSOLE leave to POSTS. `closed` are sources for which no model is asked at all.
    """

    tokens: int | None = None
    cost_usd: float | None = None
    shares: Mapping[BudgetSource, float] = field(default_factory=dict)
    reserve: float = 0.0
    closed: frozenset[BudgetSource] = frozenset()

    @property
    def limited(self) -> bool:
        """False when there is nothing to count."""
        return self.tokens is not None or self.cost_usd is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A call that is about to be made, with what it may come to.

    It counts until `until` at the latest, should its process be gone by then.
    """

    source: BudgetSource
    tokens: int = 0
    cost_usd: float = 0.0
    until: datetime


def require_open(budget: Budget, source: BudgetSource) -> None:
    """Raise BudgetExhausted when no model is asked for this source."""
    if source in budget.closed:
        raise BudgetExhausted(
            Message("Without a key no model is asked here."),
            fix=Message("Whoever runs this can set web.judge = true."),
        )


def require_budget(
    budget: Budget, spent: Mapping[BudgetSource, Usage], source: BudgetSource, *, now: datetime
) -> None:
    """Raise BudgetExhausted when a call for `source` is not within the budget.

    `spent` is what was used today, and what calls under way may come to. The call itself is not
    counted: the last one may pass a limit.
    """
    require_open(budget, source)
    if budget.tokens is not None:
        used = {one: _tokens(usage) for one, usage in spent.items()}
        limit = _Limit(
            budget.tokens, Message("{number:,} tokens", number=budget.tokens), "llm.daily_tokens"
        )
        _require(budget, limit, used, source, now)
    if budget.cost_usd is not None:
        cost = {one: usage.cost_usd or 0.0 for one, usage in spent.items()}
        limit = _Limit(
            budget.cost_usd, Message("${amount:.2f}", amount=budget.cost_usd), "llm.daily_usd"
        )
        _require(budget, limit, cost, source, now)


def posts_in_pace(budget: Budget, spent: Mapping[BudgetSource, Usage], *, now: datetime) -> bool:
    """Tell whether the daily posts may ask now, or wait for a later hour of the day (UTC).

    They may while all sources together have used no more than the hours gone by stand for, the
    current one included; and of what is kept for them while they themselves have.
    """
    gone = min(1.0, (_hour(now) + 1) / 24)
    tokens = {one: _tokens(usage) for one, usage in spent.items()}
    dollars = {one: usage.cost_usd or 0.0 for one, usage in spent.items()}

    def in_pace(limit: float | None, used: Mapping[BudgetSource, float]) -> bool:
        if limit is None:
            return True
        own = used.get(BudgetSource.POSTS, 0)
        return sum(used.values()) < limit * gone or own < budget.reserve * limit * gone

    return in_pace(budget.tokens, tokens) and in_pace(budget.cost_usd, dollars)


def _hour(now: datetime) -> float:
    """Return the hours since midnight, UTC."""
    utc = now.astimezone(UTC)
    return utc.hour + utc.minute / 60


@dataclass(frozen=True, slots=True)
class _Limit:
    amount: float
    written: Message
    setting: str


def _require(
    budget: Budget,
    limit: _Limit,
    used: Mapping[BudgetSource, float],
    source: BudgetSource,
    now: datetime,
) -> None:
    total, again = sum(used.values()), _tomorrow(now)
    if total >= limit.amount:
        raise BudgetExhausted(
            Message("The daily model budget of {limit} is spent.", limit=limit.written),
            fix=Message(
                "It starts anew at 00:00 UTC on {day}; or raise {setting}.",
                day=again,
                setting=limit.setting,
            ),
        )
    share = budget.shares.get(source)
    if share is not None and used.get(source, 0) >= share * limit.amount:
        said, setting = _SHARES[source]
        raise BudgetExhausted(
            said,
            fix=Message(
                "It starts anew at 00:00 UTC on {day}; or raise {setting}.",
                day=again,
                setting=setting,
            ),
        )
    if source in (BudgetSource.POSTS, BudgetSource.CONSOLE):
        return
    kept = max(0.0, budget.reserve * limit.amount - used.get(BudgetSource.POSTS, 0))
    if total + kept >= limit.amount:
        raise BudgetExhausted(
            Message("The rest of the daily model budget is kept for the daily posts."),
            fix=Message(
                "It starts anew at 00:00 UTC on {day}; or lower llm.posts_reserve.", day=again
            ),
        )


def _tokens(usage: Usage) -> int:
    return (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)


def _tomorrow(now: datetime) -> str:
    return (now.astimezone(UTC).date() + timedelta(days=1)).isoformat()
