"""Decides when jobs run. APScheduler only provides the ticks; the database knows what is due.

APScheduler uses the wall clock: when that is set back, all ticks are restarted.

A tick starts its job as a separate task, unless the previous run has not ended. Only the leader
runs the jobs marked as the leader's; when it loses the lease, their runs are cancelled, for another
process begins them again. Every run has a total timeout, and its outcome is counted.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Never

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MAX_INSTANCES, EVENT_JOB_MISSED
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from db.lease import Lease
from db.logs import JobOutcomes, RunOutcome
from engine.errors import PresagioError, explain_error

logger = logging.getLogger("presagio.jobs")
_INTERVALS = 5  # that may pass between two runs of a job
_MIN_SECONDS = 30.0  # a busy machine may skip a few ticks of one second
_ENDING_SECONDS = 30.0  # that a run may take to end after its timeout
_WATCH_SECONDS = 5.0
_CLOSE_SECONDS = 2.0
_LATE_SECONDS = 60  # a tick later than this is counted as missed
_LOOK_SECONDS = 1.0
_RUN_SECONDS = 600.0
_STEP_SECONDS = 1.0  # mere adjustments set the clock back by less


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A task that is repeated. `work` returns how much it did."""

    name: str
    work: Callable[[], Awaitable[int]]
    every: float  # seconds between two ticks
    timeout: float = _RUN_SECONDS  # for one run
    leader: bool = True  # only the leader runs it
    finishes: bool = False  # shutdown waits for it
    counts_idle: bool = True  # runs that had nothing to do are counted too


@dataclass(slots=True)
class _Runs:
    """What is known about one job that should run here."""

    job: Job
    idle_since: float  # end of the last run; before the first, when it was first expected
    begun_at: float | None = None
    warned: bool = False

    def trouble(self, now: float) -> str | None:
        """Return what is wrong, or None."""
        if self.begun_at is None:
            idle = now - self.idle_since
            maximum = max(_INTERVALS * self.job.every, _MIN_SECONDS)
            return f"has not run for {idle:.0f} s" if idle > maximum else None
        running = now - self.begun_at
        maximum = self.job.timeout + _ENDING_SECONDS
        return (
            f"has been running for {running:.0f} s and does not end" if running > maximum else None
        )


@dataclass(slots=True)
class Watchdog:
    """Tracks every run; `clock` counts seconds and never goes back."""

    clock: Callable[[], float] = time.monotonic
    _runs: dict[str, _Runs] = field(default_factory=dict)

    def expect(self, job: Job) -> None:
        """Expect the job to run in this process."""
        self._runs.setdefault(job.name, _Runs(job, idle_since=self.clock()))

    def excuse(self, job: Job) -> None:
        """Stop expecting the job: another process runs it."""
        self._runs.pop(job.name, None)

    def began(self, job: Job) -> None:
        """Record the start of a run."""
        self.expect(job)
        self._runs[job.name].begun_at = self.clock()

    def note_end(self, job: Job) -> None:
        """Record the end of a run, whatever its outcome."""
        if runs := self._runs.get(job.name):
            runs.begun_at, runs.idle_since = None, self.clock()

    def ages(self) -> Mapping[str, float]:
        """Return the seconds since the last run ended, for each job that should run here."""
        now = self.clock()
        return {name: now - runs.idle_since for name, runs in self._runs.items()}

    async def watch(self) -> Never:
        """Warn about jobs that have stopped running, until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(_WATCH_SECONDS)

    def look(self) -> None:
        """Warn once about each job that has stopped running, and log once when it runs again."""
        now = self.clock()
        for name, runs in self._runs.items():
            trouble = runs.trouble(now)
            if trouble and not runs.warned:
                logger.warning("%s %s; it is due every %g s", name, trouble, runs.job.every)
            elif runs.warned and not trouble:
                logger.info("%s runs again", name)
            runs.warned = trouble is not None


class Scheduler:
    """Runs jobs until it is stopped. `watchdog` knows how their runs go."""

    def __init__(
        self,
        jobs: Sequence[Job],
        *,
        leader: Lease,
        outcomes: JobOutcomes,
        now: Callable[[], datetime],
        watchdog: Watchdog | None = None,
    ) -> None:
        self._jobs = jobs
        self._leader = leader
        self._outcomes = outcomes
        self._now = now
        self.watchdog = watchdog or Watchdog()
        self._ticker = AsyncIOScheduler(timezone=UTC)
        self._running: dict[str, asyncio.Task[None]] = {}
        self._counting: set[asyncio.Task[None]] = set()

    async def run(self) -> Never:
        """Run until cancelled, then start nothing new."""
        self._begin_ticks()
        self._ticker.add_listener(
            lambda event: self._count_outcome(event.job_id, RunOutcome.MISSED),
            EVENT_JOB_MISSED | EVENT_JOB_MAX_INSTANCES | EVENT_JOB_ERROR,
        )
        self._ticker.start()
        following = asyncio.create_task(self._follow_clock())
        try:
            while True:
                if not self._leader.is_held:
                    self._cancel_leaders()
                # A new leader does not wait for the next tick.
                for job in self._jobs:
                    await self._tick(job)
                await self._leader.wait_for_change()
        finally:
            following.cancel()
            self._ticker.shutdown(wait=False)

    async def stop(self, seconds: float) -> None:
        """Cancel running jobs, but allow those that finish `seconds` to do so. Never raises."""
        finishing = {job.name for job in self._jobs if job.finishes}
        for name, task in self._running.items():
            if name not in finishing:
                task.cancel()
        if self._running:
            await asyncio.wait(self._running.values(), timeout=seconds)
        left = [*self._running.values(), *self._counting]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=_CLOSE_SECONDS)

    def _begin_ticks(self) -> None:
        for job in self._jobs:
            self._ticker.add_job(
                self._tick,
                "interval",
                seconds=job.every,
                args=[job],
                id=job.name,
                coalesce=True,
                misfire_grace_time=_LATE_SECONDS,
                replace_existing=True,
            )

    async def _follow_clock(self) -> None:
        """Restart the ticks whenever the wall clock was set back."""
        clock = asyncio.get_running_loop().time
        ahead = self._now().timestamp() - clock()
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            before, ahead = ahead, self._now().timestamp() - clock()
            if ahead < before - _STEP_SECONDS:
                logger.warning("The clock was set back by %.0f s; jobs go on", before - ahead)
                self._begin_ticks()

    def _cancel_leaders(self) -> None:
        """Cancel the runs of jobs that another process may lead by now."""
        for job in self._jobs:
            if job.leader and (run := self._running.get(job.name)):
                logger.warning("%s was cancelled: this process leads no longer", job.name)
                run.cancel()

    async def _tick(self, job: Job) -> None:
        if job.leader and not self._leader.is_held:
            self.watchdog.excuse(job)
            return
        self.watchdog.expect(job)
        if job.name in self._running:
            if job.counts_idle:  # the other jobs look for more work while they run
                self._count_outcome(job.name, RunOutcome.SKIPPED)
            return
        task = asyncio.create_task(self._run(job))
        self._running[job.name] = task
        task.add_done_callback(lambda _: self._running.pop(job.name, None))

    async def _run(self, job: Job) -> None:
        """Run a job once, and count its outcome."""
        self.watchdog.began(job)
        try:
            async with asyncio.timeout(job.timeout):
                done = await job.work()
        except TimeoutError:
            logger.warning("%s did not end within %g s", job.name, job.timeout)
            await self._store_outcome(job.name, RunOutcome.TIMED_OUT)
        except PresagioError as error:
            logger.warning("%s failed: %s", job.name, error)
            await self._store_outcome(job.name, RunOutcome.FAILED, str(error))
        except Exception as error:
            logger.error("%s failed: %s", job.name, explain_error(error))  # noqa: TRY400 - a traceback may quote a message
            await self._store_outcome(job.name, RunOutcome.FAILED, type(error).__name__)
        else:
            if done or job.counts_idle:
                await self._store_outcome(job.name, RunOutcome.DONE)
        finally:
            self.watchdog.note_end(job)

    def _count_outcome(self, name: str, outcome: RunOutcome) -> None:
        task = asyncio.get_running_loop().create_task(self._store_outcome(name, outcome))
        self._counting.add(task)
        task.add_done_callback(self._counting.discard)

    async def _store_outcome(
        self, name: str, outcome: RunOutcome, error: str | None = None
    ) -> None:
        try:
            await self._outcomes.count(name, outcome, now=self._now(), error=error)
        except PresagioError as problem:
            logger.warning("%s: %s was not counted: %s", name, outcome, problem)
