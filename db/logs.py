"""Logs: what was asked and how it was answered, and how jobs ended, by day."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

import asyncpg
import orjson

from db.connection import read_row
from db.pool import Database, Store
from engine.budget import BudgetSource
from engine.errors import StorageError
from engine.values import Corpus, Usage

logger = logging.getLogger("presagio.log")
_PATIENCE = 1.0  # seconds
_LONGEST = 2_000  # characters of a query
_KEPT = timedelta(days=90)
_LONGEST_ERROR = 500  # characters


class Origin(StrEnum):
    """Where a search comes from."""

    CONSOLE = "console"  # whoever runs the program
    CHAT = "chat"
    AGENT = "agent"


class SearchJob(StrEnum):
    """What kind of search was requested."""

    FIND = "find"
    SEARCH = "search"
    ASK = "ask"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """The origin of a search, its task, and the budget source that pays for it."""

    origin: Origin
    task: str
    source: BudgetSource


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedSearch:
    """One search. `quotable` is True if its text may be logged, False if only the text's hash."""

    asker: Asker
    job: SearchJob
    asked_at: datetime
    milliseconds: float
    text: str
    quotable: bool
    corpus: str | None = None
    expanded: str | None = None
    filters: tuple[str, ...] = ()
    plan: str | None = None
    counts: Mapping[str, int | None] = field(default_factory=dict)
    returned: tuple[str, ...] = ()  # external ids, best first
    platforms: tuple[str, ...] = ()  # of what was returned
    usage: Usage | None = None  # None: nothing was spent
    error: str | None = None  # the name of the class only: the message may quote the text


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One logged search; `query` is None if it is somebody's message."""

    id: int
    asked_at: datetime
    task: str
    origin: str
    job: str
    corpus: str | None
    query: str | None
    query_hash: str
    expanded: str | None
    filters: tuple[str, ...]
    plan: str | None
    counts: Mapping[str, int | None]
    returned: tuple[str, ...]
    platforms: tuple[str, ...]
    milliseconds: float
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None
    error: str | None


class Log(Store, sql="log"):
    """Keeps searches for `keep`; if that is zero, logs nothing and removes what was logged."""

    def __init__(self, database: Database, keep: timedelta) -> None:
        super().__init__(database)
        self._keep = keep

    async def record(self, search: LoggedSearch) -> None:
        """Log a search. Raises only CancelledError, and takes a second at most."""
        try:
            async with asyncio.timeout(_PATIENCE), self._database.connection() as connection:
                await connection.execute(self._sql["record"], *self._log_values(search))
        except (StorageError, TimeoutError) as error:
            logger.warning("a search was not logged: %s", error or type(error).__name__)

    async def recent(self, *, now: datetime, limit: int, failed: bool = False) -> list[LogEntry]:
        """Return the last searches, newest first; with `failed`, those that found nothing."""
        rows = await self._fetch_rows("recent", self._find_retention_start(now), failed, limit)
        return [_read_entry(row) for row in rows]

    async def list_missed(self, corpus: Corpus, limit: int) -> list[str]:
        """Return words of searches that found nothing, the most frequent first."""
        from engine.query.parser import parse_query  # noqa: PLC0415 - as above
        from engine.query.query import Word  # noqa: PLC0415 - every search is logged, few are read

        rows = await self._fetch_rows("missed", corpus.name, self._keep, limit)
        queries = (parse_query(row["query"]) for row in rows)
        units = (each.unit for query in queries for each in query.alternatives)
        words = (unit.text for unit in units if isinstance(unit, Word))
        return list(dict.fromkeys(words))[:limit]

    def _find_retention_start(self, now: datetime) -> datetime:
        """Return the time from which searches are kept.

        If nothing is kept, searches at `now` itself are excluded.
        """
        if not self._keep:
            return now + timedelta(microseconds=1)
        return now - self._keep

    def _log_values(self, search: LoggedSearch) -> tuple[object, ...]:
        usage = search.usage
        return (
            self._find_retention_start(search.asked_at),
            search.asked_at,
            search.asker.task,
            search.asker.origin.value,
            search.job.value,
            search.corpus,
            search.text[:_LONGEST],
            search.quotable,
            search.expanded and search.expanded[:_LONGEST],
            list(search.filters),
            search.plan,
            orjson.dumps(dict(search.counts)).decode(),
            list(search.returned),
            search.milliseconds,
            usage and usage.prompt_tokens,
            usage and usage.completion_tokens,
            usage and usage.cost_usd,
            search.error,
            list(search.platforms),
        )


def _read_entry(row: asyncpg.Record) -> LogEntry:
    return read_row(LogEntry, row, counts=orjson.loads(row["counts"]))


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


class JobOutcomes(Store, sql="posting"):
    """Reads and writes the job_outcome table."""

    async def count(
        self, job: str, outcome: RunOutcome, *, now: datetime, error: str | None = None
    ) -> None:
        """Count one run. `error`, if given, replaces the last one."""
        today = now.astimezone(UTC).date()
        reason = error and error[:_LONGEST_ERROR]
        await self._execute("count_outcome", job, today, outcome.value, now, reason)

    async def summary(self, since: datetime) -> list[JobOutcome]:
        """Return the sums from the day (UTC) of `since` on, by job and outcome."""
        day = since.astimezone(UTC).date()
        rows = await self._fetch_rows("outcomes", day)
        return [read_row(JobOutcome, row) for row in rows]

    async def totals(self) -> dict[tuple[str, RunOutcome], int]:
        """Return how often each job had each outcome since the database was set up."""
        rows = await self._fetch_rows("outcome_totals")
        return {(row["job"], RunOutcome(row["outcome"])): row["times"] for row in rows}

    async def forget(self, *, now: datetime) -> None:
        """Forget the days of counts older than 90 days; the totals stay."""
        await self._execute("forget_outcomes", now.astimezone(UTC).date() - _KEPT)
