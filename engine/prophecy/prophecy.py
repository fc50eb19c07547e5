"""The main job: finding the old texts that foretold a headline.

headline -> terms, phrases -> candidates -> distinct -> judged, else compared -> scored
-> hits and near texts
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from engine.corpora import ALL, outdated_notice
from engine.embed.store import WORD_COUNTERS
from engine.messages import Message, join_messages
from engine.ports import SearchIndex
from engine.prophecy.question import Meaning
from engine.prophecy.rerank import predict_labels
from engine.prophecy.retrieve import Retriever
from engine.prophecy.score import Scorer, level_hits, lexical_part, order_hits
from engine.ranking import alike, eldest
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
from engine.text.terms import has_own_words, is_generic
from engine.values import Corpus, add_usage

if TYPE_CHECKING:
    from engine.prophecy.expand import Phrases

NO_MODEL = Message("Not judged: no language model is set up.")
NOT_ASKED = Message("Not judged, as asked.")
_DAYS_A_MONTH = 30.44
_AT_ONCE = 4  # corpora of one headline; each asks the database several questions at once


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
            limit_with_phrases=settings.most_with_phrases,
        )

    async def prophesy(self, corpus: Corpus, request: SearchRequest) -> Prophecy:
        """Return the best hits, and up to as many near texts, all older than the headline.

        Raises the errors of the search index.
        """
        headline, now = request.headline, request.now
        asked_at = min(headline.date or now, now)
        if self._meaning and self._meaning.reranker and self._will_compare(request):
            self._meaning.reranker.start(corpus)
        async with self._request_phrases(corpus, request) as expansion:
            retrieved = await self._retriever.retrieve(
                corpus,
                headline.text,
                self._narrow_filters(request, asked_at),
                request.mode or self._settings.search.chosen_mode,
                expansion,
            )
        terms = retrieved.terms
        found = [candidate for candidate in retrieved.candidates if has_own_words(candidate.text)]
        async with self._alone():
            groups = alike(found, similarity=self._settings.similarity)
            groups = groups[: self._most(retrieved.expansion)]
            candidates = [eldest(group) for group in groups]
        verdict = Verdict(scores={})
        if retrieved.mode is not Mode.SEMANTIC:
            verdict = await self._verdict(corpus, request, candidates)
        scorer = Scorer(
            settings=self._settings,
            terms=terms,
            documents=corpus.documents,
            average_length=corpus.average_length,
            asked_at=asked_at,
            means=retrieved.model not in WORD_COUNTERS,
            passages=request.passages,
            small_talk=is_generic(headline.text),
        )
        compared = None
        if (reranker := retrieved.rerank) and self._may_compare(request, verdict):
            async with self._alone():
                best = scorer.best(_propose_by_words(candidates), reranker.best)
            compared = await reranker.compare(
                corpus, headline.text, best, patience=request.patience
            )
        if compared:
            if retrieved.mode is Mode.LEXICAL:
                candidates = compared.apply_similarities(candidates)
            if not verdict.scores:
                predictions = predict_labels(compared, candidates, terms, corpus)
                scorer = replace(scorer, predictions=predictions)
        async with self._alone():
            hits, near = scorer.hits_and_near(candidates, verdict.scores, request.limit)
            if retrieved.mode is Mode.SEMANTIC:
                hits, near = scorer.nearest(candidates, request.limit), []
            reordered = compared if retrieved.mode is Mode.LEXICAL else None
            return Prophecy(
                headline=headline,
                corpus=corpus.name,
                hits=_as_shown(hits, corpus, verdict),
                near=_as_shown(near, corpus, verdict),
                terms=tuple(terms),
                candidates=_list_proposed_ids(found, groups),
                verdict=verdict,
                coverage=max(
                    (_measure_coverage(c, terms, corpus) for c in candidates), default=0.0
                ),
                notice=notice(
                    corpus, terms, verdict, (compared and compared.notice) or retrieved.notice
                ),
                mode=Mode.RERANK if reordered and reordered.similarity else retrieved.mode,
                embedding_model=compared.model if compared else retrieved.model,
                compared=len(reordered.similarity) if reordered else 0,
                expansion=retrieved.expansion,
                unfinished=compared is not None and compared.unfinished,
            )

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

    def _most(self, expansion: Expansion) -> int:
        chosen = self._settings
        return chosen.most_with_phrases if expansion.phrases else chosen.most

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
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

    async def _verdict(
        self, corpus: Corpus, request: SearchRequest, candidates: Sequence[Candidate]
    ) -> Verdict:
        if not request.judged:
            return Verdict(scores={}, notice=NOT_ASKED)
        if not candidates:
            return Verdict(scores={})
        if self._judge is None:
            return Verdict(scores={}, notice=NO_MODEL)
        return await self._judge.judge(corpus, request.headline, candidates, now=request.now)


def notice(
    corpus: Corpus, terms: Sequence[Term], verdict: Verdict, retrieval: Message | None = None
) -> Message | None:
    """Return a notice for the user about how the answer was made, or None.

    `retrieval` is the notice of the search itself. Words that were replaced by their neighbours
    are not mentioned, as the terms show them.
    """
    said = None
    if not corpus.documents:
        said = Message("Corpus {name} is empty.", name=corpus.name)
    elif not terms:
        said = Message("There is no word in this to look for.")
    return join_messages(said, outdated_notice(corpus), retrieval, verdict.notice)


def _list_proposed_ids(
    found: Sequence[Candidate], groups: Sequence[Sequence[Candidate]]
) -> tuple[str, ...]:
    """Return the external ids of the members of `groups`, in the order of `found`."""
    kept = {candidate.id for group in groups for candidate in group}
    return tuple(candidate.external_id for candidate in found if candidate.id in kept)


def _propose_by_words(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that words propose, as if nothing was known of their meaning."""
    return [replace(candidate, similarity=None) for candidate in candidates if candidate.matched]


def _as_shown(hits: Sequence[Hit], corpus: Corpus, verdict: Verdict) -> tuple[Hit, ...]:
    """Return the hits with their addresses and the model's reasons."""
    return tuple(
        replace(
            hit,
            candidate=address_candidate(hit.candidate, corpus),
            why=verdict.reasons.get(hit.candidate.id),
        )
        for hit in hits
    )


def _measure_coverage(candidate: Candidate, terms: Sequence[Term], corpus: Corpus) -> float:
    return lexical_part(candidate, terms, corpus.documents, corpus.average_length)


class Prophesies(Protocol):
    """Answers a headline from one corpus."""

    async def prophesy(self, corpus: Corpus, request: SearchRequest) -> Prophecy:
        """Return the best hits. Raises the errors of the search index."""


async def prophesy_from_all(
    prophet: Prophesies,
    corpora: Sequence[Corpus],
    request: SearchRequest,
    weights: Mapping[str, float],
) -> Prophecy:
    """Answer a headline from every one of `corpora`, of which there must be at least one.

    A few are searched and judged at once; each call to a model reserves its part of the budget
    first, so that together they spend no more than one after the other. Raises what fails first.
    """
    room = asyncio.Semaphore(_AT_ONCE)

    async def answer(corpus: Corpus) -> Prophecy:
        async with room:
            return await prophet.prophesy(corpus, request)

    tasks = [asyncio.ensure_future(answer(corpus)) for corpus in corpora]
    try:
        prophecies = await asyncio.gather(*tasks)
    finally:  # one may have failed, and nobody waits for the others any more
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if len(corpora) == 1:
        return prophecies[0]
    return together(list(zip(corpora, prophecies, strict=True)), request.limit, weights)


def together(
    answers: Sequence[tuple[Corpus, Prophecy]], limit: int, weights: Mapping[str, float]
) -> Prophecy:
    """Return one answer with the best `limit` hits of all, each with the voice that wrote it.

    Judged hits go before others, whichever corpus they are from, and ranks continue from the hits
    to the near texts, as in the answer of one corpus. `weights` are those of the parts of scores,
    which are made comparable. There must be at least one answer, and all must be to one headline.
    """
    prophecies = [prophecy for _, prophecy in answers]
    hits = _best([(corpus, answer.hits) for corpus, answer in answers], limit, weights, after=0)
    near = _best(
        [(corpus, answer.near) for corpus, answer in answers], limit, weights, after=len(hits)
    )
    by_meaning = next(
        (answered for answered in prophecies if answered.embedding_model), prophecies[0]
    )
    return replace(
        prophecies[0],
        corpus=ALL,
        hits=hits,
        near=near,
        terms=_terms(prophecies),
        candidates=tuple(chain.from_iterable(answered.candidates for answered in prophecies)),
        verdict=_verdict([answered.verdict for answered in prophecies]),
        coverage=max(answered.coverage for answered in prophecies),
        notice=_distinct(answered.notice for answered in prophecies),
        mode=by_meaning.mode,
        embedding_model=by_meaning.embedding_model,
        expansion=_expansion([answered.expansion for answered in prophecies]),
        compared=sum(answered.compared for answered in prophecies),
        unfinished=any(answered.unfinished for answered in prophecies),
    )


def _best(
    found: Sequence[tuple[Corpus, Sequence[Hit]]],
    limit: int,
    weights: Mapping[str, float],
    *,
    after: int,
) -> tuple[Hit, ...]:
    named = [_name_author(hit, corpus) for corpus, hits in found for hit in hits]
    ordered = sorted(level_hits(named, weights), key=order_hits)[:limit]
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(ordered, start=after + 1))


def _name_author(hit: Hit, corpus: Corpus) -> Hit:
    """Return the hit with its corpus, and with the voice of that if it names neither voice nor
    author."""
    found = hit.candidate
    voice = found.voice if found.voice or found.author else corpus.voice
    return replace(hit, candidate=replace(found, corpus=corpus.name, voice=voice))


def _terms(prophecies: Sequence[Prophecy]) -> tuple[Term, ...]:
    terms: dict[str, Term] = {}
    for term in chain.from_iterable(prophecy.terms for prophecy in prophecies):
        # A word that one archive has needs no neighbour in the answer of all.
        written = term.neighbour_of or term.word
        if written not in terms or terms[written].neighbour_of:
            terms[written] = term
    return tuple(terms.values())


def _verdict(verdicts: Sequence[Verdict]) -> Verdict:
    judging = [verdict for verdict in verdicts if verdict.scores]
    usage = add_usage(verdict.usage for verdict in verdicts if not verdict.cached)
    return replace(
        judging[0] if judging else verdicts[0],
        scores={key: score for verdict in verdicts for key, score in verdict.scores.items()},
        reasons={key: why for verdict in verdicts for key, why in verdict.reasons.items()},
        usage=usage,
        cached=bool(judging) and all(verdict.cached for verdict in judging) and usage is None,
        notice=_distinct(verdict.notice for verdict in verdicts),
        withheld=all(verdict.withheld for verdict in verdicts),
        damage=dict(sum((Counter(verdict.damage) for verdict in verdicts), Counter())),
    )


def _expansion(expansions: Sequence[Expansion]) -> Expansion:
    """Return the phrases of all, each once, and what they cost together."""
    naming = [expansion for expansion in expansions if expansion.phrases]
    return replace(
        naming[0] if naming else expansions[0],
        phrases=tuple(
            dict.fromkeys(chain.from_iterable(expansion.phrases for expansion in expansions))
        ),
        usage=add_usage(expansion.usage for expansion in expansions),
        cached=bool(naming) and all(expansion.cached for expansion in naming),
        late=any(expansion.late for expansion in expansions),
        seconds=max(
            (expansion.seconds for expansion in expansions if expansion.seconds is not None),
            default=None,
        ),
    )


def _distinct(notices: Iterable[Message | None]) -> Message | None:
    """Return the notices as one, each once, or None."""
    joined: Message | None = join_messages(*dict.fromkeys(notice for notice in notices if notice))
    return joined
