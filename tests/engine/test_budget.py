"""Who may still have a model asked today."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from engine.budget import Budget, BudgetSource, posts_in_pace, require_budget, require_open
from engine.errors import BudgetExhausted
from engine.values import Usage

NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)
SHARES = {BudgetSource.CHATS: 0.7, BudgetSource.API: 0.5, BudgetSource.WEB: 0.2}
EVERYBODY = set(BudgetSource)


def refusals(budget: Budget, spent: Mapping[BudgetSource, Usage]) -> dict[BudgetSource, str]:
    """Return who is refused, and what he is told."""
    said: dict[BudgetSource, str] = {}
    for source in BudgetSource:
        try:
            require_budget(budget, spent, source, now=NOW)
        except BudgetExhausted as error:
            said[source] = str(error)
    return said


def tokens(**spent: int) -> dict[BudgetSource, Usage]:
    return {
        BudgetSource(name): Usage(prompt_tokens=amount - 10, completion_tokens=10)
        for name, amount in spent.items()
    }


@pytest.mark.parametrize(
    ("spent", "refused"),
    [
        ({}, set()),
        ({"web": 199}, set()),
        ({"web": 200}, {BudgetSource.WEB}),
        ({"api": 500}, {BudgetSource.API}),
        ({"web": 200, "chats": 499}, {BudgetSource.WEB}),
        # What the posts have not used of their reserve is left alone,
        ({"web": 200, "chats": 500}, {BudgetSource.WEB, BudgetSource.CHATS, BudgetSource.API}),
        ({"web": 200, "chats": 500, "posts": 300}, EVERYBODY),
        ({"chats": 400, "posts": 299}, set()),
        ({"chats": 400, "posts": 300}, set()),
        ({"chats": 400, "posts": 599}, set()),
        # also by whoever runs the program, as far as others are concerned.
        ({"console": 700}, {BudgetSource.WEB, BudgetSource.CHATS, BudgetSource.API}),
        ({"console": 999}, {BudgetSource.WEB, BudgetSource.CHATS, BudgetSource.API}),
        ({"console": 1000}, EVERYBODY),
        ({"posts": 1000}, EVERYBODY),
    ],
)
def test_shares_and_the_reserve_hold_for_tokens_and_for_money(
    spent: dict[str, int], refused: set[BudgetSource]
) -> None:
    budget = Budget(tokens=1000, shares=SHARES, reserve=0.3)
    assert set(refusals(budget, tokens(**spent))) == refused
    money = {BudgetSource(name): Usage(cost_usd=amount / 1000) for name, amount in spent.items()}
    budget = Budget(cost_usd=1.0, shares=SHARES, reserve=0.3)
    assert set(refusals(budget, money)) == refused


def test_each_refusal_names_the_spending_and_the_setting_to_raise() -> None:
    budget = Budget(tokens=1000, shares=SHARES, reserve=0.3)
    ends = "It starts anew at 00:00 UTC on 2024-06-02; or"
    assert refusals(budget, tokens(web=200))[BudgetSource.WEB] == (
        f"The web page's share of the daily model budget is spent. {ends} raise llm.web_share."
    )
    assert refusals(budget, tokens(api=500))[BudgetSource.API] == (
        f"The API's share of the daily model budget is spent. {ends} raise llm.api_share."
    )
    chats = refusals(Budget(tokens=1000, shares=SHARES), tokens(chats=700))[BudgetSource.CHATS]
    assert chats == (
        f"The chats' share of the daily model budget is spent. {ends} raise llm.chat_share."
    )
    assert refusals(budget, tokens(console=800))[BudgetSource.CHATS] == (
        "The rest of the daily model budget is kept for the daily posts."
        f" {ends} lower llm.posts_reserve."
    )
    assert refusals(budget, tokens(posts=1000))[BudgetSource.POSTS] == (
        f"The daily model budget of 1,000 tokens is spent. {ends} raise llm.daily_tokens."
    )


def test_a_share_of_nothing_makes_no_calls() -> None:
    budget = Budget(tokens=1000, shares={BudgetSource.WEB: 0.0})
    assert set(refusals(budget, {})) == {BudgetSource.WEB}


def test_a_closed_source_is_refused_even_without_limits() -> None:
    budget = Budget(closed=frozenset({BudgetSource.WEB}))
    assert not budget.is_limited
    assert set(refusals(budget, {})) == {BudgetSource.WEB}
    with pytest.raises(BudgetExhausted, match=r"web\.judge"):
        require_open(budget, BudgetSource.WEB)
    require_open(budget, BudgetSource.API)


@pytest.mark.parametrize(
    ("hour", "spent", "in_pace"),
    [
        (0, {}, True),
        (0, {"posts": 99}, True),  # a twenty-fourth of 2,400, for the hour that has begun
        (0, {"posts": 100}, False),
        (11, {"posts": 1199}, True),
        (11, {"posts": 1200}, False),
        (23, {"posts": 2399}, True),
        (23, {"posts": 2400}, False),
        # What others used counts, but they cannot keep the posts from what is kept for them.
        (11, {"posts": 359, "chats": 2000}, True),
        (11, {"posts": 360, "chats": 2000}, False),
    ],
)
def test_posts_keep_the_pace_of_the_day(hour: int, spent: dict[str, int], in_pace: bool) -> None:
    now = datetime(2024, 6, 1, hour, tzinfo=UTC)
    budget = Budget(tokens=2400, reserve=0.3)
    assert posts_in_pace(budget, tokens(**spent), now=now) is in_pace
    dollars = {BudgetSource(name): Usage(cost_usd=amount / 100) for name, amount in spent.items()}
    money = Budget(cost_usd=24.0, reserve=0.3)
    assert posts_in_pace(money, dollars, now=now) is in_pace
    assert posts_in_pace(Budget(), dollars, now=now)


def test_the_pace_moves_by_the_minute_and_ends_with_the_day() -> None:
    budget = Budget(tokens=2400)
    half_past = datetime(2024, 6, 1, 0, 30, tzinfo=UTC)
    assert posts_in_pace(budget, tokens(posts=149), now=half_past)
    assert not posts_in_pace(budget, tokens(posts=150), now=half_past)
    last = datetime(2024, 6, 1, 23, 59, tzinfo=UTC)
    assert posts_in_pace(budget, tokens(posts=2399), now=last)
    assert not posts_in_pace(budget, tokens(posts=2400), now=last)
