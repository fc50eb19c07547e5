"""Candidates for a headline: found by words, by meaning, or by both (decision 14)."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.embed.scales import SCALES
from engine.errors import ModelError
from engine.messages import Message
from engine.ports import Descriptions, Embedder, SearchIndex, VectorIndex
from engine.ranking.fuse import fused, ranks
from engine.text.clean import searchable
from engine.types import Candidate, Corpus, Filters, Mode, Term
from engine.vectors import Vector, VectorSpace

LEXICAL, SEMANTIC = "lexical", "semantic"  # the two lists, as receipts name them
_LONGEST_QUESTION = 1000  # characters
_NO_EMBEDDINGS = Message("Searched by words alone: no embeddings are set up.")
_PATIENCE = 10.0  # seconds for the vector of a headline


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a search by meaning needs. `embedder` returns the one for a corpus."""

    embedder: Callable[[Corpus], Embedder]
    vectors: VectorIndex
    descriptions: Descriptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """What was found, best first, and how."""

    terms: Sequence[Term]
    candidates: Sequence[Candidate]
    mode: Mode = Mode.LEXICAL
    model: str | None = None  # whose vectors were compared
    notice: Message | None = None  # why it is not as it was asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """The text as a vector, and the vectors that it can be compared with."""

    corpus: Corpus
    space: VectorSpace
    vector: Vector
    vectors: VectorIndex

    async def nearest(self, filters: Filters, limit: int) -> dict[int, float]:
        """Return the cosines of the nearest documents, nearest first."""
        return dict(
            await self.vectors.nearest(self.corpus, self.space, self.vector, filters, limit)
        )

    async def cosines(self, ids: Sequence[int]) -> Mapping[int, float]:
        """Return the cosine of each of `ids` that has a vector."""
        if not ids:
            return {}
        return await self.vectors.cosines(self.corpus, self.space, self.vector, ids)

    def similarity(self, cosine: float | None) -> float | None:
        """Return what a cosine means, 0..1, or None when it is not known.

        A corpus too small to have a scale of its own goes by the model's.
        """
        scale = self.space.scale or SCALES.get(self.space.model)
        return None if scale is None or cosine is None else scale.calibrated(cosine)


class Retriever:
    """Proposes candidates: `limit` by words, and as many by meaning."""

    def __init__(self, index: SearchIndex, meaning: Meaning | None, *, limit: int) -> None:
        self._index = index
        self._meaning = meaning
        self._limit = limit

    async def retrieve(
        self, corpus: Corpus, text: str, filters: Filters, mode: Mode | None
    ) -> Retrieved:
        """Return candidates for `text`; `mode` None is hybrid where there are vectors.

        Where meaning was asked for and is not to be had, words answer and the notice says why.
        Raises the errors of the search index and SettingsError.
        """
        terms = await self._index.terms(corpus, searchable(text))
        by_words = self._index.top(corpus, terms, filters, self._limit)
        if mode is Mode.LEXICAL or (mode is None and self._meaning is None):
            return Retrieved(terms=terms, candidates=_ranked(await by_words))
        found, question = await asyncio.gather(
            by_words, self._question(corpus, text, wanted=mode is not None)
        )
        if not isinstance(question, _Question):
            return Retrieved(terms=terms, candidates=_ranked(found), notice=question)
        if mode is Mode.RERANK:
            candidates = await _reordered(question, found)
        else:
            candidates = await self._joined(question, terms, found, filters)
        return Retrieved(
            terms=terms,
            candidates=candidates,
            mode=mode or Mode.HYBRID,
            model=question.space.model,
        )

    async def _question(
        self, corpus: Corpus, text: str, *, wanted: bool
    ) -> _Question | Message | None:
        """Return the question, else why there is none, as far as anybody wants to know."""
        embedder = self._meaning.embedder(corpus) if self._meaning else None
        if self._meaning is None or embedder is None or embedder.dimensions == 0:
            return _NO_EMBEDDINGS if wanted else None
        vectors = self._meaning.vectors
        space = await vectors.space(corpus, embedder.name)
        if space is None:
            none = Message(
                "Searched by words alone: {corpus} has no vectors yet.", corpus=corpus.name
            )
            return none if wanted else None
        vector = await _embedded(embedder, text)
        if isinstance(vector, Message):
            return vector
        if not any(vector):  # it says nothing that the model knows
            return None
        if len(vector) != space.dimensions:
            return Message(
                "Searched by words alone: {model} has changed the length of its vectors.",
                model=embedder.name,
            )
        return _Question(corpus=corpus, space=space, vector=vector, vectors=vectors)

    async def _joined(
        self,
        question: _Question,
        terms: Sequence[Term],
        found: Sequence[Candidate],
        filters: Filters,
    ) -> list[Candidate]:
        """Return what words and meaning propose, each with its ranks in both lists."""
        assert self._meaning is not None  # noqa: S101 - there is a question
        near = await question.nearest(filters, self._limit)
        known = {one.id: one for one in found}
        proposed = ranks({LEXICAL: list(known), SEMANTIC: list(near)})
        order = fused([list(known), list(near)])
        strangers = [one for one in order if one not in known]
        described = await self._meaning.descriptions.described(question.corpus, terms, strangers)
        known |= {one.id: one for one in described}
        cosines = {**near, **await question.cosines([one for one in order if one not in near])}
        return [
            replace(
                known[one],
                similarity=question.similarity(cosines.get(one)),
                ranks=proposed[one],
            )
            for one in order
            if one in known
        ]


async def _embedded(embedder: Embedder, text: str) -> Vector | Message:
    """Return the vector of a question, or the notice that there is none."""
    try:
        async with asyncio.timeout(_PATIENCE):
            return await embedder.embed_query(text[:_LONGEST_QUESTION])
    except ModelError as error:
        return Message("Searched by words alone: {reason}", reason=error.said)
    except TimeoutError:
        return Message(
            "Searched by words alone: the headline was not embedded within {seconds:g} s.",
            seconds=_PATIENCE,
        )


async def _reordered(question: _Question, found: Sequence[Candidate]) -> list[Candidate]:
    """Return what words found, in an order in which meaning has half a say."""
    cosines = await question.cosines([one.id for one in found])
    known = {one.id: one for one in _ranked(found)}
    nearest_first = sorted(cosines, key=lambda one: -cosines[one])
    return [
        replace(known[one], similarity=question.similarity(cosines.get(one)))
        for one in fused([list(known), nearest_first])
    ]


def _ranked(found: Sequence[Candidate]) -> list[Candidate]:
    return [replace(one, ranks={LEXICAL: rank}) for rank, one in enumerate(found, start=1)]
