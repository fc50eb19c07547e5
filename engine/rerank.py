"""Orders passages by how well they answer a query: by words, meaning, or a model."""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType

import orjson

from engine.budget import PlannedCall
from engine.embed.local import ModelProcess, Urgency, how_to_get, is_installed
from engine.embed.native import CROSS_ENCODER, ModelChoice, score_pairs
from engine.errors import ModelUnreachable, SettingsError
from engine.llm.endpoint import Fault, endpoint_of, no_scores, too_slow
from engine.llm.spending import Account
from engine.llm.transport import Transport
from engine.messages import Message
from engine.ports import Embedder, SetAsideTexts
from engine.settings.models import RerankSettings
from engine.text.clean import make_searchable
from engine.text.terms import FUNCTION_WORDS, folded_words
from engine.values import Closable, ScoredText, Usage
from engine.vectors import SCALES

PURPOSE = "rerank"
_LONGEST_TEXT = 2000  # characters; models read 512 tokens or little more
_INFERENCE_BATCH = 32  # texts that Text Embeddings Inference accepts in a request
# Words are compared by their beginnings, which stands in for stems in every language.
_BEGINNING = 5  # characters
_LONGEST_QUERY = 600  # characters
_LONGEST_COMPARED = 300  # characters whose meaning is compared; a model's time grows with them
_LONGEST_READ = 6000  # characters whose words are
_EACH = 40  # characters that take as long as a call without any
_FIRST_GUESS = 0.0004  # seconds a character, until measured
_MEANING = 0.3  # the weight of meaning beside the score: docs/decisions/0032-compose.md
_LIBRARY = "sentence-transformers"


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
        account: Account,
        clock: Callable[[], datetime],
    ) -> None:
        self._settings, self._account, self._clock = settings, account, clock
        self._endpoint = endpoint_of(settings, api_key)
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
        planned = PlannedCall(
            source=self._account.source(),
            cost_usd=settings.usd_per_search,
            until=now + timedelta(seconds=2 * settings.timeout),
        )
        async with self._account.hold(planned, now=now):
            scores = await self._within_timeout(
                query, [text.text[:_LONGEST_TEXT] for text in texts]
            )
            await self._account.ledger.record(
                Usage(cost_usd=settings.usd_per_search or None),
                model=settings.model or self._endpoint.host,
                purpose=PURPOSE,
                source=planned.source,
                now=now,
            )
        return compute_probabilities(scores)

    async def _within_timeout(self, query: str, texts: Sequence[str]) -> list[float]:
        seconds = self._settings.timeout
        try:
            async with asyncio.timeout(seconds):
                return await self._fetch_scores(query, texts)
        except TimeoutError as exc:
            raise too_slow(self._endpoint, seconds, "timeout") from exc
        except Fault as fault:
            raise fault.error from fault.__cause__

    async def _fetch_scores(self, query: str, texts: Sequence[str]) -> list[float]:
        body: dict[str, object]
        if not self._inference:
            body = {"query": query, "documents": texts}
            if self._settings.model:
                body["model"] = self._settings.model
            try:
                content, _ = await self._transport.post(body, clock=self._clock)
            except Fault as fault:
                if "texts" not in fault.answer:
                    raise
                self._inference = True
            else:
                return self._require_scores(content, len(texts))
        scores: list[float] = []
        for start in range(0, len(texts), _INFERENCE_BATCH):
            some = texts[start : start + _INFERENCE_BATCH]
            body = {"query": query, "texts": some, "truncate": True}
            content, _ = await self._transport.post(body, clock=self._clock)
            scores += self._require_scores(content, len(some))
        return scores

    def _require_scores(self, content: bytes, number: int) -> list[float]:
        scores = read_scores(content, number)
        if scores is None:
            raise Fault(no_scores(self._endpoint))
        return scores


def read_scores(content: bytes, number: int) -> list[float] | None:
    """Return the scores in the order of their texts, or None if any is missing or invalid."""
    try:
        payload = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
    listed = payload.get("results") if isinstance(payload, dict) else payload
    scores: dict[int, float] = {}
    for entry in listed if isinstance(listed, list) else []:
        if not isinstance(entry, dict):
            return None
        index, score = entry.get("index"), entry.get("relevance_score", entry.get("score"))
        if not isinstance(index, int) or not isinstance(score, int | float):
            return None
        scores[index] = score
    if set(scores) != set(range(number)) or not all(map(math.isfinite, scores.values())):
        return None
    return [float(scores[place]) for place in range(number)]


def compute_probabilities(scores: Sequence[float]) -> list[float]:
    """Return scores that are 0..1 as they are, and any others through the logistic function."""
    if all(0 <= score <= 1 for score in scores):
        return list(scores)
    return [1 / (1 + math.exp(-max(-500.0, min(500.0, score)))) for score in scores]


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
        if not is_installed(_LIBRARY):
            raise SettingsError(
                Message("The library of the model {model!r} is not installed.", model=model),
                fix=how_to_get(_LIBRARY),
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
        scores = await self._process.run(score_pairs, pairs, Urgency.QUESTION)
        probabilities = iter(
            compute_probabilities([score for score in scores if score is not None])
        )
        return [0.0 if score is None else next(probabilities) for score in scores]


def terms_of(text: str) -> list[str]:
    """Return the terms of a text: beginnings of its words without case and accents.

    Function words of English and Spanish are none: among a few passages they may be rare.
    """
    words = folded_words(make_searchable(text[:_LONGEST_READ]))
    return [word[:_BEGINNING] for word in words if word not in FUNCTION_WORDS]


class Bm25Reranker:
    """Leaves passages in the order of the words that they were found by."""

    name = "bm25"

    async def rerank(self, query: str, texts: Sequence[ScoredText]) -> list[float]:  # noqa: ARG002 - a Reranker
        """Return the score of each text as it is."""
        return [text.score for text in texts]


class MeaningReranker:
    """Adds meaning to the scores: by stored vectors, and by new ones made within `seconds`.

    It compares all texts or none, and none of corpora without vectors: the same passages are
    ordered alike however busy the machine is, or the reason is said. `embedder` has to be fast,
    that is, on this machine, and the one that made the stored vectors.
    """

    def __init__(self, embedder: Embedder, *, seconds: float) -> None:
        self._embedder = embedder
        self._seconds = seconds
        self._pace = _FIRST_GUESS

    @property
    def name(self) -> str:
        """Name for logs and receipts."""
        return "bm25+e5" if "e5" in self._embedder.name else f"bm25+{self._embedder.name}"

    async def rerank(self, query: str, texts: Sequence[ScoredText]) -> list[float]:
        """Return the mean of score and meaning, 0..1.

        Raises ModelError, also if time does not suffice for all texts, and SettingsError.
        """
        scale = SCALES.get(self._embedder.name)
        if scale is None or not all(text.has_peers for text in texts):
            return [text.score for text in texts]
        new = [text.text[:_LONGEST_COMPARED] for text in texts if text.cosine is None]
        made = iter(await self._compare_new(query, new) if new else ())
        cosines = (next(made) if text.cosine is None else text.cosine for text in texts)
        return [
            (1 - _MEANING) * text.score + _MEANING * scale.place_on_scale(cosine)
            for text, cosine in zip(texts, cosines, strict=True)
        ]

    async def _compare_new(self, query: str, texts: Sequence[str]) -> list[float]:
        clock = asyncio.get_running_loop().time
        until = clock() + self._seconds
        asked = await self._embedder.embed_query(query[:_LONGEST_QUERY])
        left = sum(map(_measure_effort, texts))
        cosines: list[float] = []
        for text in texts:
            # The first is always tried, or a pace that was once slow would never be measured again.
            if cosines and clock() + self._pace * left > until:
                raise ModelUnreachable(
                    Message(
                        "Comparing {number} texts takes longer than {seconds:g} s.",
                        number=len(texts),
                        seconds=self._seconds,
                    )
                )
            began = clock()
            (vector,) = await self._embedder.embed_documents([text])
            self._pace = (self._pace + (clock() - began) / _measure_effort(text)) / 2
            left -= _measure_effort(text)
            product = sum(a * b for a, b in zip(asked, vector, strict=True))
            lengths = sum(a * a for a in asked) * sum(b * b for b in vector)
            cosines.append(product / lengths**0.5 if lengths else 0.0)
        return cosines


def _measure_effort(text: str) -> int:
    return _EACH + len(text)
