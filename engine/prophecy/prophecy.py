"""The main job: finding the old texts that foretold a headline.

headline -> terms, phrases -> candidates -> distinct -> judged, else compared -> scored
-> hits and near texts
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from engine.corpora import outdated_notice
from engine.embed.store import WORD_COUNTERS
from engine.messages import Message, join_messages
from engine.ports import SearchIndex
from engine.prophecy.question import Meaning
from engine.prophecy.rerank import Comparison, HeadlineReranker, predict_finds
from engine.prophecy.retrieve import RetrievedCandidates, Retriever
from engine.prophecy.score import Scorer, lexical_part
from engine.ranking import choose_eldest, group_alike
from engine.search import (
    Candidate,
    Expansion,
    Filters,
    Headline,
    Hit,
    Mode,
    Prophecy,
    SearchRequest,
    Term,
    Verdict,
)
from engine.settings.searching import ProphecySettings, ScoreSettings
from engine.text.address import address_candidate
from engine.text.terms import count_telling_words, has_own_words
from engine.values import Corpus

if TYPE_CHECKING:
    from engine.prophecy.expand import Phrases

NO_MODEL = Message("Not judged: no language model is set up.")
NOT_ASKED = Message("Not judged, as asked.")
_DAYS_A_MONTH = 30.44
_DAYS_OF_AN_EVENT = timedelta(days=7)
_OLD_NEWS = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """What is known of the candidates of a headline before they are scored."""

    retrieved: RetrievedCandidates
    proposed: tuple[str, ...]  # external ids of all candidates, and of what is like them
    candidates: Sequence[Candidate]  # one of those that are alike
    verdict: Verdict = Verdict(scores={})  # noqa: RUF009 - frozen
    comparison: Comparison | None = None  # by meaning, of the best few


class Judges(Protocol):
    """Judges how well each candidate foretells a headline."""

    async def judge(
        self,
        corpus: Corpus,
        headline: Headline,
        candidates: Sequence[Candidate],
        *,
        now: datetime,
    ) -> Verdict:
        """Return the judgments, and a notice if some are missing. Never raises ModelError."""


class Prophet:
    """Answers headlines by words and, if `meaning` is given, by meaning, with or without judge."""

    def __init__(
        self,
        index: SearchIndex,
        judge: Judges | None = None,
        settings: ProphecySettings | None = None,
        meaning: Meaning | None = None,
        phrases: "Phrases | None" = None,
    ) -> None:
        self._judge = judge
        self._index = index
        self._meaning = meaning
        self._phrases = phrases
        self._thinking = asyncio.Lock()
        self.use(settings or ProphecySettings())

    @property
    def score(self) -> ScoreSettings:
        """The current settings for scoring."""
        return self._settings.score

    def use(self, settings: ProphecySettings) -> None:
        """Use these settings from now on."""
        self._settings = settings
        search = settings.search
        self._retriever = Retriever(
            self._index,
            self._meaning,
            limit=search.candidates,
            phrases=self._phrases,
            limit_with_phrases=settings.max_with_phrases,
        )

    async def prophesy(self, corpus: Corpus, request: SearchRequest) -> Prophecy:
        """Return the best hits, and up to as many near texts, all older than the headline.

        Raises the errors of the search index.
        """
        asked_at = min(request.headline.date or request.now, request.now)
        if self._meaning and self._meaning.reranker and self._will_compare(request):
            self._meaning.reranker.start(corpus)
        async with self._request_phrases(corpus, request) as expansion:
            retrieved = await self._retriever.retrieve(
                corpus,
                request.headline.text,
                self._narrow_filters(request, asked_at),
                request.mode or self._settings.search.chosen_mode,
                expansion,
            )
        async with self._one_at_a_time():
            pool = self._pool_candidates(retrieved)
        if retrieved.mode is not Mode.SEMANTIC:
            verdict = await self._judge_candidates(corpus, request, pool.candidates)
            pool = replace(pool, verdict=verdict)
        request, pool = date_by_archive(request, pool)
        asked_at = min(request.headline.date or request.now, request.now)
        scorer = Scorer(
            settings=self._settings,
            terms=retrieved.terms,
            documents=corpus.documents,
            average_length=corpus.average_length,
            asked_at=asked_at,
            means=retrieved.model not in WORD_COUNTERS,
            passages=request.passages,
            telling_words=count_telling_words(request.headline.text),
            best=pool.verdict.best,
        )
        if retrieved.rerank and self._may_compare(request, pool.verdict):
            pool, scorer = await self._compare_best_texts(
                corpus, request, retrieved.rerank, pool, scorer
            )
        async with self._one_at_a_time():
            return _build_prophecy(corpus, request, pool, scorer)

    def _pool_candidates(self, retrieved: RetrievedCandidates) -> "Pool":
        """Return the eldest of the candidates that are alike, with words of their own."""
        worded = [candidate for candidate in retrieved.candidates if has_own_words(candidate.text)]
        groups = group_alike(worded, similarity=self._settings.similarity)
        groups = groups[: self._limit_pool(retrieved.expansion)]
        return Pool(
            retrieved=retrieved,
            proposed=_list_proposed_ids(worded, groups),
            candidates=[choose_eldest(group) for group in groups],
        )

    async def _compare_best_texts(
        self,
        corpus: Corpus,
        request: SearchRequest,
        reranker: HeadlineReranker,
        pool: "Pool",
        scorer: Scorer,
    ) -> tuple["Pool", Scorer]:
        """Compare the best few by meaning, which decides where no model judged any."""
        async with self._one_at_a_time():
            best = scorer.choose_best(_propose_by_words(pool.candidates), reranker.best)
        comparison = await reranker.compare(
            corpus, request.headline.text, best, patience=request.patience
        )
        if not comparison:
            return pool, scorer
        pool = replace(pool, comparison=comparison)
        if pool.retrieved.mode is Mode.LEXICAL:
            pool = replace(pool, candidates=comparison.apply_similarities(pool.candidates))
        if not pool.verdict.scores:
            scorer = replace(scorer, predictions=predict_finds(comparison))
        return pool, scorer

    def _will_compare(self, request: SearchRequest) -> bool:
        """Return whether the best few are compared, as far as can be told before the search."""
        mode = request.mode or self._settings.search.chosen_mode
        unjudged = self._judge is None or not request.judged
        return request.embeds and mode is not Mode.LEXICAL and (unjudged or mode is Mode.RERANK)

    def _may_compare(self, request: SearchRequest, verdict: Verdict) -> bool:
        """Return whether to compare the best few by meaning: always in rerank mode, otherwise
        only if no model has judged them."""
        wanted = (request.mode or self._settings.search.chosen_mode) is Mode.RERANK
        return request.embeds and (wanted or not verdict.scores)

    @asynccontextmanager
    async def _request_phrases(
        self, corpus: Corpus, request: SearchRequest
    ) -> AsyncIterator[Awaitable[Expansion] | None]:
        """Request phrases from a model while the block runs, if the answer is to be judged."""
        auto = self._settings.search.expansion == "auto"
        judged = request.judged and self._judge and request.mode is not Mode.SEMANTIC
        wanted = judged and auto and corpus.documents
        if not wanted or self._phrases is None:
            yield None
            return
        expand = self._phrases.expander.expand
        task = asyncio.ensure_future(expand(corpus, request.headline, now=request.now))
        try:
            yield task
        finally:  # if the block failed, nothing awaits the task any more
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _limit_pool(self, expansion: Expansion) -> int:
        """Return how many are judged. A model that named no phrases saw nothing to look for."""
        settings = self._settings
        return settings.max_with_phrases if expansion.model else settings.maximum

    @asynccontextmanager
    async def _one_at_a_time(self) -> AsyncIterator[None]:
        """Run the CPU-bound block (some milliseconds) for one headline at a time, and yield to the
        event loop after it, so that many concurrent headlines do not block other tasks."""
        async with self._thinking:
            yield
            await asyncio.sleep(0)

    def _narrow_filters(self, request: SearchRequest, asked_at: datetime) -> Filters:
        """Return the user's filters, narrowed to texts that are older than the headline.

        What has no date is older only than a headline of now, as it is here already.
        """
        months = request.exclude_recent
        if months is None:
            months = self._settings.search.exclude_recent_months
        limit = asked_at - timedelta(days=months * _DAYS_A_MONTH)
        given = request.filters
        undated = request.headline.date is None and given.before is None and given.after is None
        return replace(
            given,
            before=min(given.before, limit) if given.before else limit,
            undated=given.undated or undated,
        )

    async def _judge_candidates(
        self, corpus: Corpus, request: SearchRequest, candidates: Sequence[Candidate]
    ) -> Verdict:
        if not request.judged:
            return Verdict(scores={}, notice=NOT_ASKED)
        if not candidates:
            return Verdict(scores={})
        if self._judge is None:
            return Verdict(scores={}, notice=NO_MODEL)
        return await self._judge.judge(corpus, request.headline, candidates, now=request.now)


def _build_prophecy(corpus: Corpus, request: SearchRequest, pool: Pool, scorer: Scorer) -> Prophecy:
    """Return the answer with the best hits and the best texts that are too weak to be hits."""
    retrieved, verdict, comparison = pool.retrieved, pool.verdict, pool.comparison
    if retrieved.mode is Mode.SEMANTIC:
        hits, near = scorer.nearest(pool.candidates, request.limit), list[Hit]()
    else:
        hits, near = scorer.hits_and_near(pool.candidates, verdict.scores, request.limit)
    reordered = comparison.similarity if comparison and retrieved.mode is Mode.LEXICAL else {}
    why_by_words = (comparison and comparison.notice) or retrieved.notice
    return Prophecy(
        headline=request.headline,
        corpus=corpus.name,
        hits=_finish_hits(hits, corpus, verdict),
        near=_finish_hits(near, corpus, verdict),
        terms=tuple(scorer.terms),
        candidates=pool.proposed,
        verdict=verdict,
        coverage=max(
            (_measure_coverage(each, scorer.terms, corpus) for each in pool.candidates), default=0.0
        ),
        notice=build_notice(corpus, scorer.terms, verdict, why_by_words),
        mode=Mode.RERANK if reordered else retrieved.mode,
        embedding_model=comparison.model if comparison else retrieved.model,
        compared=len(reordered),
        expansion=retrieved.expansion,
        unfinished=comparison is not None and comparison.unfinished,
    )


def date_by_archive(request: SearchRequest, pool: Pool) -> tuple[SearchRequest, Pool]:
    """Return a request whose headline is old news with the date of the event, and what is older.

    A model names the texts that were written about the event, and their dates tell when it was. At
    least two must be within a week of each other, as one alone may be a mistake.
    """
    if request.headline.date is not None:
        return request, pool
    about = (each for each in pool.candidates if each.id in pool.verdict.event)
    moments = sorted(each.created_at for each in about if each.created_at is not None)
    pairs = (first for first, second in pairwise(moments) if second - first <= _DAYS_OF_AN_EVENT)
    began = next(pairs, None)
    if began is None or request.now - began < _OLD_NEWS:
        return request, pool
    older = [each for each in pool.candidates if each.created_at and each.created_at < began]
    headline = replace(request.headline, date=began, guessed=True)
    return replace(request, headline=headline), replace(pool, candidates=older)


def build_notice(
    corpus: Corpus, terms: Sequence[Term], verdict: Verdict, retrieval: Message | None = None
) -> Message | None:
    """Return a notice for the user about how the answer was made, or None.

    `retrieval` is the notice of the search itself. Words that were replaced by their neighbours
    are not mentioned, as the terms show them.
    """
    message = None
    if not corpus.documents:
        message = Message("Corpus {name} is empty.", name=corpus.name)
    elif not terms:
        message = Message("There is no word in this to look for.")
    return join_messages(message, outdated_notice(corpus), retrieval, verdict.notice)


def _list_proposed_ids(
    candidates: Sequence[Candidate], groups: Sequence[Sequence[Candidate]]
) -> tuple[str, ...]:
    """Return the external ids of the members of `groups`, in the order of `candidates`."""
    ids = {candidate.id for group in groups for candidate in group}
    return tuple(candidate.external_id for candidate in candidates if candidate.id in ids)


def _propose_by_words(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that words propose, as if nothing was known of their meaning."""
    return [replace(candidate, similarity=None) for candidate in candidates if candidate.matched]


def _finish_hits(hits: Sequence[Hit], corpus: Corpus, verdict: Verdict) -> tuple[Hit, ...]:
    """Return the hits with their addresses, and what the model says of them."""
    return tuple(
        replace(
            hit,
            candidate=address_candidate(hit.candidate, corpus),
            kind=verdict.kinds.get(hit.candidate.id),
            why=verdict.reasons.get(hit.candidate.id),
        )
        for hit in hits
    )


def _measure_coverage(candidate: Candidate, terms: Sequence[Term], corpus: Corpus) -> float:
    return lexical_part(candidate, terms, corpus.documents, corpus.average_length)
