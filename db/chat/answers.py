"""Stores the answers and questions of chats, and the votes on them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache

import asyncpg
from pydantic import TypeAdapter

from db.connection import read_row
from db.pool import Store
from engine.chat import Answer, Chat, Favourite, Tally
from engine.contracts.results import Receipt
from engine.search import Prophecy

_QUESTIONS_KEPT = timedelta(days=1)
_FOLLOWS = timedelta(hours=1)  # a later question is not a follow-up
_LAST = 3
_KEPT = timedelta(days=90)  # nobody asks for the reason after that
_EVENTS_KNOWN = timedelta(days=7)  # as long as db.chat.events keeps them


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """A question as it is asked in a chat's thread (None = outside threads), about a corpus.

    `person` is None where it is not known who speaks; `quoted_id` and `quoted_event` are the
    message that it replies to, and the event of that message.
    """

    chat: Chat
    thread: str | None
    corpus: str
    now: datetime
    event_id: str
    person: str | None = None
    quoted_id: str | None = None
    quoted_event: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierQuestions:
    """What a question follows, oldest first, and the id of the last of them: when it was asked, and
    whether the message replied to is about it."""

    texts: tuple[str, ...] = ()
    last: int | None = None
    asked_at: datetime | None = None
    quoted: bool = False


class Questions(Store, sql="conversation"):
    """The questions of each chat, and which of them follow others."""

    async def keep(self, question: AskedQuestion, text: str, *, follows: int | None = None) -> None:
        """Store a question, and the one that it followed."""
        await self._execute(
            "keep_question",
            question.chat.id,
            question.thread,
            question.now,
            text,
            question.corpus,
            question.event_id,
            question.person,
            follows,
        )

    async def earlier(self, question: AskedQuestion) -> EarlierQuestions:
        """Return the question of the message replied to, else the person's own last one of the
        past hour in that thread, after those which it followed; at most three.

        Questions about other corpora are left out, so that those about a private one do not leak.
        """
        rows = await self._fetch_rows(
            "earlier_questions",
            question.chat.id,
            question.thread,
            question.now - _FOLLOWS,
            _LAST,
            question.corpus,
            question.person,
            question.chat.platform,
            question.quoted_id,
            question.quoted_event,
            question.event_id,
        )
        if not rows:
            return EarlierQuestions()
        return EarlierQuestions(
            texts=tuple(row["text"] for row in reversed(rows)),
            last=rows[0]["id"],
            asked_at=rows[0]["asked_at"],
            quoted=bool(rows[0]["quoted"]),
        )

    async def is_about_question(
        self, platform: str, chat: str, quoted_id: str, quoted_event: str, *, now: datetime
    ) -> bool:
        """Return whether a message of a chat answers a question, or is one, or begins a thread in
        which one was asked within the hour."""
        values = (platform, chat, quoted_id, quoted_event, now - _FOLLOWS)
        return bool(await self._fetch_value("is_about_question", *values))

    async def forget(self, *, now: datetime) -> None:
        """Remove questions older than a day."""
        await self._execute("forget_questions", now - _QUESTIONS_KEPT)


@cache
def _build_adapter() -> TypeAdapter[Prophecy]:
    """Return the adapter, which takes long to build for a command that stores nothing."""
    return TypeAdapter(Prophecy)


def prophecy_to_json(prophecy: Prophecy) -> str:
    """Return a prophecy as JSON text."""
    return _build_adapter().dump_json(prophecy).decode()


def prophecy_from_json(text: str) -> Prophecy:
    """Return the prophecy that `prophecy_to_json` wrote."""
    return _build_adapter().validate_json(text)


class Answers(Store, sql="conversation"):
    """Reads and writes the answer and vote tables."""

    async def keep(
        self, chat: Chat, thread: str | None, answer: Answer, *, event_id: str | None = None
    ) -> int:
        """Store a new answer to an event, if there was one, and return its id."""
        page = answer.asked_at, answer.first, answer.last, prophecy_to_json(answer.prophecy)
        return int(await self._fetch_value("keep_answer", chat.id, thread, *page, event_id))

    async def get(self, chat: Chat, answer_id: int) -> Answer | None:
        """Return an answer of this chat, or None."""
        return _read_answer(await self._fetch_row("answer", answer_id, chat.id))

    async def last(self, chat: Chat, thread: str | None) -> Answer | None:
        """Return the last answer in this chat's thread (None = outside threads), or None."""
        return _read_answer(await self._fetch_row("last_answer", chat.id, thread))

    async def headlines(self, chat: Chat, *, since: datetime) -> list[str]:
        """Return the headlines that were answered in this chat since a moment."""
        rows = await self._fetch_rows("answered_headlines", chat.id, since)
        return [row["headline"] for row in rows]

    async def about(
        self, chat: Chat, message: str, event_id: str, *, now: datetime
    ) -> Answer | Receipt | None:
        """Return the answer or the receipt of what the bot said in a message, or in answer to the
        event of that message; None if there is none of the last week.
        """
        values = (chat.id, now - _EVENTS_KNOWN, chat.platform, message, event_id)
        if page := _read_answer(await self._fetch_row("answer_about", *values)):
            return page
        receipt = await self._fetch_value("receipt_about", *values)
        return Receipt.model_validate_json(receipt) if receipt else None

    async def posted_with(self, answer: Answer) -> list[Answer]:
        """Return the answers in the same post as `answer`, in order.

        Each shows the one hit that was posted. Empty if `answer` was not part of a post.
        """
        rows = await self._fetch_rows("posted_with", answer.id)
        return [page for row in rows if (page := _read_posted(row))]

    async def asked_with(self, answer: Answer) -> list[Answer]:
        """Return the answers to all headlines of the message that `answer` is to, in order.

        Each shows its first hit. Empty if there was one headline, or a whole answer is shown.
        """
        if (answer.first, answer.last) != (0, 1):
            return []
        rows = await self._fetch_rows("asked_with", answer.id)
        pages = [page for row in rows if (page := _read_answer(row))]
        return pages if len(pages) > 1 else []

    async def finish(self, answer: Answer) -> bool:
        """Put a finished prophecy in place of a stored one, unless somebody has voted on that."""
        finished = prophecy_to_json(answer.prophecy)
        return bool(await self._fetch_value("finish_answer", answer.id, finished))

    async def turn_page(self, answer: Answer) -> None:
        """Store which hits were shown last. The answer must be stored already."""
        await self._execute("turn_page", answer.id, answer.first, answer.last)

    async def withdraw(self, answer: Answer, rank: int, person: str, value: int) -> bool:
        """Remove a person's vote of this value on one hit. Return whether there was one."""
        return bool(await self._fetch_value("withdraw_vote", answer.id, rank, person, value))

    async def vote(self, answer: Answer, rank: int, person: str, value: int) -> None:
        """Store a person's vote (1 or -1) on one hit, replacing an earlier one."""
        await self._execute("vote", answer.id, rank, person, value)

    async def tallies(self, answer: Answer) -> Mapping[int, Tally]:
        """Return the votes on an answer's hits, by rank; hits without votes are left out."""
        rows = await self._fetch_rows("tallies", answer.id)
        return {row["rank"]: read_row(Tally, row) for row in rows}

    async def favourites(self, chat: Chat, limit: int) -> list[Favourite]:
        """Return the best-voted hits of a chat, best first."""
        rows = await self._fetch_rows("favourites", chat.id, limit)
        return [favourite for row in rows if (favourite := _read_favourite(row))]

    async def keep_receipt(
        self,
        chat: Chat,
        thread: str | None,
        receipt: Receipt,
        *,
        asked_at: datetime,
        event_id: str | None = None,
    ) -> int:
        """Store the receipt that explains the answer to a query, which an event had asked for.

        Return its id.
        """
        text = receipt.model_dump_json()
        return int(
            await self._fetch_value("keep_receipt", chat.id, thread, asked_at, text, event_id)
        )

    async def receipt(self, chat: Chat, number: int) -> Receipt | None:
        """Return a receipt of this chat, or None."""
        receipt = await self._fetch_value("receipt", number, chat.id)
        return Receipt.model_validate_json(receipt) if receipt else None

    async def last_receipt(self, chat: Chat, thread: str | None) -> tuple[Receipt, datetime] | None:
        """Return the last receipt in this chat's thread (None = outside threads), and its time."""
        row = await self._fetch_row("last_receipt", chat.id, thread)
        if row is None:
            return None
        return Receipt.model_validate_json(row["receipt"]), row["asked_at"]

    async def forget(self, *, now: datetime) -> None:
        """Remove answers older than 90 days that nobody voted on, and receipts."""
        async with self._database.connection() as connection:
            await connection.execute(self._sql["forget_answers"], now - _KEPT)
            await connection.execute(self._sql["forget_receipts"], now - _KEPT)


def _read_answer(row: asyncpg.Record | None) -> Answer | None:
    if row is None:
        return None
    return read_row(Answer, row, prophecy=prophecy_from_json(row["prophecy"]))


def _read_posted(row: asyncpg.Record) -> Answer | None:
    """Return an answer with the page that shows the hit that was posted."""
    answer = _read_answer(row)
    hits = answer.prophecy.hits if answer else ()
    for first, hit in enumerate(hits):
        if answer and hit.candidate.external_id == row["external_id"]:
            return replace(answer, first=first, last=first + 1)
    return None


def _read_favourite(row: asyncpg.Record) -> Favourite | None:
    """Return the hit that a row's prophecy and rank name, or None if it has no such hit."""
    prophecy = prophecy_from_json(row["prophecy"])
    hit = next((hit for hit in prophecy.hits if hit.rank == row["rank"]), None)
    if hit is None:
        return None
    return Favourite(
        headline=prophecy.headline,
        corpus=prophecy.corpus,
        hit=hit,
        asked_at=row["asked_at"],
        tally=read_row(Tally, row),
    )
