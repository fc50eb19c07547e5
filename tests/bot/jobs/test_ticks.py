"""Ticks, the clock and the end of a scheduler, by a clock that stands unless a test moves it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from typing import cast

import pytest

from bot.jobs.scheduler import Job, Scheduler, Watchdog
from db.lease import Lease
from db.logs import JobOutcomes, RunOutcome
from tests.bot.jobs import test_scheduler

START = datetime(2026, 6, 1, tzinfo=UTC)
TURNS = 30  # of the event loop, after which nothing more happens


class Leader:
    """A lease that a test gives and takes."""

    def __init__(self) -> None:
        self.is_held, self._change = True, asyncio.Event()

    async def wait_for_change(self) -> bool:
        await self._change.wait()
        return self.is_held

    def become(self, held: bool) -> None:
        self.is_held = held
        self._change.set()
        self._change = asyncio.Event()


@dataclass
class Stage:
    """A scheduler, what it counted, and its time."""

    leader: Leader = field(default_factory=Leader)
    counted: list[RunOutcome] = field(default_factory=list)
    seconds: float = 1000.0  # by the clock of the event loop
    set_by: float = 0.0  # what the wall clock was set by
    storing: Callable[[], Awaitable[None]] | None = None

    def __post_init__(self) -> None:
        self.watchdog = Watchdog(lambda: self.seconds)

    async def count(self, name: str, outcome: RunOutcome, **_: object) -> None:
        if self.storing:
            await self.storing()
        self.counted.append(outcome)

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds + self.set_by)

    def scheduler(self, *jobs: Job) -> Scheduler:
        return Scheduler(
            jobs,
            leader=cast(Lease, self.leader),
            outcomes=cast(JobOutcomes, self),
            now=self.now,
            watchdog=self.watchdog,
        )

    async def start(self, *jobs: Job) -> tuple[Scheduler, "asyncio.Task[None]"]:
        scheduler = self.scheduler(*jobs)
        task: asyncio.Task[None] = asyncio.create_task(scheduler.run())
        await self.move(0)
        return scheduler, task

    async def move(self, seconds: float) -> None:
        """Move both clocks, and let everything happen that is due."""
        self.seconds += seconds
        for _ in range(TURNS):
            await asyncio.sleep(0)


@pytest.fixture
async def stage(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    stage = Stage()

    class WallClock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return stage.now()

    for module in ("schedulers.base", "triggers.interval", "executors.base"):
        monkeypatch.setattr(f"apscheduler.{module}.datetime", WallClock)
    before = asyncio.all_tasks()
    with monkeypatch.context() as patched:
        patched.setattr(asyncio.get_running_loop(), "time", lambda: stage.seconds)
        yield stage
        for task in asyncio.all_tasks() - before - {asyncio.current_task()}:
            task.cancel()
        await stage.move(0)


job = partial(test_scheduler.job, every=3600.0, timeout=1e6)


async def one_thing() -> int:
    return 1


@pytest.mark.parametrize(
    ("late", "second"), [(59.5, RunOutcome.DONE), (60.5, RunOutcome.MISSED)], ids=str
)
async def test_a_tick_that_is_more_than_a_minute_late_is_missed_and_counted(
    stage: Stage, late: float, second: RunOutcome
) -> None:
    await stage.start(job(one_thing))
    await stage.move(3600 + late)
    assert stage.counted == [RunOutcome.DONE, second]


async def test_ticks_that_are_due_together_are_one(stage: Stage) -> None:
    await stage.start(job(one_thing, every=10.0))
    await stage.move(35)
    assert stage.counted == [RunOutcome.DONE] * 2


@pytest.mark.parametrize(("back", "warns"), [(0.5, False), (1.5, True)])
async def test_clock_set_back_by_over_a_second_is_logged(
    stage: Stage, caplog: pytest.LogCaptureFixture, back: float, warns: bool
) -> None:
    await stage.start(job(one_thing))
    stage.set_by = -back
    await stage.move(0.9)
    assert caplog.messages == []
    await stage.move(0.2)
    assert [message[:22] for message in caplog.messages] == ["The clock was set back"] * warns


async def test_a_cancelled_scheduler_leaves_nothing_behind_and_ticks_no_more(stage: Stage) -> None:
    before = asyncio.all_tasks()
    _, task = await stage.start(job(one_thing))
    task.cancel()
    await stage.move(0)
    assert asyncio.all_tasks() == before
    await stage.move(3600)
    assert stage.counted == [RunOutcome.DONE]


async def test_stop_cancels_after_its_timeout_and_gives_up_two_seconds_later(stage: Stage) -> None:
    cancelled_at: list[float] = []
    ended = asyncio.Event()

    async def stay() -> int:
        while not ended.is_set():
            try:
                await ended.wait()
            except asyncio.CancelledError:
                cancelled_at.append(stage.seconds)
        return 1

    scheduler, task = await stage.start(job(stay, finishes=True))
    task.cancel()
    begun = stage.seconds
    stopping = asyncio.create_task(scheduler.stop(5.0))
    await stage.move(0)
    states = []
    for seconds in (4.9, 0.2, 1.9, 0.2):
        await stage.move(seconds)
        states.append((len(cancelled_at), stopping.done()))
    ended.set()
    await stage.move(0)
    assert states == [(0, False), (1, False), (1, False), (1, True)]
    assert round(cancelled_at[0] - begun, 1) == 5.1


async def test_stop_does_not_wait_for_storing_outcomes(stage: Stage) -> None:
    begun, waited = asyncio.Event(), list[str]()

    async def store() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            waited.append("cancelled")
            raise

    async def last() -> int:
        await asyncio.Event().wait()
        return 1

    stage.storing = store
    scheduler, task = await stage.start(job(last))
    await stage.move(3600)  # the tick finds the job running, which is counted
    assert begun.is_set()
    task.cancel()
    await scheduler.stop(5.0)
    assert waited == ["cancelled"]


async def test_watchdog_expects_leader_jobs_only_while_leading(stage: Stage) -> None:
    scheduler, _ = await stage.start(job(one_thing))
    await stage.move(7)
    assert scheduler.watchdog.ages() == {"job": 7}
    stage.leader.become(held=False)
    await stage.move(0)
    assert scheduler.watchdog.ages() == {}
    stage.leader.become(held=True)
    await stage.move(0)
    assert scheduler.watchdog.ages() == {"job": 0}


async def test_watchdog_accepts_a_long_run_and_a_finished_run(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """A long one is no job that does not run; one that ended is none that does not end."""
    ending = asyncio.Event()

    async def last() -> int:
        await ending.wait()
        return 1

    caplog.set_level(logging.WARNING, "presagio.jobs")
    scheduler, _ = await stage.start(
        job(last, name="long", every=1.0), job(one_thing, name="short", every=100.0, timeout=10.0)
    )
    watching: asyncio.Task[None] = asyncio.create_task(scheduler.watchdog.watch())
    for _ in range(12):
        await stage.move(5)
    assert caplog.messages == []
    ending.set()
    watching.cancel()


async def test_watchdog_looks_every_five_seconds(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "presagio.jobs")
    scheduler = stage.scheduler()
    stage.watchdog.expect(job(one_thing, every=1.0))
    stage.seconds += 29.0
    watching: asyncio.Task[None] = asyncio.create_task(scheduler.watchdog.watch())
    await stage.move(0)
    await stage.move(4.9)
    assert caplog.messages == []
    await stage.move(0.2)
    assert caplog.messages == ["job has not run for 34 s; it is due every 1 s"]
    watching.cancel()
