"""The vectors of a corpus brought up to date: only what is missing or changed."""

import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from engine.errors import ModelAnswerInvalid
from engine.messages import Message
from engine.ports import Embedder, VectorIndex
from engine.types import Corpus
from engine.vectors import Embedded, Scale, Unembedded, Vector

# Vectors that one transaction stores, and a kill may cost, unless a model is given more at once.
BATCH = 64
# Fewer documents tell too little of what is unrelated; see engine/embed/scales.py.
ENOUGH = 50
# The scale is measured anew when the corpus has grown by so much since.
_GROWTH = 1.2
# Vectors that are made of the corpus' own frequencies are made anew when those have moved by so
# much: the sum of the changes of the most frequent lexemes' shares, of the sum of the shares.
_MOVED = 0.2
_PROBES, _BACKGROUND = 48, 400
_WORD = "word"  # embedded once to learn how long vectors are


class VectorStore(VectorIndex, Protocol):
    """Where vectors are kept. Methods raise the errors of storage ports."""

    async def prepare(self, model: str, dimensions: int) -> int:
        """Return the id of a model's vectors, making room for them.

        Raises VectorsUnsupported, UsageError when vectors of another length are kept under
        that name.
        """

    def alone(self, corpus: Corpus, model_id: int) -> AbstractAsyncContextManager[None]:
        """Keep other processes from embedding the same. Raises EmbeddedElsewhere when one does."""

    async def count_missing(self, corpus: Corpus, model_id: int) -> int:
        """Return how many documents have no vector of their present text."""

    def missing(
        self, corpus: Corpus, model_id: int, *, after: int = 0, new: bool = False
    ) -> AsyncIterator[Sequence[Unembedded]]:
        """Yield them in parts, by id, from behind `after` on; a part may be empty.

        With `new`, only what never had a vector, which takes no look at the texts of the others.
        """

    async def unembedded(
        self, corpus: Corpus, model_id: int, ids: Sequence[int]
    ) -> Sequence[Unembedded]:
        """Return those of `ids` that have no vector of their present text, in any order."""

    async def store(self, corpus: Corpus, model_id: int, embedded: Sequence[Embedded]) -> None:
        """Store vectors in one transaction, in place of older ones."""

    async def settle(self, corpus: Corpus, model_id: int) -> None:
        """Drop vectors of documents that are gone, and bring indexes up to date."""

    async def sample(self, corpus: Corpus, model_id: int, limit: int) -> Sequence[Unembedded]:
        """Return some documents that have a vector: the same ones each time."""

    async def count(self, corpus: Corpus, model_id: int) -> int:
        """Return how many documents have a vector."""

    async def measured(self, corpus: Corpus, model_id: int) -> int:
        """Return how many had one when the scale was measured; 0 = it never was."""

    async def keep_scale(
        self, corpus: Corpus, model_id: int, scale: Scale, *, documents: int
    ) -> None:
        """Store what was measured, and with how many documents."""

    async def shares(self, corpus: Corpus, model_id: int) -> Mapping[str, float]:
        """Return the shares of documents, by lexeme, by which its vectors were made."""

    async def renew(
        self, corpus: Corpus, model_id: int, shares: Mapping[str, float], *, anew: bool
    ) -> None:
        """Keep the shares; with `anew`, every vector counts as missing from now on."""


@runtime_checkable
class DependsOnCorpus(Protocol):
    """A model that weighs words by how frequent they are in the corpus."""

    async def shares(self) -> Mapping[str, float]:
        """Return the share of documents that hold each of the most frequent lexemes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """What became of one corpus."""

    corpus: str
    model: str
    dimensions: int
    embedded: int  # in this run
    documents: int  # that have a vector now
    anew: bool = False  # all of them are made anew: the corpus' frequencies have moved


async def fill(
    store: VectorStore,
    embedder: Embedder,
    corpus: Corpus,
    *,
    progress: Callable[[int, int], None],
    batch: int = BATCH,
) -> Filled:
    """Embed what is missing, `batch` texts at a time, and measure the scale when it is due.

    `progress` is told how many of how many are done. What was stored stays, whenever this is cut
    off. Raises VectorsUnsupported, UsageError, ModelError, SettingsError and storage errors.
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
    """Return the id of the model's vectors and their length, having made room for them.

    Raises VectorsUnsupported, UsageError, ModelError, SettingsError and storage errors.
    """
    dimensions = embedder.dimensions
    if dimensions is None:
        dimensions = len(await embedder.embed_query(_WORD))
    return await store.prepare(embedder.name, dimensions), dimensions


async def renew_moved(
    store: VectorStore, embedder: Embedder, corpus: Corpus, model_id: int
) -> bool:
    """Let all vectors be made anew where they hang on frequencies that have moved; tell whether."""
    if not isinstance(embedder, DependsOnCorpus):
        return False
    now, then = await embedder.shares(), await store.shares(corpus, model_id)
    anew = bool(then) and share_moved(then, now) >= _MOVED
    if anew or not then:
        await store.renew(corpus, model_id, now, anew=anew)
    return anew


def share_moved(then: Mapping[str, float], now: Mapping[str, float]) -> float:
    """Return by what part of their sum the shares have changed; 0 where there were none."""
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
    """Cut a part into batches."""
    return [part[start : start + size] for start in range(0, len(part), size)]


async def embedded(embedder: Embedder, batch: Sequence[Unembedded]) -> list[Embedded]:
    """Return what is to be stored of a batch. Raises ModelError, SettingsError."""
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
    """Return a vector that points somewhere, or None."""
    return vector if vector is not None and any(vector) else None


async def _measured(store: VectorStore, embedder: Embedder, corpus: Corpus) -> Scale | None:
    """Measure which cosines the model gives in this corpus; None where there are none to measure.

    Some documents are asked as questions: their cosines with others are the background, those
    with themselves the highest that a text can expect.
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
    # Not that of `statistics`: every search would import it for this.
    return math.fsum(figures) / len(figures)
