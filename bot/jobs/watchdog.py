"""Watches whether the jobs of this process run: one that has stopped is logged and reported.

All times are taken from a monotonic clock, which nobody can set.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bot.jobs.job import Job

logger = logging.getLogger("presagio.jobs")

_INTERVALS = 5  # that may pass between two runs of a job
_LEAST_SECONDS = 30.0  # a busy machine may skip a few ticks of one second
_ENDING_SECONDS = 30.0  # that a run may take to end after its timeout
_LOOK_SECONDS = 5.0


@dataclass(slots=True)
class _Runs:
    """What is known about one job that should run here."""

    job: Job
    idle_since: float  # end of the last run; before the first, when it was first expected
    begun_at: float | None = None
    told: bool = False

    def trouble(self, now: float) -> str | None:
        """Return what is wrong, or None."""
        if self.begun_at is None:
            idle = now - self.idle_since
            most = max(_INTERVALS * self.job.every, _LEAST_SECONDS)
            return f"has not run for {idle:.0f} s" if idle > most else None
        running = now - self.begun_at
        most = self.job.timeout + _ENDING_SECONDS
        return f"has been running for {running:.0f} s and does not end" if running > most else None


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

    def ended(self, job: Job) -> None:
        """Record the end of a run, whatever its outcome."""
        if runs := self._runs.get(job.name):
            runs.begun_at, runs.idle_since = None, self.clock()

    def ages(self) -> Mapping[str, float]:
        """Return the seconds since the last run ended, for each job that should run here."""
        now = self.clock()
        return {name: now - runs.idle_since for name, runs in self._runs.items()}

    async def watch(self) -> None:
        """Warn about jobs that have stopped running, until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(_LOOK_SECONDS)

    def look(self) -> None:
        """Warn once about each job that has stopped running, and log once when it runs again."""
        now = self.clock()
        for name, runs in self._runs.items():
            trouble = runs.trouble(now)
            if trouble and not runs.told:
                logger.warning("%s %s; it is due every %g s", name, trouble, runs.job.every)
            elif runs.told and not trouble:
                logger.info("%s runs again", name)
            runs.told = trouble is not None
