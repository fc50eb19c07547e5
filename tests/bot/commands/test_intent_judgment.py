"""Where words do not tell what a message wants of the bot, a model is asked."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace

import pytest

from bot.commands import standard_commands
from bot.commands.intents import INTENT, Intent, IntentJudge, read_intents, write_question
from bot.request import RepliedMessage, Request, Trigger
from db.pool import Database
from engine.values import Kind
from tests.bot.commands.test_ask import StandInAsk
from tests.bot.conversing import GROUP, PRIVATE, Bot, bot_on, corpus, event
from tests.fakes.model import ModelServer, Step, answer, client_of, failure
from tests.patience import until

NEWS = "Coffee prices hit a record high"
ANSWER = RepliedMessage(message="m1", mine=True)
UNCLEAR = "which of them fits best"
LIKE_NEWS = "broken clock twice a day etc"
AROUND = ("told my sister about", "and now she asks it all day")


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as running:
        yield running


def in_reply(text: str, **changes: object) -> Request:
    return event(text, **{"place": GROUP, "trigger": Trigger.REPLY, "quoted": ANSWER, **changes})


def test_the_prompt_tells_the_meaning_of_each_intent() -> None:
    assert all(f"\n{intent}: " in INTENT.system for intent in Intent)


@pytest.mark.parametrize(
    ("content", "intents"),
    [
        ('{"intent": "source"}', [Intent.SOURCE]),
        ('Sure: {"intent": "why"} or rather {"intent": "label"}', [Intent.REASON, Intent.LABEL]),
        ('<think>{"intent": "forget"}</think>{"intent": "remark"}', [Intent.REMARK]),
        ('{"intent": "/forget"}', []),
        ('{"intent": ["source"]}', []),
        ("source", []),
        ("", []),
    ],
)
def test_only_words_of_the_list_are_read(content: str, intents: list[Intent]) -> None:
    assert read_intents(content) == intents


@pytest.mark.parametrize(
    ("request_", "question"),
    [
        (in_reply("neta?"), {"said": "neta?", "where": "reply"}),
        (event("neta?"), {"said": "neta?", "where": "private"}),
        (in_reply("neta?", place=PRIVATE), {"said": "neta?", "where": "private"}),
        (
            event("both", place=GROUP, around_name=AROUND),
            {"said": " @bot ".join(AROUND), "where": "name"},
        ),
        (
            event("is it so", place=GROUP, quoted=RepliedMessage(message="t1", text=NEWS)),
            {"said": "is it so", "where": "name", "below": NEWS},
        ),
    ],
)
def test_the_model_is_told_where_a_message_stands(
    request_: Request, question: Mapping[str, str]
) -> None:
    assert json.loads(write_question(request_)) == question


@pytest.mark.parametrize(
    ("request_", "unclear"),
    [
        (event(UNCLEAR), True),
        (event("all of that", place=GROUP, around_name=AROUND), True),
        (in_reply("y esto lo dijo en joda o que"), True),
        (in_reply(LIKE_NEWS), True),
        (in_reply("jess you owe me 5 bucks"), False),
        (in_reply("LMAOOO no way"), False),
        (in_reply("who wrote the last one"), False),
        (in_reply("thanks!"), False),
        (event("/why 2"), False),
        (event(NEWS), False),
        (event(f"{UNCLEAR} https://news.example/1"), False),
        (event(f"{NEWS}\n{UNCLEAR}"), False),
        (event(NEWS, place=GROUP, around_name=("look", NEWS)), False),
        (event(UNCLEAR, place=GROUP, trigger=Trigger.OVERHEARD), False),
    ],
)
def test_what_words_tell_is_not_asked(request_: Request, unclear: bool) -> None:
    commands = standard_commands()
    assert commands.read(request_, has_judge=True).unclear is unclear
    assert not commands.read(request_).unclear


async def test_a_model_is_asked_once_and_its_word_is_the_intent(server: ModelServer) -> None:
    server.script = [answer('{"intent": "source"}')]
    async with client_of(server) as client:
        assert await IntentJudge(client).judge_intent(event(UNCLEAR), ()) is Intent.SOURCE
    (asked,) = server.requests
    assert asked.body["messages"][0]["content"] == INTENT.system
    assert json.loads(asked.prompt) == {"said": UNCLEAR, "where": "private"}


@pytest.mark.parametrize("step", [failure(500), answer("I cannot tell.")])
async def test_nothing_is_judged_without_a_word_of_the_model(
    server: ModelServer, step: Step
) -> None:
    server.script = [step]
    async with client_of(server) as client:
        assert await IntentJudge(client).judge_intent(event(UNCLEAR), ()) is None
    assert server.calls == 1


async def test_a_chat_with_a_corpus_that_the_model_may_not_read_is_not_read_either(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.llm.endpoint.stays_here", lambda _: False)
    server.script = [answer('{"intent": "source"}')]
    private = replace(corpus("diary"), kind=Kind.PERSONAL)
    async with client_of(server) as client:
        judge = IntentJudge(client)
        assert await judge.judge_intent(event(UNCLEAR), [private]) is None
        assert server.calls == 0
        assert await judge.judge_intent(event(UNCLEAR), [corpus("demo")]) is Intent.SOURCE


async def test_a_chat_has_so_many_messages_judged_a_minute(server: ModelServer) -> None:
    server.script = [answer('{"intent": "more"}')]
    async with client_of(server) as client:
        judge = IntentJudge(client)
        judged = [await judge.judge_intent(event(UNCLEAR), ()) for _ in range(25)]
    assert judged == [Intent.MORE] * 20 + [None] * 5


@dataclass
class StandInJudge:
    """Takes every message for the same."""

    intent: Intent | None = None
    asked: list[str] = field(default_factory=list)
    gate: asyncio.Event | None = None

    async def judge_intent(self, request: Request, corpora: object) -> Intent | None:
        self.asked.append(request.text)
        if self.gate:
            await self.gate.wait()
        return self.intent


@pytest.fixture
def judge() -> StandInJudge:
    return StandInJudge()


@pytest.fixture
def asked() -> StandInAsk:
    return StandInAsk()


@pytest.fixture
async def bot(storage: Database, judge: StandInJudge, asked: StandInAsk) -> AsyncIterator[Bot]:
    async with bot_on(storage, ask=asked, judge=judge) as ready:  # type: ignore[arg-type]  # of its shape
        yield ready


@pytest.mark.parametrize(
    ("intent", "command"),
    [
        (Intent.REASON, "/why"),
        (Intent.CORPUS, "/corpus"),
        (Intent.RECENT_POSTS, "/history"),
    ],
)
async def test_a_question_gets_the_answer_of_the_command_that_it_means(
    bot: Bot, judge: StandInJudge, intent: Intent, command: str
) -> None:
    judge.intent = intent
    await bot.say(NEWS, place=GROUP)
    said = await bot.hear(in_reply(UNCLEAR))
    meant = await bot.say(command, place=GROUP, quoted=ANSWER)
    assert said is not None
    assert said.text == meant.text
    assert judge.asked == [UNCLEAR]


async def test_an_instruction_is_answered_with_the_command_that_carries_it_out(
    bot: Bot, judge: StandInJudge
) -> None:
    judge.intent = Intent.FORGET
    said = await bot.say("all of that", place=GROUP, around_name=AROUND)
    assert said.text == "This does it: /forget"


async def test_a_headline_is_searched_for(bot: Bot, judge: StandInJudge) -> None:
    judge.intent = Intent.HEADLINE
    await bot.say(NEWS, place=GROUP)
    await bot.hear(in_reply(LIKE_NEWS))
    assert [call[0] for call in bot.engine.calls] == [NEWS, LIKE_NEWS]


@pytest.mark.parametrize(
    "request_",
    [in_reply(LIKE_NEWS), event("all of that", place=GROUP, around_name=AROUND)],
)
async def test_a_remark_gets_no_words(bot: Bot, judge: StandInJudge, request_: Request) -> None:
    judge.intent = Intent.REMARK
    await bot.say(NEWS, place=GROUP)
    signs, steps = bot.adapter.signs, [*bot.adapter.steps]
    assert await bot.hear(request_) is None
    assert bot.adapter.steps == steps
    # Whoever names the bot sees that it reads.
    assert bot.adapter.signs == signs + (request_.trigger is Trigger.ADDRESSED)


async def test_who_speaks_to_the_bot_alone_is_shown_that_it_reads(
    bot: Bot, judge: StandInJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.conversation.conversation._SOON_SECONDS", 0.0)
    judge.gate = asyncio.Event()
    answered = asyncio.create_task(bot.hear(event(UNCLEAR, place=GROUP, needs_step=True)))
    await until(lambda: bot.adapter.steps == ["One moment …"])
    judge.gate.set()
    await answered


async def test_words_decide_where_the_model_does_not(
    bot: Bot, judge: StandInJudge, storage: Database
) -> None:
    said = await bot.say(UNCLEAR)
    assert judge.asked == [UNCLEAR]
    async with bot_on(storage) as other:
        assert (await other.say(UNCLEAR)).text == said.text


async def test_a_question_below_the_answer_to_another_is_asked_without_a_judgment(
    bot: Bot, judge: StandInJudge, asked: StandInAsk
) -> None:
    await bot.say("/ask What about coffee?", place=GROUP)
    await bot.hear(in_reply("and with milk?"))
    assert [call[0] for call in asked.calls] == ["What about coffee?", "and with milk?"]
    assert judge.asked == []
