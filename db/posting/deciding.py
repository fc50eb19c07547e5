"""Stores a decision to post: the delivery, its answers, and what was posted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from db.chat.answers import prophecy_to_json
from db.connection import Connection
from db.pool import Database
from db.statements import statements
from engine.chat import Chat
from engine.posting.types import Chosen, Subscription


class Digests:
    """Reads the digest table."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("digests")

    async def last_decided(self) -> Mapping[tuple[int, str], date]:
        """Return the last local date that was decided, by chat and topic ("" is the chat's own)."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["last_decided"])
        return {(row["chat_id"], row["topic"]): row["local_date"] for row in rows}


class Undecided(Exception):
    """A decision cannot be made; whatever was stored for it must be rolled back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwedPost:
    """One message to be owed to a chat."""

    key: str
    content: str
    chosen: Sequence[Chosen]
    picture: str | None = None  # content of a second message, which follows this one
    instead: Sequence[str] = ()  # of one message for each of `chosen`, which replace this one
    draft: str | None = None  # content of a further message, which follows either


async def lock(
    connection: Connection,
    subscription: Subscription,
    chosen: Sequence[Chosen],
    *,
    repeated_since: datetime,
) -> None:
    """Keep others from deciding for the chat until the transaction ends.

    Raises Undecided if the chat is gone or its subscription has changed, if a story was posted in
    it, or if a tweet was since `repeated_since`.
    """
    sql, chat = statements("posting"), subscription.chat
    mode, topic = subscription.mode.value, subscription.topic
    if not await connection.fetchval(sql["lock_subscribed"], chat.id, mode, topic):
        raise Undecided
    await _require_new(connection, chat, chosen, repeated_since)


async def lock_chat(
    connection: Connection, chat: Chat, chosen: Sequence[Chosen], *, repeated_since: datetime
) -> None:
    """Do the same, whatever the chat's subscription says."""
    if not await connection.fetchval(statements("posting")["lock_active"], chat.id):
        raise Undecided
    await _require_new(connection, chat, chosen, repeated_since)


async def _require_new(
    connection: Connection, chat: Chat, chosen: Sequence[Chosen], since: datetime
) -> None:
    repeated = statements("posting")["repeated"]
    stories = [one.find.story.id for one in chosen]
    corpora = [one.find.corpus for one in chosen]
    tweets = [one.hit.candidate.external_id for one in chosen]
    if await connection.fetchval(repeated, chat.id, stories, corpora, tweets, since):
        raise Undecided


async def owe(
    connection: Connection, subscription: Subscription, post: OwedPost, *, now: datetime
) -> None:
    """Store a delivery with the answers it shows, or those that replace it, and what follows it.

    Raises Undecided if its key was used before.
    """
    for number, content in enumerate(post.instead, start=1):
        key = post.key if number == 1 else f"{post.key}:{number}"
        one = OwedPost(key=key, content=content, chosen=post.chosen[number - 1 : number])
        await _owe_one(connection, subscription, one, now)
    if not post.instead:
        await _owe_one(connection, subscription, post, now)
    sql, chat = statements("posting"), subscription.chat.id
    thread, silent = subscription.thread, subscription.silent
    for kind, further in (("picture", post.picture), ("draft", post.draft)):
        if further is not None:
            key = f"{kind}:{post.key}"
            await connection.execute(sql["owe"], key, chat, thread, further, now, silent)


async def _owe_one(
    connection: Connection, subscription: Subscription, post: OwedPost, now: datetime
) -> None:
    sql, chat = statements("posting"), subscription.chat.id
    thread, silent = subscription.thread, subscription.silent
    delivery = await connection.fetchval(
        sql["owe"], post.key, chat, thread, post.content, now, silent
    )
    if delivery is None:
        raise Undecided
    answers = await connection.fetchmany(
        statements("conversation")["keep_answer"],
        [_answer(subscription, one, now) for one in post.chosen],
    )
    await connection.executemany(
        sql["post"],
        [
            (chat, one.find.story.id, delivery, answer["id"], one.find.corpus,
             one.hit.candidate.external_id, one.hit.candidate.text, now)
            for one, answer in zip(post.chosen, answers, strict=True)
        ],
    )  # fmt: skip


def _answer(subscription: Subscription, chosen: Chosen, now: datetime) -> tuple[object, ...]:
    """Return the whole prophecy, with the page that shows only the chosen hit."""
    first = chosen.find.prophecy.hits.index(chosen.hit)
    prophecy = prophecy_to_json(chosen.find.prophecy)
    return subscription.chat.id, subscription.thread, now, first, first + 1, prophecy
