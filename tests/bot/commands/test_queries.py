"""/find and /ask."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest

from bot.face.request import Person, Place
from bot.i18n.words import words_for
from bot.replies.find import find_reply
from db.pool import Database
from engine.answer.types import AnswerOutcome, CitedAnswer, CitedSource, Question, Sentence
from engine.errors import CorpusNotFound
from engine.query.query import Phrase
from engine.query.read import parse_query
from engine.query.types import Match
from tests.bot.conversing import GROUP, PRIVATE, Bot, bot_on, event
from tests.bot.finds import StandInFind, make_find_hit, make_found
from tests.bot.prophecies import NOW
from tests.engine.passages import passage


def engine_of(bot: Bot) -> StandInFind:
    find = bot.services.find
    assert isinstance(find, StandInFind)
    return find


async def test_a_query_reaches_the_engine_as_it_was_typed(bot: Bot) -> None:
    reply = await bot.say('/find "coffee prices" OR tea -free')
    assert engine_of(bot).calls == [('"coffee prices" OR tea -free', "demo", 5)]
    assert not reply.ephemeral


async def test_the_corpus_is_that_of_the_chat(bot: Bot) -> None:
    await bot.say("/corpus larga")
    await bot.say("/find coffee")
    assert engine_of(bot).calls[0][1] == "larga"


async def test_the_answer_says_how_many_there_are_and_why_each_was_found(bot: Bot) -> None:
    lines = ((await bot.say("/find  coffee")).text or "").splitlines()
    assert lines[:3] == ["7 texts in demo: coffee", "Shown: 2.", ""]
    assert lines[3] == "1. March 1, 2014 · @ana · x · 7.95"
    assert lines[4:7] == [
        "   Text number 1 about coffee",
        "   https://x.com/ana/status/9007199254740993",
        "   coffee ×2",
    ]


async def test_in_the_reader_s_language(bot: Bot) -> None:
    spanish = Person(id="ana", language="es")
    reply = await bot.say("/find coffee foo:bar", person=spanish)
    assert (reply.text or "").startswith("7 textos en demo: coffee foo:bar\nSe muestran: 2.")
    assert (reply.notice or "").startswith(
        '"foo:" no es un filtro; se leyó como palabra. Hay: before:, after:'
    )


async def test_no_query_asks_for_one(bot: Bot) -> None:
    reply = await bot.say("/find")
    assert reply.text == (
        'Write what to find, such as: /find "coffee prices" OR tea -free before:2015'
    )
    assert engine_of(bot).calls == []


async def test_a_corpus_that_is_gone_is_told(bot: Bot) -> None:
    engine_of(bot).error = CorpusNotFound("There is no corpus 'x'.", fix="Load one.")
    assert (await bot.say("/find coffee")).text == "There is no corpus 'x'. See /corpus."


@pytest.mark.parametrize(("longest", "kept"), [(None, 900), (280, 280)])
def test_long_texts_are_cut_where_asked(longest: int | None, kept: int) -> None:
    found = make_found("coffee", make_find_hit(text="x" * 900))
    text = find_reply(found, words_for("en"), longest=longest).text or ""
    assert len(text.splitlines()[3].strip()) == kept


def test_nothing_found_is_said() -> None:
    assert find_reply(make_found("coffee -tea"), words_for("en")).text == (
        "Nothing found: coffee -tea"
    )


def test_near_identical_ones_are_counted() -> None:
    found = make_found("coffee", make_find_hit(), passing=3)
    found = replace(found, counts=replace(found.counts, fetched=3))
    assert "Shown: 1. 2 near-identical ones are left out." in (
        find_reply(found, words_for("en")).text or ""
    )


def test_where_no_word_was_looked_for_there_is_neither_score_nor_reason() -> None:
    lines = (find_reply(make_found("from:ana", make_find_hit(score=None)), words_for("en"))).text
    assert lines is not None
    assert lines.splitlines()[2:] == [
        "1. March 1, 2014 · @ana · x",
        "   Text number 1 about coffee",
        "   https://x.com/ana/status/9007199254740993",
    ]


def test_an_alias_is_told_once_with_what_it_stands_for_and_where_it_is() -> None:
    query = parse_query("fed met")
    phrase = Phrase("Federal Reserve")
    expanded = query.expanded(lambda unit: [(phrase, 0.5)] if unit.text == "fed" else [])

    def match(count: int, *fields: str, alias_of: str | None = "fed") -> Match:
        term = str(phrase) if alias_of else "met"
        return Match(
            term=term, alias_of=alias_of, lexemes=(), count=count, fields=fields, score=1.0
        )

    matched = (match(3, "context"), match(2, "context"), match(1, "text", alias_of=None))
    hit = replace(make_find_hit(), matched=matched)
    found = replace(make_found("fed met", hit), query=query, expanded=expanded)
    lines = (find_reply(found, words_for("en")).text or "").splitlines()
    assert lines[1] == 'Looked for: (fed | "Federal Reserve") met'
    assert lines[-1] == '   fed → "Federal Reserve" ×2 (in what it answers), met ×1'


@dataclass
class StandInAsk:
    """Answers every question alike and remembers what it was asked."""

    calls: list[tuple[str, str, tuple[str, ...]]] = field(default_factory=list)
    error: CorpusNotFound | None = None

    async def __call__(
        self, question: str, *, corpus: str, earlier: Sequence[str], now: datetime
    ) -> CitedAnswer:
        self.calls.append((question, corpus, tuple(earlier)))
        if self.error:
            raise self.error
        return CitedAnswer(
            question=Question(text=question),
            outcome=AnswerOutcome.ANSWERED,
            corpora=(corpus,),
            sentences=(Sentence(text="It is dear.", sources=(1,)),),
            sources=(CitedSource(number=1, passage=passage("Coffee is dear.")),),
        )


@pytest.fixture
def asked() -> StandInAsk:
    return StandInAsk()


@pytest.fixture
async def bot(storage: Database, asked: StandInAsk) -> AsyncIterator[Bot]:
    async with bot_on(storage, ask=asked) as ready:
        yield ready


async def test_a_question_is_answered_with_its_sources(bot: Bot, asked: StandInAsk) -> None:
    reply = await bot.say("/ask What about coffee?")
    assert asked.calls == [("What about coffee?", "demo", ())]
    assert (reply.text or "").startswith("It is dear. [1]\n\n[1] August 30, 2013 · @ana")
    assert not reply.ephemeral


async def test_the_next_question_of_a_thread_carries_those_before_it(
    bot: Bot, asked: StandInAsk
) -> None:
    thread = replace(GROUP, thread="t")
    await bot.say("/ask What about coffee?", place=thread)
    await bot.say("/ask And in 2015?", place=thread)
    await bot.say("/ask And tea?", place=replace(GROUP, thread="u"))
    assert [earlier for _, _, earlier in asked.calls] == [(), ("What about coffee?",), ()]


async def test_much_later_it_follows_nothing(bot: Bot, asked: StandInAsk) -> None:
    await bot.say("/ask What about coffee?")
    await bot.say("/ask And in 2015?", now=NOW + timedelta(hours=2))
    assert asked.calls[1][2] == ()


async def test_of_a_place_that_is_no_chat_nothing_is_kept(
    bot: Bot, asked: StandInAsk, storage: Database
) -> None:
    inline = Place(platform="test", chat_id="inline", private=True, kept=False)
    await bot.hear(event("/ask What about coffee?", place=inline))
    await bot.hear(event("/ask And tea?", place=inline))
    assert [earlier for _, _, earlier in asked.calls] == [(), ()]


async def test_a_question_without_an_answer_is_followed_by_none(
    bot: Bot, asked: StandInAsk
) -> None:
    asked.error = CorpusNotFound("There is no corpus 'x'.", fix="Load one.")
    assert (await bot.say("/ask coffee?")).text == "There is no corpus 'x'. See /corpus."
    asked.error = None
    await bot.say("/ask tea?")
    assert asked.calls[1][2] == ()


async def test_no_question_asks_for_one_in_the_reader_s_language(
    bot: Bot, asked: StandInAsk
) -> None:
    reply = await bot.say("/ask", person=Person(id="ana", language="es"), place=PRIVATE)
    assert reply.text == (
        "Escribe qué quieres saber, por ejemplo: /ask ¿Qué se dijo del precio del café?"
    )
    assert reply.ephemeral
    assert asked.calls == []


async def test_a_flood_is_cut(bot: Bot, asked: StandInAsk) -> None:
    await bot.say("/ask " + "coffee " * 2000)
    assert len(asked.calls[0][0]) <= 1000
