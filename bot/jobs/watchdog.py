"""Whether the jobs of this process run at all: a job that has ceased to is said and shown.

Everything is counted on a monotonic clock, which nobody can set.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bot.jobs.job import Job

logger = logging.getLogger("presagio.jobs")

_INTERVALS = 5  # that may pass between two runs
_LEAST_SECONDS = 30.0  # a busy machine may well skip a few of one second
_ENDING_SECONDS = 30.0  # that a run which was timed out may take to end
_LOOK_SECONDS = 5.0


@dataclass(slots=True)
class _Runs:
    """What is known of one job that is to run here."""

    job: Job
    idle_since: float  # the end of the last run; before there was any, when it was first expected
    begun_at: float | None = None
    told: bool = False

    def trouble(self, now: float) -> str | None:
        """Say what is wrong, or None."""
        if self.begun_at is None:
            idle = now - self.idle_since
            most = max(_INTERVALS * self.job.every, _LEAST_SECONDS)
            return f"has not run for {idle:.0f} s" if idle > most else None
        running = now - self.begun_at
        most = self.job.timeout + _ENDING_SECONDS
        return f"has been running for {running:.0f} s and does not end" if running > most else None


@dataclass(slots=True)
class Watchdog:
    """Is told of every run; `clock` counts seconds and never goes back."""

    clock: Callable[[], float] = time.monotonic
    _runs: dict[str, _Runs] = field(default_factory=dict)

    def expect(self, job: Job) -> None:
        """Take it that the job is to run in this process."""
        self._runs.setdefault(job.name, _Runs(job, idle_since=self.clock()))

    def excuse(self, job: Job) -> None:
        """Take it that another process runs the job."""
        self._runs.pop(job.name, None)

    def began(self, job: Job) -> None:
        """Note a run."""
        self.expect(job)
        self._runs[job.name].begun_at = self.clock()

    def ended(self, job: Job) -> None:
        """Note the end of a run, whatever became of it."""
        if runs := self._runs.get(job.name):
            runs.begun_at, runs.idle_since = None, self.clock()

    def ages(self) -> Mapping[str, float]:
        """Return, for each job that is to run here, the seconds since its last run ended."""
        now = self.clock()
        return {name: now - runs.idle_since for name, runs in self._runs.items()}

    async def watch(self) -> None:
        """Warn, until cancelled, of jobs that have ceased to run."""
        while True:
            self.look()
            await asyncio.sleep(_LOOK_SECONDS)

    def look(self) -> None:
        """Warn once of each job that has ceased to run, and tell once that it runs again."""
        now = self.clock()
        for name, runs in self._runs.items():
            trouble = runs.trouble(now)
            if trouble and not runs.told:
                logger.warning("%s %s; it is due every %g s", name, trouble, runs.job.every)
            elif runs.told and not trouble:
                logger.info("%s runs again", name)
            runs.told = trouble is not None
