"""A headline as a vector, and the vectors to compare it with."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from engine.embed.local import how_to_embed
from engine.errors import ModelError, ModelUnreachable, NotAnswerable
from engine.messages import Message, for_operators
from engine.ports import Descriptions, Embedder, VectorIndex
from engine.prophecy.rerank import HeadlineReranker
from engine.search import Candidate, Filters, Mode
from engine.values import Corpus
from engine.vectors import SCALES, Vector, VectorSpace, format_percent

_NO_EMBEDDINGS = Message("Searched by words alone: no embeddings are set up.")
_LONGEST_QUESTION = 1000  # characters
_PATIENCE = 4.0  # seconds for the vector of a headline: later, words alone answer
# Share of a corpus' documents that must be embedded before it is searched by meaning by default:
# a document without a vector is not found by meaning, and counts as dissimilar.
HONEST = 0.9


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
class VectorQuestion:
    """A text as a vector, and the vectors to compare it with."""

    corpus: Corpus
    space: VectorSpace
    vector: Vector
    vectors: VectorIndex

    async def nearest(self, filters: Filters, limit: int) -> dict[int, float]:
        """Return the cosines of the nearest `limit` documents by id, nearest first."""
        return dict(
            await self.vectors.nearest(self.corpus, self.space, self.vector, filters, limit)
        )

    async def cosines(self, ids: Sequence[int]) -> Mapping[int, float]:
        """Return the cosine of each of `ids` that has a vector."""
        if not ids:
            return {}
        return await self.vectors.cosines(self.corpus, self.space, self.vector, ids)

    def similarity(self, cosine: float | None) -> float | None:
        """Return a cosine as a calibrated similarity, 0..1, or None if there is no scale.

        A corpus that is too small for a scale of its own uses the model's.
        """
        scale = self.space.scale or SCALES.get(self.space.model)
        return None if scale is None or cosine is None else scale.calibrate(cosine)

    def shown(self, cosine: float) -> float:
        """Return the similarity, or the cosine itself if there is no scale."""
        similarity = self.similarity(cosine)
        return min(1.0, max(0.0, cosine)) if similarity is None else similarity


async def question_of(meaning: Meaning | None, corpus: Corpus, text: str) -> VectorQuestion | None:
    """Return a text as a question to the vectors of a corpus, or None if its vector is zero.

    Raises NotAnswerable if there is no model or no vector, and what the model raises.
    """
    embedder = embedder_of(meaning, corpus)
    if meaning is None or embedder is None:
        raise NotAnswerable(
            Message("No embeddings are set up."),
            fix=for_operators(how_to_embed()),
        )
    space = await meaning.vectors.space(corpus, embedder.name)
    if space is None:
        raise NotAnswerable(
            Message("{corpus} has no vectors yet.", corpus=corpus.name),
            fix=for_operators(Message("Run: presagio embed --corpus {corpus}", corpus=corpus.name)),
        )
    vector = await vector_of(embedder, text)
    if not is_comparable(vector, space):
        return None
    return VectorQuestion(corpus=corpus, space=space, vector=vector, vectors=meaning.vectors)


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlyWords:
    """The decision to search by words alone: why, and what may compare the best few later."""

    notice: Message | None = None
    rerank: HeadlineReranker | None = None


async def question_or_words(
    meaning: Meaning | None, corpus: Corpus, text: str, mode: Mode | None
) -> VectorQuestion | OnlyWords:
    """Return the question, or OnlyWords, with a notice if meaning was requested."""
    if mode is Mode.LEXICAL:
        return OnlyWords()
    wanted, embedder = mode is not None, embedder_of(meaning, corpus)
    if meaning is None or embedder is None:
        return OnlyWords(notice=_NO_EMBEDDINGS if wanted else None)
    space = await meaning.vectors.space(corpus, embedder.name)
    few = space is None or space.share < HONEST
    if few and mode is not Mode.HYBRID and (meaning.reranker or not wanted):
        return OnlyWords(rerank=meaning.reranker)
    if space is None:
        none = Message("Searched by words alone: {corpus} has no vectors yet.", corpus=corpus.name)
        return OnlyWords(notice=none)
    return await _embed_question(meaning, embedder, corpus, text, space)


async def _embed_question(
    meaning: Meaning, embedder: Embedder, corpus: Corpus, text: str, space: VectorSpace
) -> VectorQuestion | OnlyWords:
    """Return the question, or OnlyWords with the reason why the model gives no vector."""
    try:
        vector = await vector_of(embedder, text)
    except ModelError as error:
        return OnlyWords(
            notice=Message("Searched by words alone: {reason}", reason=error.full_message)
        )
    if is_comparable(vector, space):
        return VectorQuestion(corpus=corpus, space=space, vector=vector, vectors=meaning.vectors)
    if not any(vector):  # the text means nothing to the model
        return OnlyWords()
    changed = Message(
        "Searched by words alone: {model} has changed the length of its vectors.",
        model=embedder.name,
    )
    return OnlyWords(notice=changed)


async def fetch_similarities(
    meaning: Meaning | None, corpus: Corpus, text: str, best_first: Sequence[Candidate]
) -> Mapping[int, float]:
    """Return the known similarities of texts to a question, by id.

    If the corpus is not embedded, the best few texts are embedded on the fly. Raises what
    `question_of` raises, and the errors of storage ports.
    """
    embedder = embedder_of(meaning, corpus)
    if meaning and embedder and meaning.reranker:
        space = await meaning.vectors.space(corpus, embedder.name)
        if space is None or space.share < HONEST:
            compared = await meaning.reranker.compare(corpus, text, best_first)
            return compared.similarity if compared else {}
    question = await question_of(meaning, corpus, text)
    if question is None:
        return {}
    cosines = await question.cosines([document_id.id for document_id in best_first])
    return {near: question.shown(cosine) for near, cosine in cosines.items()}


def embedder_of(meaning: Meaning | None, corpus: Corpus) -> Embedder | None:
    """Return the embedder for a corpus, or None if it makes no vectors."""
    embedder = meaning.embedder(corpus) if meaning else None
    return None if embedder is None or embedder.dimensions == 0 else embedder


def describe_partial_vectors(question: VectorQuestion) -> Message | None:
    """Return the notice that some texts have no vectors, or None if nearly all have."""
    space, corpus = question.space, question.corpus.name
    if space.share >= HONEST:
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


async def vector_of(embedder: Embedder, text: str) -> Vector:
    """Return the vector of a question. Raises ModelError and whatever else the model raises."""
    try:
        async with asyncio.timeout(_PATIENCE):
            return await embedder.embed_query(text[:_LONGEST_QUESTION])
    except TimeoutError as exc:
        raise ModelUnreachable(
            Message("What was asked was not embedded within {seconds:g} s.", seconds=_PATIENCE)
        ) from exc
