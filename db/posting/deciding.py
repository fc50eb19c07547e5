"""Stores decisions to post: the deliveries, their answers, and what was posted."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from db.chat.answers import prophecy_to_json
from db.connection import Connection
from db.statements import statements
from engine.posting.types import Chosen, OwedPost, StoryFind


async def decide_posts(
    connection: Connection,
    decisions: Sequence[OwedPost],
    *,
    now: datetime,
    repeated_since: datetime,
) -> list[bool]:
    """Store those decisions that can still be made, and return which ones these are.

    Others cannot decide for their chats until the transaction ends. Left out are decisions for
    chats that are gone or whose subscription has changed; those whose date or key was used before;
    and those about a story that was posted in the chat, or a tweet that was since `repeated_since`.
    """
    chats = [one.subscription.chat.id for one in decisions]
    await connection.execute(statements("posting")["lock_chats"], chats)
    possible = await _possible(connection, decisions, repeated_since)
    possible = await _close_dates(connection, decisions, possible, now)
    await _owe(connection, [one for n, one in enumerate(decisions) if n in possible], now)
    return [number in possible for number in range(len(decisions))]


async def _possible(
    connection: Connection, decisions: Sequence[OwedPost], repeated_since: datetime
) -> set[int]:
    sql = statements("posting")
    wanted = await connection.fetch(
        sql["wanted"],
        [one.subscription.chat.id for one in decisions],
        [one.subscription.topic for one in decisions],
        [None if one.asked else one.subscription.mode.value for one in decisions],
    )
    told = [(n, one, find) for n, one in enumerate(decisions) for find in one.chosen]
    repeated = await connection.fetch(
        sql["repeated"],
        [number for number, _, _ in told],
        [one.subscription.chat.id for _, one, _ in told],
        [chosen.find.story.id for _, _, chosen in told],
        [chosen.find.corpus for _, _, chosen in told],
        [chosen.hit.candidate.external_id for _, _, chosen in told],
        repeated_since,
    )
    used = await connection.fetch(sql["used_keys"], [one.key for one in decisions if one.content])
    keys = {row["key"] for row in used}
    possible = {row["number"] - 1 for row in wanted} - {row["number"] for row in repeated}
    return {number for number in possible if decisions[number].key not in keys}


async def _close_dates(
    connection: Connection, decisions: Sequence[OwedPost], possible: set[int], now: datetime
) -> set[int]:
    """Return those whose date is closed by this, and those that close none."""
    daily = {
        (one.subscription.chat.id, one.subscription.topic, one.day): number
        for number, one in enumerate(decisions)
        if one.day is not None and number in possible
    }
    if not daily:
        return possible
    rows = await connection.fetch(
        statements("posting")["close_dates"], *map(list, zip(*daily, strict=True)), now
    )
    closed = {daily[row["chat_id"], row["topic"], row["local_date"]] for row in rows}
    return possible - (set(daily.values()) - closed)


class _Owed(NamedTuple):
    """One delivery, with the finds that it shows."""

    decision: OwedPost
    key: str
    content: str
    chosen: Sequence[Chosen] = ()


def _deliveries(decision: OwedPost) -> list[_Owed]:
    key, content, chosen = decision.key, decision.content, decision.chosen
    if content is None:
        return []
    owed = [
        _Owed(decision, key if number == 0 else f"{key}:{number + 1}", one, chosen[number:][:1])
        for number, one in enumerate(decision.instead)
    ] or [_Owed(decision, key, content, chosen)]
    further = (("picture", decision.picture), ("draft", decision.draft))
    return owed + [_Owed(decision, f"{kind}:{key}", one) for kind, one in further if one]


async def _owe(connection: Connection, decisions: Sequence[OwedPost], now: datetime) -> None:
    sql = statements("posting")
    owed = [delivery for one in decisions for delivery in _deliveries(one)]
    if not owed:
        return
    rows = await connection.fetchmany(sql["owe"], [_delivery_row(one, now) for one in owed])
    shown = [
        (one.decision.subscription, chosen, row["id"])
        for one, row in zip(owed, rows, strict=True)
        for chosen in one.chosen
    ]
    if not shown:
        return
    written: dict[int, str] = {}  # many chats are told of the same finds
    answers = await connection.fetchmany(
        statements("conversation")["keep_answer"],
        [
            (one.chat.id, one.thread, now, *_page(chosen), _written(chosen.find, written), None)
            for one, chosen, _ in shown
        ],
    )
    await connection.executemany(
        sql["post"],
        [
            (one.chat.id, chosen.find.story.id, delivery, answer["id"], chosen.find.corpus,
             chosen.hit.candidate.external_id, chosen.hit.candidate.text, now)
            for (one, chosen, delivery), answer in zip(shown, answers, strict=True)
        ],
    )  # fmt: skip


def _delivery_row(owed: _Owed, now: datetime) -> tuple[object, ...]:
    wanted = owed.decision.subscription
    return owed.key, wanted.chat.id, wanted.thread, owed.content, now, wanted.silent


def _page(chosen: Chosen) -> tuple[int, int]:
    """Return the page of the prophecy that shows only the chosen hit."""
    first = chosen.find.prophecy.hits.index(chosen.hit)
    return first, first + 1


def _written(find: StoryFind, written: dict[int, str]) -> str:
    if find.id not in written:
        written[find.id] = prophecy_to_json(find.prophecy)
    return written[find.id]
