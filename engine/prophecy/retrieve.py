"""Candidates for a headline: found by words, by meaning, or by both (decision 14)."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.errors import ModelError
from engine.messages import Message
from engine.ports import Embedder, SearchIndex
from engine.prophecy.question import (
    HONEST,
    Meaning,
    VectorQuestion,
    comparable,
    embedder_of,
    partly,
    question_of,
    vector_of,
)
from engine.prophecy.rerank import Reranker
from engine.ranking.fuse import fused, ranks
from engine.text.clean import searchable
from engine.types import Candidate, Corpus, Filters, Mode, Term
from engine.vectors import VectorSpace

LEXICAL, SEMANTIC = "lexical", "semantic"  # the two lists, as receipts name them
_NO_EMBEDDINGS = Message("Searched by words alone: no embeddings are set up.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """What was found, best first, and how."""

    terms: Sequence[Term]
    candidates: Sequence[Candidate]
    mode: Mode = Mode.LEXICAL
    model: str | None = None  # whose vectors were compared
    notice: Message | None = None  # why it is not as it was asked for
    rerank: Reranker | None = None  # who may still compare the best few by meaning


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """That words suffice: why, and who may still compare the best few by meaning."""

    notice: Message | None = None
    rerank: Reranker | None = None


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

        They have to be those of nearly all documents: where they are not, the best few may be
        compared by who stands in the answer. Where meaning was asked for and is not to be had,
        words answer and the notice says why. Raises the errors of the search index, SettingsError,
        and UsageError where meaning alone was asked for.
        """
        terms = await self._index.terms(corpus, searchable(text))
        if mode is Mode.SEMANTIC:
            return await self._nearest(corpus, text, terms, filters)
        by_words = self._index.top(corpus, terms, filters, self._limit)
        if mode is Mode.LEXICAL or (mode is None and self._meaning is None):
            return Retrieved(terms=terms, candidates=_ranked(await by_words))
        found, question = await asyncio.gather(by_words, self._question(corpus, text, mode))
        if isinstance(question, _Words):
            return Retrieved(
                terms=terms,
                candidates=_ranked(found),
                notice=question.notice,
                rerank=question.rerank,
            )
        if mode is Mode.RERANK:
            candidates = await _reordered(question, found)
        else:
            candidates = await self._joined(question, terms, found, filters)
        return Retrieved(
            terms=terms,
            candidates=candidates,
            mode=mode or Mode.HYBRID,
            model=question.space.model,
            notice=partly(question),
        )

    async def _nearest(
        self, corpus: Corpus, text: str, terms: Sequence[Term], filters: Filters
    ) -> Retrieved:
        """Return the nearest texts, nearest first, each with its similarity, whatever it is."""
        question = await question_of(self._meaning, corpus, text)
        if question is None or self._meaning is None:
            return Retrieved(terms=terms, candidates=[], mode=Mode.SEMANTIC)
        near = await question.nearest(filters, self._limit)
        described = await self._meaning.descriptions.described(corpus, terms, list(near))
        known = {one.id: one for one in described}
        return Retrieved(
            terms=terms,
            candidates=[
                replace(known[one], similarity=question.shown(near[one]), ranks={SEMANTIC: rank})
                for rank, one in enumerate(near, start=1)
                if one in known
            ],
            mode=Mode.SEMANTIC,
            model=question.space.model,
            notice=partly(question),
        )

    async def _question(
        self, corpus: Corpus, text: str, mode: Mode | None
    ) -> VectorQuestion | _Words:
        """Return the question, else that words suffice and as much of why as anybody asked for."""
        wanted, embedder = mode is not None, embedder_of(self._meaning, corpus)
        if self._meaning is None or embedder is None:
            return _Words(notice=_NO_EMBEDDINGS if wanted else None)
        space = await self._meaning.vectors.space(corpus, embedder.name)
        reranker, few = self._meaning.reranker, space is None or space.share < HONEST
        if few and mode is not Mode.HYBRID and (reranker or not wanted):
            return _Words(rerank=reranker)
        if space is None:
            none = Message(
                "Searched by words alone: {corpus} has no vectors yet.", corpus=corpus.name
            )
            return _Words(notice=none)
        return await self._asked(embedder, corpus, text, space)

    async def _asked(
        self, embedder: Embedder, corpus: Corpus, text: str, space: VectorSpace
    ) -> VectorQuestion | _Words:
        """Return the question; where the model does not say what it means, why."""
        assert self._meaning is not None  # noqa: S101 - there is an embedder
        try:
            vector = await vector_of(embedder, text)
        except ModelError as error:
            return _Words(notice=Message("Searched by words alone: {reason}", reason=error.said))
        if comparable(vector, space):
            return VectorQuestion(
                corpus=corpus, space=space, vector=vector, vectors=self._meaning.vectors
            )
        if not any(vector):  # it says nothing that the model knows
            return _Words()
        return _Words(
            notice=Message(
                "Searched by words alone: {model} has changed the length of its vectors.",
                model=embedder.name,
            )
        )

    async def _joined(
        self,
        question: VectorQuestion,
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


async def _reordered(question: VectorQuestion, found: Sequence[Candidate]) -> list[Candidate]:
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
