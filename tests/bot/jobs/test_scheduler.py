"""Jobs run one at a time each, on the leader where they are its own, and every run is counted."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta, tzinfo

import pytest

from bot.jobs.job import Job
from bot.jobs.scheduler import Scheduler
from db.lease import Lease, LeaseTimes
from db.pool import Database
from db.posting.job_outcomes import JobOutcomes, RunOutcome
from engine.errors import StorageInterrupted
from tests.bot.conversing import until
from tests.patience import PATIENCE

NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(database_url)
    yield opened
    await opened.close()


@asynccontextmanager
async def running(
    database: Database, *jobs: Job, now: Callable[[], datetime] | None = None
) -> AsyncIterator[Scheduler]:
    """A process that runs these jobs."""
    now = now or (lambda: NOW)
    async with Lease(database, "leader", times=LeaseTimes(renewal=0.05)) as leader:
        scheduler = Scheduler(jobs, leader=leader, outcomes=JobOutcomes(database), now=now)
        task = asyncio.create_task(scheduler.run())
        try:
            yield scheduler
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await scheduler.stop(5)


def job(work: Callable[[], Awaitable[int]], **changes: object) -> Job:
    values: dict[str, object] = {"name": "job", "work": work, "every": 0.05, "timeout": 5}
    return Job(**values | changes)  # type: ignore[arg-type]  # fields of Job


async def counted(database: Database) -> dict[RunOutcome, int]:
    found = await JobOutcomes(database).summary(NOW - timedelta(days=1))
    return {one.outcome: one.times for one in found}


async def until_counted(database: Database, outcome: RunOutcome, times: int = 1) -> None:
    """Return when so many runs have ended so."""
    async with asyncio.timeout(PATIENCE):
        while (await counted(database)).get(outcome, 0) < times:  # noqa: ASYNC110 - another process may count
            await asyncio.sleep(0.02)


async def test_a_job_runs_at_once_and_again_and_again(database: Database) -> None:
    runs = 0

    async def work() -> int:
        nonlocal runs
        runs += 1
        return 1

    async with running(database, job(work)):
        await until(lambda: runs >= 3)
    assert (await counted(database))[RunOutcome.DONE] >= 2


async def test_a_run_that_has_not_ended_is_not_joined_by_another(database: Database) -> None:
    under_way = most = 0
    ended = asyncio.Event()

    async def work() -> int:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await ended.wait()
        under_way -= 1
        return 1

    async with running(database, job(work)):
        await until_counted(database, RunOutcome.SKIPPED)
        ended.set()
        await until_counted(database, RunOutcome.DONE)
    assert most == 1


async def test_who_loses_the_lead_ends_its_jobs(database: Database) -> None:
    ended: list[str] = []
    begun = asyncio.Barrier(3)

    def lasting(name: str) -> Callable[[], Awaitable[int]]:
        async def work() -> int:
            try:
                await begun.wait()
                await asyncio.Event().wait()
            finally:
                ended.append(name)
            return 1

        return work

    jobs = (
        job(lasting("led"), name="led", every=3600),
        job(lasting("anyone's"), name="anyone's", every=3600, leader=False),
    )
    async with running(database, *jobs):
        await begun.wait()
        async with database.connection() as connection:
            await connection.execute("UPDATE lease SET holder = 'another', fence = fence + 1")
        await until(lambda: bool(ended))
        assert ended == ["led"]


async def test_a_run_that_hangs_is_ended_and_counted(database: Database) -> None:
    async def work() -> int:
        await asyncio.Event().wait()
        return 1

    async with running(database, job(work, timeout=0.05)):
        await until_counted(database, RunOutcome.TIMED_OUT, 2)


@pytest.mark.parametrize("error", [StorageInterrupted("The disk is on fire."), KeyError("secret")])
async def test_a_run_that_fails_is_counted_and_repeated(
    database: Database, error: Exception
) -> None:
    async def work() -> int:
        raise error

    async with running(database, job(work)):
        await until_counted(database, RunOutcome.FAILED, 2)
    found = await JobOutcomes(database).summary(NOW - timedelta(days=1))
    # On a busy machine a run may be skipped besides.
    (summary,) = (one for one in found if one.outcome is RunOutcome.FAILED)
    expected = "KeyError" if isinstance(error, KeyError) else "The disk is on fire."
    assert summary.last_error == expected


async def test_the_jobs_of_the_leader_run_in_one_process_the_others_in_all(
    database: Database,
) -> None:
    led: set[str] = set()
    done: set[str] = set()

    def noting(seen: set[str], name: str) -> Callable[[], Awaitable[int]]:
        async def work() -> int:
            seen.add(name)
            return 1

        return work

    def jobs(name: str) -> tuple[Job, ...]:
        return (
            job(noting(led, name), name="led"),
            job(noting(done, name), name="everybody", leader=False),
        )

    async with running(database, *jobs("one")):
        await until(lambda: "one" in led)
        async with running(database, *jobs("other")):
            await until(lambda: done == {"one", "other"})
            assert led == {"one"}


async def test_another_process_takes_the_jobs_over(database: Database) -> None:
    led: list[str] = []

    def work(name: str) -> Callable[[], Awaitable[int]]:
        async def note() -> int:
            led.append(name)
            return 1

        return note

    async with AsyncExitStack() as second:
        async with running(database, job(work("first"))):
            await until(lambda: "first" in led)
            await second.enter_async_context(running(database, job(work("second"))))
            assert "second" not in led
        await until(lambda: "second" in led)


async def test_a_stop_waits_for_what_finishes_and_for_nothing_else(database: Database) -> None:
    finished: list[str] = []
    begun = asyncio.Event()

    def work(name: str, seconds: float) -> Callable[[], Awaitable[int]]:
        async def last() -> int:
            begun.set()
            await asyncio.sleep(seconds)
            finished.append(name)
            return 1

        return last

    sending = job(work("sends", 0.5), name="sends", finishes=True, every=60)
    polling = job(work("polls", 60), name="polls", every=60)
    clock = asyncio.get_running_loop().time
    async with running(database, sending, polling):
        await begun.wait()
        stopping = clock()
    assert finished == ["sends"]
    assert clock() - stopping < 5


async def test_a_run_with_nothing_to_do_need_not_be_counted(database: Database) -> None:
    runs = 0

    async def work() -> int:
        nonlocal runs
        runs += 1
        return 0

    async with running(database, job(work, counts_idle=False)):
        await until(lambda: runs >= 3)
    assert await counted(database) == {}


class WallClock(datetime):
    """The time of day, which can be set."""

    set_by = timedelta()

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return datetime.now(tz) + cls.set_by


async def test_jobs_go_on_when_the_clock_is_set_back(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for module in ("schedulers.base", "triggers.interval", "executors.base"):
        monkeypatch.setattr(f"apscheduler.{module}.datetime", WallClock)
    monkeypatch.setattr(WallClock, "set_by", timedelta())
    runs = 0

    async def work() -> int:
        nonlocal runs
        runs += 1
        return 1

    async with running(database, job(work), now=lambda: WallClock.now(UTC)) as scheduler:
        await until(lambda: runs >= 2)
        WallClock.set_by = -timedelta(hours=2)
        before = runs
        await until(lambda: runs >= before + 3)  # one may have been on its way
        assert 0 <= scheduler.ages()["job"] < 60
    assert "The clock was set back by 7200 s; jobs go on" in caplog.messages
