"""Stores the questions of chats, and the answers of a model, so that none is paid for twice."""

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


class Questions:
    """The last questions in each thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("questions")

    async def keep(
        self, chat: Chat, thread: str | None, text: str, *, corpus: str, now: datetime
    ) -> None:
        """Store a question about a corpus, asked in a chat's thread (None = outside threads)."""
        async with self._database.connection() as connection:
            await connection.execute(self._sql["keep_question"], chat.id, thread, now, text, corpus)

    async def last(
        self, chat: Chat, thread: str | None, *, corpus: str, now: datetime
    ) -> tuple[str, ...]:
        """Return the last three questions of the past hour in that thread, oldest first.

        Questions about other corpora are left out, so that those about a private one do not leak.
        """
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                self._sql["last_questions"], chat.id, thread, now - _FOLLOWS, _LAST, corpus
            )
        return tuple(row["text"] for row in reversed(rows))

    async def forget(self, *, now: datetime) -> None:
        """Remove questions older than a day."""
        async with self._database.connection() as connection:
            await connection.execute(self._sql["forget_questions"], now - _QUESTIONS_KEPT)
