"""Judgments that were paid for once, and what they cost."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from db.model_cache import Expansions, Judgments, Ledger, ModelAnswers
from db.pool import Database
from engine.answer.cited_answer import Claim, ModelAnswer
from engine.budget import Budget, BudgetSource, PlannedCall, require_budget
from engine.errors import BudgetExhausted
from engine.messages import as_message
from engine.search import Expansion, Verdict
from engine.values import Usage
from tests.database import fetch_value

NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)


async def test_a_verdict_comes_back_as_it_went_in(database: Database) -> None:
    verdict = Verdict(
        scores={2**62: 6, 3: 0},
        reasons={2**62: "he said so"},
        model="some/model",
        prompt_version="4",
    )
    judgments = Judgments(database)
    await judgments.put("key", verdict, now=NOW)
    assert await judgments.get("key") == verdict
    assert await judgments.get("other") is None


async def test_data_of_a_single_call_is_not_stored(database: Database) -> None:
    judgments = Judgments(database)
    verdict = Verdict(
        scores={1: 2}, usage=Usage(prompt_tokens=5), notice=as_message("late"), cached=True
    )
    await judgments.put("key", verdict, now=NOW)
    assert await judgments.get("key") == Verdict(scores={1: 2})


CACHES: Mapping[str, tuple[Any, object, object]] = {
    "judgment": (Judgments, Verdict(scores={1: 2}), Verdict(scores={1: 5})),
    "expansion": (Expansions, Expansion(phrases=("pump",)), Expansion()),
    "answer": (
        ModelAnswers,
        ModelAnswer(claims=(Claim(text="So.", passages=()),)),
        ModelAnswer(claims=()),
    ),
}


@pytest.mark.parametrize(("store", "first", "second"), CACHES.values(), ids=CACHES)
async def test_the_first_answer_is_kept_for_ninety_days(
    database: Database, store: Any, first: object, second: object
) -> None:
    cache = store(database)
    await cache.put("old", first, now=NOW - timedelta(days=91))
    await cache.put("key", first, now=NOW - timedelta(days=89))
    await cache.put("key", second, now=NOW)
    assert [await cache.get(key) for key in ("key", "old", "other")] == [first, None, None]
    await cache.put("old", second, now=NOW)
    assert await cache.get("old") == second, "it was asked for again"


async def test_a_daily_sum_treats_unknown_figures_as_zero(database: Database) -> None:
    ledger = Ledger(database)
    for usage in (
        Usage(prompt_tokens=100, completion_tokens=7, cost_usd=0.25),
        Usage(prompt_tokens=11),
        Usage(),
    ):
        await ledger.record(usage, model="m", purpose="judge", source=BudgetSource.CHATS, now=NOW)
    assert await ledger.spent(NOW.date()) == {
        BudgetSource.CHATS: Usage(prompt_tokens=111, completion_tokens=7, cost_usd=0.25)
    }


async def test_a_day_ends_at_midnight_of_utc(database: Database) -> None:
    ledger = Ledger(database)
    moments = (
        datetime(2024, 5, 31, 23, 59, 59, tzinfo=UTC),
        datetime(2024, 6, 1, tzinfo=UTC),
        datetime.fromisoformat("2024-06-01T20:59:59-03:00"),
        datetime.fromisoformat("2024-06-01T21:00:00-03:00"),
    )
    for tokens, now in zip((1, 10, 100, 1000), moments, strict=True):
        await ledger.record(
            Usage(prompt_tokens=tokens),
            model="m",
            purpose="judge",
            source=BudgetSource.WEB,
            now=now,
        )
    spent = [await ledger.spent(date(2024, month, day)) for month, day in ((5, 31), (6, 1), (6, 2))]
    assert [usage[BudgetSource.WEB].prompt_tokens for usage in spent] == [1, 110, 1000]


async def test_spending_is_summed_per_source(database: Database) -> None:
    ledger = Ledger(database)
    for source, tokens in (
        (BudgetSource.WEB, 1),
        (BudgetSource.POSTS, 10),
        (BudgetSource.WEB, 100),
    ):
        usage = Usage(prompt_tokens=tokens, completion_tokens=0, cost_usd=0.0)
        await ledger.record(usage, model="m", purpose="judge", source=source, now=NOW)
    spent = await ledger.spent(NOW.date())
    assert {source: usage.prompt_tokens for source, usage in spent.items()} == {
        BudgetSource.WEB: 101,
        BudgetSource.POSTS: 10,
    }


class TestUnderWay:
    """Calls count from the moment they are let through."""

    def planned(
        self, source: BudgetSource = BudgetSource.WEB, *, seconds: float = 60
    ) -> PlannedCall:
        until = NOW + timedelta(seconds=seconds)
        return PlannedCall(source=source, tokens=1000, cost_usd=0.5, until=until)

    async def counted(self, ledger: Ledger, *, now: datetime = NOW) -> dict[BudgetSource, Usage]:
        """Return what a call is let through by."""
        seen: list[dict[BudgetSource, Usage]] = []

        def check(spent: Mapping[BudgetSource, Usage]) -> None:
            seen.append(dict(spent))
            raise BudgetExhausted("looked")

        with pytest.raises(BudgetExhausted):
            await ledger.reserve(self.planned(), check, now=now)
        return seen[0]

    async def test_a_reservation_counts_its_estimate_until_it_is_released(
        self, database: Database
    ) -> None:
        ledger = Ledger(database)
        place = await ledger.reserve(self.planned(), lambda _: None, now=NOW)
        guessed = Usage(prompt_tokens=1000, completion_tokens=0, cost_usd=0.5)
        assert await self.counted(ledger) == {BudgetSource.WEB: guessed}
        await ledger.release(place)
        assert await self.counted(ledger) == {}

    async def test_a_reservation_of_a_dead_process_expires(self, database: Database) -> None:
        ledger = Ledger(database)
        await ledger.reserve(self.planned(seconds=60), lambda _: None, now=NOW)
        assert await self.counted(ledger, now=NOW + timedelta(seconds=59))
        later = NOW + timedelta(seconds=60)
        assert await self.counted(ledger, now=later) == {}
        await ledger.release(await ledger.reserve(self.planned(), lambda _: None, now=later))
        assert await fetch_value(database, "SELECT count(*) FROM model_call_under_way") == 0

    async def test_concurrent_reservations_do_not_exceed_the_limit(
        self, database: Database
    ) -> None:
        budget = Budget(tokens=100_000, shares={BudgetSource.WEB: 0.03})

        def check(spent: Mapping[BudgetSource, Usage]) -> None:
            require_budget(budget, spent, BudgetSource.WEB, now=NOW)

        outcomes = await asyncio.gather(
            *(Ledger(database).reserve(self.planned(), check, now=NOW) for _ in range(20)),
            return_exceptions=True,
        )
        refused = [outcome for outcome in outcomes if isinstance(outcome, BudgetExhausted)]
        assert len(refused) == 17
        assert len([outcome for outcome in outcomes if isinstance(outcome, int)]) == 3


async def test_phrases_are_stored_without_their_cost(database: Database) -> None:
    expansions = Expansions(database)
    named = Expansion(phrases=("pump prices", "año nuevo"), model="some/model", prompt_version="1")
    await expansions.put("key", replace(named, usage=Usage(prompt_tokens=5)), now=NOW)
    assert await expansions.get("key") == named
