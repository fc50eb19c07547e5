"""Translates the settings into the engine's daily budgets."""

from dataclasses import replace
from typing import TypeVar

from bot.settings import Settings
from engine.budget import Budget, BudgetSource
from engine.settings.section import UNLIMITED

_Number = TypeVar("_Number", int, float)


def budget_of(settings: Settings) -> Budget:
    """Return the budget of [llm] for calls that judge and write. It is closed to visitors of the
    page unless [web] allows them such calls.
    """
    closed = frozenset[BudgetSource]() if settings.web.judge else frozenset({BudgetSource.WEB})
    return replace(
        embedding_budget(settings), tokens=_limit(settings.llm.daily_tokens), closed=closed
    )


def embedding_budget(settings: Settings) -> Budget:
    """Return the budget of [llm] for embedding calls, which is limited in money only."""
    llm = settings.llm
    return Budget(
        cost_usd=_limit(llm.daily_usd),
        shares={
            BudgetSource.CHATS: llm.chat_share,
            BudgetSource.API: llm.api_share,
            BudgetSource.WEB: llm.web_share,
        },
        reserve=llm.posts_reserve,
    )


def search_budget(settings: Settings) -> Budget:
    """Return the budget of [llm] for searches of the web, which use no tokens. Like a model, the
    web is not asked for visitors of the page unless [web] allows it.
    """
    return replace(budget_of(settings), tokens=None)


def part_of_day(budget: Budget, share: float) -> Budget:
    """Return the budget with its money multiplied by `share` (0..1)."""
    return replace(budget, cost_usd=None if budget.cost_usd is None else share * budget.cost_usd)


def _limit(amount: _Number) -> _Number | None:
    return None if amount == UNLIMITED else amount
