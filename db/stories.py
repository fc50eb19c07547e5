"""Stories: what the feeds brought, recognised once."""

from collections.abc import Sequence
from datetime import datetime

from db.pool import Database
from engine.feeds.types import Story


class Stories:
    """Reads the story table; db.feeds writes it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, ids: Sequence[int]) -> list[Story]:
        """Return the stories among `ids` that are known, by id."""
        raise NotImplementedError

    async def unsearched(
        self, corpus: str, *, since: datetime, limit: int, configured: str | None = None
    ) -> list[Story]:
        """Return stories first seen since then without a find in `corpus`, oldest first.

        With `configured`, the corpus of chats that name none, only stories that some active
        subscription to `corpus` can see.
        """
        raise NotImplementedError

    async def forget(self, *, before: datetime) -> None:
        """Remove stories first seen before then, with their finds."""
        raise NotImplementedError
