"""Stores the subscriptions of chats."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

import asyncpg

from db.chat.chats import chat_from
from db.connection import statements
from db.pool import Database
from engine.chat import Chat
from engine.posting.delivery import DueSubscription, Posted, PostingMode, Subscription

_CHAT = tuple(field.name for field in fields(Chat))
_WANTED = tuple(field.name for field in fields(Subscription) if field.name != "chat")


def chat_of(row: asyncpg.Record) -> Chat:
    """Return the chat of a row."""
    return chat_from({name: row[f"chat_{name}"] for name in _CHAT})


def subscription_of(row: asyncpg.Record) -> Subscription:
    """Return the subscription of the chat in a row; without one, its mode is off."""
    chat = chat_of(row)
    if row["mode"] is None:
        return Subscription(chat=chat, mode=PostingMode.OFF)
    wanted = {name: _freeze_list(row[name]) for name in _WANTED}
    return Subscription(chat=chat, **{**wanted, "mode": PostingMode(wanted["mode"])})


def _freeze_list(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


class Subscriptions:
    """Reads and writes the subscription table."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("posting")

    async def set(self, subscription: Subscription, *, now: datetime) -> Subscription:
        """Store the subscription of a chat or of one of its topics, and return it as stored.

        `since` becomes `now` if the chat is new or its mode, hour or weekdays change, and is
        unchanged otherwise. Mode off also gives up deliveries that are owed and not being sent.
        """
        chat = subscription.chat
        async with self._database.transaction() as connection:
            # Waits for a post that is being decided, so that it is given up as well.
            await connection.execute(self._sql["lock_chats"], [chat.id])
            await connection.execute(self._sql["subscribe"], *_values(subscription, now))
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
        async with self._database.connection() as connection:
            row = await connection.fetchrow(self._sql["subscription"], chat.id, topic)
        return None if row is None else subscription_of(row)

    async def active(self) -> list[Subscription]:
        """Return all subscriptions that are not off, of chats that are not gone."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["active"])
        return [subscription_of(row) for row in rows]

    async def corpora(self, configured: str) -> list[str]:
        """Return the corpora of active subscriptions; `configured` for chats that name none."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["corpora"], configured)
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
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["due"], now, limit)
        return [
            DueSubscription(
                subscription=subscription_of(row),
                revision=row["revision"],
                last_decided=row["last_decided"],
                has_feeds=row["has_feeds"],
            )
            for row in rows
        ]

    async def look_again(self, looks: Sequence[tuple[DueSubscription, datetime]]) -> None:
        """Note when each is looked at again, unless it or its chat has changed meanwhile."""
        async with self._database.connection() as connection:
            await connection.execute(
                self._sql["look_again"],
                [look.subscription.chat.id for look, _ in looks],
                [look.subscription.topic for look, _ in looks],
                [look.revision for look, _ in looks],
                [at for _, at in looks],
            )

    async def list_posted(self, chat: Chat, *, since: datetime) -> list[Posted]:
        """Return what was posted in a chat since `since`, or is owed to it, oldest first."""
        return (await self.posted_in([chat], since=since)).get(chat.id, [])

    async def posted_in(
        self, chats: Sequence[Chat], *, since: datetime
    ) -> Mapping[int, list[Posted]]:
        """Return the same for several chats, by their ids."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["posted"], [chat.id for chat in chats], since)
        found: dict[int, list[Posted]] = {}
        for row in rows:
            columns = dict(row)
            found.setdefault(columns.pop("chat_id"), []).append(Posted(**columns))
        return found


def _values(subscription: Subscription, now: datetime) -> tuple[object, ...]:
    return (
        subscription.chat.id,
        subscription.mode.value,
        subscription.at,
        subscription.weekdays,
        subscription.best,
        subscription.threshold,
        subscription.unjudged,
        subscription.unjudged_coverage,
        subscription.say_nothing_found,
        subscription.thread,
        subscription.must,
        subscription.must_not,
        subscription.languages,
        subscription.categories,
        now,
        subscription.topic,
        subscription.feeds,
        subscription.silent,
        subscription.template,
        subscription.compose,
    )
