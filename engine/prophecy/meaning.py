"""Headlines and texts compared by meaning, by stored vectors or by those of a tuned model.

Where nobody judges, a tuned model compares the best few on the fly: all of them or none, so that an
answer does not depend on how busy the machine is. What has no vector in time is embedded all the
same, and the next search has it.
"""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from engine.embed.fill import embed_batch, split_batches
from engine.embed.local import how_to_embed
from engine.errors import (
    ModelError,
    ModelUnreachable,
    NotAnswerable,
    StorageError,
    UsageError,
    VectorsUnsupported,
)
from engine.messages import Message, for_operators
from engine.ports import Descriptions, Embedder, VectorIndex, VectorStore
from engine.search import Candidate, Filters, Mode
from engine.settings.searching import SearchSettings
from engine.values import Closable, Corpus
from engine.vectors import SCALES, TUNED, Vector, VectorSpace, format_percent

_NO_EMBEDDINGS = Message("Searched by words alone: no embeddings are set up.")
_LONGEST_QUERY = 1000  # characters
_QUERY_SECONDS = 4.0  # for the vector of a headline: later, words alone answer
# Share of a corpus' documents that must be embedded before it is searched by meaning by default:
# a document without a vector is not found by meaning, and counts as dissimilar.
LEAST_EMBEDDED_SHARE = 0.9
_BATCH = 8  # texts that are embedded and stored together
_COMPARED_TEXTS = 24  # the best by words, unless the caller says otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedModel:
    """How likely a text is to be useful by its cosine, and the gate: what is below is no find."""

    slope: float
    zero: float  # the cosine of a text that is useful in one case of two
    gate: float  # a cosine

    def predict(self, cosine: float) -> float:
        """Return the likelihood that people would call the text useful, 0..1."""
        return 1 / (1 + math.exp(self.slope * (self.zero - cosine)))


# By the name of its vectors. `python -m bench.tune` and `python -m bench.unjudged` compute them
# from headlines that people have judged (docs/decisions/0069-one-model.md).
TUNED_MODELS: Mapping[str, TunedModel] = MappingProxyType(
    {TUNED: TunedModel(slope=30.0, zero=0.867, gate=0.845)}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """What the tuned model says of the texts of an answer: their cosines, by id."""

    model: TunedModel
    cosines: Mapping[int, float]

    def is_hit(self, document: int) -> bool:
        """Return whether a text is a hit."""
        return self.cosines.get(document, -1.0) >= self.model.gate

    def score(self, document: int) -> float | None:
        """Return how likely a text is to be useful, or None if it was not compared."""
        cosine = self.cosines.get(document)
        return None if cosine is None else self.model.predict(cosine)


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


def predict_finds(comparison: Comparison) -> Predictions | None:
    """Return the predictions for the texts that a model has compared.

    While it compares there are none, and so no hits: what words alone find is mostly junk. Returns
    None if the model was not tuned for this, or gave nothing.
    """
    model = TUNED_MODELS.get(comparison.model)
    if model is None or not (comparison.cosines or comparison.unfinished):
        return None
    # A text that means nothing to the model is similar to nothing.
    cosines = {each: comparison.cosines.get(each, 0.0) for each in comparison.similarity}
    return Predictions(model=model, cosines=cosines)


@runtime_checkable
class SlowStarter(Protocol):
    """A model that takes long to start, and can do so before it is asked."""

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
        self.best = best or _COMPARED_TEXTS  # how many of the best texts are compared
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

    def is_tuned(self, corpus: Corpus) -> bool:
        """Return whether the model was tuned to tell what is useful."""
        return self._embedder(corpus).name in TUNED_MODELS

    def start(self, corpus: Corpus) -> None:
        """Start the process of the model, which takes as long as finding texts to compare."""
        embedder = self._embedder(corpus)
        if isinstance(embedder, SlowStarter):
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

        If they take longer than `patience`, in seconds, the comparison is unfinished. Returns None
        if there is nothing to compare or the database cannot store vectors. If it can store nothing
        just now, a notice says so.
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
            if seconds < longest:  # the caller did not want to wait, and may look again
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
        """Return the similarities of the texts. Raises TimeoutError if a vector is late.

        Embedding that has begun goes on after that, for the next search.
        """
        begun = asyncio.Event()
        task = asyncio.create_task(self._embed_missing(embedder, corpus, headline, numbers, begun))
        self._work.add(task)
        task.add_done_callback(self._forget)
        try:
            async with asyncio.timeout(seconds):
                vector = await asyncio.shield(task)
        finally:
            if not begun.is_set():
                task.cancel()
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
            vector = await embedder.embed_query(headline[:_LONGEST_QUERY])
            if not any(vector):
                return vector
            model_id = await self._vectors.prepare(embedder.name, len(vector))
            missing = await self._vectors.find_unembedded(corpus, model_id, numbers)
            in_order = sorted(missing, key=lambda document: numbers.index(document.id))
            for some in split_batches(in_order, _BATCH):
                vectors = await embed_batch(embedder, some)
                await self._vectors.store(corpus, model_id, vectors)
        return vector


def _not_ordered(reason: Message) -> Message:
    return Message("Ordered by words alone: {reason}", reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """The dependencies of a search by meaning. `embedder` returns the embedder for a corpus.

    `reranker` compares the best few texts of a corpus that is not embedded; None if no model is
    fast enough for that.
    """

    embedder: Callable[[Corpus], Embedder]
    vectors: VectorIndex
    descriptions: Descriptions
    reranker: HeadlineReranker | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorQuery:
    """A text as a vector, and the stored vectors to compare it with."""

    corpus: Corpus
    space: VectorSpace
    vector: Vector
    vectors: VectorIndex

    async def find_nearest(self, filters: Filters, limit: int) -> dict[int, float]:
        """Return the cosines of the nearest `limit` documents by id, nearest first."""
        return dict(
            await self.vectors.nearest(self.corpus, self.space, self.vector, filters, limit)
        )

    async def read_cosines(self, ids: Sequence[int]) -> Mapping[int, float]:
        """Return the cosine of each of `ids` that has a vector."""
        if not ids:
            return {}
        return await self.vectors.cosines(self.corpus, self.space, self.vector, ids)

    def calibrate(self, cosine: float | None) -> float | None:
        """Return a cosine as a calibrated similarity, 0..1, or None if there is no scale.

        A corpus that is too small for a scale of its own uses the model's.
        """
        scale = self.space.scale or SCALES.get(self.space.model)
        return None if scale is None or cosine is None else scale.calibrate(cosine)

    def rate_similarity(self, cosine: float) -> float:
        """Return the similarity, or the cosine itself if there is no scale."""
        similarity = self.calibrate(cosine)
        return min(1.0, max(0.0, cosine)) if similarity is None else similarity


async def require_vector_query(
    meaning: Meaning | None, corpus: Corpus, text: str
) -> VectorQuery | None:
    """Return the vector query for a text, or None if the text means nothing to the model.

    Raises NotAnswerable if there is no model, or if no text of the corpus has a vector; and what
    the model raises.
    """
    embedder = find_embedder(meaning, corpus)
    if meaning is None or embedder is None:
        raise NotAnswerable(Message("No embeddings are set up."), fix=for_operators(how_to_embed()))
    space = await meaning.vectors.space(corpus, embedder.name)
    if space is None:
        raise NotAnswerable(
            Message("{corpus} has no vectors yet.", corpus=corpus.name),
            fix=for_operators(Message("Run: presagio embed --corpus {corpus}", corpus=corpus.name)),
        )
    vector = await embed_text(embedder, text)
    if not is_comparable(vector, space):
        return None
    return VectorQuery(corpus=corpus, space=space, vector=vector, vectors=meaning.vectors)


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsAlone:
    """The decision to search by words alone: why, and what may compare the best few later."""

    notice: Message | None = None
    reranker: HeadlineReranker | None = None


async def choose_vector_query(
    meaning: Meaning | None, corpus: Corpus, text: str, mode: Mode | None
) -> VectorQuery | WordsAlone:
    """Return the vector query for a text, or the decision to search by words alone.

    `mode` None means whatever the corpus allows; if it asks for meaning and there is none, a notice
    says why.
    """
    if mode is Mode.LEXICAL:
        return WordsAlone()
    wanted, embedder = mode is not None, find_embedder(meaning, corpus)
    if meaning is None or embedder is None:
        return WordsAlone(notice=_NO_EMBEDDINGS if wanted else None)
    space = await meaning.vectors.space(corpus, embedder.name)
    few = space is None or space.share < LEAST_EMBEDDED_SHARE
    if few and mode is not Mode.HYBRID and (meaning.reranker or not wanted):
        return WordsAlone(reranker=meaning.reranker)
    if space is None:
        none = Message("Searched by words alone: {corpus} has no vectors yet.", corpus=corpus.name)
        return WordsAlone(notice=none)
    return await _embed_vector_query(meaning, embedder, corpus, text, space)


async def _embed_vector_query(
    meaning: Meaning, embedder: Embedder, corpus: Corpus, text: str, space: VectorSpace
) -> VectorQuery | WordsAlone:
    """Return the vector query, or WordsAlone with the reason why the model gives no vector."""
    try:
        vector = await embed_text(embedder, text)
    except ModelError as error:
        return WordsAlone(
            notice=Message("Searched by words alone: {reason}", reason=error.full_message)
        )
    if is_comparable(vector, space):
        return VectorQuery(corpus=corpus, space=space, vector=vector, vectors=meaning.vectors)
    if not any(vector):  # the text means nothing to the model
        return WordsAlone()
    changed = Message(
        "Searched by words alone: {model} has changed the length of its vectors.",
        model=embedder.name,
    )
    return WordsAlone(notice=changed)


async def fetch_similarities(
    meaning: Meaning | None, corpus: Corpus, text: str, best_first: Sequence[Candidate]
) -> Mapping[int, float]:
    """Return the similarities of texts to a question, by id, as far as they are known.

    If the corpus is not embedded, the best few texts are embedded on the fly. Raises what
    `require_vector_query` raises, and the errors of storage ports.
    """
    embedder = find_embedder(meaning, corpus)
    if meaning and embedder and meaning.reranker:
        space = await meaning.vectors.space(corpus, embedder.name)
        if space is None or space.share < LEAST_EMBEDDED_SHARE:
            compared = await meaning.reranker.compare(corpus, text, best_first)
            return compared.similarity if compared else {}
    query = await require_vector_query(meaning, corpus, text)
    if query is None:
        return {}
    cosines = await query.read_cosines([candidate.id for candidate in best_first])
    return {number: query.rate_similarity(cosine) for number, cosine in cosines.items()}


def find_embedder(meaning: Meaning | None, corpus: Corpus) -> Embedder | None:
    """Return the embedder for a corpus, or None if it makes no vectors."""
    embedder = meaning.embedder(corpus) if meaning else None
    return None if embedder is None or embedder.dimensions == 0 else embedder


def describe_partial_vectors(query: VectorQuery) -> Message | None:
    """Return the notice that some texts have no vectors, or None if nearly all have."""
    space, corpus = query.space, query.corpus.name
    if space.share >= LEAST_EMBEDDED_SHARE:
        return None
    message = Message(
        "Only {share} of {corpus} has vectors; presagio embed --corpus {corpus} makes the rest.",
        share=format_percent(space.share),
        corpus=corpus,
    )
    return for_operators(message)


def is_comparable(vector: Vector, space: VectorSpace) -> bool:
    """Return whether a vector is not zero and has the length of the stored ones."""
    return any(vector) and len(vector) == space.dimensions


async def embed_text(embedder: Embedder, text: str) -> Vector:
    """Return the vector of a text to search for, in good time.

    Raises ModelError, also if the vector is late, and whatever else the model raises.
    """
    try:
        async with asyncio.timeout(_QUERY_SECONDS):
            return await embedder.embed_query(text[:_LONGEST_QUERY])
    except TimeoutError as exc:
        raise ModelUnreachable(
            Message("What was asked was not embedded within {seconds:g} s.", seconds=_QUERY_SECONDS)
        ) from exc
