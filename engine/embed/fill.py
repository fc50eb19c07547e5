"""Bringing the vectors of a corpus up to date: only missing or changed ones are made."""

import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from engine.errors import ModelAnswerInvalid
from engine.messages import Message
from engine.ports import Embedder, VectorIndex
from engine.types import Corpus
from engine.vectors import CorpusWords, Embedded, Scale, Unembedded, Vector

# Vectors per transaction, which is what a kill may lose, unless a model has a larger batch size.
BATCH = 64
# Fewer documents are too small a sample of unrelated texts; see engine/embed/scales.py.
ENOUGH = 50
# The scale is measured again when the corpus has grown by this factor.
_GROWTH = 1.2
# Vectors that depend on the corpus' own frequencies are made again when these have changed by this
# much: the sum of the changes of the most frequent lexemes' shares, relative to the sum of shares.
_MOVED = 0.2
_PROBES, _BACKGROUND = 48, 400
_WORD = "word"  # embedded once to learn the length of vectors


class VectorStore(VectorIndex, Protocol):
    """Storage for vectors. Methods raise the errors of storage ports."""

    async def prepare(self, model: str, dimensions: int) -> int:
        """Return the id of a model's vectors, creating their storage if needed.

        Raises VectorsUnsupported, and UsageError if vectors of another length are stored under
        that name.
        """

    def alone(self, corpus: Corpus, model_id: int) -> AbstractAsyncContextManager[None]:
        """Lock the vectors against other processes. Raises EmbeddedElsewhere if one holds it."""

    async def count_missing(self, corpus: Corpus, model_id: int) -> int:
        """Return how many documents have no vector of their current text."""

    def missing(
        self, corpus: Corpus, model_id: int, *, after: int = 0, new: bool = False
    ) -> AsyncIterator[Sequence[Unembedded]]:
        """Yield documents to embed in batches, by id, for ids above `after`; some may be empty.

        With `new`, yield only documents that never had a vector, without reading the other texts.
        """

    async def unembedded(
        self, corpus: Corpus, model_id: int, ids: Sequence[int]
    ) -> Sequence[Unembedded]:
        """Return those of `ids` that have no vector of their current text, in any order."""

    async def store(self, corpus: Corpus, model_id: int, embedded: Sequence[Embedded]) -> None:
        """Store vectors in one transaction, replacing older ones."""

    async def settle(self, corpus: Corpus, model_id: int) -> None:
        """Delete vectors of deleted documents, and bring indexes up to date."""

    async def sample(self, corpus: Corpus, model_id: int, limit: int) -> Sequence[Unembedded]:
        """Return some documents that have a vector, the same ones each time."""

    async def count(self, corpus: Corpus, model_id: int) -> int:
        """Return how many documents have a vector."""

    async def measured(self, corpus: Corpus, model_id: int) -> int:
        """Return how many documents had one when the scale was measured; 0 = never measured."""

    async def keep_scale(
        self, corpus: Corpus, model_id: int, scale: Scale, *, documents: int
    ) -> None:
        """Store the measured scale, and the number of documents at that time."""

    async def words(self, corpus: Corpus, model_id: int) -> CorpusWords:
        """Return the state of the corpus' words that its vectors were made with."""

    async def renew(self, corpus: Corpus, model_id: int, words: CorpusWords, *, anew: bool) -> None:
        """Store that state; with `anew`, every vector counts as missing from now on."""


@runtime_checkable
class DependsOnCorpus(Protocol):
    """A model that weighs words by how frequent they are in the corpus."""

    async def shares(self) -> Mapping[str, float]:
        """Return the share of documents that contain each of the most frequent lexemes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """The result of filling one corpus."""

    corpus: str
    model: str
    dimensions: int
    embedded: int  # in this run
    documents: int  # that have a vector now
    anew: bool = False  # all are made again, because the corpus' words have changed


async def fill(
    store: VectorStore,
    embedder: Embedder,
    corpus: Corpus,
    *,
    progress: Callable[[int, int], None],
    batch: int = BATCH,
) -> Filled:
    """Embed what is missing, `batch` texts at a time, and measure the scale if it is due.

    `progress` is called with (done, total). Stored vectors are kept if the run is interrupted.
    Raises VectorsUnsupported, UsageError, EmbeddedElsewhere, ModelError, SettingsError and storage
    errors.
    """
    model_id, dimensions = await prepared(store, embedder)
    async with store.alone(corpus, model_id):
        anew = await renew_moved(store, embedder, corpus, model_id)
        done, total = 0, await store.count_missing(corpus, model_id)
        progress(done, total)
        if total:
            async for part in store.missing(corpus, model_id):
                for some in batches(part, batch):
                    await store.store(corpus, model_id, await embedded(embedder, some))
                    done += len(some)
                    progress(done, total)
        documents = await settle(store, embedder, corpus, model_id)
    return Filled(
        corpus=corpus.name,
        model=embedder.name,
        dimensions=dimensions,
        embedded=done,
        documents=documents,
        anew=anew,
    )


async def prepared(store: VectorStore, embedder: Embedder) -> tuple[int, int]:
    """Return the id of the model's vectors and their length, creating their storage if needed.

    Raises VectorsUnsupported, UsageError, ModelError, SettingsError and storage errors.
    """
    dimensions = embedder.dimensions
    if dimensions is None:
        dimensions = len(await embedder.embed_query(_WORD))
    return await store.prepare(embedder.name, dimensions), dimensions


async def renew_moved(
    store: VectorStore, embedder: Embedder, corpus: Corpus, model_id: int
) -> bool:
    """Mark all vectors as missing if the words they depend on have changed; return if so.

    They have if the corpus was reindexed by other rules, or if its frequencies have moved.
    """
    if not isinstance(embedder, DependsOnCorpus):
        return False
    then = await store.words(corpus, model_id)
    now = CorpusWords(shares=await embedder.shares(), index_version=corpus.index_version)
    other_rules = then.index_version != now.index_version
    changed = other_rules or share_moved(then.shares, now.shares) >= _MOVED
    anew = bool(then.shares) and changed
    if anew or not then.shares:
        await store.renew(corpus, model_id, now, anew=anew)
    return anew


def share_moved(then: Mapping[str, float], now: Mapping[str, float]) -> float:
    """Return the total change of the shares relative to their old sum, or 0 if that was 0."""
    whole = sum(then.values())
    changes = (abs(now.get(one, 0.0) - then.get(one, 0.0)) for one in {*then, *now})
    return sum(changes) / whole if whole else 0.0


async def settle(store: VectorStore, embedder: Embedder, corpus: Corpus, model_id: int) -> int:
    """Bring indexes and the scale up to date; return how many documents have a vector."""
    await store.settle(corpus, model_id)
    documents = await store.count(corpus, model_id)
    due = documents > _GROWTH * await store.measured(corpus, model_id)
    if due and documents >= ENOUGH and (scale := await _measured(store, embedder, corpus)):
        await store.keep_scale(corpus, model_id, scale, documents=documents)
    return documents


def batches(part: Sequence[Unembedded], size: int) -> list[Sequence[Unembedded]]:
    """Split a part into batches."""
    return [part[start : start + size] for start in range(0, len(part), size)]


async def embedded(embedder: Embedder, batch: Sequence[Unembedded]) -> list[Embedded]:
    """Return the vectors of a batch, to be stored. Raises ModelError, SettingsError."""
    telling = [one for one in batch if one.text]
    vectors = await embedder.embed_documents([one.text for one in telling]) if telling else []
    if len(vectors) != len(telling):
        raise ModelAnswerInvalid(
            Message(
                "{name} gave {vectors} of {telling} vectors.",
                name=embedder.name,
                vectors=len(vectors),
                telling=len(telling),
            )
        )
    known = {one.id: vector for one, vector in zip(telling, vectors, strict=True)}
    return [
        Embedded(id=one.id, source=one.source, vector=_direction(known.get(one.id)))
        for one in batch
    ]


def _direction(vector: Vector | None) -> Vector | None:
    """Return the vector, or None if it is missing or zero."""
    return vector if vector is not None and any(vector) else None


async def _measured(store: VectorStore, embedder: Embedder, corpus: Corpus) -> Scale | None:
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
            vector = await embedder.embed_query(probe.text)
            cosines = dict(await store.cosines(corpus, space, vector, ids))
            if probe.id in cosines:
                same.append(cosines.pop(probe.id))
            background += cosines.values()
    if not background or not same:
        return None
    mean = _mean(background)
    deviation = math.sqrt(_mean([(cosine - mean) ** 2 for cosine in background]))
    return Scale(mean=mean, deviation=deviation, same=_mean(same))


def _mean(figures: Sequence[float]) -> float:
    # Not statistics.mean: every search would import `statistics` just for this.
    return math.fsum(figures) / len(figures)
