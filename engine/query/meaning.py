"""The dialect by meaning: hits of a query re-ordered by similarity, or the nearest texts.

Re-ordering adds no hits: what is not found by words stays unfound. The nearest texts are returned
whatever their distance, each with its similarity; filters and excluded words apply to them too.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from engine.corpora import ALL, outdated_notice
from engine.messages import Message
from engine.query.filters import Conditions, combine_conditions
from engine.query.find import Finder, FindIndex, fetched_for
from engine.query.query import LanguageQuery, Plan, Query
from engine.query.results import (
    Counts,
    FindHit,
    FoundDocuments,
    QueryAnswer,
    attribute_document,
)
from engine.search import FIRST_MOMENT, Candidate, order_by_date
from engine.settings.searching import FindSettings
from engine.text.address import name_voice
from engine.values import Corpus
from engine.vectors import Vector, VectorSpace

_POOL = 4  # texts re-ordered for each one shown


def _build_order_key(hit: FindHit) -> tuple[object, ...]:
    """Return a sort key that orders hits of several archives as each has ordered its own."""
    if hit.similarity is None and hit.score is None:  # the newest first
        return (0.0, 0.0, hit.created_at is None, -(hit.created_at or FIRST_MOMENT).timestamp())
    return (-(hit.similarity or 0.0), -(hit.score or 0.0), *order_by_date(hit.created_at))


def found_together(answers: Sequence[tuple[Corpus, QueryAnswer]], limit: int) -> QueryAnswer:
    """Return one answer with the first `limit` hits of all: best first, or newest first.

    Each hit names its corpus and its voice. What one archive lacks is no news if another has it, so
    only notices of all are kept. There must be at least one answer, and all must be to one query.
    """
    founds = [answer for _, answer in answers]
    hits = [
        replace(
            hit,
            document=replace(hit.document, candidate=name_voice(hit.document.candidate, corpus)),
        )
        for corpus, answer in answers
        for hit in answer.hits
    ]
    hits.sort(key=_build_order_key)
    ranked = tuple(replace(hit, rank=rank) for rank, hit in enumerate(hits[:limit], start=1))
    return replace(
        founds[0],
        corpus=ALL,
        hits=ranked,
        counts=_sum_counts([answer.counts for answer in founds], returned=len(ranked)),
        notices=(
            *(
                notice
                for notice in founds[0].notices
                if all(notice in other.notices for other in founds)
            ),
            *filter(None, (outdated_notice(corpus) for corpus, _ in answers)),
        ),
    )


def _sum_counts(counts: Sequence[Counts], *, returned: int) -> Counts:
    matching = [count.matching for count in counts if count.matching is not None]
    candidates = [count.candidates for count in counts if count.candidates is not None]
    return Counts(
        corpus=sum(count.corpus for count in counts),
        matching=sum(matching) if matching else None,
        passing=sum(count.passing for count in counts),
        fetched=sum(count.fetched for count in counts),
        distinct=sum(count.distinct for count in counts),
        returned=returned,
        candidates=sum(candidates) if candidates else None,
    )


class FindMode(StrEnum):
    """How a query is answered."""

    LEXICAL = "lexical"  # by words
    RERANK = "rerank"  # by words, ordered by similarity to the query
    SEMANTIC = "semantic"  # by meaning alone


class NearIndex(FindIndex, Protocol):
    """A FindIndex that can also search by vectors."""

    async def nearest(
        self,
        corpus: Corpus,
        queries: Sequence[LanguageQuery],
        required: Conditions,
        limit: int,
        *,
        space: VectorSpace,
        vector: Vector,
    ) -> FoundDocuments:
        """Return the nearest `limit` documents that have a vector and no excluded term.

        They are nearest first, ties by date then id. The similarity of each is its cosine.
        """


def meant_by(query: Query) -> str:
    """Return the words and phrases of a query as one text to embed."""
    return " ".join(
        alternative.unit.text for group in query.groups for alternative in group.alternatives
    )


class MeaningFinder(Finder):
    """Answers queries of the dialect by meaning."""

    def __init__(self, index: NearIndex, settings: FindSettings | None = None) -> None:
        super().__init__(index, settings)
        self._near = index

    async def order_by_meaning(
        self,
        corpus: Corpus,
        query: Query,
        similarities: Callable[[Sequence[Candidate]], Awaitable[Mapping[int, float]]],
        *,
        limit: int,
        expanded: Query,
        now: datetime,
    ) -> QueryAnswer:
        """Return the hits of `find`, most similar first. Raises the errors of the index.

        Texts of unknown similarity follow in their lexical order.
        """
        answer = await self.find(corpus, query, limit=_POOL * limit, expanded=expanded, now=now)
        similarity_of = await similarities([hit.document.candidate for hit in answer.hits])
        return order_by_similarity(answer, similarity_of, limit)

    async def nearest(
        self,
        corpus: Corpus,
        query: Query,
        *,
        space: VectorSpace,
        vector: Vector,
        similarity: Callable[[float], float],
        limit: int,
    ) -> QueryAnswer:
        """Return the nearest texts that pass the filters. Raises the errors of the index.

        `similarity` converts a cosine to a similarity.
        """
        plan, required = await self._plan_search(corpus, query), combine_conditions(query.filters)
        retrieved = await self._near.nearest(
            corpus, plan.by_language, required, fetched_for(limit), space=space, vector=vector
        )
        distinct = self._choose_distinct_hits(
            [FindHit(document=document) for document in retrieved.documents]
        )
        hits = tuple(
            replace(
                hit,
                rank=rank,
                document=attribute_document(hit.document, corpus),
                similarity=similarity(hit.document.candidate.similarity or 0.0),
            )
            for rank, hit in enumerate(distinct[:limit], start=1)
        )
        return QueryAnswer(
            query=query,
            expanded=query,
            corpus=corpus.name,
            kind=corpus.kind,
            plan=Plan.NEAREST,
            counts=Counts(
                corpus=corpus.documents,
                passing=retrieved.passing,
                fetched=len(retrieved.documents),
                distinct=len(distinct),
                elsewhere=sum(hit.elsewhere for hit in distinct),
                returned=len(hits),
            ),
            hits=hits,
            notices=query.notices,
        )


def order_by_similarity(
    answer: QueryAnswer, similarities: Mapping[int, float], limit: int
) -> QueryAnswer:
    """Return the first `limit` hits by similarity; those without one come last."""

    def order(hit: FindHit) -> tuple[bool, float, int]:
        similar = similarities.get(hit.document.candidate.id)
        return similar is None, -(similar or 0.0), hit.rank

    hits = [
        replace(hit, rank=rank, similarity=similarities.get(hit.document.candidate.id))
        for rank, hit in enumerate(sorted(answer.hits, key=order)[:limit], start=1)
    ]
    notices = answer.notices
    if unknown := len(answer.hits) - len(similarities):
        notices = (
            *notices,
            Message("{number} of the texts found are not ordered by meaning.", number=unknown),
        )
    return replace(
        answer, hits=tuple(hits), notices=notices, counts=replace(answer.counts, returned=len(hits))
    )
