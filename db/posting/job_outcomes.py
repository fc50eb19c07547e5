"""Counts the outcomes of jobs, by day."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from db.connection import statements
from db.pool import Database

_KEPT = timedelta(days=90)
_LONGEST_ERROR = 500  # characters


class RunOutcome(StrEnum):
    """How a run of a job ended, or why it did not start."""

    DONE = "done"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    MISSED = "missed"  # its time passed: the process was busy or asleep
    SKIPPED = "skipped"  # the previous run had not ended


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """How often a job had this outcome, and when last."""

    job: str
    outcome: RunOutcome
    times: int
    last_at: datetime
    last_error: str | None


class JobOutcomes:
    """Reads and writes the job_outcome table."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("posting")

    async def count(
        self, job: str, outcome: RunOutcome, *, now: datetime, error: str | None = None
    ) -> None:
        """Count one run. `error`, if given, replaces the last one."""
        today = now.astimezone(UTC).date()
        said = error and error[:_LONGEST_ERROR]
        async with self._database.connection() as connection:
            await connection.execute(
                self._sql["count_outcome"], job, today, outcome.value, now, said
            )

    async def summary(self, since: datetime) -> list[JobOutcome]:
        """Return the sums from the day (UTC) of `since` on, by job and outcome."""
        day = since.astimezone(UTC).date()
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["outcomes"], day)
        return [JobOutcome(**{**row, "outcome": RunOutcome(row["outcome"])}) for row in rows]

    async def totals(self) -> dict[tuple[str, RunOutcome], int]:
        """Return how often each job had each outcome since the database was set up."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["outcome_totals"])
        return {(row["job"], RunOutcome(row["outcome"])): row["times"] for row in rows}

    async def forget(self, *, now: datetime) -> None:
        """Forget the days of counts older than 90 days; the totals stay."""
        async with self._database.connection() as connection:
            await connection.execute(
                self._sql["forget_outcomes"], now.astimezone(UTC).date() - _KEPT
            )
