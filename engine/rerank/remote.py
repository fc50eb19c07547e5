"""Rerankers of other servers (Cohere, Jina, vLLM, Text Embeddings Inference), and their scores."""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from importlib.util import find_spec
from types import MappingProxyType

import httpx
import orjson

from engine.budget import Budget, BudgetSource, Planned
from engine.closing import Closable
from engine.embed.native import CROSS_ENCODER, ModelChoice, score_pairs
from engine.embed.process import ModelProcess, Urgency
from engine.errors import SettingsError
from engine.extras import how_to_add
from engine.llm.endpoint import Fault, no_scores, rerank_endpoint, status_fault, too_slow
from engine.llm.spending import within_budget
from engine.llm.transport import Transport
from engine.llm.wire import said_by
from engine.messages import Message
from engine.ports import SetAsideTexts, UsageLedger
from engine.settings.models import RerankSettings
from engine.values import ScoredText, Usage

PURPOSE = "rerank"
_LONGEST_TEXT = 2000  # characters; models read 512 tokens or little more
_INFERENCE_BATCH = 32  # texts that Text Embeddings Inference accepts in a request
_WRONG_FORM = frozenset({400, 422})


class RemoteReranker:
    """Asks one endpoint, once.

    Servers differ in one thing: Text Embeddings Inference calls the texts "texts", all others
    call them "documents". Which of both it is shows with the first request and is remembered.
    `clock` returns the current time, `source` the budget source of the current call. It holds
    connections: close it. Raises SettingsError for an unusable address or key.
    """

    def __init__(
        self,
        settings: RerankSettings,
        *,
        api_key: str | None = None,
        ledger: UsageLedger,
        clock: Callable[[], datetime],
        budget: Budget = Budget(),  # noqa: B008 - frozen
        source: Callable[[], BudgetSource] = lambda: BudgetSource.CONSOLE,
    ) -> None:
        self._settings, self._ledger, self._clock = settings, ledger, clock
        self._budget, self._source = budget, source
        self._endpoint = rerank_endpoint(settings, api_key)
        self.name = f"{self._endpoint.host}/{settings.model}".rstrip("/")
        self._inference = False  # whether it is Text Embeddings Inference
        self._transport = Transport(
            self._endpoint,
            "rerank",
            connect_timeout=settings.timeout,
            read_timeout=settings.timeout,
            read_setting="timeout",
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    async def rerank(self, query: str, texts: Sequence[ScoredText]) -> list[float]:
        """Return the endpoint's score of each text, 0..1.

        Raises ModelError, and whatever the ledger raises.
        """
        if not texts:
            return []
        now, settings = self._clock(), self._settings
        planned = Planned(
            source=self._source(),
            cost_usd=settings.usd_per_search,
            until=now + timedelta(seconds=2 * settings.timeout),
        )
        async with within_budget(self._budget, planned, self._ledger, now=now):
            scores = await self._within_timeout(
                query, [text.text[:_LONGEST_TEXT] for text in texts]
            )
            await self._ledger.record(
                Usage(cost_usd=settings.usd_per_search or None),
                model=settings.model or self._endpoint.host,
                purpose=PURPOSE,
                source=planned.source,
                now=now,
            )
        return probabilities(scores)

    async def _within_timeout(self, query: str, texts: Sequence[str]) -> list[float]:
        seconds = self._settings.timeout
        try:
            async with asyncio.timeout(seconds):
                return await self._scores(query, texts)
        except TimeoutError as exc:
            raise too_slow(self._endpoint, seconds, "timeout") from exc
        except Fault as fault:
            raise fault.error from fault.__cause__

    async def _scores(self, query: str, texts: Sequence[str]) -> list[float]:
        if not self._inference:
            body: dict[str, object] = {"query": query, "documents": texts}
            if self._settings.model:
                body["model"] = self._settings.model
            status, headers, content = await self._transport.post(body)
            if status == httpx.codes.OK:
                return self._require_scores(content, len(texts))
            if status not in _WRONG_FORM or b"texts" not in content:
                raise self._to_fault(status, headers, content)
            self._inference = True
        scores: list[float] = []
        for start in range(0, len(texts), _INFERENCE_BATCH):
            some = texts[start : start + _INFERENCE_BATCH]
            status, headers, content = await self._transport.post(
                {"query": query, "texts": some, "truncate": True}
            )
            if status != httpx.codes.OK:
                raise self._to_fault(status, headers, content)
            scores += self._require_scores(content, len(some))
        return scores

    def _require_scores(self, content: bytes, number: int) -> list[float]:
        scores = read_scores(content, number)
        if scores is None:
            raise Fault(no_scores(self._endpoint))
        return scores

    def _to_fault(self, status: int, headers: Mapping[str, str], content: bytes) -> Fault:
        return status_fault(
            status, said_by(content), self._endpoint, headers=headers, now=self._clock()
        )


def read_scores(content: bytes, number: int) -> list[float] | None:
    """Return the scores in the order of their texts, or None if any is missing or invalid."""
    try:
        payload = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
    listed = payload.get("results") if isinstance(payload, dict) else payload
    found: dict[int, float] = {}
    for entry in listed if isinstance(listed, list) else []:
        if not isinstance(entry, dict):
            return None
        index, score = entry.get("index"), entry.get("relevance_score", entry.get("score"))
        if not isinstance(index, int) or not isinstance(score, int | float):
            return None
        found[index] = score
    if set(found) != set(range(number)) or not all(map(math.isfinite, found.values())):
        return None
    return [float(found[place]) for place in range(number)]


def probabilities(scores: Sequence[float]) -> list[float]:
    """Return scores that are 0..1 as they are, and any others through the logistic function."""
    if all(0 <= score <= 1 for score in scores):
        return list(scores)
    return [1 / (1 + math.exp(-max(-500.0, min(500.0, score)))) for score in scores]


_LIBRARY = "sentence_transformers"
_AT_ONCE = 8  # texts a call


class CrossEncoderReranker(Closable):
    """Runs a model that reads query and text together; it is loaded when first needed."""

    def __init__(
        self,
        model: str,
        *,
        set_aside: SetAsideTexts | None = None,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Raises SettingsError if no model is named or the library is not installed."""
        if not model:
            raise SettingsError(
                Message("[rerank] model is empty."),
                fix=Message("Name a cross-encoder that sentence-transformers can load."),
            )
        if find_spec(_LIBRARY) is None:
            raise SettingsError(
                Message("The library of the model {model!r} is not installed.", model=model),
                fix=how_to_add("sentence-transformers"),
            )
        self.name = model
        self._process = ModelProcess(
            ModelChoice(library=CROSS_ENCODER, name=model),
            name=model,
            setting="rerank.model",
            set_aside=set_aside,
            environment=environment,
        )

    async def aclose(self) -> None:
        """End the process."""
        await self._process.aclose()

    async def rerank(self, query: str, texts: Sequence[ScoredText]) -> list[float]:
        """Return the model's score of each text, 0..1; 0 for one that it breaks down over.

        Raises SettingsError, ModelError, and the errors of storage ports.
        """
        pairs = [(query, text.text) for text in texts]
        scores: list[float | None] = []
        for start in range(0, len(pairs), _AT_ONCE):
            some = pairs[start : start + _AT_ONCE]
            made = await self._process.run(score_pairs, some, Urgency.QUESTION)
            scores += made
        known = iter(probabilities([score for score in scores if score is not None]))
        return [0.0 if score is None else next(known) for score in scores]
