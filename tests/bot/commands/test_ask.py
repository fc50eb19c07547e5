"""/ask answers a question from the chat's corpus, and knows what was asked before."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import pytest

from bot.request import Person, Place, RepliedMessage, Trigger
from db.pool import Database
from engine.answer.cited_answer import AnswerOutcome, CitedAnswer, CitedSource, Question, Sentence
from engine.errors import CorpusNotFound
from tests.bot.conversing import GROUP, Bot, bot_on, event
from tests.engine.passages import passage


@dataclass
class StandInAsk:
    """Answers every question alike and remembers what it was asked."""

    calls: list[tuple[str, str, tuple[str, ...]]] = field(default_factory=list)
    error: CorpusNotFound | None = None
    answer: str = "It is dear."

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
            sentences=(Sentence(text=self.answer, sources=(1,)),),
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
    assert reply.text == "It is dear. [1]"
    assert [(hit.rank, hit.text, hit.small) for hit in reply.hits] == [(1, "Coffee is dear.", True)]
    assert not reply.ephemeral


async def test_a_full_answer_lists_its_sources(bot: Bot) -> None:
    await bot.say("/settings answers full")
    reply = await bot.say("/ask What about coffee?")
    assert (reply.text or "").startswith("It is dear. [1]\n\n[1] August 30, 2013 · @ana")


async def test_on_slack_only_the_bot_s_own_sentences_name_commands_as_they_are_there(
    bot: Bot, asked: StandInAsk
) -> None:
    slack = replace(GROUP, platform="slack")
    asked.answer = "They ask /why, and /find nothing."
    reply = await bot.say("/ask What about coffee?", place=slack)
    assert reply.text == "They ask /why, and /find nothing. [1]"
    hint = await bot.say("/ask", place=slack)
    assert "such as: /presagio ask What" in (hint.text or "")


async def test_the_next_question_of_a_thread_carries_those_before_it(
    bot: Bot, asked: StandInAsk
) -> None:
    thread = replace(GROUP, thread="t")
    await bot.say("/ask What about coffee?", place=thread)
    await bot.say("/ask And in 2015?", place=thread)
    await bot.say("/ask And tea?", place=replace(GROUP, thread="u"))
    assert [earlier for _, _, earlier in asked.calls] == [(), ("What about coffee?",), ()]


async def test_group_question_follows_only_questions_of_the_same_person(
    bot: Bot, asked: StandInAsk
) -> None:
    for person, text in [
        ("carla", "/ask What did he say about cookies?"),
        ("ben", "/ask What did he say about wind farms?"),
        ("carla", "/ask And in 2015?"),
    ]:
        await bot.say(text, place=GROUP, person=Person(id=person))
    assert [earlier for _, _, earlier in asked.calls] == [
        (), (), ("What did he say about cookies?",)
    ]  # fmt: skip


async def test_question_in_reply_to_an_answer_follows_its_question(
    bot: Bot, asked: StandInAsk
) -> None:
    carla, ben = Person(id="carla"), Person(id="ben")
    await bot.say("/ask What did he say about cookies?", place=GROUP, person=carla)
    await bot.say("/ask What did he say about wind farms?", place=GROUP, person=ben)
    await bot.say("/ask And in 2015?", place=GROUP, person=ben, quoted=RepliedMessage(message="m1"))
    assert asked.calls[2][2] == ("What did he say about cookies?",)


@pytest.mark.parametrize(
    ("text", "trigger", "follows"),
    [
        ("and before 2015?", Trigger.REPLY, True),
        ("and tea", Trigger.ADDRESSED, True),
        ("¿y el té?", Trigger.ADDRESSED, True),
        ("and tea", Trigger.REPLY, False),  # among people
        ("really?", Trigger.REPLY, False),
        ("After Bad Harvest, Coffee Prices Hit Record", Trigger.ADDRESSED, False),
    ],
)
async def test_reply_to_an_answer_needs_no_command(
    bot: Bot, asked: StandInAsk, text: str, trigger: Trigger, follows: bool
) -> None:
    await bot.say("/ask What did he say about cookies?", place=GROUP)
    ben, quoted = Person(id="ben"), RepliedMessage(message="m1")
    await bot.hear(event(text, place=GROUP, person=ben, trigger=trigger, quoted=quoted))
    followed = (text, "demo", ("What did he say about cookies?",))
    assert asked.calls[1:] == ([followed] if follows else [])


async def test_inline_questions_are_not_remembered(
    bot: Bot, asked: StandInAsk, storage: Database
) -> None:
    inline = Place(platform="test", chat_id="inline", private=True, kept=False)
    await bot.hear(event("/ask What about coffee?", place=inline))
    await bot.hear(event("/ask And tea?", place=inline))
    assert [earlier for _, _, earlier in asked.calls] == [(), ()]


async def test_unanswered_question_is_not_followed(bot: Bot, asked: StandInAsk) -> None:
    asked.error = CorpusNotFound("There is no corpus 'x'.", fix="Load one.")
    assert (await bot.say("/ask coffee?")).text == "There is no corpus 'x'. See /corpus."
    asked.error = None
    await bot.say("/ask tea?")
    assert asked.calls[1][2] == ()


async def test_long_question_is_cut(bot: Bot, asked: StandInAsk) -> None:
    await bot.say("/ask " + "coffee " * 2000)
    assert len(asked.calls[0][0]) <= 1000
