"""What each corpus answered to each story."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import asyncpg

from db.pool import Database
from db.prophecies import from_json, to_json
from db.statements import statements
from db.stories import story_of
from engine.chat import Chat
from engine.feeds.types import Story
from engine.posting.types import Find, FindState, Promising, Subscription
from engine.types import Prophecy


class Finds:
    """Reads and writes the find table."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("news")

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
        """Store what is known now and return its id; what was judged gives way to no less.

        None when the story is no longer known, or is told in other words now.
        """
        async with self._database.connection() as connection:
            kept = await connection.fetchval(
                self._sql["keep_find"],
                story.id,
                corpus,
                state.value,
                coverage,
                prophecy and _best(prophecy),
                prophecy and to_json(prophecy),
                note,
                now,
                story.title,
                story.text,
            )
            if kept is None:
                kept = await connection.fetchval(self._sql["find_id"], story.id, corpus)
        return None if kept is None else int(kept)

    async def promising(
        self, corpora: Sequence[str], *, since: datetime, limit: int
    ) -> list[Promising]:
        """Return what waits for the model since then, best coverage first."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["promising"], corpora, since, limit)
        return [Promising(story_of(row), row["corpus"], row["coverage"]) for row in rows]

    async def for_chat(
        self,
        subscription: Subscription,
        corpus: str,
        *,
        since: datetime,
        postable: bool = False,
    ) -> list[Find]:
        """Return what was found since then for stories the chat can see, oldest first.

        Judged and unjudged, posted or not. A story is told as the chat's own feeds tell it,
        with the categories by which the chat knows them. With `postable`, stories that were
        posted in the chat and judgments below its threshold stay where they are: a day holds
        hundreds, and deciding looks at them again and again.
        """
        chat, threshold = subscription.chat.id, subscription.threshold
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                self._sql["finds_for_chat"], chat, corpus, since, postable, threshold
            )
        return [_find(row) for row in rows]

    async def tally(
        self, chat: Chat, corpus: str, *, since: datetime
    ) -> Mapping[FindState | None, int]:
        """Count the stories first seen since then that the chat can see, by what is known of them.

        None: not searched in the corpus yet.
        """
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["tally"], chat.id, corpus, since)
        return {FindState(row["state"]) if row["state"] else None: row["stories"] for row in rows}

    async def forget(self, *, before: datetime) -> None:
        """Remove what was found before then."""
        async with self._database.connection() as connection:
            await connection.execute(self._sql["forget_finds"], before)


def _best(prophecy: Prophecy) -> int | None:
    """The highest judgment of what is shown."""
    shown = {hit.candidate.id for hit in prophecy.hits}
    scores = [score for number, score in prophecy.verdict.scores.items() if number in shown]
    return max(scores, default=None)


def _find(row: asyncpg.Record) -> Find:
    return Find(
        id=row["find_id"],
        story=story_of(row),
        corpus=row["corpus"],
        prophecy=from_json(row["prophecy"]),
        found_at=row["found_at"],
    )
