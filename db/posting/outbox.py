"""Stores the messages owed to chats: decided once, leased to one process at a time, settled once.

A delivery is stored in the transaction that decides it. A process leases it, notes that it begins,
sends, and settles. A delivery that was begun and never settled may have arrived: the next holder
learns that from `Delivery.begun_before`.

Each lease has a number. An expired lease is given to another process under a new number, and the
old holder can then neither begin nor settle.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import asyncpg

from db.chat.answers import prophecy_to_json
from db.chat.chats import chat_from
from db.connection import Connection, Row, load_statements, read_row
from db.pool import Store
from db.posting.subscriptions import read_posted
from engine.chat import Chat
from engine.messages import Message, message_from_json, message_json
from engine.posting.choose import REPEAT_AFTER, RETOLD_AFTER, has_duplicate_story, list_good_hits
from engine.posting.delivery import (
    Delivery,
    LeasedDelivery,
    OutboxHealth,
    OwedNotice,
    OwedPost,
    PastDelivery,
    PublicPost,
    SelectedFind,
    Subscription,
)

_PACE = timedelta(seconds=1)  # between two messages in one chat
_SETTLED_KEPT = timedelta(days=90)
_POSTED_KEPT = timedelta(days=2 * 365)  # longer than tweets are kept from being repeated
_DATES_KEPT = timedelta(days=30)
_GONE_KEPT = timedelta(days=1)  # a chat that returns later is not told old news


async def _find_possible_posts(
    connection: Connection, decisions: Sequence[OwedPost], repeated_since: datetime
) -> set[int]:
    sql = load_statements("posting")
    wanted = await connection.fetch(
        sql["wanted"],
        [decision.subscription.chat.id for decision in decisions],
        [decision.subscription.topic for decision in decisions],
        [None if decision.asked else decision.subscription.mode.value for decision in decisions],
    )
    owed = [
        (n, decision, find) for n, decision in enumerate(decisions) for find in decision.selected
    ]
    repeated = await connection.fetch(
        sql["repeated"],
        [number for number, _, _ in owed],
        [promise.subscription.chat.id for _, promise, _ in owed],
        [item.find.story.id for _, _, item in owed],
        [item.find.corpus for _, _, item in owed],
        [item.hit.candidate.external_id for _, _, item in owed],
        repeated_since,
    )
    used = await connection.fetch(
        sql["used_keys"], [decision.key for decision in decisions if decision.content]
    )
    keys = {row["key"] for row in used}
    possible = {row["number"] - 1 for row in wanted} - {row["number"] for row in repeated}
    return {number for number in possible if decisions[number].key not in keys}


async def _find_retold(
    connection: Connection, decisions: Sequence[OwedPost], now: datetime
) -> set[int]:
    """Return the decisions about news that their chats were told as another story."""
    chats = {decision.subscription.chat.id for decision in decisions if decision.selected}
    if not chats:
        return set()
    rows = await connection.fetch(
        load_statements("posting")["posted"], list(chats), now - RETOLD_AFTER
    )
    told = read_posted(rows)
    return {
        number
        for number, decision in enumerate(decisions)
        for item in decision.selected
        for post in told.get(decision.subscription.chat.id, ())
        if has_duplicate_story(item.find, post, now, apart=item.apart)
    }


async def _close_dates(
    connection: Connection, decisions: Sequence[OwedPost], possible: set[int], now: datetime
) -> set[int]:
    """Return those whose date is closed by this, and those that close none."""
    daily = {
        (decision.subscription.chat.id, decision.subscription.topic, decision.day): number
        for number, decision in enumerate(decisions)
        if decision.day is not None and number in possible
    }
    if not daily:
        return possible
    rows = await connection.fetch(
        load_statements("posting")["close_dates"], *map(list, zip(*daily, strict=True)), now
    )
    closed = {daily[row["chat_id"], row["topic"], row["local_date"]] for row in rows}
    return possible - (set(daily.values()) - closed)


class _Owed(NamedTuple):
    """One delivery, with the finds that it shows."""

    decision: OwedPost
    key: str
    content: str
    selected: Sequence[SelectedFind] = ()


def _list_deliveries(decision: OwedPost) -> list[_Owed]:
    key, content, items = decision.key, decision.content, decision.selected
    if content is None:
        return []
    owed = [
        _Owed(decision, key if number == 0 else f"{key}:{number + 1}", text, items[number:][:1])
        for number, text in enumerate(decision.instead)
    ] or [_Owed(decision, key, content, items)]
    further = (("picture", decision.picture), ("draft", decision.draft))
    return owed + [_Owed(decision, f"{kind}:{key}", text) for kind, text in further if text]


async def _owe_deliveries(
    connection: Connection, decisions: Sequence[OwedPost], now: datetime
) -> None:
    sql = load_statements("posting")
    owed = [delivery for decision in decisions for delivery in _list_deliveries(decision)]
    if not owed:
        return
    rows = await connection.fetchmany(sql["owe"], [_delivery_row(debt, now) for debt in owed])
    posts = [
        (debt.decision.subscription, item, row["id"])
        for debt, row in zip(owed, rows, strict=True)
        for item in debt.selected
    ]
    if not posts:
        return
    answers = await _keep_answers(connection, posts, now)
    await connection.executemany(
        sql["post"],
        [
            (promise.chat.id, item.find.story.id, delivery, answer["id"], item.find.corpus,
             item.hit.candidate.external_id, item.hit.candidate.text, now,
             item.hit.kind, sorted(list_good_hits(item.find)))
            for (promise, item, delivery), answer in zip(posts, answers, strict=True)
        ],
    )  # fmt: skip


async def _keep_answers(
    connection: Connection, posts: Sequence[tuple[Subscription, SelectedFind, int]], now: datetime
) -> Sequence[Row]:
    """Store the answer that each post shows, and return the rows of their ids."""
    written: dict[int, str] = {}  # many chats are told of the same finds
    for _, item, _ in posts:
        if item.find.id not in written:
            written[item.find.id] = prophecy_to_json(item.find.prophecy)
    values = [
        (promise.chat.id, promise.thread, now, *_find_page(item), written[item.find.id], None)
        for promise, item, _ in posts
    ]
    return await connection.fetchmany(load_statements("conversation")["keep_answer"], values)


def _delivery_row(owed: _Owed, now: datetime) -> tuple[object, ...]:
    wanted = owed.decision.subscription
    return owed.key, wanted.chat.id, wanted.thread, owed.content, now, wanted.silent


def _find_page(selected: SelectedFind) -> tuple[int, int]:
    """Return the page of the prophecy that shows only the selected hit."""
    first = selected.find.prophecy.hits.index(selected.hit)
    return first, first + 1


class Outbox(Store, sql="posting"):
    """Reads and writes the delivery, digest and posted tables."""

    async def decide(
        self,
        decisions: Sequence[OwedPost],
        *,
        now: datetime,
        repeat_after: timedelta = REPEAT_AFTER,
    ) -> list[bool]:
        """Store decisions in one transaction, and return which ones could still be made.

        A decision stores its date, its deliveries and its answers. Others cannot decide for their
        chats until the transaction ends. Left out are decisions for chats that are gone or whose
        subscription has changed; those whose date or key was used before; and those about a story
        that was posted in the chat meanwhile, also in the words of another feed, or a tweet that
        was within `repeat_after`: if the post is still due, the next round chooses again.
        """
        if not decisions:
            return []
        chats = [decision.subscription.chat.id for decision in decisions]
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["lock_chats"], chats)
            possible = await _find_possible_posts(connection, decisions, now - repeat_after)
            possible -= await _find_retold(connection, decisions, now)
            possible = await _close_dates(connection, decisions, possible, now)
            made = [decision for n, decision in enumerate(decisions) if n in possible]
            await _owe_deliveries(connection, made, now)
        return [number in possible for number in range(len(decisions))]

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
    ) -> list[LeasedDelivery]:
        """Lease deliveries that may be sent now, at most one per chat, the oldest.

        A chat waits for a second after each message that was begun, and while its oldest delivery
        waits. Chats that are gone are left out.
        """
        rows = await self._fetch_rows("lease", now, platforms, now - _PACE, limit, now + lease)
        return [_read_leased(row) for row in rows]

    async def begin(self, leased: LeasedDelivery, *, now: datetime) -> bool:
        """Note that sending begins; if this returns False, the lease is over: do not send."""
        return await self._change_delivery("begin", leased, now)

    async def sent(self, leased: LeasedDelivery, message_id: str, *, now: datetime) -> bool:
        """Note that it arrived; return False if the lease was taken over."""
        return await self._change_delivery("sent", leased, message_id, now)

    async def retry(
        self, leased: LeasedDelivery, *, at: datetime, error: Message, not_shown: bool
    ) -> bool:
        """Return it to be sent at `at`; return False if the lease was taken over.

        `not_shown` says that certainly neither this nor an earlier attempt arrived.
        """
        return await self._change_delivery("retry", leased, at, message_json(error), not_shown)

    async def release(self, leased: LeasedDelivery) -> bool:
        """Release what was leased and not begun; return False if the lease was taken over."""
        return await self._change_delivery("release", leased)

    async def fail(self, leased: LeasedDelivery, error: Message, *, now: datetime) -> bool:
        """Give it up; return False if the lease was taken over."""
        return await self._change_delivery("fail", leased, message_json(error), now)

    async def history(self, chat: Chat, limit: int) -> list[PastDelivery]:
        """Return the last deliveries of a chat, newest first."""
        rows = await self._fetch_rows("history", chat.id, limit)
        return [
            read_row(PastDelivery, row, error=row["error"] and message_from_json(row["error"]))
            for row in rows
        ]

    async def public_posts(
        self, corpora: Sequence[str], *, external_id: str | None = None, limit: int
    ) -> list[PublicPost]:
        """Return the prophecies from these corpora, or of one text, that were sent, newest first,
        each once.

        Those about headlines that only feeds of single chats brought are left out.
        """
        rows = await self._fetch_rows("public_posts", corpora, external_id, limit)
        return [read_row(PublicPost, row) for row in rows]

    async def health(self, since: datetime) -> OutboxHealth:
        """Return what is owed, and what was given up since `since`."""
        row = await self._fetch_row("outbox_health", since)
        assert row is not None  # noqa: S101 - sums have one row
        last = row["last_error"] and message_from_json(row["last_error"])
        return read_row(OutboxHealth, row, last_error=last)

    async def forget(self, *, now: datetime) -> None:
        """Remove what was settled or posted long ago, and give up deliveries to gone chats."""
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["give_up_gone"], now, now - _GONE_KEPT)
            await connection.execute(self._sql["forget_deliveries"], now - _SETTLED_KEPT)
            await connection.execute(self._sql["forget_posted"], now - _POSTED_KEPT)
            await connection.execute(self._sql["forget_dates"], (now - _DATES_KEPT).date())

    async def _change_delivery(self, name: str, leased: LeasedDelivery, *values: object) -> bool:
        changed = await self._fetch_value(name, leased.delivery.id, leased.lease, *values)
        return bool(changed)


def _read_leased(row: asyncpg.Record) -> LeasedDelivery:
    delivery = read_row(
        Delivery,
        row,
        chat=chat_from(row, "chat_"),
        thread=row["delivery_thread"],
        attempts=row["attempts"] + 1,
        begun_before=row["begun_at"] is not None,
        silent=row["delivery_silent"],
    )
    return LeasedDelivery(delivery=delivery, lease=row["lease"], until=row["leased_until"])


async def owe_notices(
    connection: Connection, notices: Sequence[OwedNotice], *, now: datetime
) -> None:
    """Owe each notice, unless its key was used before."""
    await connection.executemany(
        load_statements("posting")["owe"],
        [
            (notice.key, notice.chat.id, notice.thread, notice.content, now, False)
            for notice in notices
        ],
    )
