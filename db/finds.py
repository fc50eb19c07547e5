"""What each corpus answered to each story."""

from collections.abc import Sequence
from datetime import datetime

from db.pool import Database
from engine.feeds.types import Story
from engine.posting.types import Find, FindState, Promising, Subscription
from engine.types import Prophecy


class Finds:
    """Reads and writes the find table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(
        self,
        story: Story,
        corpus: str,
        state: FindState,
        *,
        coverage: float,
        prophecy: Prophecy | None = None,
        note: str | None = None,
        now: datetime,
    ) -> int | None:
        """Store what is known now and return its id; what was judged stays as it is.

        None when the story is no longer known.
        """
        raise NotImplementedError

    async def promising(
        self, corpora: Sequence[str], *, since: datetime, limit: int
    ) -> list[Promising]:
        """Return what waits for the model, best coverage first."""
        raise NotImplementedError

    async def for_chat(
        self, subscription: Subscription, corpus: str, *, since: datetime
    ) -> list[Find]:
        """Return what was found since then for stories the chat can see, oldest first.

        Judged and unjudged, posted or not. The categories of a story are those the chat knows
        its feeds by.
        """
        raise NotImplementedError

    async def forget(self, *, before: datetime) -> None:
        """Remove what was found before then."""
        raise NotImplementedError
