"""Stores the messages owed to chats: decided once, leased to one process at a time, settled once.

A delivery is stored in the transaction that decides it. A process leases it, notes that it begins,
sends, and settles. A delivery that was begun and never settled may have arrived: the next holder
learns that from `Delivery.begun_before`.

Each lease has a number. An expired lease is given to another process under a new number, and the
old holder can then neither begin nor settle.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import asyncpg

from db.pool import Database
from db.posting import deciding
from db.posting.subscriptions import chat_of
from db.statements import statements
from engine.chat import Chat
from engine.messages import Message, message_from_json, message_json
from engine.posting.types import (
    Delivery,
    DeliveryState,
    Leased,
    OutboxHealth,
    OwedPost,
    PastDelivery,
    PublicPost,
)

_PACE = timedelta(seconds=1)  # between two messages in one chat
_REPEATED_AFTER = timedelta(days=180)
_SETTLED_KEPT = timedelta(days=90)
_POSTED_KEPT = timedelta(days=2 * 365)  # longer than tweets are kept from being repeated
_DATES_KEPT = timedelta(days=30)
_GONE_KEPT = timedelta(days=1)  # a chat that returns later is not told old news


class Outbox:
    """Reads and writes the delivery, digest and posted tables."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("posting")

    async def decide(
        self,
        decisions: Sequence[OwedPost],
        *,
        now: datetime,
        repeated_after: timedelta = _REPEATED_AFTER,
    ) -> list[bool]:
        """Store decisions in one transaction, and return which ones could still be made.

        A decision stores its date, its deliveries and its answers. It is left out if its date or
        key was used before, if the chat is gone or its subscription has changed, or if a story or
        tweet in it was posted in the chat meanwhile: if the post is still due, the next round
        chooses again.
        """
        if not decisions:
            return []
        async with self._database.transaction() as connection:
            return await deciding.decide_posts(
                connection, decisions, now=now, repeated_since=now - repeated_after
            )

    async def owe_trouble(
        self, chat: Chat, kind: str, content: str, *, pace: timedelta, now: datetime
    ) -> bool:
        """Owe an operator's chat a word about trouble of a kind; False within `pace` of the last.

        `content` is JSON. Raises StorageError.
        """
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["lock_chats"], [chat.id])
            prefix = f"trouble:{chat.id}:{kind}:"
            key = f"{prefix}{now.isoformat()}"
            owed = self._sql["owe_trouble"]
            values = (key, chat.id, prefix, content, now, now - pace)
            return await connection.fetchval(owed, *values) is not None

    async def lease(
        self, platforms: Sequence[str], *, now: datetime, limit: int, lease: timedelta
    ) -> list[Leased]:
        """Lease deliveries that may be sent now, at most one per chat, the oldest.

        A chat waits for a second after each message that was begun, and while its oldest delivery
        waits. Chats that are gone are left out.
        """
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                self._sql["lease"], now, platforms, now - _PACE, limit, now + lease
            )
        return [_leased(row) for row in rows]

    async def begin(self, leased: Leased, *, now: datetime) -> bool:
        """Note that sending begins; if this returns False, the lease is over: do not send."""
        return await self._change("begin", leased, now)

    async def sent(self, leased: Leased, message_id: str, *, now: datetime) -> bool:
        """Note that it arrived; return False if the lease was taken over."""
        return await self._change("sent", leased, message_id, now)

    async def retry(self, leased: Leased, *, at: datetime, error: Message, not_shown: bool) -> bool:
        """Return it to be sent at `at`; return False if the lease was taken over.

        `not_shown` says that certainly neither this nor an earlier attempt arrived.
        """
        return await self._change("retry", leased, at, message_json(error), not_shown)

    async def release(self, leased: Leased) -> bool:
        """Release what was leased and not begun; return False if the lease was taken over."""
        return await self._change("release", leased)

    async def fail(self, leased: Leased, error: Message, *, now: datetime) -> bool:
        """Give it up; return False if the lease was taken over."""
        return await self._change("fail", leased, message_json(error), now)

    async def history(self, chat: Chat, limit: int) -> list[PastDelivery]:
        """Return the last deliveries of a chat, newest first."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["history"], chat.id, limit)
        return [_past(row) for row in rows]

    async def public_posts(self, corpora: Sequence[str], *, limit: int) -> list[PublicPost]:
        """Return the prophecies from these corpora that were sent, newest first, each once.

        Those about headlines that only feeds of single chats brought are left out.
        """
        async with self._database.reading() as reader:
            rows = await reader.fetch(self._sql["public_posts"], corpora, limit)
        return [PublicPost(**dict(row)) for row in rows]

    async def health(self, since: datetime) -> OutboxHealth:
        """Return what is owed, and what was given up since `since`."""
        async with self._database.connection() as connection:
            row = await connection.fetchrow(self._sql["outbox_health"], since)
        assert row is not None  # noqa: S101 - sums have one row
        last = row["last_error"] and message_from_json(row["last_error"])
        return OutboxHealth(**{**row, "last_error": last})

    async def forget(self, *, now: datetime) -> None:
        """Remove what was settled or posted long ago, and give up deliveries to gone chats."""
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["give_up_gone"], now, now - _GONE_KEPT)
            await connection.execute(self._sql["forget_deliveries"], now - _SETTLED_KEPT)
            await connection.execute(self._sql["forget_posted"], now - _POSTED_KEPT)
            await connection.execute(self._sql["forget_dates"], (now - _DATES_KEPT).date())

    async def _change(self, name: str, leased: Leased, *values: object) -> bool:
        async with self._database.connection() as connection:
            changed = await connection.fetchval(
                self._sql[name], leased.delivery.id, leased.lease, *values
            )
        return bool(changed)


def _leased(row: asyncpg.Record) -> Leased:
    delivery = Delivery(
        id=row["id"],
        key=row["key"],
        chat=chat_of(row),
        thread=row["delivery_thread"],
        content=row["content"],
        attempts=row["attempts"] + 1,
        begun_before=row["begun_at"] is not None,
        created_at=row["created_at"],
        silent=row["delivery_silent"],
        answers=tuple(row["answers"]),
    )
    return Leased(delivery=delivery, lease=row["lease"], until=row["leased_until"])


def _past(row: asyncpg.Record) -> PastDelivery:
    error = row["error"] and message_from_json(row["error"])
    return PastDelivery(**{**row, "state": DeliveryState(row["state"]), "error": error})
