"""What became of the jobs is counted."""

import asyncio

from db.logs import JobOutcome, JobOutcomes, RunOutcome
from db.pool import Database
from tests.db.news import DAY, HOUR, NOW, count


async def test_outcomes_are_summed_by_job_over_days(database: Database) -> None:
    outcomes = JobOutcomes(database)
    await outcomes.count("poll", RunOutcome.FAILED, now=NOW - 2 * DAY, error="too old")
    await outcomes.count("poll", RunOutcome.FAILED, now=NOW - DAY, error="first")
    await outcomes.count("poll", RunOutcome.FAILED, now=NOW, error="second")
    await outcomes.count("poll", RunOutcome.FAILED, now=NOW + HOUR)
    await outcomes.count("poll", RunOutcome.TIMED_OUT, now=NOW)
    await outcomes.count("digest", RunOutcome.DONE, now=NOW)
    assert await outcomes.summary(NOW - DAY) == [
        JobOutcome(job="digest", outcome=RunOutcome.DONE, times=1, last_at=NOW, last_error=None),
        JobOutcome(
            job="poll", outcome=RunOutcome.FAILED, times=3, last_at=NOW + HOUR, last_error="second"
        ),
        JobOutcome(job="poll", outcome=RunOutcome.TIMED_OUT, times=1, last_at=NOW, last_error=None),
    ]


async def test_every_outcome_can_be_stored_and_none_is_lost(database: Database) -> None:
    outcomes = JobOutcomes(database)
    await asyncio.gather(
        *(outcomes.count("poll", outcome, now=NOW) for outcome in RunOutcome for _ in range(5))
    )
    times = {one.outcome: one.times for one in await outcomes.summary(NOW)}
    assert times == dict.fromkeys(RunOutcome, 5)


async def test_a_long_error_is_cut_and_old_days_go(database: Database) -> None:
    outcomes = JobOutcomes(database)
    await outcomes.count("poll", RunOutcome.FAILED, now=NOW, error="x" * 10_000)
    (summed,) = await outcomes.summary(NOW)
    assert summed.last_error is not None
    assert 0 < len(summed.last_error) < 1_000
    await outcomes.forget(now=NOW + 89 * DAY)
    assert await count(database, "job_outcome") == 1
    await outcomes.forget(now=NOW + 91 * DAY)
    assert await outcomes.summary(NOW - 365 * DAY) == []


async def test_totals_outlast_the_days(database: Database) -> None:
    outcomes = JobOutcomes(database)
    for day in range(4):
        await outcomes.count("poll", RunOutcome.DONE, now=NOW + day * DAY)
    await outcomes.count("poll", RunOutcome.FAILED, now=NOW)
    totals = {("poll", RunOutcome.DONE): 4, ("poll", RunOutcome.FAILED): 1}
    for day in (0, 91, 91, 92, 200):
        await outcomes.forget(now=NOW + day * DAY)
        assert await outcomes.totals() == totals
    assert await count(database, "job_outcome") == 2
