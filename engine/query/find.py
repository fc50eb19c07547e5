"""Finding exactly the documents that match a query of the dialect, with receipts.

query -> lexemes -> plan -> matching documents -> best or newest -> distinct -> hits

By meaning, these hits are re-ordered: what is not found by words stays unfound. Or the nearest
texts are returned whatever their distance; filters and excluded words apply to them too.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from engine.ports import LexemeSource
from engine.query.filters import Conditions, combine_conditions
from engine.query.query import (
    Alternative,
    Group,
    LanguageQuery,
    Plan,
    PlannedSearch,
    Query,
    list_units,
    plan_query,
)
from engine.query.results import (
    Counts,
    FindHit,
    FoundDocument,
    FoundDocuments,
    QueryAnswer,
    Receipts,
    attribute_document,
    order_by_similarity,
)
from engine.ranking import (
    Parts,
    best_first,
    first_of_items,
    group_alike,
    idf,
    level_parts,
    weighted_mean,
)
from engine.search import Candidate, Term
from engine.settings.searching import FindSettings, KindProfile
from engine.text.clean import make_searchable
from engine.values import Corpus
from engine.vectors import Vector, VectorSpace

_ENGAGEMENT_FULL = 1000  # likes and reposts that count in full
_AUTHORITY_OTHERWISE = 0.5  # what the word is worth of those whom the settings do not name

_ROLES = frozenset({"me", "user", "others", "assistant", "system", "tool"})
_SECONDS_PER_DAY = 86_400
_LONGEST_DOMAIN = 253  # characters that a name may have
DEFAULT_LIMIT = 20
_POOL = 4  # texts re-ordered for each one shown
_SPARE = 20  # fetched beyond the limit at first, because some are near-identical


class FindMode(StrEnum):
    """How a query is answered."""

    LEXICAL = "lexical"  # by words
    RERANK = "rerank"  # by words, ordered by similarity to the query
    SEMANTIC = "semantic"  # by meaning alone


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureContext:
    """What the features need besides the document. `now` may be None if it is not known."""

    query: Query
    reference: float  # BM25 of a text of average length that has each part of the query once
    now: datetime | None
    threads: Mapping[str | None, int] = field(default_factory=dict)  # thread -> candidates in it


def lexical_share(bm25: float, reference: float) -> float:
    """Return BM25 as a share below 1: one half for a text that has each part once.

    bm25 / (bm25 + reference) keeps the order of BM25, and depends on no other document.
    """
    return bm25 / (bm25 + reference) if bm25 > 0 and reference > 0 else 0.0


def weigh_recency(created_at: datetime, now: datetime, decay_days: float) -> float:
    """Return exp(-days / decay_days): 1 for a text that is new or dated in the future."""
    days = max(0.0, (now - created_at).total_seconds() / _SECONDS_PER_DAY)
    return math.exp(-days / decay_days)


def is_preferred(role: str | None, preferred: Collection[str]) -> float | None:
    """Return 1 for a preferred role, 0 for any other, None if the role is not known."""
    own_role = (role or "").casefold()
    if own_role in {name.casefold() for name in preferred}:
        return 1.0
    return 0.0 if own_role in _ROLES else None


def weigh_focus(same_thread: int) -> float:
    """Return how much a thread is about the query: 0 for one candidate in it, then 1/2, 3/4..."""
    return 1.0 - 0.5 ** max(0, same_thread)


def weigh_engagement(count: int, full: int) -> float:
    """Return likes and reposts on a logarithmic scale: log1p(count) / log1p(full), at most 1."""
    return min(1.0, math.log1p(max(0, count)) / math.log1p(full))


def weigh_hashtags(groups: Sequence[Group], tags: Collection[str]) -> float:
    """Return the share of the wanted words (phrases joined) that are tags of the post."""
    if not groups:
        return 0.0
    own = {_join_letters(tag) for tag in tags}
    met = sum(
        any(_join_letters(alternative.unit.text) in own for alternative in group.alternatives)
        for group in groups
    )
    return met / len(groups)


def weigh_authority(
    author: str | None, domain: str | None, worths: Mapping[str, float], otherwise: float
) -> float | None:
    """Return the worth of the author or the domain, whichever is higher; a domain includes its
    subdomains. None if the settings name no worths."""
    if not worths:
        return None
    labels = (domain or "").casefold()[:_LONGEST_DOMAIN].split(".")
    domains = [".".join(labels[start:]) for start in range(len(labels))]
    names = [(author or "").casefold().removeprefix("@"), *domains]
    return max((worths[name] for name in names if name in worths), default=otherwise)


def _join_letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def rank_documents(
    documents: Sequence[FoundDocument], context: FeatureContext, profile: KindProfile
) -> list[FindHit]:
    """Return the documents by score, best first, ties by date then id."""
    threads = Counter(document.thread for document in documents)
    context = replace(context, threads=threads)
    features = [compute_features(document, context, profile) for document in documents]
    parts = level_parts(features, profile.weights)
    scored = [
        (weighted_mean(its, profile.weights), document, its)
        for document, its in zip(documents, parts, strict=True)
    ]
    scored.sort(key=lambda ranked: best_first(ranked[0], ranked[1].candidate))
    return [FindHit(document=document, score=score, parts=its) for score, document, its in scored]


def compute_features(
    document: FoundDocument, context: FeatureContext, profile: KindProfile
) -> Parts:
    """Return the features of a document that the profile weighs, by name."""
    return {name: _FEATURES[name](document, context, profile) for name in profile.weights}


_FEATURES: Mapping[str, Callable[[FoundDocument, FeatureContext, KindProfile], float | None]] = {
    "lexical": lambda document, asked, _: lexical_share(document.candidate.bm25, asked.reference),
    "recency": lambda document, asked, profile: (
        weigh_recency(written, asked.now, profile.decay_days)
        if asked.now and (written := document.candidate.created_at)
        else None
    ),
    "role": lambda document, _, profile: is_preferred(document.role, profile.preferred_roles),
    "thread": lambda document, asked, _: (
        weigh_focus(asked.threads.get(document.thread, 1) - 1) if document.thread else 0.0
    ),
    "engagement": lambda document, *_: weigh_engagement(document.engagement, _ENGAGEMENT_FULL),
    "hashtags": lambda document, asked, _: weigh_hashtags(asked.query.groups, document.tags),
    "authority": lambda document, _, profile: weigh_authority(
        document.candidate.author, document.domain, profile.worths, _AUTHORITY_OTHERWISE
    ),
}


class FindIndex(LexemeSource, Protocol):
    """The database queries for finds. Each method may raise what engine.ports lists."""

    async def rank_texts(
        self,
        corpus: Corpus,
        queries: Sequence[LanguageQuery],
        terms: Sequence[Term],
        required: Conditions,
        limit: int,
        *,
        profiled: bool = False,
    ) -> FoundDocuments:
        """Return the exact best `limit` by BM25 over `terms`, ties by date then id.

        With `profiled`, also return as many of the newest and of the most liked ones.
        """

    async def newest(
        self, corpus: Corpus, queries: Sequence[LanguageQuery], required: Conditions, limit: int
    ) -> FoundDocuments:
        """Return the newest `limit` documents without any excluded term, ties by id."""

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


@dataclass(frozen=True, slots=True)
class _Stages:
    """What was fetched, how many of it were compared, and the distinct ones."""

    retrieved: FoundDocuments
    distinct: list[FindHit]
    compared: int
    candidates: int | None = None  # ranked by a profile

    def answer(
        self, query: Query, corpus: Corpus, plan: Plan, hits: Sequence[FindHit]
    ) -> QueryAnswer:
        """Return an answer that shows `hits`, the first of the distinct ones."""
        return QueryAnswer(
            query=query,
            expanded=query,
            corpus=corpus.name,
            kind=corpus.kind,
            plan=plan,
            counts=Counts(
                corpus=corpus.documents,
                matching=self.retrieved.matching,
                passing=self.retrieved.passing,
                fetched=self.compared,
                distinct=len(self.distinct),
                elsewhere=sum(hit.elsewhere for hit in self.distinct),
                returned=len(hits),
                candidates=self.candidates,
            ),
            hits=tuple(hits),
            notices=query.notices,
        )


class Finder:
    """Answers queries of the dialect from an index."""

    def __init__(self, index: FindIndex, settings: FindSettings | None = None) -> None:
        self._index = index
        self._settings = settings or FindSettings()

    async def find(
        self,
        corpus: Corpus,
        query: Query,
        *,
        limit: int = DEFAULT_LIMIT,
        expanded: Query | None = None,
        now: datetime | None = None,
    ) -> QueryAnswer:
        """Return at most `limit` hits of a query. Raises the errors of the index.

        `expanded` is the query with aliases, which is searched in its place. Without `now`,
        recency does not affect the ranking.
        """
        looked_for = expanded or query
        plan = await self._plan_search(corpus, looked_for)
        required = combine_conditions(query.filters)
        profile = self._settings.profiles.get(corpus.kind)
        if profile is None or plan.plan is not Plan.RANKED:
            stages = await self._retrieve_distinct(corpus, plan, required, limit)
        else:
            context = FeatureContext(
                query=looked_for, reference=compute_reference(looked_for, plan, corpus), now=now
            )
            stages = await self._rank_by_profile(
                corpus, plan, required, limit, context=context, profile=profile
            )
        receipts = Receipts(corpus, plan)
        best = enumerate(stages.distinct[:limit], start=1)
        answer = stages.answer(query, corpus, plan.plan, [receipts.explain(*hit) for hit in best])
        notices = (*query.notices, *receipts.notices())
        return replace(answer, expanded=looked_for, notices=notices)

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
        retrieved = await self._index.nearest(
            corpus, plan.by_language, required, fetched_for(limit), space=space, vector=vector
        )
        distinct = self._choose_distinct_hits(
            [FindHit(document=document) for document in retrieved.documents]
        )
        hits = [
            replace(
                hit,
                rank=rank,
                document=attribute_document(hit.document, corpus),
                similarity=similarity(hit.document.candidate.similarity or 0.0),
            )
            for rank, hit in enumerate(distinct[:limit], start=1)
        ]
        stages = _Stages(retrieved, distinct, len(retrieved.documents))
        return stages.answer(query, corpus, Plan.NEAREST, hits)

    async def _plan_search(self, corpus: Corpus, query: Query) -> PlannedSearch:
        texts = [make_searchable(unit.text) for unit in list_units(query)]
        readings = await self._index.read(corpus, texts) if texts else []
        return plan_query(query, corpus.query_languages, readings, corpus.searchable_documents)

    async def _retrieve_distinct(
        self, corpus: Corpus, plan: PlannedSearch, required: Conditions, limit: int
    ) -> _Stages:
        """Fetch documents until `limit` of them are distinct or there are no more."""
        wide = fetched_for(limit)
        while True:
            retrieved = FoundDocuments(matching=None, passing=0, documents=())
            score = plan.plan is Plan.RANKED
            if score:
                retrieved = await self._index.rank_texts(
                    corpus, plan.by_language, plan.terms, required, wide
                )
            elif plan.plan is Plan.NEWEST:
                retrieved = await self._index.newest(corpus, plan.by_language, required, wide)
            documents = retrieved.documents
            distinct = self._choose_distinct_hits(
                [
                    FindHit(document=document, score=document.candidate.bm25 if score else None)
                    for document in documents
                ]
            )
            if len(distinct) >= limit or len(documents) < wide:
                return _Stages(retrieved, distinct, len(documents))
            wide *= 4

    async def _rank_by_profile(
        self,
        corpus: Corpus,
        plan: PlannedSearch,
        required: Conditions,
        limit: int,
        *,
        context: FeatureContext,
        profile: KindProfile,
    ) -> _Stages:
        """Rank candidates until `limit` of them are distinct or there are no more."""
        pool = max(self._settings.pool, fetched_for(limit))
        while True:
            retrieved = await self._index.rank_texts(
                corpus, plan.by_language, plan.terms, required, pool, profiled=True
            )
            order = rank_documents(retrieved.documents, context, profile)
            wide = fetched_for(limit)
            # Comparing all candidates with each other would take longer than finding them.
            while len(distinct := self._choose_distinct_hits(order[:wide])) < limit and wide < len(
                order
            ):
                wide *= 2
            if len(distinct) >= limit or len(order) >= retrieved.passing:
                fetched = min(wide, len(order))
                return _Stages(retrieved, distinct, fetched, len(retrieved.documents))
            pool *= 4

    def _choose_distinct_hits(self, hits: Sequence[FindHit]) -> list[FindHit]:
        """Keep the first of each group of near-identical texts, and the first part of each item:
        the best, or the newest."""
        by_id = {hit.document.candidate.id: hit for hit in hits}
        groups = group_alike(
            [hit.document.candidate for hit in hits], similarity=self._settings.similarity
        )
        distinct = [replace(by_id[group[0].id], alike=len(group) - 1) for group in groups]
        items = Counter(_find_item(hit) for hit in distinct)
        return [
            replace(hit, elsewhere=items[item] - 1) if (item := _find_item(hit)) else hit
            for hit in first_of_items(distinct, lambda hit: hit.document.candidate.place)
        ]


def _find_item(hit: FindHit) -> int | None:
    place = hit.document.candidate.place
    return place.item if place else None


def meant_by(query: Query) -> str:
    """Return the words and phrases of a query as one text to embed."""
    return " ".join(alternative.unit.text for alternative in query.alternatives)


def fetched_for(limit: int) -> int:
    """Return how many documents to fetch at first for `limit` distinct ones."""
    return limit + max(_SPARE, limit // 2)


def compute_reference(query: Query, plan: PlannedSearch, corpus: Corpus) -> float:
    """Return the BM25 of a text of average length that has each part of the query once."""
    weights: dict[Alternative, float] = defaultdict(float)
    for sought in plan.sought:
        term = sought.term
        weights[sought.alternative] += term.weight * idf(
            corpus.searchable_documents, term.document_frequency
        )
    return sum(
        max(weights[alternative] for alternative in group.alternatives) for group in query.groups
    )
