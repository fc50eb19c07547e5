"""/ask answers a question from the chat's corpus, and knows what was asked before."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import pytest

from bot.request import Person, RepliedMessage, Trigger
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
