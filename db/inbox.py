"""Events that wait in the database, because the platform keeps no more of them."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from db.pool import Database
from db.statements import statements


class Inbox:
    """Reads and writes the inbox table, for one platform."""

    def __init__(self, database: Database, platform: str) -> None:
        self._database = database
        self._platform = platform
        self._sql = statements("inbox")

    async def keep(self, events: Mapping[int, Mapping[str, Any]]) -> None:
        """Store events by number. One that is stored already stays as it is."""
        contents = [json.dumps(event) for event in events.values()]
        async with self._database.connection() as connection:
            await connection.execute(self._sql["keep"], self._platform, list(events), contents)

    async def left(self) -> dict[int, dict[str, Any]]:
        """Return what is stored, by number, oldest first."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["left"], self._platform)
        return {row["number"]: json.loads(row["content"]) for row in rows}

    async def drop(self, numbers: Collection[int]) -> None:
        """Forget events that were dealt with."""
        async with self._database.connection() as connection:
            await connection.execute(self._sql["drop"], self._platform, list(numbers))
