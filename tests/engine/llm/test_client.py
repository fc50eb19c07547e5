"""The chat client against a stand-in server: retries, limits, refusals, money, secrets."""

import asyncio
import json
import logging
import socket
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from typing import Any

import pytest
import stamina
from stamina.instrumentation import RetryDetails, set_on_retry_hooks

from engine.budget import Budget, BudgetSource
from engine.errors import (
    BudgetExhausted,
    ModelAnswerInvalid,
    ModelError,
    ModelPaused,
    ModelRateLimited,
    ModelRefused,
    ModelUnreachable,
)
from engine.judge.judge import JUDGE
from engine.llm.client import ChatClient
from engine.llm.endpoint import Endpoint, endpoint_of
from engine.llm.spending import Account, CallOutcome
from engine.llm.transport import MAX_ANSWER_BYTES
from engine.llm.wire import ChatAnswer, PromptMessage
from engine.settings.models import LlmSettings
from engine.values import Usage
from tests.fakes.model import (
    ModelServer,
    Step,
    answer,
    client_of,
    cut_in_the_body,
    dropped,
    endless,
    failure,
    raw,
    slow,
)
from tests.fakes.ports import MemoryLedger
from tests.patience import PATIENCE, movable_time

NOW = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
KEY = "sk-or-v1-0123456789abcdef"
QUESTION = (PromptMessage("system", "Be brief."), PromptMessage("user", "Well?"))


pytestmark = pytest.mark.usefixtures("no_waits")


class Clock:
    """Monotonic seconds that move only by hand."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


client_for = partial(client_of, api_key=KEY)


async def ask(client: ChatClient, *, schema: bool = False) -> ChatAnswer:
    return await client.complete(
        QUESTION, purpose="test", now=NOW, schema=JUDGE.schema if schema else None
    )


async def error_of(server: ModelServer, *script: Step, **changes: Any) -> ModelError:
    server.script = script
    async with client_for(server, **changes) as client:
        with pytest.raises(ModelError) as raised:
            await ask(client)
    return raised.value


# What is sent


async def test_a_plain_server_gets_only_standard_fields(server: ModelServer) -> None:
    server.script = [answer("yes")]  # the stand-in refuses unknown fields
    async with client_for(server, fallback_models=("b",), model="qwen3") as client:
        assert (await ask(client, schema=True)).content == "yes"
    body = server.requests[0].body
    assert body["model"] == "qwen3"
    assert body["max_completion_tokens"] == 4000
    assert body["response_format"] == {"type": "json_schema", "json_schema": dict(JUDGE.schema)}


async def test_openrouter_gets_its_own_fields(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.openrouter = True
    server.script = [answer("yes")]
    monkeypatch.setattr(Endpoint, "is_openrouter", True)
    async with client_for(server, fallback_models=("b/c",)) as client:
        await ask(client, schema=True)
    body = server.requests[0].body
    assert body["models"] == ["b/c"]
    assert body["reasoning"] == {"effort": "minimal", "exclude": True}
    assert body["provider"] == {"require_parameters": True}


@pytest.mark.parametrize(
    ("base_url", "sent"),
    [
        ("https://openrouter.ai/api/v1", True),
        ("https://eu.openrouter.ai/api/v1", True),
        ("https://notopenrouter.ai/api/v1", False),
        ("http://localhost:11434/v1", False),
    ],
)
def test_the_host_decides_about_openrouter_fields(base_url: str, sent: bool) -> None:
    assert endpoint_of(LlmSettings(base_url=base_url), None).is_openrouter is sent


# What comes back


async def test_an_answer_says_who_answered_and_what_it_cost(server: ModelServer) -> None:
    server.script = [answer("yes", model="b/c")]
    ledger = MemoryLedger()
    async with client_for(server, ledger=ledger) as client:
        got = await ask(client)
    usage = Usage(prompt_tokens=7000, completion_tokens=120, cost_usd=0.002)
    assert (got.model, got.usage, got.finished) == ("b/c", usage, True)
    assert ledger.calls == [(NOW.date(), "b/c", "test", usage)]


@pytest.mark.parametrize(
    "body",
    ["", "<html>portal</html>", "[]", "null", "{}", '{"choices": []}', '{"choices": [7]}',
     '{"choices": [{"message": "hi"}]}', '{"choices": [{"mess', "[" * 50_000, b"\xff\xfe\x00"],
)  # fmt: skip
async def test_an_invalid_completion_is_an_error(server: ModelServer, body: str | bytes) -> None:
    error = await error_of(server, raw(body))
    assert type(error) is ModelAnswerInvalid
    assert server.calls == 1


async def test_an_endless_body_is_given_up(server: ModelServer) -> None:
    error = await error_of(server, endless)
    assert isinstance(error, ModelAnswerInvalid)
    assert str(MAX_ANSWER_BYTES) in str(error)


# Retries


@pytest.mark.parametrize(
    "step", [*map(failure, (408, 429, 500, 502, 503, 504, 529)), dropped, cut_in_the_body]
)
async def test_a_passing_failure_is_retried(server: ModelServer, step: Step) -> None:
    server.script = [step, step, answer("yes")]
    async with client_for(server, retries=2) as client:
        assert (await ask(client)).content == "yes"
    assert server.calls == 3


@pytest.mark.parametrize(
    ("step", "said"),
    [
        *((failure(status), f"({status})") for status in (400, 401, 402, 403, 404, 405, 413)),
        (failure(401), "OPENROUTER_API_KEY"),
        (failure(402), "credit"),
        (raw("", 301, {"Location": "http://127.0.0.1:1/"}), "llm.base_url"),
    ],
)
async def test_a_refusal_is_not_retried_and_says_what_to_do(
    server: ModelServer, step: Step, said: str
) -> None:
    error = await error_of(server, step)
    assert isinstance(error, ModelRefused)
    assert said in str(error)
    assert "\n" not in str(error)
    assert server.calls == 1


async def test_a_refused_connection_names_the_host(server: ModelServer) -> None:
    with socket.socket() as deaf:  # bound but not listening
        deaf.bind(("127.0.0.1", 0))
        base_url = f"http://127.0.0.1:{deaf.getsockname()[1]}/v1"
        error = await error_of(server, base_url=base_url)
    assert isinstance(error, ModelUnreachable)
    assert "127.0.0.1" in str(error)


async def test_an_impossible_host_is_one_clear_error(server: ModelServer) -> None:
    error = await error_of(server, base_url="http://☃.example/v1")
    assert isinstance(error, ModelRefused)
    assert "llm.base_url" in str(error)


@pytest.mark.parametrize(
    ("inside", "kind"),
    [
        ({"error": {"code": 401, "message": "m"}}, ModelRefused),
        ({"error": {"code": "429", "message": "m"}}, ModelRateLimited),
        ({"error": {"code": "server_error"}}, ModelUnreachable),
        ({"error": "it broke"}, ModelUnreachable),
        ({"choices": [{"message": {"content": "[[1"}, "error": {"code": 502}}]}, ModelUnreachable),
    ],
)
async def test_errors_inside_a_200_have_many_shapes(
    server: ModelServer, inside: object, kind: type[ModelError]
) -> None:
    error = await error_of(server, raw(json.dumps(inside)), retries=0)
    assert type(error) is kind


@pytest.mark.parametrize(
    "body",
    ['{"error": "it broke"}', '{"message": "it broke"}', '{"detail": "it broke"}', "it broke"],
)
async def test_the_text_of_an_error_in_any_shape_is_quoted(server: ModelServer, body: str) -> None:
    assert "it broke" in str(await error_of(server, raw(body, 400)))


# Waiting


async def test_a_slow_model_is_left_at_the_total_timeout(server: ModelServer) -> None:
    started = time.monotonic()
    error = await error_of(server, slow(30, answer("late")), total_timeout=0.2)
    assert time.monotonic() - started < PATIENCE / 4
    assert isinstance(error, ModelUnreachable)
    assert "0.2 s" in str(error)
    assert "llm.total_timeout" in str(error)


async def test_a_silent_server_is_left_at_the_read_timeout(server: ModelServer) -> None:
    error = await error_of(server, slow(30, answer("late")), read_timeout=0.1, retries=0)
    assert "llm.read_timeout" in str(error)


@pytest.mark.parametrize("wait", [0.25, timedelta(seconds=0.25)])
async def test_retry_after_is_respected(server: ModelServer, wait: float | timedelta) -> None:
    date = datetime(2026, 3, 1, 23, 30, 1, tzinfo=UTC)
    asked_at = date - wait if isinstance(wait, timedelta) else date
    header = format_datetime(date, usegmt=True) if isinstance(wait, timedelta) else str(wait)
    server.script = [failure(429, headers={"Retry-After": header}), answer("yes")]
    stamina.set_testing(False)
    started = time.monotonic()
    async with client_for(server, clock=Clock()) as client:
        await client.complete(QUESTION, purpose="test", now=asked_at)
    assert time.monotonic() - started >= 0.24


async def test_waits_between_retries_grow_and_jitter(server: ModelServer) -> None:
    waits: list[float] = []

    def note(details: RetryDetails) -> None:
        waits.append(details.wait_for)

    stamina.set_testing(False)
    set_on_retry_hooks([note])
    try:
        with movable_time() as move:
            asking = asyncio.create_task(error_of(server, failure(500), retries=3))
            for number in range(3):
                async with asyncio.timeout(PATIENCE):
                    while len(waits) == number:  # noqa: ASYNC110 - a hook tells nobody
                        await asyncio.sleep(0.001)
                move(waits[number])
            await asking
    finally:
        set_on_retry_hooks(None)
    expected = [(0.5, 1.0), (1.0, 1.5), (2.0, 2.5)]
    assert len(waits) == 3
    assert all(
        minimum <= one <= maximum for one, (minimum, maximum) in zip(waits, expected, strict=True)
    )


# A schema that is refused


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (404, "No endpoints found that can handle the requested parameters."),
    ],
)
async def test_a_refused_schema_is_left_out_and_remembered(
    server: ModelServer, status: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.openrouter = True
    server.script = [failure(status, message), answer("one"), answer("two")]
    monkeypatch.setattr(Endpoint, "is_openrouter", True)
    async with client_for(server) as client:
        assert (await ask(client, schema=True)).content == "one"
        assert (await ask(client, schema=True)).content == "two"
    with_schema = ["response_format" in request.body for request in server.requests]
    assert with_schema == [True, False, False]
    assert "provider" not in server.requests[1].body


# A dead endpoint


async def test_an_open_breaker_blocks_calls_except_one_probe(server: ModelServer) -> None:
    clock = Clock()
    server.script = [failure(500)]
    async with client_for(server, clock=clock, breaker_failures=2, retries=0) as client:
        for _ in range(2):
            with pytest.raises(ModelUnreachable):
                await ask(client)
        with pytest.raises(ModelPaused, match="60 s"):
            await ask(client)
        assert server.calls == 2

        clock.seconds += 60
        server.script = [slow(0.1, answer("yes"))]
        results = await asyncio.gather(*(ask(client) for _ in range(4)), return_exceptions=True)
        assert [type(result) for result in results].count(ModelPaused) == 3
        assert server.calls == 3
        await ask(client)
    assert server.calls == 4
    assert client.outcomes.times == {"answered": 2, "failed": 2, "paused": 4, "over budget": 0}


async def test_a_probe_that_fails_opens_the_breaker_again(server: ModelServer) -> None:
    clock = Clock()
    server.script = [failure(500)]
    async with client_for(server, clock=clock, breaker_failures=1, retries=0) as client:
        for _ in range(2):
            with pytest.raises(ModelUnreachable):
                await ask(client)
            with pytest.raises(ModelPaused):
                await ask(client)
            clock.seconds += 60
    assert server.calls == 2


async def test_a_cancelled_probe_lets_the_next_call_probe(server: ModelServer) -> None:
    clock = Clock()
    server.script = [failure(500), slow(30, answer("late")), answer("yes")]
    async with client_for(server, clock=clock, breaker_failures=1, retries=0) as client:
        with pytest.raises(ModelUnreachable):
            await ask(client)
        clock.seconds += 60
        probe = asyncio.create_task(ask(client))
        await server.until_asked(2)
        probe.cancel()
        with pytest.raises(asyncio.CancelledError):
            await probe
        assert (await ask(client)).content == "yes"


async def test_a_refusal_closes_the_breaker(server: ModelServer) -> None:
    server.script = [failure(500), failure(401), failure(500), answer("yes")]
    async with client_for(server, breaker_failures=2, retries=0) as client:
        for _ in range(3):
            with pytest.raises(ModelError):
                await ask(client)
        assert (await ask(client)).content == "yes"


# Money


@pytest.mark.parametrize(
    "budget", [Budget(tokens=7120), Budget(cost_usd=0.002), Budget(tokens=0), Budget(cost_usd=0.0)]
)
async def test_past_the_budget_nothing_is_sent_that_day(
    server: ModelServer, budget: Budget
) -> None:
    server.script = [answer("yes")]
    async with client_for(server, budget=budget) as client:
        if 0 not in {budget.tokens, budget.cost_usd}:
            await ask(client)
        before = server.calls
        with pytest.raises(BudgetExhausted, match="00:00 UTC on 2026-03-02"):
            await ask(client)
        assert client.outcomes.times[CallOutcome.OVER_BUDGET] == 1
        assert server.calls == before
        if before:
            await client.complete(QUESTION, purpose="test", now=NOW + timedelta(hours=1))
            assert server.calls == before + 1


@pytest.mark.parametrize("budget", [Budget(tokens=9000), Budget(cost_usd=0.0025)])
async def test_concurrent_calls_reserve_budget_and_do_not_exceed_it(
    server: ModelServer, budget: Budget
) -> None:
    ledger = MemoryLedger()
    server.script = [answer("yes"), slow(0.2, answer("yes"))]
    async with client_for(server, ledger=ledger, budget=budget) as client:
        await ask(client)  # what a token costs is known from here on
        outcomes = await asyncio.gather(*(ask(client) for _ in range(5)), return_exceptions=True)
    refused = [isinstance(outcome, BudgetExhausted) for outcome in outcomes]
    assert sorted(refused) == [False, True, True, True, True]
    assert server.calls == 2
    assert ledger.under_way == {}


async def test_each_call_is_recorded_with_its_source(server: ModelServer) -> None:
    ledger, asking = MemoryLedger(), iter([BudgetSource.WEB, BudgetSource.POSTS])
    server.script = [answer("yes")]
    settings = LlmSettings(base_url=server.base_url)
    async with ChatClient(
        settings,
        api_key=KEY,
        account=Account(ledger, source=lambda: next(asking)),
        clock=time.monotonic,
    ) as client:
        await ask(client)
        await ask(client)
    assert ledger.sources == [BudgetSource.WEB, BudgetSource.POSTS]


# Secrets


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
async def test_a_key_that_the_server_echoes_is_masked(server: ModelServer, status: int) -> None:
    echo = f"Incorrect API key provided: {KEY} (header 'Bearer {KEY}'), like sk-abcd****wxyz"
    error = await error_of(server, failure(status, echo), retries=0)
    assert "0123456789" not in f"{error} {error!r} {error.__cause__!r}"
    assert "wxyz" not in str(error)
    assert "***" in str(error)


def test_the_repr_of_a_client_does_not_contain_the_key() -> None:
    endpoint = endpoint_of(LlmSettings(), KEY)
    assert KEY not in f"{endpoint!r} {endpoint}"


class Passing(Clock):
    """Seconds that pass with each look at the clock."""

    def __call__(self) -> float:
        self.seconds += 11.0
        return self.seconds


async def test_a_slow_answer_is_an_event(
    server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "presagio.llm")
    server.script = [answer("yes", model="b/c")]
    async with client_for(server, clock=Passing()) as client:
        await ask(client)
    [record] = caplog.records
    fields = record.__dict__["fields"]
    assert (record.levelname, record.getMessage()) == ("INFO", "model slow")
    assert (fields["purpose"], fields["model"]) == ("test", "b/c")
    assert fields["seconds"] >= 10


async def test_the_log_names_the_model_and_the_cost_but_no_content(
    server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.script = [failure(500, f"boom {KEY}"), answer("a secret answer", model="b/c")]
    async with client_for(server) as client:
        await ask(client)
    ours = [record for record in caplog.records if record.name == "presagio.llm"]
    assert (ours[-1].levelname, ours[-1].message) == ("DEBUG", "model answered")
    fields = ours[-1].__dict__["fields"]
    assert (fields["model"], fields["prompt_tokens"], fields["usd"]) == ("b/c", 7000, 0.002)
    everything = "\n".join(str(record.__dict__) for record in caplog.records)
    assert KEY not in everything
    assert "secret answer" not in everything
    assert "Well?" not in everything


async def test_errors_are_reported_except_those_of_small_calls(server: ModelServer) -> None:
    server.script = [failure(401)]
    reported: list[ModelError] = []
    async with client_for(server) as client:
        client.report_to(reported.append)
        with pytest.raises(ModelRefused) as caught:
            await ask(client)
        with pytest.raises(ModelRefused):
            await ask(client.for_small_calls(1.0, longest_answer=50))
    assert reported == [caught.value]


async def test_openrouter_without_a_key_is_refused_before_any_call() -> None:
    settings = LlmSettings()
    async with ChatClient(settings, account=Account(MemoryLedger()), clock=Clock()) as client:
        with pytest.raises(ModelRefused, match="OPENROUTER_API_KEY"):
            await ask(client)


async def test_usage_of_a_failed_call_is_recorded(server: ModelServer) -> None:
    ledger = MemoryLedger()
    await error_of(server, answer("", finish_reason="length"), ledger=ledger)
    assert [usage.prompt_tokens for *_, usage in ledger.calls] == [7000]
