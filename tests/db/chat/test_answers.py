"""Answers come back as they were given; votes are one a person and hit."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from db.chat.answers import Answers
from db.chat.chats import Chats
from db.connection import load_statements
from db.pool import Database
from engine.chat import Answer, Chat, Tally
from engine.messages import as_message
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
