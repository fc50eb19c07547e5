"""Retrieval of candidates for a headline: by words, by meaning, and by phrases of a model.

docs/decisions/0014-embeddings.md and 0025-expansion.md say why.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.errors import ModelError
from engine.messages import Message
from engine.ports import SearchIndex
from engine.prophecy.false_matches import discount_false_matches
from engine.prophecy.meaning import (
    HeadlineReranker,
    Meaning,
    VectorQuery,
    WordsAlone,
    choose_vector_query,
    describe_partial_vectors,
    embed_text,
    find_embedder,
    is_comparable,
    require_vector_query,
)
from engine.ranking import fuse_rankings, list_ranks
from engine.search import Candidate, Expansion, Filters, Mode, Term
from engine.text.clean import make_searchable
from engine.values import Corpus
from engine.vectors import WORD_COUNTERS

if TYPE_CHECKING:
    from engine.prophecy.expand import Phrases

RankedList = tuple[str, Sequence[int]]  # what was searched for, and the ids it found, best first
_BY_WORDS, _BY_MEANING = "lexical", "semantic"  # the headline's own lists, as receipts name them
_SPARE_FACTOR = 2  # candidates for each one that is judged: near-identical texts become one later
_VECTOR_SEARCHES_AT_ONCE = 2  # of phrases: each reads all vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedCandidates:
    """The candidates, best first, and how they were found."""

    terms: Sequence[Term]
    candidates: Sequence[Candidate]
    mode: Mode = Mode.LEXICAL
    model: str | None = None  # whose vectors were compared
    notice: Message | None = None  # why the search differs from the requested one
    reranker: HeadlineReranker | None = None  # may still compare the best few by meaning
    expansion: Expansion = Expansion()  # noqa: RUF009 - frozen


class Retriever:
    """Proposes candidates: `limit` by words, and as many by meaning.

    With phrases, it proposes `limit_with_phrases` for the judge, and some to spare.
    """

    def __init__(
        self,
        index: SearchIndex,
        meaning: Meaning | None,
        *,
        limit: int,
        phrases: "Phrases | None" = None,
        limit_with_phrases: int,
    ) -> None:
        self._index = index
        self._meaning = meaning
        self._phrases = phrases
        self._limit = limit
        self._limit_with_phrases = limit_with_phrases

    async def retrieve(
        self,
        corpus: Corpus,
        text: str,
        filters: Filters,
        mode: Mode | None,
        expansion: Awaitable[Expansion] | None = None,
    ) -> RetrievedCandidates:
        """Return candidates for `text`; `mode` None is hybrid if nearly all documents have vectors.

        If they have not, `reranker` of the result may compare the best few. If meaning was
        requested but is not available, the search is by words and the notice says why. `expansion`
        may still be running. Raises the errors of the search index, SettingsError, UsageError if
        only meaning was requested and is not available, and what `expansion` raises.
        """
        terms = await self._index.terms(corpus, make_searchable(text))
        if mode is Mode.SEMANTIC:
            return await self._find_nearest_texts(corpus, text, terms, filters)
        by_words, choice = await asyncio.gather(
            self._index.top(corpus, terms, filters, self._limit),
            choose_vector_query(self._meaning, corpus, text, mode),
        )
        query = choice if isinstance(choice, VectorQuery) else None
        # In rerank mode meaning proposes no texts, and only reorders those that words propose.
        proposing = None if mode is Mode.RERANK else query
        cosines = await proposing.find_nearest(filters, self._limit) if proposing else {}
        phrases = await expansion if expansion else Expansion()
        candidates = await self._fuse_lists(
            corpus,
            terms,
            by_words,
            [(_BY_WORDS, [candidate.id for candidate in by_words]), (_BY_MEANING, list(cosines))],
            await self._search_phrases(corpus, phrases.phrases, filters, proposing),
        )
        if query:
            candidates = await _compare_by_meaning(
                query, cosines, candidates, reorder=mode is Mode.RERANK
            )
        if isinstance(choice, WordsAlone):
            notice, reranker = choice.notice, choice.reranker
        else:
            notice, reranker = describe_partial_vectors(choice), self._find_tuned_reranker(corpus)
        return RetrievedCandidates(
            terms=terms,
            candidates=candidates,
            mode=(mode or Mode.HYBRID) if query else Mode.LEXICAL,
            model=query.space.model if query else None,
            notice=notice,
            reranker=reranker,
            expansion=phrases,
        )

    def _find_tuned_reranker(self, corpus: Corpus) -> HeadlineReranker | None:
        """Return a model that predicts which of the best few are useful, or None."""
        reranker = self._meaning.reranker if self._meaning else None
        return reranker if reranker and reranker.is_tuned(corpus) else None

    async def _find_nearest_texts(
        self, corpus: Corpus, text: str, terms: Sequence[Term], filters: Filters
    ) -> RetrievedCandidates:
        """Return the nearest texts, nearest first, however low their similarity."""
        query = await require_vector_query(self._meaning, corpus, text)
        if query is None:
            return RetrievedCandidates(terms=terms, candidates=[], mode=Mode.SEMANTIC)
        cosines = await query.find_nearest(filters, self._limit)
        described = await self._describe_candidates(corpus, terms, list(cosines), ())
        ranks = list_ranks([(_BY_MEANING, list(cosines))])
        return RetrievedCandidates(
            terms=terms,
            candidates=[
                replace(
                    candidate,
                    similarity=query.rate_similarity(cosines[candidate.id]),
                    ranks=ranks[candidate.id],
                )
                for candidate in described
            ],
            mode=Mode.SEMANTIC,
            model=query.space.model,
            notice=describe_partial_vectors(query),
        )

    async def _fuse_lists(
        self,
        corpus: Corpus,
        terms: Sequence[Term],
        by_words: Sequence[Candidate],
        of_headline: Sequence[RankedList],
        of_phrases: Sequence[RankedList],
    ) -> list[Candidate]:
        """Return the candidates of all lists, which count the same, with their ranks in each."""
        order = fuse_rankings([ids for _, ids in (*of_headline, *of_phrases)])
        if of_phrases:
            order = order[: _SPARE_FACTOR * self._limit_with_phrases]
        described = await self._describe_candidates(corpus, terms, order, by_words)
        ranks, phrase_ranks = list_ranks(of_headline), list_ranks(of_phrases)
        ranked = [
            replace(
                candidate,
                ranks=ranks.get(candidate.id, {}),
                asked_for=phrase_ranks.get(candidate.id, {}),
            )
            for candidate in described
        ]
        return put_unmatched_last(discount_false_matches(ranked, terms, corpus))

    async def _search_phrases(
        self,
        corpus: Corpus,
        phrases: Sequence[str],
        filters: Filters,
        query: VectorQuery | None,
    ) -> list[RankedList]:
        """Return a list by words for each phrase, and one by meaning if there is a vector query."""
        if not phrases or self._phrases is None:
            return []
        limit, turns = self._limit_with_phrases, asyncio.Semaphore(_VECTOR_SEARCHES_AT_ONCE)
        embedder = find_embedder(self._meaning, corpus)
        # Vectors of word counts would only repeat the search by words, and less well.
        if query is not None and query.space.model in WORD_COUNTERS:
            query = None

        async def search_by_meaning(phrase: str) -> list[int]:
            if query is None or embedder is None:
                return []
            async with turns:
                try:
                    vector = await embed_text(embedder, phrase)
                except ModelError:  # the headline's lists and the phrase's lexical list remain
                    return []
                if not is_comparable(vector, query.space):
                    return []
                return list(await replace(query, vector=vector).find_nearest(filters, limit))

        by_words, by_meaning = await asyncio.gather(
            self._phrases.index.rank_phrases(corpus, phrases, filters, limit),
            asyncio.gather(*map(search_by_meaning, phrases)),
        )
        return list(zip([*phrases, *phrases], [*by_words, *by_meaning], strict=True))

    async def _describe_candidates(
        self,
        corpus: Corpus,
        terms: Sequence[Term],
        ids: Sequence[int],
        described: Sequence[Candidate],
    ) -> list[Candidate]:
        """Return the candidates with these ids that still exist, in this order.

        Those in `described` are not read again.
        """
        by_id = {candidate.id: candidate for candidate in described}
        # Words alone propose only what is described. The two others bring a reader of the rest.
        source = self._phrases or self._meaning
        missing = [document_id for document_id in ids if document_id not in by_id]
        if source and missing:
            read = await source.descriptions.describe_documents(corpus, terms, missing)
            by_id |= {candidate.id: candidate for candidate in read}
        return [by_id[document_id] for document_id in ids if document_id in by_id]


def put_unmatched_last(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates in order, but last those that only words proposed, by false matches."""
    return sorted(
        candidates,
        key=lambda candidate: (
            not (candidate.matched or candidate.asked_for or _BY_MEANING in candidate.ranks)
        ),
    )


async def _compare_by_meaning(
    query: VectorQuery,
    nearest: Mapping[int, float],
    candidates: Sequence[Candidate],
    *,
    reorder: bool,
) -> list[Candidate]:
    """Return candidates with their similarity; with `reorder`, use it in the order as well.

    `nearest` holds the cosines that are known already.
    """
    by_id = {candidate.id: candidate for candidate in candidates}
    cosines = {
        **nearest,
        **await query.read_cosines(
            [document_id for document_id in by_id if document_id not in nearest]
        ),
    }
    order = list(by_id)
    if reorder:
        order = fuse_rankings(
            [order, sorted(cosines, key=lambda document_id: -cosines[document_id])]
        )
    return [
        replace(by_id[document_id], similarity=query.calibrate(cosines.get(document_id)))
        for document_id in order
    ]
