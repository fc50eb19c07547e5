"""The daily limits on language model usage, and the share that each source may use."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Self, TypeVar

from engine.errors import BudgetClosed, BudgetExhausted
from engine.messages import Message
from engine.settings import UNLIMITED
from engine.settings.models import LlmSettings
from engine.values import Usage

CHARACTERS_PER_TOKEN = 4  # for estimates before a call
_Number = TypeVar("_Number", int, float)


class BudgetSource(StrEnum):
    """On whose behalf a model is called."""

    CONSOLE = "console"  # whoever runs the program, who may use the whole day's budget
    POSTS = "posts"  # the daily posts
    CHATS = "chats"
    API = "api"  # programs that authenticate with a key
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

    `shares` (0..1) caps what a source may use of each limit. `reserve` (0..1) is kept for POSTS;
    only POSTS and CONSOLE may use it. For the sources in `closed` no model is called at all.
    """

    tokens: int | None = None
    cost_usd: float | None = None
    shares: Mapping[BudgetSource, float] = field(default_factory=dict)
    reserve: float = 0.0
    closed: frozenset[BudgetSource] = frozenset()

    @classmethod
    def of(cls, llm: LlmSettings, *, closed: frozenset[BudgetSource] = frozenset()) -> Self:
        """Return the budget of [llm] for calls that judge and write."""
        return replace(cls.for_embeddings(llm), tokens=_read_limit(llm.daily_tokens), closed=closed)

    @classmethod
    def for_embeddings(cls, llm: LlmSettings) -> Self:
        """Return the budget of [llm] for embedding calls, which is limited in money only."""
        return cls(
            cost_usd=_read_limit(llm.daily_usd),
            shares={
                BudgetSource.CHATS: llm.chat_share,
                BudgetSource.API: llm.api_share,
                BudgetSource.WEB: llm.web_share,
            },
            reserve=llm.posts_reserve,
        )

    def part(self, share: float) -> Self:
        """Return the budget with its money multiplied by `share` (0..1)."""
        return replace(self, cost_usd=None if self.cost_usd is None else share * self.cost_usd)

    @property
    def is_limited(self) -> bool:
        """False when there is nothing to count."""
        return self.tokens is not None or self.cost_usd is not None


def _read_limit(amount: _Number) -> _Number | None:
    return None if amount == UNLIMITED else amount


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """A call that is about to be made, with an estimate of its cost.

    It stops counting at `until` in case its process has died.
    """

    source: BudgetSource
    tokens: int = 0
    cost_usd: float = 0.0
    until: datetime


def require_open(budget: Budget, source: BudgetSource) -> None:
    """Raise BudgetClosed if no model may be called for this source."""
    if source in budget.closed:
        closed = Message("Without a key no model is asked here.")
        raise BudgetClosed(
            closed, fix=Message("Whoever runs this can set web.judge = true."), plain=closed
        )


def require_budget(
    budget: Budget, spent: Mapping[BudgetSource, Usage], source: BudgetSource, *, now: datetime
) -> None:
    """Raise BudgetExhausted if the budget does not allow another call for `source`.

    `spent` is today's usage plus the estimates for calls under way. The new call itself is not
    counted, so the last call may exceed a limit.
    """
    require_open(budget, source)
    if budget.tokens is not None:
        used = {spender: _count_tokens(usage) for spender, usage in spent.items()}
        limit = _Limit(
            budget.tokens, Message("{number:,} tokens", number=budget.tokens), "llm.daily_tokens"
        )
        _require_budget(budget, limit, used, source, now)
    if budget.cost_usd is not None:
        cost = {spender: usage.cost_usd or 0.0 for spender, usage in spent.items()}
        limit = _Limit(
            budget.cost_usd, Message("${amount:.2f}", amount=budget.cost_usd), "llm.daily_usd"
        )
        _require_budget(budget, limit, cost, source, now)


def posts_in_pace(budget: Budget, spent: Mapping[BudgetSource, Usage], *, now: datetime) -> bool:
    """Return whether the daily posts may call a model now or must wait for a later hour (UTC).

    They may if all sources together have used less than the elapsed fraction of the day's limit
    (current hour included), or if the posts have used less than that fraction of their reserve.
    """
    utc = now.astimezone(UTC)
    gone = min(1.0, (utc.hour + utc.minute / 60 + 1) / 24)
    tokens = {source: _count_tokens(usage) for source, usage in spent.items()}
    dollars = {source: usage.cost_usd or 0.0 for source, usage in spent.items()}

    def in_pace(limit: float | None, used: Mapping[BudgetSource, float]) -> bool:
        if limit is None:
            return True
        own = used.get(BudgetSource.POSTS, 0)
        return sum(used.values()) < limit * gone or own < budget.reserve * limit * gone

    return in_pace(budget.tokens, tokens) and in_pace(budget.cost_usd, dollars)


@dataclass(frozen=True, slots=True)
class _Limit:
    amount: float
    written: Message
    setting: str


def _require_budget(
    budget: Budget,
    limit: _Limit,
    used: Mapping[BudgetSource, float],
    source: BudgetSource,
    now: datetime,
) -> None:
    total, day = sum(used.values()), (now.astimezone(UTC).date() + timedelta(days=1)).isoformat()

    def advise_more(setting: str) -> Message:
        return Message(
            "It starts anew at 00:00 UTC on {day}; or raise {setting}.", day=day, setting=setting
        )

    if total >= limit.amount:
        raise BudgetExhausted(
            Message("The daily model budget of {limit} is spent.", limit=limit.written),
            fix=advise_more(limit.setting),
        )
    share = budget.shares.get(source)
    if share is not None and used.get(source, 0) >= share * limit.amount:
        said, setting = _SHARES[source]
        raise BudgetExhausted(said, fix=advise_more(setting))
    if source in (BudgetSource.POSTS, BudgetSource.CONSOLE):
        return
    kept = max(0.0, budget.reserve * limit.amount - used.get(BudgetSource.POSTS, 0))
    if total + kept >= limit.amount:
        raise BudgetExhausted(
            Message("The rest of the daily model budget is kept for the daily posts."),
            fix=Message(
                "It starts anew at 00:00 UTC on {day}; or lower llm.posts_reserve.", day=day
            ),
        )


def _count_tokens(usage: Usage) -> int:
    return (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)
