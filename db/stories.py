"""Stories: what the feeds brought, recognised once. db.settling writes them."""

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime

import asyncpg

from db.pool import Database
from db.statements import statements
from engine.feeds.types import Story

_COLUMNS = tuple(field.name for field in fields(Story))


class Stories:
    """Reads the story table."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("news")

    async def get(self, ids: Sequence[int]) -> list[Story]:
        """Return the stories among `ids` that are known, by id."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["stories"], ids)
        return [story_of(row) for row in rows]

    async def unsearched(
        self, corpus: str, *, since: datetime, limit: int, configured: str | None = None
    ) -> list[Story]:
        """Return stories first seen since then without a find in `corpus`, oldest first.

        With `configured`, the corpus of chats that name none, only stories that some active
        subscription to `corpus` can see.
        """
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["unsearched"], corpus, since, limit, configured)
        return [story_of(row) for row in rows]

    async def forget(self, *, before: datetime) -> None:
        """Remove stories first seen before then, with their finds."""
        async with self._database.connection() as connection:
            await connection.execute(self._sql["forget_stories"], before)


def story_of(row: asyncpg.Record) -> Story:
    """Return the story of a row that has its columns."""
    columns = {name: row[name] for name in _COLUMNS}
    return Story(**{**columns, "categories": tuple(columns["categories"])})
