"""Jobs run one at a time each, on the leader where they are its own, and every run is counted."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta, tzinfo

import pytest

from bot.jobs.scheduler import Job, Scheduler
from db.lease import Lease, LeaseTimes
from db.logs import JobOutcomes, RunOutcome
from db.pool import Database
from engine.errors import StorageInterrupted
from tests.patience import PATIENCE, until

NOW = datetime(2026, 6, 1, tzinfo=UTC)


@asynccontextmanager
async def running(
    storage: Database, *jobs: Job, now: Callable[[], datetime] | None = None
) -> AsyncIterator[Scheduler]:
    """A process that runs these jobs."""
    now = now or (lambda: NOW)
    async with Lease(storage, "leader", times=LeaseTimes(renewal=0.05)) as leader:
        scheduler = Scheduler(jobs, leader=leader, outcomes=JobOutcomes(storage), now=now)
        task = asyncio.create_task(scheduler.run())
        try:
            yield scheduler
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await scheduler.stop(PATIENCE)


def job(work: Callable[[], Awaitable[int]], **changes: object) -> Job:
    values: dict[str, object] = {"name": "job", "work": work, "every": 0.05, "timeout": 5}
    return Job(**values | changes)  # type: ignore[arg-type]  # fields of Job


class Work:
    """What a job does: it counts its runs, and tells how much was done."""

    def __init__(self, done: int = 1) -> None:
        self.done, self.runs = done, 0

    async def __call__(self) -> int:
        self.runs += 1
        return self.done


async def counted(storage: Database) -> dict[RunOutcome, int]:
    found = await JobOutcomes(storage).summary(NOW - timedelta(days=1))
    return {one.outcome: one.times for one in found}


async def until_counted(storage: Database, outcome: RunOutcome, times: int = 1) -> None:
    """Return when so many runs have ended so."""
    async with asyncio.timeout(PATIENCE):
        while (await counted(storage)).get(outcome, 0) < times:  # noqa: ASYNC110 - another process may count
            await asyncio.sleep(0.02)


async def test_a_job_runs_at_once_and_again_and_again(storage: Database) -> None:
    work = Work()
    async with running(storage, job(work)):
        await until(lambda: work.runs >= 3)
    assert (await counted(storage))[RunOutcome.DONE] >= 2


async def test_runs_of_a_job_do_not_overlap(storage: Database) -> None:
    under_way = maximum = 0
    ended = asyncio.Event()

    async def work() -> int:
        nonlocal under_way, maximum
        under_way += 1
        maximum = max(maximum, under_way)
        await ended.wait()
        under_way -= 1
        return 1

    async with running(storage, job(work)):
        await until_counted(storage, RunOutcome.SKIPPED)
        ended.set()
        await until_counted(storage, RunOutcome.DONE)
    assert maximum == 1


async def test_process_that_loses_the_lead_stops_leader_jobs(storage: Database) -> None:
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
    async with running(storage, *jobs):
        await begun.wait()
        async with storage.connection() as connection:
            await connection.execute("UPDATE lease SET holder = 'another', fence = fence + 1")
        await until(lambda: bool(ended))
        assert ended == ["led"]


async def test_a_run_that_hangs_is_ended_and_counted(storage: Database) -> None:
    async def work() -> int:
        await asyncio.Event().wait()
        return 1

    async with running(storage, job(work, timeout=0.05)):
        await until_counted(storage, RunOutcome.TIMED_OUT, 2)
    assert set(await counted(storage)) <= {RunOutcome.TIMED_OUT, RunOutcome.SKIPPED}


@pytest.mark.parametrize("error", [StorageInterrupted("The disk is on fire."), KeyError("secret")])
async def test_a_run_that_fails_is_counted_and_repeated(
    storage: Database, error: Exception
) -> None:
    async def work() -> int:
        raise error

    async with running(storage, job(work)):
        await until_counted(storage, RunOutcome.FAILED, 2)
    found = await JobOutcomes(storage).summary(NOW - timedelta(days=1))
    # On a busy machine a run may be skipped besides.
    (summary,) = (one for one in found if one.outcome is RunOutcome.FAILED)
    expected = "KeyError" if isinstance(error, KeyError) else "The disk is on fire."
    assert summary.last_error == expected


async def test_the_jobs_of_the_leader_run_in_one_process_the_others_in_all(
    storage: Database,
) -> None:
    led, done = (Work(), Work()), (Work(), Work())
    one, other = (
        (job(leading, name="led"), job(doing, name="everybody", leader=False))
        for leading, doing in zip(led, done, strict=True)
    )
    async with running(storage, *one):
        await until(lambda: led[0].runs)
        async with running(storage, *other):
            await until(lambda: all(work.runs for work in done))
            assert not led[1].runs


async def test_another_process_takes_the_jobs_over(storage: Database) -> None:
    first, second = Work(), Work()
    async with AsyncExitStack() as stack:
        async with running(storage, job(first)):
            await until(lambda: first.runs)
            await stack.enter_async_context(running(storage, job(second)))
            assert not second.runs
        await until(lambda: second.runs)


async def test_stop_waits_only_for_jobs_that_finish_on_stop(storage: Database) -> None:
    finished: list[str] = []
    begun: set[str] = set()

    def work(name: str, seconds: float) -> Callable[[], Awaitable[int]]:
        async def last() -> int:
            begun.add(name)
            await asyncio.sleep(seconds)
            finished.append(name)
            return 1

        return last

    sending = job(work("sends", 0.5), name="sends", finishes=True, every=60)
    polling = job(work("polls", 600), name="polls", every=60, timeout=600)
    clock = asyncio.get_running_loop().time
    async with running(storage, sending, polling):
        await until(lambda: len(begun) == 2)
        stopping = clock()
    assert finished == ["sends"]
    assert clock() - stopping < PATIENCE


async def test_idle_run_is_not_counted_if_the_job_opts_out(storage: Database) -> None:
    work = Work(done=0)
    async with running(storage, job(work, counts_idle=False)):
        await until(lambda: work.runs >= 3)
    assert await counted(storage) == {}


@pytest.mark.parametrize(
    ("done", "counts_idle"), [(0, True), (1, False)], ids=["idle by default", "busy in any case"]
)
async def test_other_runs_are_counted(storage: Database, done: int, counts_idle: bool) -> None:
    async with running(storage, job(Work(done), counts_idle=counts_idle)):
        await until_counted(storage, RunOutcome.DONE)


class WallClock(datetime):
    """The time of day, which can be set."""

    set_by = timedelta()

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return datetime.now(tz) + cls.set_by


async def test_jobs_go_on_when_the_clock_is_set_back(
    storage: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for module in ("schedulers.base", "triggers.interval", "executors.base"):
        monkeypatch.setattr(f"apscheduler.{module}.datetime", WallClock)
    monkeypatch.setattr(WallClock, "set_by", timedelta())
    work = Work()
    async with running(storage, job(work), now=lambda: WallClock.now(UTC)) as scheduler:
        await until(lambda: work.runs >= 2)
        WallClock.set_by = -timedelta(hours=2)
        before = work.runs
        await until(lambda: work.runs >= before + 3)  # one may have been on its way
        assert 0 <= scheduler.watchdog.ages()["job"] < 60
    assert "The clock was set back by 7200 s; jobs go on" in caplog.messages
