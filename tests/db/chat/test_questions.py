"""Answers that were paid for once, and the last questions of each thread."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from db.chat.chats import Chats
from db.chat.questions import ModelAnswers, Questions
from db.pool import Database
from engine.answer.types import Claim, ModelAnswer, Objection
from engine.chat import Chat
from engine.messages import Message

NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)
ANSWER = ModelAnswer(
    claims=(Claim(text='Ünï "quoted" \\ 😀', passages=(2, 1)), Claim(text="So.", passages=())),
    model="some/model",
    prompt_version="7",
    damage={"prose": 1},
)


@pytest.fixture
async def chat(database: Database) -> Chat:
    return await Chats(database).meet("test", "1", private=True, title=None)


@pytest.fixture
def questions(database: Database) -> Questions:
    return Questions(database)


async def test_an_answer_comes_back_as_it_went_in(database: Database) -> None:
    answers = ModelAnswers(database)
    await answers.put("key", ANSWER, now=NOW)
    await answers.put("silent", ModelAnswer(claims=()), now=NOW)
    assert await answers.get("key") == ANSWER
    assert await answers.get("silent") == ModelAnswer(claims=())
    assert await answers.get("other") is None


async def test_what_a_check_objected_to_comes_back_with_its_reason(database: Database) -> None:
    why = Message("No cited source holds the number {words}.", words="9")
    objection = Objection(text="It is 9.", why=why)
    checked = replace(
        ANSWER,
        claims=(
            Claim(text="It is 8.", passages=(1,), objection=objection),
            Claim(text="It is 9.", passages=(1,), supported=False, objection=objection),
        ),
    )
    answers = ModelAnswers(database)
    await answers.put("key", checked, now=NOW)
    assert await answers.get("key") == checked


async def test_the_first_answer_stands(database: Database) -> None:
    answers = ModelAnswers(database)
    await answers.put("key", ANSWER, now=NOW)
    await answers.put("key", ModelAnswer(claims=()), now=NOW)
    assert await answers.get("key") == ANSWER


async def test_answers_are_forgotten_after_ninety_days(database: Database) -> None:
    answers = ModelAnswers(database)
    await answers.put("old", ANSWER, now=NOW - timedelta(days=91))
    await answers.put("young", ANSWER, now=NOW - timedelta(days=89))
    await answers.put("new", ANSWER, now=NOW)
    kept = [key for key in ("old", "young", "new") if await answers.get(key)]
    assert kept == ["young", "new"]


async def test_a_thread_knows_its_last_three_questions_oldest_first(
    questions: Questions, chat: Chat
) -> None:
    for number in range(5):
        await questions.keep(chat, "t", f"{number}?", corpus="me", now=NOW)
    assert await questions.last(chat, "t", corpus="me", now=NOW) == ("2?", "3?", "4?")


async def test_threads_and_chats_know_nothing_of_each_other(
    database: Database, questions: Questions, chat: Chat
) -> None:
    other = await Chats(database).meet("test", "2", private=True, title=None)
    await questions.keep(chat, None, "in none?", corpus="me", now=NOW)
    await questions.keep(chat, "a", "in a?", corpus="me", now=NOW)
    assert await questions.last(chat, None, corpus="me", now=NOW) == ("in none?",)
    assert await questions.last(chat, "a", corpus="me", now=NOW) == ("in a?",)
    assert await questions.last(chat, "b", corpus="me", now=NOW) == ()
    assert await questions.last(other, None, corpus="me", now=NOW) == ()


async def test_a_question_follows_those_of_its_corpus_alone(
    questions: Questions, chat: Chat
) -> None:
    await questions.keep(chat, None, "private?", corpus="diary", now=NOW)
    await questions.keep(chat, None, "public?", corpus="me", now=NOW)
    assert await questions.last(chat, None, corpus="me", now=NOW) == ("public?",)
    assert await questions.last(chat, None, corpus="diary", now=NOW) == ("private?",)


async def test_what_comes_an_hour_later_follows_nothing(questions: Questions, chat: Chat) -> None:
    await questions.keep(chat, None, "so?", corpus="me", now=NOW)
    assert await questions.last(chat, None, corpus="me", now=NOW + timedelta(minutes=59)) == (
        "so?",
    )
    assert await questions.last(chat, None, corpus="me", now=NOW + timedelta(minutes=61)) == ()


async def test_questions_are_forgotten_after_a_day(questions: Questions, chat: Chat) -> None:
    await questions.keep(chat, None, "so?", corpus="me", now=NOW)
    await questions.forget(now=NOW + timedelta(hours=23))
    assert await questions.last(chat, None, corpus="me", now=NOW) == ("so?",)
    await questions.forget(now=NOW + timedelta(hours=25))
    assert await questions.last(chat, None, corpus="me", now=NOW) == ()
