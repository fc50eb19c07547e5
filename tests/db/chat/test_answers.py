"""Answers come back as they were given; votes are one a person and hit."""

import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from db.chat.answers import Answers, AskedQuestion, Questions
from db.chat.chats import Chats
from db.chat.events import EventClaims
from db.connection import load_statements
from db.model_cache import ModelAnswers
from db.pool import Database
from engine.answer.cited_answer import Claim, ModelAnswer, Objection
from engine.chat import Answer, Chat, Tally
from engine.messages import Message, as_message
from engine.search import Prophecy, Verdict
from engine.values import Flag
from tests.bot.prophecies import JUDGED, make_hit, make_prophecy, make_term

NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
async def chat(database: Database) -> Chat:
    return await Chats(database).meet("test", "1", private=True, title=None)


@pytest.fixture
async def elsewhere(database: Database) -> Chat:
    return await Chats(database).meet("test", "2", private=True, title=None)


@pytest.fixture
def answers(database: Database) -> Answers:
    return Answers(database)


def answer(text: str = "Coffee", *, hits: int = 5, asked_at: datetime = NOW) -> Answer:
    prophecy = make_prophecy(*(make_hit(n) for n in range(1, hits + 1)), text=text)
    return Answer(prophecy=prophecy, asked_at=asked_at, first=0, last=3)


async def keep(answers: Answers, chat: Chat, given: Answer, thread: str | None = None) -> Answer:
    return replace(given, id=await answers.keep(chat, thread, given))


def rich() -> Prophecy:
    """Everything that an answer may hold."""
    hit = make_hit(
        text='Ünï "quoted" \\u0000 \\ 😀\n\x01\u2028',
        created_at=datetime(2014, 3, 1, 9, 0, 0, 123456, timezone(timedelta(hours=-3))),
        flags=Flag.REPOST | Flag.TRUNCATED | Flag.THREAD,
        parts={"judgment": None, "lexical": 0.1 + 0.2, "age": 1e-9},
        factors={"repost": 0.5, "a": 1.0},
    )
    return make_prophecy(
        hit,
        make_hit(2, author=None, url=None, matched=()),
        date=datetime(2020, 1, 1, tzinfo=UTC),
        terms=(make_term("coffee", neighbour_of="covfefe"),),
        verdict=replace(JUDGED, damage={"fence": 1}, notice=as_message("Half\0way."), cached=True),
        notice="Corpus demo is empty.",
    )


@pytest.mark.parametrize("prophecy", [rich(), make_prophecy(verdict=Verdict(scores={}))])
async def test_an_answer_comes_back_as_it_was_given(
    answers: Answers, chat: Chat, prophecy: Prophecy
) -> None:
    given = Answer(prophecy=prophecy, asked_at=NOW, first=3, last=6)
    kept = await answers.keep(chat, None, given)
    found = await answers.get(chat, kept)
    assert found == replace(given, id=kept)
    # Equality of mappings does not tell order, and order is what a reader sees.
    assert [list(hit.parts) for hit in found.prophecy.hits] == [
        list(hit.parts) for hit in prophecy.hits
    ]


async def test_an_answer_belongs_to_its_chat(answers: Answers, chat: Chat, elsewhere: Chat) -> None:
    kept = await answers.keep(chat, None, answer())
    assert await answers.get(elsewhere, kept) is None
    assert await answers.last(elsewhere, None) is None
    assert await answers.get(chat, kept + 1) is None


async def test_the_last_answer_comes_from_the_thread_or_else_the_chat(
    answers: Answers, chat: Chat
) -> None:
    assert await answers.last(chat, None) is None
    plain = await keep(answers, chat, answer("plain"))
    one = await keep(answers, chat, answer("one"), "1")
    two = await keep(answers, chat, answer("two"), "2")
    assert await answers.last(chat, "1") == one
    assert await answers.last(chat, None) == two
    assert await answers.last(chat, "3") is None
    assert await answers.get(chat, plain.id or 0) == plain


async def test_headlines_of_a_day_are_those_answered_in_the_chat(
    answers: Answers, chat: Chat, elsewhere: Chat
) -> None:
    day = NOW - timedelta(days=1)
    await keep(answers, chat, answer("Coffee is dear"))
    await keep(answers, chat, answer("Coffee was cheap", asked_at=day - timedelta(seconds=1)))
    await keep(answers, elsewhere, answer("Tea is dear"))
    assert await answers.headlines(chat, since=day) == ["Coffee is dear"]
    await keep(answers, elsewhere, replace(answer(), prophecy=rich()))
    assert "Tea is dear" in await answers.headlines(elsewhere, since=day), "beside a character 0"


async def test_turning_the_page_is_stored(answers: Answers, chat: Chat) -> None:
    kept = await keep(answers, chat, answer())
    await answers.turn_page(kept.page_at(3))
    found = await answers.last(chat, None)
    assert found
    assert [hit.rank for hit in found.page] == [4, 5]


async def test_a_person_has_one_vote_a_hit_and_may_change_it(answers: Answers, chat: Chat) -> None:
    kept = await keep(answers, chat, answer())
    assert await answers.tallies(kept) == {}
    for person, rank, value in (("a", 1, 1), ("b", 1, 1), ("a", 1, 1), ("a", 2, 1), ("b", 1, -1)):
        await answers.vote(kept, rank, person, value)
    assert await answers.tallies(kept) == {1: Tally(up=1, down=1), 2: Tally(up=1)}


async def test_favourites_are_sorted_by_votes(
    answers: Answers, chat: Chat, elsewhere: Chat
) -> None:
    one = await keep(answers, chat, answer("one"))
    two = await keep(answers, chat, answer("two"))
    there = await keep(answers, elsewhere, answer("there"))
    votes = [(one, 1, 1), (two, 2, 2), (one, 3, -1), (two, 5, 1), (there, 1, 3)]
    for where, rank, sum_of_votes in votes:
        for person in range(abs(sum_of_votes)):
            value = 1 if sum_of_votes > 0 else -1
            await answers.vote(where, rank, str(person), value)
    found = await answers.favourites(chat, 5)
    assert [(f.headline.text, f.hit.rank, f.tally.up) for f in found] == [
        ("two", 2, 2),
        ("one", 1, 1),
        ("two", 5, 1),
    ]
    assert len(await answers.favourites(chat, 2)) == 2


async def test_votes_for_and_against_cancel_each_other(answers: Answers, chat: Chat) -> None:
    kept = await keep(answers, chat, answer())
    await answers.vote(kept, 1, "a", 1)
    await answers.vote(kept, 1, "b", -1)
    assert await answers.favourites(chat, 5) == []


async def test_old_answers_are_forgotten_unless_somebody_voted(
    answers: Answers, chat: Chat
) -> None:
    old, young = NOW - timedelta(days=91), NOW - timedelta(days=89)
    forgotten = await keep(answers, chat, answer(asked_at=old))
    voted = await keep(answers, chat, answer(asked_at=old))
    recent = await keep(answers, chat, answer(asked_at=young))
    await answers.vote(voted, 1, "a", -1)
    await answers.forget(now=NOW)
    assert await answers.get(chat, forgotten.id or 0) is None
    assert await answers.get(chat, voted.id or 0)
    assert await answers.get(chat, recent.id or 0)


@pytest.mark.parametrize(("written_before", "setting"), [(False, "off"), (True, "on")])
async def test_only_answers_of_posts_wait_for_the_disk(
    database: Database, chat: Chat, written_before: bool, setting: str
) -> None:
    async with database.transaction() as connection:
        await connection.execute("SET LOCAL synchronous_commit = on")
        if written_before:
            await connection.execute("UPDATE chat SET title = 'owed'")
        keeping = load_statements("conversation")["keep_answer"]
        await connection.execute(keeping, chat.id, None, NOW, 0, 3, "{}", None)
        assert await connection.fetchval("SHOW synchronous_commit") == setting


ANSWER = ModelAnswer(
    claims=(Claim(text='Ünï "quoted" \\ 😀', passages=(2, 1)), Claim(text="So.", passages=())),
    model="some/model",
    prompt_version="7",
    damage={"prose": 1},
)

_numbers = itertools.count(1)


@pytest.fixture
def questions(database: Database) -> Questions:
    return Questions(database)


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
