"""Stores the keys that turn addresses into voters, a new one every day (UTC)."""

import secrets
from datetime import UTC, datetime

from db.pool import Database
from db.statements import statements

_BYTES = 32


class VotingKeys:
    """The keys of all processes on one database. They are deleted for good after their day."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("voters")

    async def today(self, *, now: datetime) -> bytes:
        """Return the key of the day, the same for all processes."""
        day = now.astimezone(UTC).date()
        async with self._database.connection() as connection:
            await connection.execute(self._sql["make_key"], day, secrets.token_bytes(_BYTES))
            return bytes(await connection.fetchval(self._sql["key"], day))

    async def forget(self, *, now: datetime) -> None:
        """Remove the keys of past days."""
        async with self._database.connection() as connection:
            await connection.execute(self._sql["forget_keys"], now.astimezone(UTC).date())
