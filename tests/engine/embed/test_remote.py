"""The client of an embeddings endpoint, against a server on loopback."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from aiohttp import web

from engine.budget import Budget
from engine.embed.remote import RemoteEmbedder
from engine.errors import (
    BudgetExhausted,
    ModelAnswerInvalid,
    ModelError,
    ModelRateLimited,
    ModelRefused,
    ModelUnreachable,
)
from engine.llm.spending import Account
from engine.settings.models import EmbeddingSettings
from tests.fakes.embeddings import (
    DIMENSIONS,
    Asked,
    EmbeddingServer,
    Step,
    answer,
    refusal,
    slow,
    vector_of,
    vectors,
)
from tests.fakes.ports import MemoryLedger
from tests.patience import PATIENCE, movable_time, until

NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingServer]:
    async with EmbeddingServer() as listening:
        yield listening


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Back off for a moment only."""
    monkeypatch.setattr("engine.llm.transport.FIRST_WAIT", 0.01)
    monkeypatch.setattr("engine.llm.transport.JITTER", 0.01)


@asynccontextmanager
async def client(
    server: EmbeddingServer,
    *,
    ledger: MemoryLedger | None = None,
    budget: Budget = Budget(),  # noqa: B008 - frozen
    retries: int = 2,
    **changes: object,
) -> AsyncIterator[RemoteEmbedder]:
    settings = {"model": "m-small", "base_url": server.base_url}
    async with RemoteEmbedder(
        EmbeddingSettings(**(settings | changes)),
        api_key="key-1234",
        account=Account(ledger or MemoryLedger(), budget),
        clock=lambda: NOW,
        retries=retries,
    ) as embedder:
        yield embedder


async def test_texts_go_in_batches_and_come_back_in_their_order(server: EmbeddingServer) -> None:
    server.script = [vectors(shuffled=True)]
    texts = [f"text {number}" for number in range(7)]
    async with client(server, batch=3) as embedder:
        found = await embedder.embed_documents(texts)
    assert found == [vector_of(text) for text in texts]
    assert [len(asked.texts) for asked in server.requests] == [3, 3, 1]
    assert server.requests[0].body["model"] == "m-small"
    assert server.requests[0].headers["Authorization"] == "Bearer key-1234"


async def test_embedding_no_texts_sends_no_request(server: EmbeddingServer) -> None:
    async with client(server) as embedder:
        assert await embedder.embed_documents([]) == []
    assert server.calls == 0


@dataclass
class Crowd:
    """Answers when released; notes how many requests it held at once."""

    maximum: int = 0
    held: int = 0
    release: asyncio.Event = field(default_factory=asyncio.Event)

    async def step(self, asked: Asked, request: web.Request) -> web.StreamResponse:
        self.held += 1
        self.maximum = max(self.maximum, self.held)
        try:
            await self.release.wait()
            return await vectors()(asked, request)
        finally:
            self.held -= 1


async def test_concurrent_requests_are_limited(server: EmbeddingServer) -> None:
    crowd = Crowd()
    server.script = [crowd.step]
    texts = [f"text {number}" for number in range(9)]
    async with client(server, batch=1, at_once=3) as embedder:
        asking = asyncio.create_task(embedder.embed_documents(texts))
        await until(lambda: crowd.held == 3)
        question = asyncio.create_task(embedder.embed_query("now"))
        await until(lambda: crowd.held == 4)  # it waits for no document
        crowd.release.set()
        assert await question == vector_of("now")
        assert await asking == [vector_of(text) for text in texts]
    assert crowd.maximum == 4


async def test_a_retry_after_response_delays_all_requests(server: EmbeddingServer) -> None:
    crowd = Crowd()
    server.script = [*[refusal(429, {"retry-after": "20"})] * 2, crowd.step]
    texts = [f"text {number}" for number in range(6)]
    async with client(server, batch=1, at_once=2) as embedder:
        with movable_time() as move:
            asking = asyncio.create_task(embedder.embed_documents(texts))
            await until(lambda: server.calls == 2)
            await asyncio.sleep(0.1)
            assert server.calls == 2  # the third waits like the two that were refused
            move(21)
            await until(lambda: crowd.held == 1)
            await asyncio.sleep(0.1)
            assert crowd.held == 1  # one alone tries
            crowd.release.set()
            assert await asking == [vector_of(text) for text in texts]
    assert server.calls == 8


async def test_a_request_that_fails_ends_the_others(server: EmbeddingServer) -> None:
    crowd = Crowd()
    server.script = [crowd.step, crowd.step, refusal(401)]
    async with client(server, batch=1, at_once=3) as embedder:
        with pytest.raises(ModelRefused):
            await embedder.embed_documents(["one", "two", "three", "four"])
        await until(lambda: crowd.held == 0)
    assert server.calls == 3


async def test_the_dimensions_are_learnt_from_the_first_answer(server: EmbeddingServer) -> None:
    async with client(server) as embedder:
        assert embedder.dimensions is None
        await embedder.embed_query("a")
        assert embedder.dimensions == DIMENSIONS


async def test_dimensions_that_are_set_are_asked_for_and_named(server: EmbeddingServer) -> None:
    async with client(server, dimensions=4) as embedder:
        assert len(await embedder.embed_query("a")) == 4
        assert embedder.name == "127.0.0.1/m-small:4"
    assert server.requests[0].body["dimensions"] == 4


async def test_questions_and_documents_have_their_prefixes(server: EmbeddingServer) -> None:
    async with client(server, query_prefix="q: ", document_prefix="d: ") as embedder:
        await embedder.embed_query("one")
        await embedder.embed_documents(["two"])
        assert embedder.name == "127.0.0.1/m-small 'd: '"
    assert server.texts == ["q: one", "d: two"]


@pytest.mark.parametrize(
    "failing",
    [
        *(refusal(503), refusal(429), refusal(429, {"retry-after": "0"}), refusal(408)),
        refusal(503, {"retry-after": f"{NOW - timedelta(seconds=5):%a, %d %b %Y %H:%M:%S GMT}"}),
    ],
    ids=["overloaded", "slow down", "slow down a moment", "timed out", "until a moment ago"],
)
async def test_passing_failures_are_tried_again(server: EmbeddingServer, failing: Step) -> None:
    server.script = [failing, failing, vectors()]
    async with client(server) as embedder:
        assert await embedder.embed_query("a") == vector_of("a")
    assert server.calls == 3


@pytest.mark.parametrize(
    ("step", "error", "calls", "said"),
    [
        (refusal(401, said="bad key key-1234"), ModelRefused, 1, "Check EMBEDDINGS_API_KEY."),
        (refusal(404), ModelRefused, 1, "Check embeddings.base_url and embeddings.model"),
        (refusal(500), ModelUnreachable, 3, "Try again later."),
        (refusal(429, {"retry-after": "999"}), ModelRateLimited, 1, "Wait 999 s."),
        (answer({"data": []}), ModelAnswerInvalid, 1, "no usable vectors"),
        (answer({"data": [{"embedding": ["x"]}]}), ModelAnswerInvalid, 1, "no usable vectors"),
        (answer({"data": [{"embedding": [1], "index": 7}]}), ModelAnswerInvalid, 1, "no usable"),
    ],
)
async def test_permanent_failures_are_raised(
    server: EmbeddingServer, step: Step, error: type[ModelError], calls: int, said: str
) -> None:
    server.script = [step]
    async with client(server) as embedder:
        with pytest.raises(error, match=said) as caught:
            await embedder.embed_query("a")
    assert "key-1234" not in str(caught.value)
    assert server.calls == calls


async def test_vectors_that_change_their_length_are_refused(server: EmbeddingServer) -> None:
    server.script = [vectors(), vectors(dimensions=5)]
    async with client(server) as embedder:
        await embedder.embed_query("a")
        with pytest.raises(ModelAnswerInvalid):
            await embedder.embed_query("b")


async def test_a_server_that_says_nothing_is_given_up(server: EmbeddingServer) -> None:
    server.script = [slow(4 * PATIENCE, vectors())]
    async with client(server, timeout=PATIENCE, retries=1) as embedder:
        with movable_time() as move:
            asking = asyncio.create_task(embedder.embed_query("a"))
            for calls in (1, 2):
                while server.calls < calls:  # noqa: ASYNC110 - it tells nobody
                    await asyncio.sleep(0.01)
                move(PATIENCE)
            with pytest.raises(ModelUnreachable, match=f"within {PATIENCE:g} s"):
                await asking
    assert server.calls == 2


async def test_an_unreachable_server_is_reported(server: EmbeddingServer) -> None:
    async with client(server, base_url="http://127.0.0.1:1/v1", retries=0) as embedder:
        with pytest.raises(ModelUnreachable, match="No connection to 127"):
            await embedder.embed_query("a")


@pytest.mark.parametrize(
    ("usage", "price", "cost"),
    [
        ({"prompt_tokens": 500_000}, 0.02, 0.01),
        ({"prompt_tokens": 500_000}, 0.0, None),
        ({"prompt_tokens": 500_000, "cost": 0.5}, 0.02, 0.5),
    ],
)
async def test_tokens_and_costs_go_to_the_ledger(
    server: EmbeddingServer, usage: dict[str, object], price: float, cost: float | None
) -> None:
    ledger = MemoryLedger()
    server.script = [vectors(usage=usage)]
    async with client(server, ledger=ledger, usd_per_million_tokens=price) as embedder:
        await embedder.embed_query("a")
    [(day, model, purpose, recorded)] = ledger.calls
    assert (day, model, purpose) == (NOW.date(), "m-small", "embed")
    assert (recorded.prompt_tokens, recorded.cost_usd) == (500_000, cost)


async def test_an_answer_that_cannot_be_used_is_paid_all_the_same(server: EmbeddingServer) -> None:
    ledger = MemoryLedger()
    server.script = [answer({"data": [], "usage": {"prompt_tokens": 9}})]
    async with client(server, ledger=ledger) as embedder:
        with pytest.raises(ModelAnswerInvalid):
            await embedder.embed_query("a")
    assert len(ledger.calls) == 1


async def test_a_spent_budget_stops_further_batches(server: EmbeddingServer) -> None:
    ledger = MemoryLedger()
    server.script = [vectors(usage={"prompt_tokens": 10, "cost": 0.6})]
    async with client(
        server, ledger=ledger, budget=Budget(cost_usd=1.0), batch=1, at_once=1
    ) as embedder:
        with pytest.raises(BudgetExhausted):
            await embedder.embed_documents(["a", "b", "c", "d"])
    assert server.calls == 2
