"""Servers with a /rerank are asked in the form that they understand, and not believed blindly."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any

import pytest

from engine.budget import Budget
from engine.errors import (
    BudgetExhausted,
    ModelAnswerInvalid,
    ModelError,
    ModelRateLimited,
    ModelRefused,
    ModelUnreachable,
    SettingsError,
)
from engine.llm.spending import Account
from engine.rerank import RemoteReranker, read_scores
from engine.settings.models import RerankSettings
from engine.values import Usage
from tests.engine.passages import scored
from tests.fakes.ports import MemoryLedger
from tests.fakes.rerank import KEY, RerankServer
from tests.fakes.stand_in import Step, answer, slow
from tests.patience import PATIENCE

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
QUERY = "ships in the harbour"
TEXTS = scored(["nothing", "ships in the harbour", "ships of the line"])
SCORES = [0.0, 1.0, 0.5]


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as opened:
        yield opened


async def opened(
    stack: AsyncExitStack,
    server: RerankServer,
    *,
    key: str | None = KEY,
    model: str = "rerank-v4",
    ledger: MemoryLedger | None = None,
    budget: Budget = Budget(),  # noqa: B008 - frozen
    **settings: Any,
) -> RemoteReranker:
    await stack.enter_async_context(server)
    reranker = RemoteReranker(
        RerankSettings(base_url=server.base_url, model=model, **settings),
        api_key=key,
        account=Account(ledger or MemoryLedger(), budget),
        clock=lambda: NOW,
    )
    stack.push_async_callback(reranker.aclose)
    return reranker


@pytest.mark.parametrize("form", ["cohere", "jina", "vllm", "tei"])
async def test_scores_come_back_in_the_order_of_the_texts(stack: AsyncExitStack, form: Any) -> None:
    server = RerankServer(form=form)
    reranker = await opened(stack, server)
    assert await reranker.rerank(QUERY, TEXTS) == SCORES
    assert await reranker.rerank(QUERY, TEXTS) == SCORES
    assert len(server.bodies) == (3 if form == "tei" else 2)  # its form is remembered
    assert await reranker.rerank(QUERY, []) == []
    assert reranker.name == "127.0.0.1/rerank-v4"


async def test_many_texts_go_in_portions_where_the_server_wants_it(stack: AsyncExitStack) -> None:
    server = RerankServer(form="tei")
    reranker = await opened(stack, server, model="", key=None)
    texts = [f"ships {number} {'x' * 5000}" for number in range(70)]
    assert len(await reranker.rerank("ships", scored(texts))) == 70
    assert [len(body.get("texts", ())) for body in server.bodies] == [0, 32, 32, 6]
    assert max(len(text) for text in server.bodies[-1]["texts"]) == 2000
    assert "model" not in server.bodies[0]


@pytest.mark.parametrize(
    ("step", "error", "said"),
    [
        (answer({"message": "slow down"}, 429), ModelRateLimited, "asks to slow down"),
        (answer({"message": f"bad {KEY}"}, 401), ModelRefused, "Check RERANK_API_KEY"),
        (answer({"message": "no credit"}, 402), ModelRefused, "credit is spent"),
        (answer({}, 400), ModelRefused, r"Check rerank.model"),
        (answer({}, 503), ModelUnreachable, "failed"),
        (answer({"results": []}), ModelAnswerInvalid, "no usable scores"),
        (answer("garbage"), ModelAnswerInvalid, "no usable scores"),
        (slow(), ModelUnreachable, "within 0.2 s"),
    ],
)
async def test_server_failures_raise_errors_without_the_key(
    stack: AsyncExitStack, step: Step, error: type[ModelError], said: str
) -> None:
    seconds = 0.2 if "within" in said else PATIENCE
    reranker = await opened(stack, RerankServer(script=[step]), timeout=seconds)
    with pytest.raises(error, match=said) as caught:
        await reranker.rerank(QUERY, TEXTS)
    assert KEY not in str(caught.value)


async def test_the_cost_is_recorded_and_limited_by_the_budget(stack: AsyncExitStack) -> None:
    ledger = MemoryLedger()
    budget = Budget(cost_usd=0.003)
    reranker = await opened(
        stack, RerankServer(), ledger=ledger, budget=budget, usd_per_search=0.002
    )
    await reranker.rerank(QUERY, TEXTS)
    await reranker.rerank(QUERY, TEXTS)
    with pytest.raises(BudgetExhausted):
        await reranker.rerank(QUERY, TEXTS)
    assert ledger.calls == [(NOW.date(), "rerank-v4", "rerank", Usage(cost_usd=0.002))] * 2
    assert not ledger.under_way


def test_an_unusable_address_or_key_is_refused_at_once() -> None:
    for settings, key in (
        (RerankSettings(base_url="http://:1"), None),
        (RerankSettings(), "two words"),
    ):
        with pytest.raises(SettingsError):
            RemoteReranker(
                settings, api_key=key, account=Account(MemoryLedger()), clock=lambda: NOW
            )


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"results": [{"index": 0, "relevance_score": "high"}]}',
        b'{"results": [{"index": 1, "relevance_score": 0.5}]}',
        b'{"results": [0.5]}',
        b'[{"index": 0, "score": null}]',
        b'[{"index": 0, "score": 1e999}]',
        b'[{"score": 0.5}]',
    ],
)
def test_incomplete_scores_are_rejected(content: bytes) -> None:
    assert read_scores(content, 1) is None
