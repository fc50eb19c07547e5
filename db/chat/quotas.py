"""Counts how often somebody was answered today (UTC)."""

from datetime import UTC, datetime, timedelta

from db.pool import Database
from db.statements import statements

_KEPT = timedelta(days=7)


class Quotas:
    """Counts uses by scope and day."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("conversation")

    async def use(self, scope: str, *, now: datetime, title: str | None = None) -> int:
        """Count one use and return the number of uses today, this one included.

        `title` is who asks, as the owner is to read it.
        """
        today = now.astimezone(UTC).date()
        async with self._database.connection() as connection:
            return int(await connection.fetchval(self._sql["use"], scope, today, title))

    async def forget(self, *, now: datetime) -> None:
        """Remove the counts of days before the last week, which the owner may see."""
        async with self._database.connection() as connection:
            await connection.execute(self._sql["forget_quotas"], now.astimezone(UTC).date() - _KEPT)
