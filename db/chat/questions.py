"""Stores the questions of chats, and the answers of a model, so that none is paid for twice."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import orjson

from db.pool import Database
from db.statements import statements
from engine.answer.types import Claim, ModelAnswer, Objection
from engine.chat import Chat
from engine.messages import message_from_json, message_json

_ANSWERS_KEPT = timedelta(days=90)
_QUESTIONS_KEPT = timedelta(days=1)
_FOLLOWS = timedelta(hours=1)  # a later question is not a follow-up
_LAST = 3


class ModelAnswers:
    """Answers by the key of their request; implements engine.answer.types.AnswerCache."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("questions")

    async def get(self, key: str) -> ModelAnswer | None:
        """Return the stored answer, or None."""
        async with self._database.connection() as connection:
            row = await connection.fetchrow(self._sql["model_answer"], key)
        if row is None:
            return None
        return ModelAnswer(
            claims=tuple(_claim(*entry) for entry in orjson.loads(row["claims"])),
            model=row["model"],
            prompt_version=row["prompt_version"],
            damage=orjson.loads(row["damage"]),
        )

    async def put(self, key: str, answer: ModelAnswer, *, now: datetime) -> None:
        """Store an answer under its key, and remove those older than 90 days."""
        claims = orjson.dumps([_entry(one) for one in answer.claims]).decode()
        async with self._database.connection() as connection:
            await connection.execute(
                self._sql["store_model_answer"],
                key,
                claims,
                answer.model,
                answer.prompt_version,
                orjson.dumps(dict(answer.damage)).decode(),
                now,
                now - _ANSWERS_KEPT,
            )


def _entry(claim: Claim) -> list[object]:
    entry: list[object] = [claim.text, claim.passages]
    if objection := claim.objection:
        entry += [claim.supported, objection.text, message_json(objection.why)]
    return entry


def _claim(
    text: str, numbers: list[int], supported: bool = True, written: str = "", why: str = ""
) -> Claim:
    """Return a claim as it was stored; the last three are there if the check objected."""
    objection = Objection(text=written, why=message_from_json(why)) if why else None
    return Claim(text=text, passages=tuple(numbers), supported=supported, objection=objection)


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
    """What a question follows, oldest first, and the id of the last of them."""

    texts: tuple[str, ...] = ()
    last: int | None = None


class Questions:
    """The questions of each chat, and which of them follow others."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("questions")

    async def keep(self, asked: AskedQuestion, text: str, *, follows: int | None = None) -> None:
        """Store a question, and the one that it followed."""
        async with self._database.connection() as connection:
            await connection.execute(
                self._sql["keep_question"],
                asked.chat.id,
                asked.thread,
                asked.now,
                text,
                asked.corpus,
                asked.event_id,
                asked.person,
                follows,
            )

    async def earlier(self, asked: AskedQuestion) -> EarlierQuestions:
        """Return the question of the message replied to, else the person's own last one of the
        past hour in that thread, after those which it followed; at most three.

        Questions about other corpora are left out, so that those about a private one do not leak.
        """
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                self._sql["earlier_questions"],
                asked.chat.id,
                asked.thread,
                asked.now - _FOLLOWS,
                _LAST,
                asked.corpus,
                asked.person,
                asked.chat.platform,
                asked.quoted_id,
                asked.quoted_event,
                asked.event_id,
            )
        texts = tuple(row["text"] for row in reversed(rows))
        return EarlierQuestions(texts=texts, last=rows[0]["id"] if rows else None)

    async def forget(self, *, now: datetime) -> None:
        """Remove questions older than a day."""
        async with self._database.connection() as connection:
            await connection.execute(self._sql["forget_questions"], now - _QUESTIONS_KEPT)
