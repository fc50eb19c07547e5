"""Bringing the vectors of a corpus up to date: only missing or changed ones are made."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Protocol, runtime_checkable

from engine.errors import EmbeddedElsewhere, ModelAnswerInvalid, TextSetAside
from engine.messages import Message
from engine.ports import Embedder, VectorStore
from engine.values import Corpus
from engine.vectors import (
    SETTLING,
    CorpusWords,
    NewVector,
    RangeClaim,
    Scale,
    UnembeddedText,
    Vector,
    VectorTally,
    ids_of,
    range_of,
)

# Vectors per transaction, which is what a kill may lose, unless a model has a larger batch size.
BATCH = 64
# Fewer documents are too small a sample of unrelated texts; see engine/vectors.py.
ENOUGH = 50
_PROBES, _BACKGROUND = 48, 400
# The scale is measured again when the corpus has grown by this factor.
_GROWTH = 1.2
# Vectors that depend on the corpus' own frequencies are made again when these have changed by this
# much: the sum of the changes of the most frequent lexemes' shares, relative to the sum of shares.
_MOVED = 0.2
_WORD = "word"  # embedded once to learn the length of vectors
# Seconds between checks of texts that already have a vector: they may have changed.
_LOOK_AGAIN = 3600.0


@runtime_checkable
class DependsOnCorpus(Protocol):
    """A model that weighs words by how frequent they are in the corpus."""

    async def shares(self) -> Mapping[str, float]:
        """Return the share of documents that contain each of the most frequent lexemes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FillResult:
    """The result of filling one corpus."""

    corpus: str
    model: str
    dimensions: int
    embedded: int  # in this run
    vectors: int  # that there are now
    anew: bool = False  # all are made again, because the corpus' words have changed


async def fill_vectors(
    store: VectorStore,
    embedder: Embedder,
    corpus: Corpus,
    *,
    progress: Callable[[int, int], None],
    batch: int = BATCH,
) -> FillResult:
    """Embed what is missing, `batch` texts at a time, and measure the scale if it is due.

    Several processes may fill a corpus at once: each embeds the ranges of ids that it claims first,
    and returns when nothing is missing. `progress` is called with (done by all, total). Stored
    vectors are kept if the run is interrupted. Raises VectorsUnsupported, UsageError, ModelError,
    SettingsError and storage errors.
    """
    model_id, dimensions = await prepare_storage(store, embedder)
    anew = await renew_moved(store, embedder, corpus, model_id)
    begun = await store.count_vectors(corpus, model_id)
    missing = await store.missing_by_range(corpus, model_id)
    total = sum(missing.values())

    def tell(stored: int) -> None:
        progress(min(stored - begun.stored, total), total)

    tell(begun.stored)
    run = _Run(store, embedder, corpus, model_id, batch, tell)
    left, wait = list(missing), False
    while left:
        left, wait = [number for number in left if not await run.complete(number, wait=wait)], True
    progress(total, total)
    return FillResult(
        corpus=corpus.name,
        model=embedder.name,
        dimensions=dimensions,
        embedded=run.done,
        vectors=await settle_vectors(store, embedder, corpus, model_id, begun=begun),
        anew=anew,
    )


@dataclass(slots=True)
class _Run:
    """What one process does in one corpus. `done` counts its texts, `tell` those of all."""

    store: VectorStore
    embedder: Embedder
    corpus: Corpus
    model_id: int
    batch: int
    tell: Callable[[int], None]
    done: int = 0

    async def complete(self, number: int, *, wait: bool) -> bool:
        """Embed what a range lacks; return False if another process holds it."""
        store, corpus, model_id = self.store, self.corpus, self.model_id
        after, last = ids_of(number)
        async with store.claim(corpus, model_id, number, wait=wait) as claim:
            if claim is None:
                return False
            try:
                async for part in store.find_missing(corpus, model_id, after=after, to=last):
                    for some in split_batches(part, self.batch):
                        vectors = await embed_batch(self.embedder, some)
                        self.tell(await store.store(corpus, model_id, vectors, claim=claim))
                        self.done += len(some)
            except EmbeddedElsewhere:  # this process was frozen or cut off, and another took over
                return False
        return True


async def prepare_storage(store: VectorStore, embedder: Embedder) -> tuple[int, int]:
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

    They have if the corpus was reindexed by other rules, or if its frequencies have moved. Of
    several processes that notice it, one marks them.
    """
    if not isinstance(embedder, DependsOnCorpus):
        return False
    then = await store.words(corpus, model_id)
    now = CorpusWords(
        shares=await embedder.shares(),
        index_version=corpus.index_version,
        generation=then.generation,
    )
    other_rules = then.index_version != now.index_version
    changed = other_rules or share_moved(then.shares, now.shares) >= _MOVED
    anew = bool(then.shares) and changed
    if anew or not then.shares:
        begun = await store.renew(corpus, model_id, now, anew=anew)
        return anew and begun
    return False


def share_moved(then: Mapping[str, float], now: Mapping[str, float]) -> float:
    """Return the total change of the shares relative to their old sum, or 0 if that was 0."""
    whole = sum(then.values())
    changes = (abs(now.get(source, 0.0) - then.get(source, 0.0)) for source in {*then, *now})
    return sum(changes) / whole if whole else 0.0


async def settle_vectors(
    store: VectorStore,
    embedder: Embedder,
    corpus: Corpus,
    model_id: int,
    *,
    begun: VectorTally | None = None,
) -> int:
    """Bring indexes and the scale up to date; return how many documents have a vector.

    With `begun`, the tally when this process began, another process that does the same is waited
    for, and nothing is done again that it did since. Without, it is left to that process.
    """
    while True:
        async with store.claim(corpus, model_id, SETTLING, wait=begun is not None) as claim:
            if claim is not None:
                tally = await store.count_vectors(corpus, model_id)
                # Another process may have settled everything that is stored since then.
                settled = tally.settled == tally.stored
                if begun is None or not settled or tally.settled == begun.settled:
                    await _settle_corpus(store, embedder, corpus, model_id, claim)
            if claim is not None or begun is None:
                return await store.count(corpus, model_id)


async def _settle_corpus(
    store: VectorStore, embedder: Embedder, corpus: Corpus, model_id: int, claim: RangeClaim
) -> None:
    await store.settle(corpus, model_id)
    documents = await store.count(corpus, model_id)
    due = documents > _GROWTH * await store.count_measured(corpus, model_id)
    if due and documents >= ENOUGH and (scale := await measured_scale(store, embedder, corpus)):
        await store.keep_scale(corpus, model_id, scale, documents=documents, claim=claim)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The progress of the check of all texts of a corpus."""

    after: int | None = 0  # the last id checked; None: all were
    ended: float = 0.0  # when the last check ended
    stored: int = 0  # vectors stored since the last settle


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The result of one turn."""

    embedded: int = 0
    anew: bool = False  # all vectors are being made again from now on


class KeepUp:
    """Embeds in turns, keeping its progress between them. `clock` returns seconds."""

    def __init__(
        self, store: VectorStore, *, clock: Callable[[], float], batch: int = BATCH
    ) -> None:
        self._store = store
        self._clock = clock
        self._batch = batch
        self._places: dict[tuple[int, str, int], _Place] = {}

    async def turn(self, embedder: Embedder, corpus: Corpus, *, until: float) -> Slice:
        """Embed what is missing until the clock shows `until`, new texts first.

        At least one batch is embedded, even if the time is over. What another process is embedding
        is left to it. Raises VectorsUnsupported, UsageError, ModelError, SettingsError and storage
        errors.
        """
        if embedder.dimensions == 0 or not corpus.documents:
            return Slice()
        # A reindexed corpus is checked at once, for its texts or its words may be other ones.
        key = corpus.id, embedder.name, corpus.index_version
        model_id, _ = await prepare_storage(self._store, embedder)
        place = self._places.get(key, _Place())
        if place.after is None and self._clock() - place.ended > _LOOK_AGAIN:
            place = replace(place, after=0)
        anew = place.after == 0 and await renew_moved(self._store, embedder, corpus, model_id)
        done, place = await self._embed_corpus(embedder, corpus, model_id, place, until)
        self._places[key] = place
        return Slice(embedded=done, anew=anew)

    async def _embed_corpus(
        self, embedder: Embedder, corpus: Corpus, model_id: int, place: _Place, until: float
    ) -> tuple[int, _Place]:
        new = await self._embed_missing_texts(embedder, corpus, model_id, None, until)
        place = replace(place, stored=place.stored + new.done)
        if not new.ended or place.after is None:
            return new.done, place
        looked = await self._embed_missing_texts(embedder, corpus, model_id, place.after, until)
        done = new.done + looked.done
        place = replace(place, after=looked.after, stored=place.stored + looked.done)
        if looked.ended:
            if place.stored:
                await settle_vectors(self._store, embedder, corpus, model_id)
            place = _Place(after=None, ended=self._clock())
        return done, place

    async def _embed_missing_texts(
        self, embedder: Embedder, corpus: Corpus, model_id: int, after: int | None, until: float
    ) -> "_Pass":
        """Embed missing vectors of texts with ids above `after`; None: of new texts only."""
        passed = _Pass(done=0, after=after or 0, ended=True)
        parts = self._store.find_missing(corpus, model_id, after=passed.after, new=after is None)
        async for part in parts:
            for _, some in groupby(part, lambda document: range_of(document.id)):
                try:
                    more = await self._embed_range(embedder, corpus, model_id, list(some), until)
                except EmbeddedElsewhere:  # taken over while this process was frozen
                    continue
                passed = replace(more, done=passed.done + more.done)
                if not passed.ended:
                    return passed
        return passed

    async def _embed_range(
        self,
        embedder: Embedder,
        corpus: Corpus,
        model_id: int,
        texts: Sequence[UnembeddedText],
        until: float,
    ) -> "_Pass":
        """Embed texts of one range, unless another process holds it."""
        done, last = 0, texts[-1].id
        async with self._store.claim(corpus, model_id, range_of(last)) as claim:
            if claim is None:
                return _Pass(done=0, after=last, ended=True)
            # Another process may have embedded some by now.
            ids = [document.id for document in texts]
            left = await self._store.find_unembedded(corpus, model_id, ids)
            for batch in split_batches(sorted(left, key=lambda document: document.id), self._batch):
                vectors = await embed_batch(embedder, batch)
                await self._store.store(corpus, model_id, vectors, claim=claim)
                done += len(batch)
                if self._clock() >= until:
                    return _Pass(done=done, after=batch[-1].id, ended=False)
        return _Pass(done=done, after=last, ended=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pass:
    """The result of one pass over texts."""

    done: int
    after: int
    ended: bool


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
            id=document.id,
            source=document.source,
            vector=vector if (vector := known.get(document.id)) and any(vector) else None,
        )
        for document in batch
    ]


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
