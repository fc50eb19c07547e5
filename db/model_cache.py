"""Stores models' answers, what they cost, and web pages; implements the caches of the engine."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta

import asyncpg
import orjson

from db.connection import statements
from db.pool import Database
from engine.budget import BudgetSource, Planned
from engine.search import Expansion, Verdict
from engine.values import Usage
from engine.web.results import FetchedPage

# Judgments are requested again while the news is fresh, and never after that.
_KEPT = timedelta(days=90)


class Judgments:
    """Verdicts by the key of their request; storing a new one removes old ones."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("model")

    async def get(self, key: str) -> Verdict | None:
        """Return the stored verdict, or None."""
        async with self._database.connection() as connection:
            row = await connection.fetchrow(self._sql["judgment"], key)
        if row is None:
            return None
        entries = orjson.loads(row["scores"])
        return Verdict(
            scores={entry: score for entry, score, *_ in entries},
            reasons={entry: why[0] for entry, _, *why in entries if why},
            model=row["model"],
            prompt_version=row["prompt_version"],
        )

    async def put(self, key: str, verdict: Verdict, *, now: datetime) -> None:
        """Store a verdict under its key, and remove those older than 90 days."""
        reasons = {reason: [why] for reason, why in verdict.reasons.items()}
        entries = [[*entry, *reasons.get(entry[0], [])] for entry in verdict.scores.items()]
        scores = orjson.dumps(entries).decode()
        async with self._database.connection() as connection:
            await connection.execute(
                self._sql["store_judgment"],
                key,
                scores,
                verdict.model,
                verdict.prompt_version,
                now,
                now - _KEPT,
            )


class Expansions:
    """Phrases by the key of their request, kept as long as judgments."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("model")

    async def get(self, key: str) -> Expansion | None:
        """Return the stored expansion, or None."""
        async with self._database.connection() as connection:
            row = await connection.fetchrow(self._sql["expansion"], key)
        if row is None:
            return None
        return Expansion(
            phrases=tuple(row["phrases"]),
            model=row["model"],
            prompt_version=row["prompt_version"],
        )

    async def put(self, key: str, expansion: Expansion, *, now: datetime) -> None:
        """Store an expansion under its key, and remove those older than 90 days."""
        async with self._database.connection() as connection:
            await connection.execute(
                self._sql["store_expansion"],
                key,
                list(expansion.phrases),
                expansion.model,
                expansion.prompt_version,
                now,
                now - _KEPT,
            )


class Ledger:
    """One row per call, failed ones included, and one per call in progress."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("model")

    async def spent(self, day: date) -> dict[BudgetSource, Usage]:
        """Return the sums of that day (UTC); unknown figures count as 0."""
        async with self._database.connection() as connection:
            return _sums(await connection.fetch(self._sql["spent"], *_bounds(day), None))

    async def spent_in_all(self) -> Usage:
        """Return the sums of all calls ever made; unknown figures count as 0."""
        async with self._database.connection() as connection:
            row = await connection.fetchrow(self._sql["spent_in_all"])
        assert row is not None  # noqa: S101 - sums have one row
        return Usage(**row)

    async def record(
        self, usage: Usage, *, model: str, purpose: str, source: BudgetSource, now: datetime
    ) -> None:
        """Add one call."""
        async with self._database.connection() as connection:
            await connection.execute(
                self._sql["record"],
                now,
                purpose,
                model,
                usage.prompt_tokens,
                usage.completion_tokens,
                usage.cost_usd,
                source.value,
            )

    async def reserve(
        self,
        planned: Planned,
        check: Callable[[Mapping[BudgetSource, Usage]], None],
        *,
        now: datetime,
    ) -> int:
        """Count a call as in progress if `check` allows it, one process at a time."""
        bounds = _bounds(now.astimezone(UTC).date())
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["lock_ledger"])
            check(_sums(await connection.fetch(self._sql["spent"], *bounds, now)))
            return int(
                await connection.fetchval(
                    self._sql["reserve"],
                    planned.source.value,
                    planned.tokens,
                    planned.cost_usd,
                    planned.until,
                    now,
                )
            )

    async def release(self, place: int) -> None:
        """Stop counting a call as in progress."""
        async with self._database.connection() as connection:
            await connection.execute(self._sql["release"], place)


def _bounds(day: date) -> tuple[datetime, datetime]:
    start = datetime.combine(day, time(), tzinfo=UTC)
    return start, start + timedelta(days=1)


def _sums(rows: Iterable[asyncpg.Record]) -> dict[BudgetSource, Usage]:
    return {
        BudgetSource(row["source"]): Usage(
            prompt_tokens=row["prompt_tokens"],
            completion_tokens=row["completion_tokens"],
            cost_usd=row["cost_usd"],
        )
        for row in rows
    }


class WebPages:
    """Pages by the canonical address that they were asked for by."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("web_cache")

    async def get(self, address: str) -> FetchedPage | None:
        """Return the stored page, or None."""
        async with self._database.connection() as connection:
            row = await connection.fetchrow(self._sql["page"], address)
        if row is None:
            return None
        return FetchedPage(
            url=row["url"],
            title=row["title"],
            author=row["author"],
            site=row["site"],
            date=row["published_at"],
            text=row["text"],
            etag=row["etag"],
            last_modified=row["last_modified"],
            fetched_at=row["fetched_at"],
        )

    async def put(self, address: str, page: FetchedPage) -> None:
        """Store a page in place of an older one."""
        async with self._database.connection() as connection:
            await connection.execute(
                self._sql["store_page"],
                address,
                page.url,
                page.title,
                page.author,
                page.site,
                page.date,
                page.text,
                page.etag,
                page.last_modified,
                page.fetched_at,
            )

    async def forget(self, *, before: datetime, most_bytes: int) -> int:
        """Remove pages fetched before `before`, and the oldest ones beyond `most_bytes` of text.

        Returns how many were removed.
        """
        async with self._database.connection() as connection:
            return int(await connection.fetchval(self._sql["forget_pages"], before, most_bytes))
