"""Judgments that were paid for once, and what they cost."""

from datetime import UTC, date, datetime, timedelta

from db.model import Judgments, Ledger
from db.pool import Database
from engine.types import Usage, Verdict

NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)


async def test_a_verdict_comes_back_as_it_went_in(database: Database) -> None:
    verdict = Verdict(scores={2**62: 6, 3: 0}, model="some/model", prompt_version="4")
    judgments = Judgments(database)
    await judgments.put("key", verdict, now=NOW)
    assert await judgments.get("key") == verdict
    assert await judgments.get("other") is None


async def test_what_belongs_to_one_call_is_not_kept(database: Database) -> None:
    judgments = Judgments(database)
    verdict = Verdict(scores={1: 2}, usage=Usage(prompt_tokens=5), notice="late", cached=True)
    await judgments.put("key", verdict, now=NOW)
    assert await judgments.get("key") == Verdict(scores={1: 2})


async def test_the_first_judgment_stands(database: Database) -> None:
    judgments = Judgments(database)
    await judgments.put("key", Verdict(scores={1: 2}), now=NOW)
    await judgments.put("key", Verdict(scores={1: 5}), now=NOW + timedelta(days=1))
    kept = await judgments.get("key")
    assert kept
    assert kept.scores == {1: 2}


async def test_judgments_are_forgotten_after_ninety_days(database: Database) -> None:
    judgments = Judgments(database)
    await judgments.put("old", Verdict(scores={1: 2}), now=NOW - timedelta(days=91))
    await judgments.put("young", Verdict(scores={1: 2}), now=NOW - timedelta(days=89))
    await judgments.put("new", Verdict(scores={1: 2}), now=NOW)
    assert await judgments.get("old") is None
    assert await judgments.get("young")


async def test_a_forgotten_judgment_is_asked_for_again(database: Database) -> None:
    judgments = Judgments(database)
    await judgments.put("key", Verdict(scores={1: 2}), now=NOW - timedelta(days=91))
    await judgments.put("other", Verdict(scores={}), now=NOW)
    await judgments.put("key", Verdict(scores={1: 5}), now=NOW)
    kept = await judgments.get("key")
    assert kept
    assert kept.scores == {1: 5}


async def test_a_day_sums_its_calls_and_takes_unknown_figures_as_none(database: Database) -> None:
    ledger = Ledger(database)
    for usage in (
        Usage(prompt_tokens=100, completion_tokens=7, cost_usd=0.25),
        Usage(prompt_tokens=11),
        Usage(),
    ):
        await ledger.record(usage, model="m", purpose="judge", now=NOW)
    assert await ledger.spent(NOW.date()) == Usage(
        prompt_tokens=111, completion_tokens=7, cost_usd=0.25
    )


async def test_a_day_ends_at_midnight_of_utc(database: Database) -> None:
    ledger = Ledger(database)
    moments = (
        datetime(2024, 5, 31, 23, 59, 59, tzinfo=UTC),
        datetime(2024, 6, 1, tzinfo=UTC),
        datetime.fromisoformat("2024-06-01T20:59:59-03:00"),
        datetime.fromisoformat("2024-06-01T21:00:00-03:00"),
    )
    for tokens, now in zip((1, 10, 100, 1000), moments, strict=True):
        await ledger.record(Usage(prompt_tokens=tokens), model="m", purpose="judge", now=now)
    spent = [await ledger.spent(date(2024, month, day)) for month, day in ((5, 31), (6, 1), (6, 2))]
    assert [usage.prompt_tokens for usage in spent] == [1, 110, 1000]


async def test_nothing_spent_is_nothing(database: Database) -> None:
    spent = await Ledger(database).spent(NOW.date())
    assert spent == Usage(prompt_tokens=0, completion_tokens=0, cost_usd=0.0)
