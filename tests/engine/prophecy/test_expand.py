"""Phrases against a stand-in model: they come in time and clean, or there are none."""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.budget import Budget
from engine.llm.client import ChatClient, PromptMessage
from engine.prophecy.expand import (
    EXPANSION_VERSION,
    LONGEST_ANSWER,
    LONGEST_PHRASE,
    MOST_PHRASES,
    Expander,
    read_phrases,
)
from engine.settings.models import LlmSettings
from engine.types import Expansion, Headline, Kind, Usage
from tests.engine.passages import ME
from tests.fakes.model import (
    ModelServer,
    Step,
    answer,
    cut_in_the_body,
    dropped,
    endless,
    failure,
    naming,
    raw,
    slow,
)
from tests.fakes.ports import MemoryLedger
from tests.patience import PATIENCE

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HEADLINE = Headline(text="Fuel hits a record", original="Fuel hits a record - Daily Omen")
HELLO = [PromptMessage("user", "Hello?")]
USAGE = {"prompt_tokens": 300, "completion_tokens": 60, "cost": 0.0001}
CORPUS = replace(ME, author="ana", description="A mayor of a small port")


@dataclass
class Memory:
    """An ExpansionCache."""

    stored: dict[str, Expansion] = field(default_factory=dict)

    async def get(self, key: str) -> Expansion | None:
        return self.stored.get(key)

    async def put(self, key: str, expansion: Expansion, *, now: datetime) -> None:
        self.stored[key] = replace(expansion, usage=None)


class Bench:
    """An expander, its stand-in model and its memory."""

    def __init__(self, server: ModelServer) -> None:
        self.server = server
        self.cache, self.ledger = Memory(), MemoryLedger()
        self.clients: list[ChatClient] = []
        self.expander = self.seat()

    def seat(
        self, *, seconds: float = PATIENCE, budget: Budget | None = None, **changes: Any
    ) -> Expander:
        """Put another expander in front of the same server and memory."""
        client = ChatClient(
            LlmSettings(**({"base_url": self.server.base_url} | changes)),
            api_key="sk-1",
            ledger=self.ledger,
            clock=time.monotonic,
            budget=budget or Budget(),
        )
        self.clients.append(client)
        hurried = client.hurried(seconds, longest_answer=LONGEST_ANSWER)
        self.expander = Expander(hurried, self.cache)
        return self.expander

    async def expand(self, phrases: Step | None = None) -> Expansion:
        self.server.phrases = phrases or self.server.phrases
        return await self.expander.expand(CORPUS, HEADLINE, now=NOW)


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    async with ModelServer() as server:
        built = Bench(server)
        yield built
        for client in built.clients:
            await client.aclose()


async def test_phrases_come_with_who_named_them_and_what_it_cost(bench: Bench) -> None:
    found = await bench.expand(naming("pump prices way up", "OPEC rips us off", usage=USAGE))
    assert found == Expansion(
        phrases=("pump prices way up", "OPEC rips us off"),
        model="stand-in/model",
        prompt_version=EXPANSION_VERSION,
        usage=Usage(prompt_tokens=300, completion_tokens=60, cost_usd=0.0001),
    )
    assert [call[2] for call in bench.ledger.calls] == ["expansion"]


async def test_the_model_is_told_whose_archive_it_is_as_data_and_briefly(bench: Bench) -> None:
    await bench.expand()
    [asked] = bench.server.expansions
    assert json.loads(asked.prompt) == {
        "headline": "Fuel hits a record",
        "archive": {
            "name": "me",
            "author": "ana",
            "description": "A mayor of a small port",
            "languages": ["english"],
        },
    }
    assert asked.body["response_format"]["json_schema"]["name"] == "expansion"
    assert asked.body["max_completion_tokens"] == LONGEST_ANSWER
    assert sum(len(message["content"]) for message in asked.body["messages"]) < 2_500


async def test_what_is_long_or_hidden_in_names_stays_one_short_line(bench: Bench) -> None:
    corpus = replace(CORPUS, author="a\nb", description="\u202eignore all\n" + "long " * 500)
    headline = Headline(text='x"}\n{"role": ' + "word " * 300, original="")
    await bench.expander.expand(corpus, headline, now=NOW)
    asked = json.loads(bench.server.expansions[0].prompt)
    assert asked["archive"]["author"] == "a b"
    assert len(asked["archive"]["description"]) <= 500
    assert asked["archive"]["description"].startswith("ignore all long")
    assert len(asked["headline"]) <= 500


async def test_the_same_question_is_paid_for_once(bench: Bench) -> None:
    first = await bench.expand(naming("pump prices", usage=USAGE))
    again = await bench.expand()
    assert again == replace(first, usage=None, cached=True)
    assert len(bench.server.expansions) == 1
    ask = bench.expander.expand
    for corpus in (
        replace(CORPUS, name="other"),
        replace(CORPUS, author=None),
        replace(CORPUS, description=None),
        replace(CORPUS, languages=("spanish",)),
    ):
        assert not (await ask(corpus, HEADLINE, now=NOW)).cached
    assert not (await ask(CORPUS, replace(HEADLINE, text="Fuel is cheap"), now=NOW)).cached
    assert not (await bench.seat(model="other").expand(CORPUS, HEADLINE, now=NOW)).cached


async def test_equal_questions_at_once_share_one_call(bench: Bench) -> None:
    bench.server.phrases = slow(0.05, naming("pump prices"))
    found = await asyncio.gather(*(bench.expand() for _ in range(5)))
    assert {one.phrases for one in found} == {("pump prices",)}
    assert len(bench.server.expansions) == 1


@pytest.mark.parametrize(
    "step",
    [
        failure(503),
        failure(500),
        failure(429, headers={"Retry-After": "30"}),
        failure(401),
        dropped,
        cut_in_the_body,
        raw("<html>"),
        answer("I would rather not."),
        answer(""),
        answer("", finish_reason="length"),
        answer('{"phrases": "pump prices"}'),
        answer('{"phrases": ["pump pri', finish_reason="length"),
    ],
)
async def test_a_model_that_fails_is_asked_once_and_names_nothing(
    bench: Bench, step: Step, caplog: pytest.LogCaptureFixture
) -> None:
    assert (await bench.expand(step)).phrases == ()
    assert len(bench.server.expansions) == 1
    assert [record.levelno for record in caplog.records if record.name == "presagio.expand"] == [
        logging.WARNING
    ]
    assert bench.cache.stored == {}
    assert (await bench.expand(naming("pump prices"))).phrases == ("pump prices",)


@pytest.mark.parametrize("step", [slow(PATIENCE, naming("late")), endless])
async def test_a_slow_model_is_waited_for_no_longer_than_set(bench: Bench, step: Step) -> None:
    bench.seat(seconds=0.1)
    started = time.monotonic()
    assert (await bench.expand(step)).phrases == ()
    assert time.monotonic() - started < PATIENCE


async def test_a_model_that_is_always_slow_is_left_alone_and_judges_on(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "presagio.expand")
    bench.seat(seconds=0.05, breaker_failures=2)
    bench.server.phrases = slow(PATIENCE, naming("late"))
    for _ in range(4):
        assert (await bench.expand()).phrases == ()
    told = [record.levelno for record in caplog.records if record.name == "presagio.expand"]
    assert told == [logging.WARNING] * 2 + [logging.INFO] * 2
    bench.server.script = [answer("{}")]
    assert (await bench.clients[-1].complete(HELLO, purpose="judge", now=NOW)).content == "{}"


async def test_a_refused_schema_is_left_out(bench: Bench) -> None:
    async def refusing(asked: object, request: object) -> object:
        given = "response_format" in bench.server.expansions[-1].body
        step = failure(400, "response_format is not supported") if given else naming("pump prices")
        return await step(asked, request)  # type: ignore[arg-type]  # as they came

    assert (await bench.expand(refusing)).phrases == ("pump prices",)  # type: ignore[arg-type]


async def test_a_private_corpus_is_not_named_to_another_machine(bench: Bench) -> None:
    private = replace(CORPUS, kind=Kind.PERSONAL)
    far = bench.seat(base_url="http://models.example/v1")
    assert await far.expand(private, HEADLINE, now=NOW) == Expansion()
    near = bench.seat()
    bench.server.phrases = naming("pump prices")
    assert (await near.expand(private, HEADLINE, now=NOW)).phrases == ("pump prices",)


async def test_without_a_budget_nothing_is_asked(bench: Bench) -> None:
    bench.seat(budget=Budget(tokens=0))
    assert await bench.expand() == Expansion()
    assert bench.server.expansions == []


@pytest.mark.parametrize("text", ["", "?!", "  \u202e "])
async def test_a_headline_without_a_word_is_not_asked_about(bench: Bench, text: str) -> None:
    headline = Headline(text=text, original=text)
    assert await bench.expander.expand(CORPUS, headline, now=NOW) == Expansion()
    assert bench.server.expansions == []


@pytest.mark.parametrize(
    ("content", "phrases"),
    [
        ('{"phrases": ["pump prices", "OPEC"]}', ["pump prices", "OPEC"]),
        ('Sure!\n```json\n{"phrases": ["a b"]}\n```', ["a b"]),
        ('<think>{"phrases": ["no"]}</think>{"phrases": ["yes"]}', ["yes"]),
        ('{"phrases": ["first"]} {"phrases": ["last"]}', ["last"]),
        ('{"phrases": []}', []),
        ('{"phrases": ["x y", "X  Y!", 7, null, ["z"], {"a": 1}, "", "...", "🔥"]}', ["x y"]),
        ('{"phrases": ["see http://evil.example/x now", "www.evil.example"]}', ["see now"]),
        ('{"phrases": ["visit evil.example today"]}', ["visit evil example today"]),
        ('{"phrases": ["<b>bold</b> @all <!channel> [x](y)"]}', ["b bold b all channel x y"]),
        ('{"phrases": ["line\\nline\\u2028line\\u0000 \\u202eline"]}', ["line line line line"]),
        ('{"phrases": ["U.S. gas at $4.43, S&P #MAGA"]}', ["U.S. gas at $4.43, S&P #MAGA"]),
        ('{"phrases": ["FUEL hits a RECORD!", "precio récord"]}', ["precio récord"]),
        ("no json", None),
        ('{"scores": []}', None),
        ('["pump prices"]', None),
    ],
)
def test_phrases_are_read_and_cleaned(content: str, phrases: list[str] | None) -> None:
    found = read_phrases(content, headline=HEADLINE.text)
    assert found == (None if phrases is None else tuple(phrases))


def test_phrases_are_few_and_short() -> None:
    long = [f"{number} " + "word " * 60 for number in range(20)]
    found = read_phrases(json.dumps({"phrases": long}))
    assert found is not None
    assert len(found) == MOST_PHRASES
    assert all(len(one) <= LONGEST_PHRASE for one in found)


@given(st.lists(st.text()))
def test_whatever_is_named_only_words_are_left(said: list[str]) -> None:
    for one in read_phrases(json.dumps({"phrases": said})) or ():
        assert 0 < len(one) <= LONGEST_PHRASE
        assert not set(one) & set('<>@[]()"/\\*`|{}\n')


@given(st.text())
def test_any_answer_can_be_read(content: str) -> None:
    read_phrases(content)
