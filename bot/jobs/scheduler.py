"""Decides when jobs run. APScheduler only provides the ticks; the database knows what is due.

APScheduler uses the wall clock: when that is set back, all ticks are restarted.

A tick starts its job as a separate task, unless the previous run has not ended. Only the leader
runs the jobs marked as the leader's; when it loses the lease, their runs are cancelled, for another
process begins them again. Every run has a total timeout, and its outcome is counted.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MAX_INSTANCES, EVENT_JOB_MISSED
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from bot.incident import reason
from bot.jobs.job import Job
from bot.jobs.watchdog import Watchdog
from db.lease import Lease
from db.posting.job_outcomes import JobOutcomes, RunOutcome
from engine.errors import PresagioError

logger = logging.getLogger("presagio.jobs")

_CLOSE_SECONDS = 2.0
_LATE_SECONDS = 60  # a tick later than this is counted as missed
_LOOK_SECONDS = 1.0
_STEP_SECONDS = 1.0  # mere adjustments set the clock back by less


class Scheduler:
    """Runs jobs until it is stopped."""

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
        self._watchdog = watchdog or Watchdog()
        self._ticker = AsyncIOScheduler(timezone=UTC)
        self._running: dict[str, asyncio.Task[None]] = {}
        self._counting: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Run until cancelled, then start nothing new."""
        self._begin_ticks()
        self._ticker.add_listener(
            self._not_ticked, EVENT_JOB_MISSED | EVENT_JOB_MAX_INSTANCES | EVENT_JOB_ERROR
        )
        self._ticker.start()
        following = asyncio.create_task(self._follow_clock())
        try:
            while True:
                if not self._leader.held:
                    self._cancel_leaders()
                # A new leader does not wait for the next tick.
                for job in self._jobs:
                    await self._tick(job)
                await self._leader.changed()
        finally:
            following.cancel()
            self._ticker.shutdown(wait=False)

    async def watch(self) -> None:
        """Warn about jobs that have stopped running, until cancelled."""
        await self._watchdog.watch()

    def ages(self) -> Mapping[str, float]:
        """Return the seconds since the last run ended, for each job that should run here."""
        return self._watchdog.ages()

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
        if job.leader and not self._leader.held:
            self._watchdog.excuse(job)
            return
        self._watchdog.expect(job)
        if job.name in self._running:
            if job.counts_idle:  # the other jobs look for more work while they run
                self._count(job.name, RunOutcome.SKIPPED)
            return
        task = asyncio.create_task(self._run(job))
        self._running[job.name] = task
        task.add_done_callback(lambda _: self._running.pop(job.name, None))

    async def _run(self, job: Job) -> None:
        """Run a job once, and count its outcome."""
        self._watchdog.began(job)
        try:
            await self._run_counted(job)
        finally:
            self._watchdog.ended(job)

    async def _run_counted(self, job: Job) -> None:
        try:
            async with asyncio.timeout(job.timeout):
                done = await job.work()
        except TimeoutError:
            logger.warning("%s did not end within %g s", job.name, job.timeout)
            await self._store(job.name, RunOutcome.TIMED_OUT)
        except PresagioError as error:
            logger.warning("%s failed: %s", job.name, error)
            await self._store(job.name, RunOutcome.FAILED, str(error))
        except Exception as error:
            logger.error("%s failed: %s", job.name, reason(error))  # noqa: TRY400 - a traceback may quote a message
            await self._store(job.name, RunOutcome.FAILED, type(error).__name__)
        else:
            if done or job.counts_idle:
                await self._store(job.name, RunOutcome.DONE)

    def _not_ticked(self, event: Any) -> None:
        self._count(event.job_id, RunOutcome.MISSED)

    def _count(self, name: str, outcome: RunOutcome) -> None:
        self._aside(self._store(name, outcome))

    def _aside(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._counting.add(task)
        task.add_done_callback(self._counting.discard)

    async def _store(self, name: str, outcome: RunOutcome, error: str | None = None) -> None:
        try:
            await self._outcomes.count(name, outcome, now=self._now(), error=error)
        except PresagioError as problem:
            logger.warning("%s: %s was not counted: %s", name, outcome, problem)
