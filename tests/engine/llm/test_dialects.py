"""Servers of one's own are judged by, counted and told as OpenRouter is, each in its dialect."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from engine.errors import ModelDeclined
from engine.judge.judge import JUDGE, Judge
from engine.llm.client import ChatClient
from engine.llm.endpoint import endpoint_of
from engine.llm.transport import check_model
from engine.llm.wire import PromptMessage
from engine.search import Headline, Verdict
from engine.settings.models import LlmSettings
from engine.values import Usage
from tests.engine.candidates import candidate
from tests.engine.passages import ME
from tests.fakes.dialects import DialectServer, LlamaCpp, LmStudio, Mistral
from tests.fakes.model import Asked, ModelServer, failure, raw
from tests.fakes.model import client_of as model_client
from tests.fakes.ports import MemoryCache, MemoryLedger

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HEADLINE = Headline(text="The wall falls", original="The wall falls")
TWEETS = [candidate(100 + number, f"tweet {number}") for number in range(10)]
SCORES = json.dumps({"n": 10, "scores": [[1, 5], [2, 6]]})
LIMIT = 500


pytestmark = pytest.mark.usefixtures("no_waits")
client_of = partial(model_client, max_completion_tokens=LIMIT)


async def hear(client: ChatClient) -> Verdict:
    return await Judge(client, MemoryCache[Verdict]()).judge(ME, HEADLINE, TWEETS, now=NOW)


@pytest.fixture(params=[LlamaCpp, Mistral, LmStudio])
async def server(request: pytest.FixtureRequest) -> AsyncIterator[DialectServer]:
    async with request.param(judge=lambda _: SCORES) as running:
        yield running


async def test_each_dialect_is_judged_and_its_refusals_are_remembered(
    server: DialectServer,
) -> None:
    ledger = MemoryLedger()
    async with client_of(server, ledger=ledger) as client:
        verdict = await hear(client)
        assert (len(verdict.scores), verdict.notice) == (10, None)
        assert sorted(verdict.scores.values())[-2:] == [5, 6]
        asked = len(server.requests)
        small = client.with_limits(5, longest_answer=100)
        assert len((await hear(small)).scores) == 10
    assert asked > 1, "this server refuses something"
    assert len(server.requests) == asked + 1
    assert len(ledger.calls) == 2


async def test_the_doctor_asks_in_each_dialect(server: DialectServer) -> None:
    endpoint = endpoint_of(LlmSettings(base_url=server.base_url, model="m"), None)
    assert (await check_model(endpoint)).endswith("answered")


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        (None, Usage(prompt_tokens=2, completion_tokens=LIMIT)),
        ({"prompt_tokens": 7}, Usage(prompt_tokens=7, completion_tokens=LIMIT)),
        ({"input_tokens": 7, "output_tokens": 3}, Usage(prompt_tokens=7, completion_tokens=3)),
        (
            {"prompt_tokens": "7", "completion_tokens": "3", "cost": "0.01"},
            Usage(prompt_tokens=7, completion_tokens=3, cost_usd=0.01),
        ),
        ({"prompt_tokens": "many"}, Usage(prompt_tokens=2, completion_tokens=LIMIT)),
        ({"prompt_tokens": float("inf")}, Usage(prompt_tokens=2, completion_tokens=LIMIT)),
        (
            {"prompt_tokens": 2**31, "completion_tokens": 10**400, "cost": 10**400},
            Usage(prompt_tokens=10**8, completion_tokens=10**8, cost_usd=1e8),
        ),
    ],
)
async def test_what_an_endpoint_does_not_report_is_counted_as_reserved(
    usage: object, counted: Usage
) -> None:
    ledger = MemoryLedger()
    async with ModelServer() as server:
        server.script = [completion({"content": "yes"}, usage=usage)]
        async with client_of(server, ledger=ledger) as client:
            await client.complete([PromptMessage("user", "Well, well?")], purpose="test", now=NOW)
    assert [usage for *_, usage in ledger.calls] == [counted]


def completion(message: object, reason: str | None = "stop", usage: object = None) -> Any:
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return raw(json.dumps({"model": "m", "choices": [choice], "usage": usage}))


async def ask(*script: Any) -> tuple[str, bool, list[Asked]]:
    """Return the content of the answer, whether it is finished, and what was asked."""
    async with ModelServer() as server:
        server.script = script
        async with client_of(server) as client:
            answer = await client.complete(
                [PromptMessage("user", "?")], purpose="test", now=NOW, schema=JUDGE.schema
            )
        return answer.content, answer.finished, server.requests


@pytest.mark.parametrize(
    "message",
    [
        {"content": "yes"},
        {"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "yes"}]},
        {"content": "", "reasoning_content": "yes"},
        {"content": None, "reasoning": "yes"},
        {"content": None, "tool_calls": [{"function": {"name": "f", "arguments": "yes"}}]},
        {"content": None, "function_call": {"name": "f", "arguments": "yes"}},
        {"content": "yes", "reasoning_content": "hm", "refusal": None},
    ],
)
async def test_an_answer_is_found_where_the_server_puts_it(message: object) -> None:
    content, finished, requests = await ask(completion(message))
    assert (content.strip(), finished, len(requests)) == ("yes", True, 1)


@pytest.mark.parametrize("reason", ["stop", "STOP", "end_turn", "eos", "tool_calls"])
async def test_an_end_has_many_names(reason: str) -> None:
    assert (await ask(completion({"content": "yes"}, reason)))[1]
    assert not (await ask(completion({"content": "yes"}, "length")))[1]


async def test_a_stream_that_nobody_asked_for_is_read() -> None:
    events = [
        {"choices": [{"delta": {"role": "assistant", "content": "y"}}]},
        {"choices": [{"delta": {"content": "es"}, "finish_reason": None}]},
        {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 5}},
    ]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    assert (await ask(raw(f": keep-alive\n\n{body}".replace(": keep-alive\n\n", ""))))[:2] == (
        "yes",
        True,
    )


@pytest.mark.parametrize(
    ("message", "reason", "words"),
    [
        (
            {"content": None, "refusal": "I cannot help."},
            "stop",
            "refuses to answer: I cannot help",
        ),
        ({"content": ""}, "content_filter", "filter of 127.0.0.1 took the answer"),
        ({"content": []}, "refusal", "filter of 127.0.0.1 took the answer"),
    ],
)
async def test_a_refusal_is_told_and_paid_once(message: object, reason: str, words: str) -> None:
    with pytest.raises(ModelDeclined, match=words):
        await ask(completion(message, reason))
    async with ModelServer() as server:
        server.script = [completion(message, reason)]
        async with client_of(server) as client:
            verdict = await hear(client)
    assert words in str(verdict.notice)
    assert server.calls == 1


@pytest.mark.parametrize(
    ("status", "said", "left_out"),
    [
        (400, "Unrecognized argument: max_completion_tokens", "max_completion_tokens"),
        (422, "max_completion_tokens: Extra inputs are not permitted", "max_completion_tokens"),
        (400, "Unsupported value: reasoning_effort", "reasoning_effort"),
        (400, "Failed to parse grammar", "response_format"),
        (500, "json_schema is not supported by this model", "response_format"),
    ],
)  # fmt: skip
async def test_a_refused_field_is_left_out_once(status: int, said: str, left_out: str) -> None:
    _, _, requests = await ask(failure(status, said), completion({"content": "yes"}))
    first, second = (request.body.keys() for request in requests)
    assert left_out in first
    assert first - second == {left_out}
    assert second - first == ({"max_tokens"} if left_out == "max_completion_tokens" else set())
