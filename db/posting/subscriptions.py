"""Stores the subscriptions of chats, and the stories and finds that they are sent."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Literal

import asyncpg

from db.chat.answers import prophecy_from_json, prophecy_to_json
from db.chat.chats import chat_from
from db.connection import list_values, read_row
from db.pool import Store
from engine.chat import Chat
from engine.feeds.feed import Story
from engine.posting.choose import LEAST_OF_EARLIER_CASE
from engine.posting.delivery import (
    DueSubscription,
    FindState,
    PostedTweet,
    PostingMode,
    Promising,
    QuietDay,
    StoryFind,
    Subscription,
)
from engine.search import Prophecy

_COLUMNS = (
    "chat_id", "mode", "at", "weekdays", "best", "threshold", "unjudged", "unjudged_coverage",
    "say_nothing_found", "thread", "must", "must_not", "languages", "categories", "since", "topic",
    "feeds", "silent", "compose",
)  # fmt: skip


class Stories(Store, sql="news"):
    """Reads the story table."""

    async def get(self, ids: Sequence[int]) -> list[Story]:
        """Return the known stories among `ids`, by id."""
        rows = await self._fetch_rows("stories", ids)
        return [read_row(Story, row) for row in rows]

    async def find_unsearched(
        self, corpus: str, *, since: datetime, limit: int, configured: str | None = None
    ) -> list[Story]:
        """Return stories that feeds brought since `since`, without a find in `corpus`, oldest
        first.

        With `configured`, the corpus of chats that name none, returns only stories that some active
        subscription to `corpus` can see.
        """
        rows = await self._fetch_rows("unsearched", corpus, since, limit, configured)
        return [read_row(Story, row) for row in rows]

    async def changes(self) -> int:
        """Return a number that grows when there may be stories to search that were not there.

        It may grow some time before the change is visible.
        """
        return int(await self._fetch_value("changes"))

    async def forget(self, *, before: datetime) -> None:
        """Remove stories first seen before `before`, with their finds."""
        await self._execute("forget_stories", before)


class Finds(Store, sql="news"):
    """Reads and writes the find table."""

    async def keep(
        self,
        story: Story,
        corpus: str,
        state: FindState,
        *,
        coverage: float,
        prophecy: Prophecy | None = None,
        now: datetime,
    ) -> int | None:
        """Store the find and return its id; an unjudged one never replaces a judged one.

        Returns None if the story is no longer known, or its words have changed.
        """
        async with self._database.connection() as connection:
            find_id = await connection.fetchval(
                self._sql["keep_find"],
                story.id,
                corpus,
                state.value,
                coverage,
                prophecy and _find_best_judgment(prophecy),
                prophecy and prophecy_to_json(prophecy),
                now,
                story.title,
                story.text,
            )
            if find_id is None:
                find_id = await connection.fetchval(self._sql["find_id"], story.id, corpus)
        return None if find_id is None else int(find_id)

    async def find_waiting(
        self,
        state: Literal[FindState.PROMISING, FindState.UNJUDGED],
        corpora: Sequence[str],
        *,
        since: datetime,
        limit: int,
    ) -> list[Promising]:
        """Return the finds since `since` that wait for the model, or were left unjudged, best
        coverage first."""
        async with self._database.connection() as connection:
            # The state is no parameter, as promising finds have an index of their own.
            statement = self._sql["waiting"].format(state=state.value)
            rows = await connection.fetch(statement, corpora, since, limit)
        return [Promising(read_row(Story, row), row["corpus"], row["coverage"]) for row in rows]

    async def quiet_days(
        self, wanted: Sequence[tuple[Subscription, str]], *, since: datetime
    ) -> list[QuietDay]:
        """Return why each of some subscriptions to their corpora may have nothing to tell."""
        rows = await self._fetch_rows(
            "quiet_days",
            [subscription.chat.id for subscription, _ in wanted],
            [subscription.topic for subscription, _ in wanted],
            [corpus for _, corpus in wanted],
            since,
        )
        return [read_row(QuietDay, row) for row in rows]

    async def give_up(self, *, found_before: datetime, below: float) -> None:
        """Stop waiting for the model for finds from before `found_before` with less coverage."""
        await self._execute("give_up_waiting", found_before, below)

    async def for_chat(
        self, subscription: Subscription, corpus: str, *, since: datetime
    ) -> list[StoryFind]:
        """Return the finds since `since` for stories that the chat can see, oldest first.

        Judged and unjudged, posted or not. A story is told in the words of the chat's own feeds,
        with the categories under which the chat knows them.
        """
        rows = await self._fetch_rows("finds_for_chat", subscription.chat.id, corpus, since)
        return [_read_find(row) for row in rows]

    async def postable(
        self, wanted: Sequence[tuple[Subscription, str]], *, since: datetime
    ) -> Mapping[int, list[StoryFind]]:
        """Return the same finds for subscriptions of different chats and their corpora, by chat.

        Stories that were posted in the chat and judgments too low for any are left out: a day
        holds hundreds, and each decision reads them again.
        """
        rows = await self._fetch_rows(
            "postable_finds",
            [subscription.chat.id for subscription, _ in wanted],
            [corpus for _, corpus in wanted],
            LEAST_OF_EARLIER_CASE,
            since,
        )
        finds: dict[int, list[StoryFind]] = {}
        prophecies: dict[int, Prophecy] = {}
        for row in rows:
            if row["prophecy"]:
                prophecies[row["find_id"]] = prophecy_from_json(row["prophecy"])
            find = _read_find(row, prophecies[row["find_id"]])
            finds.setdefault(row["chat_id"], []).append(find)
        return finds

    async def find_shared(
        self, corpora: Collection[str], *, since: datetime
    ) -> Mapping[str, list[StoryFind]]:
        """Return, by corpus, the same finds for chats without feeds of their own."""
        rows = await self._fetch_rows("shared_finds", list(corpora), since)
        finds: dict[str, list[StoryFind]] = {}
        for row in rows:
            finds.setdefault(row["corpus"], []).append(_read_find(row))
        return finds

    async def count_states(
        self, chat: Chat, corpus: str, *, since: datetime
    ) -> Mapping[FindState | None, int]:
        """Count the stories first seen since `since` that the chat can see, by state.

        None: not searched in the corpus yet.
        """
        rows = await self._fetch_rows("tally", chat.id, corpus, since)
        return {FindState(row["state"]) if row["state"] else None: row["stories"] for row in rows}

    async def forget(self, *, before: datetime) -> None:
        """Remove finds from before `before`."""
        await self._execute("forget_finds", before)


def _find_best_judgment(prophecy: Prophecy) -> int | None:
    """Return the highest judgment among the hits that are shown."""
    hit_ids = {hit.candidate.id for hit in prophecy.hits}
    scores = [score for number, score in prophecy.verdict.scores.items() if number in hit_ids]
    return max(scores, default=None)


def _read_find(row: asyncpg.Record, prophecy: Prophecy | None = None) -> StoryFind:
    return read_row(
        StoryFind,
        row,
        id=row["find_id"],
        story=read_row(Story, row),
        prophecy=prophecy or prophecy_from_json(row["prophecy"]),
    )


def subscription_of(row: asyncpg.Record) -> Subscription:
    """Return the subscription of the chat in a row; without one, its mode is off."""
    chat = chat_from(row, "chat_")
    if row["mode"] is None:
        return Subscription(chat=chat, mode=PostingMode.OFF)
    return read_row(Subscription, row, chat=chat)


class Subscriptions(Store, sql="posting"):
    """Reads and writes the subscription table."""

    async def set(self, subscription: Subscription, *, now: datetime) -> Subscription:
        """Store the subscription of a chat or of one of its topics, and return it as stored.

        `timed_from` becomes `now` if the chat is new or its mode, hour or weekdays change, and is
        unchanged otherwise. So does `since`, unless daily posts only move: what came since the
        last one is in the next. Mode off also gives up deliveries that are owed and not being sent.
        """
        chat = subscription.chat
        async with self._database.transaction() as connection:
            # Waits for a post that is being decided, so that it is given up as well.
            await connection.execute(self._sql["lock_chats"], [chat.id])
            values = list_values(subscription, _COLUMNS, chat_id=chat.id, since=now)
            await connection.execute(self._sql["subscribe"], *values)
            if subscription.mode is PostingMode.OFF:
                await connection.execute(
                    self._sql["give_up_owed"],
                    chat.id,
                    now,
                    "the chat unsubscribed",
                    subscription.topic,
                )
            row = await connection.fetchrow(self._sql["subscription"], chat.id, subscription.topic)
        assert row is not None  # noqa: S101 - it was stored above
        return subscription_of(row)

    async def get(self, chat: Chat, topic: str = "") -> Subscription | None:
        """Return the subscription of a chat or one of its topics, or None if it never set one."""
        row = await self._fetch_row("subscription", chat.id, topic)
        return None if row is None else subscription_of(row)

    async def active(self) -> list[Subscription]:
        """Return all subscriptions that are not off, of chats that are not gone."""
        rows = await self._fetch_rows("active")
        return [subscription_of(row) for row in rows]

    async def corpora(self, configured: str) -> list[str]:
        """Return the corpora of active subscriptions; `configured` for chats that name none."""
        rows = await self._fetch_rows("corpora", configured)
        return [row["corpus"] for row in rows]

    async def wake(self, *, now: datetime) -> None:
        """Mark the chats that are posted to at once as due, if a find may concern them."""
        async with self._database.transaction() as connection:
            rows = await connection.fetch(self._sql["waking"])
            if rows:
                corpora = list({row["corpus"] for row in rows})
                await connection.execute(self._sql["wake"], now, corpora)

    async def due(self, *, now: datetime, limit: int) -> list[DueSubscription]:
        """Return subscriptions that may be due, the longest waiting first.

        They stay so until `look_again` says otherwise.
        """
        rows = await self._fetch_rows("due", now, limit)
        return [read_row(DueSubscription, row, subscription=subscription_of(row)) for row in rows]

    async def look_again(self, looks: Sequence[tuple[DueSubscription, datetime]]) -> None:
        """Note when each is looked at again, unless it or its chat has changed meanwhile."""
        await self._execute(
            "look_again",
            [look.subscription.chat.id for look, _ in looks],
            [look.subscription.topic for look, _ in looks],
            [look.revision for look, _ in looks],
            [at for _, at in looks],
        )

    async def list_posted(self, chat: Chat, *, since: datetime) -> list[PostedTweet]:
        """Return what was posted in a chat since `since`, or is owed to it, oldest first."""
        return (await self.posted_in([chat], since=since)).get(chat.id, [])

    async def posted_in(
        self, chats: Sequence[Chat], *, since: datetime
    ) -> Mapping[int, list[PostedTweet]]:
        """Return the same for several chats, by their ids."""
        return read_posted(await self._fetch_rows("posted", [chat.id for chat in chats], since))


def read_posted(rows: Sequence[asyncpg.Record]) -> dict[int, list[PostedTweet]]:
    """Return the posted tweets in rows, by the ids of their chats."""
    posted: dict[int, list[PostedTweet]] = {}
    for row in rows:
        posted.setdefault(row["chat_id"], []).append(read_row(PostedTweet, row))
    return posted
