"""The main job: finding the old texts that foretold a headline, in one corpus or in several.

headline -> terms, phrases -> candidates -> distinct -> judged, else compared -> scored
-> hits and near texts
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from engine.corpora import limit_corpora, outdated_notice
from engine.messages import Message, join_messages
from engine.ports import SearchIndex
from engine.prophecy.meaning import Comparison, HeadlineReranker, Meaning, predict_finds
from engine.prophecy.merge import merge_prophecies
from engine.prophecy.retrieve import RetrievedCandidates, Retriever
from engine.prophecy.score import Scorer
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
from engine.settings.searching import ProphecySettings
from engine.text.address import address_candidate
from engine.text.terms import count_telling_words, has_own_words
from engine.values import Corpus
from engine.vectors import WORD_COUNTERS

if TYPE_CHECKING:
    from engine.prophecy.expand import Phrases

NO_MODEL = Message("Not judged: no language model is set up.")
NOT_ASKED = Message("Not judged, as asked.")
_DAYS_PER_MONTH = 30.44
_SAME_EVENT_SPAN = timedelta(days=7)  # two reports of an event are within it
_OLD_NEWS_AGE = timedelta(days=30)
_CORPORA_AT_ONCE = 4  # of one headline; each asks the database several questions at once


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidatePool:
    """The candidates of a headline, before they are scored."""

    retrieved: RetrievedCandidates
    proposed: tuple[str, ...]  # external ids of the candidates and of their near-copies
    candidates: Sequence[Candidate]  # of near-identical texts only the eldest
    verdict: Verdict = Verdict(scores={})  # noqa: RUF009 - frozen
    comparison: Comparison | None = None  # of the best few with the headline, by meaning


class CandidateJudge(Protocol):
    """Judges how well each candidate foretells a headline."""

    async def judge(
        self, corpus: Corpus, headline: Headline, candidates: Sequence[Candidate], *, now: datetime
    ) -> Verdict:
        """Return the judgments, and a notice if some are missing. Never raises ModelError."""


class Prophet:
    """Answers headlines by words and, given `meaning`, by meaning, with or without a judge.

    Its parts are public, so that callers can build a variant of it: with other settings, or with
    parts that are measured.
    """

    def __init__(
        self,
        index: SearchIndex,
        judge: CandidateJudge | None = None,
        *,
        settings: ProphecySettings | None = None,
        meaning: Meaning | None = None,
        phrases: "Phrases | None" = None,
    ) -> None:
        self.judge = judge
        self.index = index
        self.meaning = meaning
        self.phrases = phrases
        self._cpu_turn = asyncio.Lock()
        self.apply_settings(settings or ProphecySettings())

    @property
    def weights(self) -> Mapping[str, float]:
        """The weights of the parts of scores, by name."""
        return self._settings.score.weights

    def apply_settings(self, settings: ProphecySettings) -> None:
        """Use these settings from now on."""
        self._settings = settings
        search = settings.search
        self._retriever = Retriever(
            self.index,
            self.meaning,
            limit=search.candidates,
            phrases=self.phrases,
            limit_with_phrases=settings.max_with_phrases,
        )

    async def prophesy(self, corpus: Corpus, request: SearchRequest) -> Prophecy:
        """Return the best hits, and up to as many near texts, all older than the headline.

        Raises the errors of the search index.
        """
        mode = request.mode or self._settings.search.chosen_mode
        reranker = self.meaning.reranker if self.meaning and request.embeds else None
        unjudged = self.judge is None or not request.judged
        if reranker and mode is not Mode.LEXICAL and (unjudged or mode is Mode.RERANK):
            reranker.start(corpus)  # it takes long, and is likely to compare the best few
        async with self._request_phrases(corpus, request) as expansion:
            retrieved = await self._retriever.retrieve(
                corpus, request.headline.text, self._narrow_filters(request), mode, expansion
            )
        async with self._one_at_a_time():
            pool = self._pool_candidates(retrieved)
        # A search by meaning alone shows the nearest texts, whatever they are worth.
        if retrieved.mode is not Mode.SEMANTIC:
            verdict = await self._judge_candidates(corpus, request, pool.candidates)
            pool = replace(pool, verdict=verdict)
        request, pool = date_by_archive(request, pool, self._measure_excluded_time(request))
        scorer = self._create_scorer(corpus, request, pool)
        # The best few are compared by meaning in rerank mode, otherwise only if nobody judged them.
        compares = request.embeds and (mode is Mode.RERANK or not pool.verdict.scores)
        if retrieved.reranker and compares:
            pool, scorer = await self._compare_best_texts(
                corpus, request, retrieved.reranker, pool, scorer
            )
        async with self._one_at_a_time():
            return _build_prophecy(corpus, request, pool, scorer)

    def _create_scorer(self, corpus: Corpus, request: SearchRequest, pool: CandidatePool) -> Scorer:
        return Scorer(
            settings=self._settings,
            terms=pool.retrieved.terms,
            documents=corpus.searchable_documents,
            average_length=corpus.average_length,
            asked_at=_date_headline(request),  # the judge may have told the date
            by_meaning=pool.retrieved.model not in WORD_COUNTERS,
            passages=request.passages,
            telling_words=count_telling_words(request.headline.text),
            best=pool.verdict.best,
        )

    def _pool_candidates(self, retrieved: RetrievedCandidates) -> CandidatePool:
        """Return the candidates that have words of their own, of near-identical ones the eldest."""
        worded = [candidate for candidate in retrieved.candidates if has_own_words(candidate.text)]
        settings = self._settings
        # Few are enough once a model has answered with phrases, or with none, which it does where
        # such an archive can hold nothing about the news. An expansion that failed has no model.
        maximum = settings.max_with_phrases if retrieved.expansion.model else settings.maximum
        groups = group_alike(worded, similarity=settings.similarity)[:maximum]
        ids = {candidate.id for group in groups for candidate in group}
        return CandidatePool(
            retrieved=retrieved,
            proposed=tuple(text.external_id for text in worded if text.id in ids),
            candidates=[choose_eldest(group) for group in groups],
        )

    async def _compare_best_texts(
        self,
        corpus: Corpus,
        request: SearchRequest,
        reranker: HeadlineReranker,
        pool: CandidatePool,
        scorer: Scorer,
    ) -> tuple[CandidatePool, Scorer]:
        """Compare the best few with the headline by meaning.

        Return the candidates with these similarities, and the scorer: if no text was judged, the
        comparison decides which are hits.
        """
        by_words = [replace(text, similarity=None) for text in pool.candidates if text.matched]
        async with self._one_at_a_time():
            best = scorer.choose_best(by_words, reranker.best)
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

    @asynccontextmanager
    async def _request_phrases(
        self, corpus: Corpus, request: SearchRequest
    ) -> AsyncIterator[Awaitable[Expansion] | None]:
        """Request phrases from a model while the block runs, if the answer is to be judged."""
        enabled = self._settings.search.expansion == "auto"
        # Only a request can choose the semantic mode, the settings cannot.
        will_be_judged = request.judged and self.judge and request.mode is not Mode.SEMANTIC
        if not (will_be_judged and enabled and corpus.documents) or self.phrases is None:
            yield None
            return
        expand = self.phrases.expander.expand
        task = asyncio.ensure_future(expand(corpus, request.headline, now=request.now))
        try:
            yield task
        finally:  # if the block failed, nothing awaits the task any more
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    @asynccontextmanager
    async def _one_at_a_time(self) -> AsyncIterator[None]:
        """Run the CPU-bound block (some milliseconds) for one headline at a time, and yield to the
        event loop after it, so that many concurrent headlines do not block other tasks."""
        async with self._cpu_turn:
            yield
            await asyncio.sleep(0)

    def _narrow_filters(self, request: SearchRequest) -> Filters:
        """Return the user's filters, narrowed to texts that are older than the headline.

        A text without a date is known to be older only than a headline of now.
        """
        limit = _date_headline(request) - self._measure_excluded_time(request)
        filters = request.filters
        undated = request.headline.date is None and filters.before is None and filters.after is None
        return replace(
            filters,
            before=min(filters.before, limit) if filters.before else limit,
            undated=filters.undated or undated,
        )

    def _measure_excluded_time(self, request: SearchRequest) -> timedelta:
        """Return how long before the headline texts do not count, as they are too recent."""
        months = request.exclude_recent
        if months is None:
            months = self._settings.search.exclude_recent_months
        return timedelta(days=months * _DAYS_PER_MONTH)

    async def _judge_candidates(
        self, corpus: Corpus, request: SearchRequest, candidates: Sequence[Candidate]
    ) -> Verdict:
        if not request.judged:
            return Verdict(scores={}, notice=NOT_ASKED)
        if not candidates:
            return Verdict(scores={})
        if self.judge is None:
            return Verdict(scores={}, notice=NO_MODEL)
        return await self.judge.judge(corpus, request.headline, candidates, now=request.now)


def _date_headline(request: SearchRequest) -> datetime:
    """Return the date of the headline, or now if it has none or a later one."""
    return min(request.headline.date or request.now, request.now)


def _build_prophecy(
    corpus: Corpus, request: SearchRequest, pool: CandidatePool, scorer: Scorer
) -> Prophecy:
    """Return the answer with the best hits and the best texts that are too weak to be hits.

    Its mode is that of the retrieval, or RERANK if the best texts were compared by meaning after a
    retrieval by words.
    """
    retrieved, verdict, comparison = pool.retrieved, pool.verdict, pool.comparison
    if retrieved.mode is Mode.SEMANTIC:
        hits, near = scorer.nearest(pool.candidates, request.limit), list[Hit]()
    else:
        hits, near = scorer.hits_and_near(pool.candidates, verdict.scores, request.limit)
    reordered = comparison.similarity if comparison and retrieved.mode is Mode.LEXICAL else {}
    search_notice = (comparison and comparison.notice) or retrieved.notice
    return Prophecy(
        headline=request.headline,
        corpus=corpus.name,
        hits=_finish_hits(hits, corpus, verdict),
        near=_finish_hits(near, corpus, verdict),
        terms=tuple(scorer.terms),
        candidates=pool.proposed,
        verdict=verdict,
        coverage=scorer.find_highest_coverage(pool.candidates),
        notice=build_notice(corpus, scorer.terms, search_notice),
        mode=Mode.RERANK if reordered else retrieved.mode,
        embedding_model=comparison.model if comparison else retrieved.model,
        compared=len(reordered),
        expansion=retrieved.expansion,
        unfinished=comparison is not None and comparison.unfinished,
    )


def date_by_archive(
    request: SearchRequest, pool: CandidatePool, excluded: timedelta = timedelta()
) -> tuple[SearchRequest, CandidatePool]:
    """Date a headline that is old news by the archive, and keep the candidates that are older.

    A model names the texts that were written about the event, and their dates tell when it was. At
    least two must be within a week of each other, as one alone may be a mistake. Candidates of the
    `excluded` time before that date are left out as well.
    """
    if request.headline.date is not None:
        return request, pool
    reports = (text for text in pool.candidates if text.id in pool.verdict.event)
    dates = sorted(text.created_at for text in reports if text.created_at is not None)
    confirmed = (first for first, second in pairwise(dates) if second - first <= _SAME_EVENT_SPAN)
    began = next(confirmed, None)
    if began is None or request.now - began < _OLD_NEWS_AGE:
        return request, pool
    limit = began - excluded
    older = [text for text in pool.candidates if text.created_at and text.created_at < limit]
    headline = replace(request.headline, date=began, guessed=True)
    return replace(request, headline=headline), replace(pool, candidates=older)


def build_notice(
    corpus: Corpus, terms: Sequence[Term], retrieval: Message | None = None
) -> Message | None:
    """Return a notice for the user about how texts were looked for, or None.

    `retrieval` is the notice of the search itself. That words were replaced by others of similar
    spelling is no notice: the terms show it.
    """
    message = None
    if not corpus.documents:
        message = Message("Corpus {name} is empty.", name=corpus.name)
    elif not terms:
        message = Message("There is no word in this to look for.")
    return join_messages(message, outdated_notice(corpus), retrieval)


def _finish_hits(hits: Sequence[Hit], corpus: Corpus, verdict: Verdict) -> tuple[Hit, ...]:
    """Return the hits with their web addresses, and the kind and the reason that the model gave."""
    return tuple(
        replace(
            hit,
            candidate=address_candidate(hit.candidate, corpus),
            kind=verdict.kinds.get(hit.candidate.id),
            why=verdict.reasons.get(hit.candidate.id),
        )
        for hit in hits
    )


async def prophesy_from_all(
    prophet: Prophet, corpora: Sequence[Corpus], request: SearchRequest
) -> Prophecy:
    """Answer a headline from all of `corpora` together, of which there must be at least one.

    A few are searched and judged at once; each call to a model reserves its part of the budget
    first, so that together they spend no more than one after the other. Raises what fails first.
    """
    corpora, left_out_notice = limit_corpora(corpora)
    room = asyncio.Semaphore(_CORPORA_AT_ONCE)

    async def answer_corpus(corpus: Corpus) -> Prophecy:
        async with room:
            return await prophet.prophesy(corpus, request)

    tasks = [asyncio.ensure_future(answer_corpus(corpus)) for corpus in corpora]
    try:
        prophecies = await asyncio.gather(*tasks)
    finally:  # if one fails, nobody waits for the others
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    answer = prophecies[0]
    if len(corpora) > 1:
        pairs = list(zip(corpora, prophecies, strict=True))
        answer = merge_prophecies(pairs, request.limit, prophet.weights)
    if left_out_notice:
        answer = replace(answer, notice=join_messages(left_out_notice, answer.notice))
    return answer
