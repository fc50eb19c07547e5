"""Passages are put in order by servers with a /rerank, not believed blindly, and here."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from engine.budget import Budget
from engine.embed.local import LONGEST, LocalEmbedder
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
from engine.messages import Message
from engine.rerank import CrossEncoderReranker, MeaningReranker, RemoteReranker, read_scores
from engine.settings.models import RerankSettings
from engine.values import Usage
from engine.vectors import TUNED, Vector
from tests.engine.embed.libraries import Library, put_library
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
        (answer({}, 400), ModelRefused, r"Check rerank.model"),
        (answer({}, 503), ModelUnreachable, "failed"),
        (answer({"results": []}), ModelAnswerInvalid, "no usable scores"),
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
        b"{}",
        b'{"results": [{"index": 0, "relevance_score": "high"}]}',
        b'{"results": [{"index": 1, "relevance_score": 0.5}]}',
        b'[{"index": 0, "score": null}]',
        b'[{"index": 0, "score": 1e999}]',
    ],
)
def test_incomplete_scores_are_rejected(content: bytes) -> None:
    assert read_scores(content, 1) is None


# Passages are put in order on this machine by their words, and by meaning while time allows


class Meanings:
    """An embedder with two meanings: of the sea, and of everything else."""

    name = TUNED
    dimensions: int | None = 2

    def __init__(self, *, pause: float = 0.0, fails: bool = False) -> None:
        self.embedded: list[str] = []
        self._pause, self._fails = pause, fails

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        await asyncio.sleep(self._pause)
        self.embedded += texts
        return [await self.embed_query(text) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        if self._fails:
            raise ModelUnreachable(Message("Gone."))
        return [1.0, 0.0] if {"harbour", "vessel", "ships"} & set(text.split()) else [0.6, 0.8]


async def test_meaning_counts_beside_words() -> None:
    embedder = Meanings()
    reranker = MeaningReranker(embedder, seconds=60)
    scores = await reranker.rerank("vessel", scored(["nothing here", "many ships came", ""]))
    assert scores == [0.0, pytest.approx(0.3), 0.0]
    scores = await reranker.rerank("vessel", scored(["nothing here", "many ships"], [0.5, 0.1]))
    assert scores == [pytest.approx(0.35), pytest.approx(0.37)]
    assert reranker.name == "bm25+e5"


async def test_stored_vectors_spare_the_model() -> None:
    embedder = Meanings()
    reranker = MeaningReranker(embedder, seconds=60)
    texts = ["one", "two", "three"]
    low, middle, high = await reranker.rerank("ships", scored(texts, [0.5] * 3, [0.6, 0.8, 0.9]))
    assert pytest.approx(0.35) == low < middle < high
    assert embedder.embedded == []
    scores = await reranker.rerank("ships", scored(["x", "many ships"], [0.5] * 2, [0.8]))
    assert embedder.embedded == ["many ships"]
    assert scores[0] < scores[1]


async def test_all_texts_are_compared_or_none_with_an_error() -> None:
    embedder = Meanings(pause=0.3)
    found = scored([f"ships {number}" for number in range(12)])
    reranker = MeaningReranker(embedder, seconds=0.1)
    for tried in (1, 2):  # however slow it was, one is tried again
        with pytest.raises(ModelUnreachable, match=r"12 texts .* 0\.1 s"):
            await reranker.rerank("ships", found)
        assert len(embedder.embedded) == tried


@pytest.mark.slow
async def test_the_shipped_model_finds_what_no_word_tells() -> None:
    texts = [
        "El presidente viajó a Roma.",
        "The port was shut after the storm.",
        "Recipe for soup.",
    ]
    async with LocalEmbedder() as embedder:
        reranker = MeaningReranker(embedder, seconds=60)
        scores = await reranker.rerank("¿Por qué cerró el puerto?", scored(texts))
    assert max(scores) == scores[1]


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    return put_library("sentence-transformers", tmp_path, monkeypatch)


async def test_a_cross_encoder_is_loaded_once_and_its_logits_are_scores(library: Library) -> None:
    async with CrossEncoderReranker("some/model") as reranker:
        low, high = await reranker.rerank("many ships", scored(["a fish", "two ships"]))
        assert 0 < low < 0.01 < 0.99 < high < 1
        assert await reranker.rerank("x", []) == []
        await reranker.rerank("\ufdfa", scored(["y" * 5000]))
    assert library.processes == 1
    _, [[pair]] = library.calls("predict")
    assert pair == ["صلى الله عليه وسلم", "y" * LONGEST]


async def test_a_text_that_crashes_the_cross_encoder_scores_zero(library: Library) -> None:
    async with CrossEncoderReranker("some/model") as reranker:
        scores = await reranker.rerank("two ships", scored(["a fish", "crash", "two ships"]))
        assert [round(score, 2) for score in scores] == [0, 0, 1]
        calls = len(library.calls("predict"))
        assert await reranker.rerank("two ships", scored(["crash"])) == [0]
        assert len(library.calls("predict")) == calls


async def test_a_cross_encoder_that_cannot_be_loaded_is_reported(library: Library) -> None:
    async with CrossEncoderReranker("missing") as reranker:
        with pytest.raises(SettingsError, match=r"missing is not .*. Check rerank.model"):
            await reranker.rerank("x", scored(["y"]))


@pytest.mark.parametrize(
    ("model", "said"), [("", "model is empty"), ("some/model", "not installed")]
)
def test_unusable_cross_encoder_settings_are_rejected(model: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        CrossEncoderReranker(model)
