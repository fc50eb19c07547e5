"""What a language model was paid for; implements JudgmentCache and UsageLedger of engine.ports."""

from datetime import UTC, date, datetime, time, timedelta

import orjson

from db.pool import Database
from db.statements import statements
from engine.types import Usage, Verdict

# A judgment is asked for again while its news is fresh, and never after.
_KEPT = timedelta(days=90)


class Judgments:
    """Verdicts by the key of their request; old ones go when a new one comes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("model")

    async def get(self, key: str) -> Verdict | None:
        """Return the stored verdict, or None."""
        async with self._database.connection() as connection:
            row = await connection.fetchrow(self._sql["judgment"], key)
        if row is None:
            return None
        return Verdict(
            scores=dict(orjson.loads(row["scores"])),
            model=row["model"],
            prompt_version=row["prompt_version"],
        )

    async def put(self, key: str, verdict: Verdict, *, now: datetime) -> None:
        """Store a verdict under its key, and forget what is older than 90 days."""
        scores = orjson.dumps(list(verdict.scores.items())).decode()
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


class Ledger:
    """One row a call, failed ones included."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("model")

    async def spent(self, day: date) -> Usage:
        """Return the sums of that day (UTC); unknown figures count as 0."""
        start = datetime.combine(day, time(), tzinfo=UTC)
        async with self._database.connection() as connection:
            row = await connection.fetchrow(self._sql["spent"], start, start + timedelta(days=1))
        return Usage(**dict(row)) if row else Usage()

    async def record(self, usage: Usage, *, model: str, purpose: str, now: datetime) -> None:
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
            )
