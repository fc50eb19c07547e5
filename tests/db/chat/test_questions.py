"""Answers that were paid for once, and which questions follow which."""

import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from db.chat.answers import AskedQuestion, Questions
from db.chat.chats import Chats
from db.chat.events import EventClaims
from db.model_cache import ModelAnswers
from db.pool import Database
from engine.answer.cited_answer import Claim, ModelAnswer, Objection
from engine.chat import Chat
from engine.messages import Message

NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)
ANSWER = ModelAnswer(
    claims=(Claim(text='Ünï "quoted" \\ 😀', passages=(2, 1)), Claim(text="So.", passages=())),
    model="some/model",
    prompt_version="7",
    damage={"prose": 1},
)
_numbers = itertools.count(1)


@pytest.fixture
async def chat(database: Database) -> Chat:
    return await Chats(database).meet("test", "1", private=True, title=None)


@pytest.fixture
def questions(database: Database) -> Questions:
    return Questions(database)


async def test_a_model_answer_is_loaded_as_it_was_stored(database: Database) -> None:
    answers = ModelAnswers(database)
    await answers.put("key", ANSWER, now=NOW)
    await answers.put("silent", ModelAnswer(claims=()), now=NOW)
    assert await answers.get("key") == ANSWER
    assert await answers.get("silent") == ModelAnswer(claims=())
    assert await answers.get("other") is None


async def test_an_objection_of_the_check_is_stored_with_its_reason(database: Database) -> None:
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


async def test_a_second_answer_does_not_replace_the_first(database: Database) -> None:
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


def asked(chat: Chat, **changes: object) -> AskedQuestion:
    """A question of Ana's outside threads, unless `changes` say otherwise."""
    event_id = f"{chat.external_id}:{next(_numbers)}"
    values: dict[str, object] = {
        "chat": chat, "thread": None, "corpus": "me", "now": NOW, "event_id": event_id,
        "person": "test:ana",
    }  # fmt: skip
    return AskedQuestion(**{**values, **changes})  # type: ignore[arg-type]  # the table above has the types


def answer_to(question: str) -> str:
    """The first of the two messages that answer a question."""
    return f"answer_to_{question}".replace(" ", "_")


@dataclass
class Talk:
    """Asks questions that follow what they may follow, and answers each with a message."""

    questions: Questions
    claims: EventClaims

    async def ask(self, text: str, question: AskedQuestion) -> tuple[str, ...]:
        """Return what the question follows."""
        earlier = await self.questions.earlier(question)
        await self.questions.keep(question, text, follows=earlier.last)
        platform = question.chat.platform
        async with self.claims.claim(platform, question.event_id, now=NOW) as claim:
            assert claim
            assert await claim.begin_answer()
            claim.message = f"{answer_to(text)} and_the_rest_of_it"
        return earlier.texts


@pytest.fixture
async def talk(database: Database, questions: Questions) -> AsyncIterator[Talk]:
    async with EventClaims(database) as claims:
        yield Talk(questions, claims)


async def test_a_question_follows_the_last_three_oldest_first(talk: Talk, chat: Chat) -> None:
    for number in range(5):
        await talk.ask(f"{number}?", asked(chat, thread="t"))
    assert await talk.ask("so?", asked(chat, thread="t")) == ("2?", "3?", "4?")


async def test_questions_do_not_cross_threads_or_chats(
    database: Database, talk: Talk, chat: Chat
) -> None:
    other = await Chats(database).meet("test", "2", private=True, title=None)
    await talk.ask("in none?", asked(chat))
    await talk.ask("in a?", asked(chat, thread="a"))
    assert await talk.ask("so?", asked(chat)) == ("in none?",)
    assert await talk.ask("so?", asked(chat, thread="a")) == ("in a?",)
    assert await talk.ask("so?", asked(chat, thread="b")) == ()
    assert await talk.ask("so?", asked(other)) == ()


async def test_a_question_follows_those_of_the_same_person_alone(talk: Talk, chat: Chat) -> None:
    await talk.ask("cookies?", asked(chat, person="test:carla"))
    await talk.ask("wind?", asked(chat, person="test:ben"))
    assert await talk.ask("so?", asked(chat, person="test:carla")) == ("cookies?",)
    await talk.ask("nobody's?", asked(chat, person=None))
    assert await talk.ask("so?", asked(chat, person=None)) == ()


async def test_a_reply_to_an_answer_follows_its_question_whoever_asked(
    talk: Talk, chat: Chat
) -> None:
    await talk.ask("cookies?", asked(chat, person="test:carla"))
    await talk.ask("in 2015?", asked(chat, person="test:carla"))
    await talk.ask("wind?", asked(chat, person="test:ben"))
    ben = asked(chat, person="test:ben", quoted_id=answer_to("in 2015?"))
    assert await talk.ask("and in 2016?", ben) == ("cookies?", "in 2015?")
    ben = asked(chat, person="test:ben")
    assert await talk.ask("and before?", ben) == ("cookies?", "in 2015?", "and in 2016?")
    ben = asked(chat, person="test:ben", quoted_id=answer_to("wind?"))
    assert await talk.ask("and at sea?", ben) == ("wind?",)
    ben = asked(chat, person="test:ben", quoted_id="and_the_rest_of_it")
    assert await talk.ask("so?", ben) == ("wind?", "and at sea?")


async def test_a_reply_to_a_question_follows_that_question(talk: Talk, chat: Chat) -> None:
    cookies = asked(chat, person="test:carla")
    await talk.ask("cookies?", cookies)
    await talk.ask("wind?", asked(chat))
    reply = asked(chat, quoted_id="17", quoted_event=cookies.event_id)
    assert await talk.ask("and in 2015?", reply) == ("cookies?",)


async def test_a_reply_to_something_else_follows_the_questions_of_the_person(
    talk: Talk, chat: Chat
) -> None:
    await talk.ask("wind?", asked(chat))
    reply = asked(chat, quoted_id="17", quoted_event="1:17")
    assert await talk.ask("and in 2015?", reply) == ("wind?",)


async def test_questions_of_a_thread_below_an_answer_take_precedence(
    talk: Talk, chat: Chat
) -> None:
    await talk.ask("cookies?", asked(chat, person="test:carla"))
    below = {"quoted_id": answer_to("cookies?"), "thread": answer_to("cookies?")}
    assert await talk.ask("and tea?", asked(chat, **below)) == ("cookies?",)
    assert await talk.ask("and in 2015?", asked(chat, **below)) == ("cookies?", "and tea?")


async def test_an_edited_question_does_not_follow_itself(talk: Talk, chat: Chat) -> None:
    question = asked(chat)
    await talk.ask("cofee?", question)
    assert (await talk.questions.earlier(question)).texts == ()


async def test_a_question_follows_those_of_its_corpus_alone(talk: Talk, chat: Chat) -> None:
    await talk.ask("private?", asked(chat, corpus="diary"))
    reply = asked(chat, quoted_id=answer_to("private?"))
    assert await talk.ask("public?", reply) == ()
    assert await talk.ask("so?", asked(chat)) == ("public?",)
    assert await talk.ask("so?", asked(chat, corpus="diary")) == ("private?",)


async def test_a_question_an_hour_later_follows_earlier_ones_only_in_reply(
    talk: Talk, chat: Chat
) -> None:
    await talk.ask("so?", asked(chat))
    soon, late = NOW + timedelta(minutes=59), NOW + timedelta(minutes=61)
    assert (await talk.questions.earlier(asked(chat, now=soon))).texts == ("so?",)
    assert (await talk.questions.earlier(asked(chat, now=late))).texts == ()
    reply = asked(chat, now=late, quoted_id=answer_to("so?"))
    assert (await talk.questions.earlier(reply)).texts == ("so?",)


async def test_questions_are_forgotten_after_a_day(talk: Talk, chat: Chat) -> None:
    await talk.ask("so?", asked(chat))
    await talk.questions.forget(now=NOW + timedelta(hours=23))
    assert (await talk.questions.earlier(asked(chat))).texts == ("so?",)
    await talk.questions.forget(now=NOW + timedelta(hours=25))
    assert (await talk.questions.earlier(asked(chat))).texts == ()
