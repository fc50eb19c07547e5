"""The main job: a headline finds the old texts that foretold it.

headline -> terms -> candidates -> distinct -> judged -> scored -> hits, and what is only near
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

from engine.corpora import outdated_notice
from engine.messages import Message, join_messages
from engine.ports import SearchIndex
from engine.prophecy.retrieve import Meaning, Retriever
from engine.prophecy.score import ProphecyProfile, Scorer, lexical_part
from engine.ranking.distinct import alike, eldest
from engine.text.address import addressed
from engine.types import (
    Candidate,
    Corpus,
    Filters,
    Headline,
    Hit,
    Mode,
    Prophecy,
    SearchRequest,
    Term,
    Verdict,
)

NO_MODEL = Message("Not judged: no language model is set up.")
NOT_ASKED = Message("Not judged, as asked.")
_DAYS_A_MONTH = 30.44


class Judges(Protocol):
    """Who can say how well each candidate foretells a headline."""

    async def judge(
        self,
        corpus: Corpus,
        headline: Headline,
        candidates: Sequence[Candidate],
        *,
        now: datetime,
    ) -> Verdict:
        """Return what was judged, and a notice about what was not. Never raises ModelError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProphecySettings:
    """How wide to look and what to leave out."""

    mode: Mode | None = None  # None: hybrid where there are vectors
    candidates: int = 150  # that words propose, and meaning
    candidates_of_both: int = 240  # near-identical texts counted once
    duplicate_similarity: float = 90.0
    exclude_recent_months: int = 0
    profile: ProphecyProfile = field(default_factory=ProphecyProfile)


class Prophet:
    """Answers headlines by words, and by meaning where that is given, with or without a judge."""

    def __init__(
        self,
        index: SearchIndex,
        judge: Judges | None = None,
        settings: ProphecySettings | None = None,
        meaning: Meaning | None = None,
    ) -> None:
        self._judge = judge
        self._index = index
        self._meaning = meaning
        self._thinking = asyncio.Lock()
        self.use(settings or ProphecySettings())

    @property
    def profile(self) -> ProphecyProfile:
        """How hits are scored now."""
        return self._settings.profile

    def use(self, settings: ProphecySettings) -> None:
        """Answer by these settings from now on."""
        self._settings = settings
        self._retriever = Retriever(self._index, self._meaning, limit=settings.candidates)

    async def prophesy(self, corpus: Corpus, request: SearchRequest) -> Prophecy:
        """Return the best hits, all older than the headline, and as many that are near.

        Raises the errors of the search index.
        """
        headline, now = request.headline, request.now
        asked_at = min(headline.date or now, now)
        retrieved = await self._retriever.retrieve(
            corpus,
            headline.text,
            self._narrowed(request.filters, asked_at),
            request.mode or self._settings.mode,
        )
        terms, found = retrieved.terms, retrieved.candidates
        async with self._alone():
            groups = alike(found, similarity=self._settings.duplicate_similarity)
            groups = groups[: self._settings.candidates_of_both]
            candidates = [eldest(group) for group in groups]
        verdict = await self._verdict(corpus, request, candidates)
        scorer = Scorer(
            profile=self._settings.profile,
            terms=terms,
            documents=corpus.documents,
            average_length=corpus.average_length,
            asked_at=asked_at,
        )
        async with self._alone():
            hits, near = scorer.hits_and_near(candidates, verdict.scores, request.limit)
            return Prophecy(
                headline=headline,
                corpus=corpus.name,
                hits=_with_addresses(hits, corpus),
                near=_with_addresses(near, corpus),
                terms=tuple(terms),
                candidates=_proposed(found, groups),
                verdict=verdict,
                coverage=max((_covered(c, terms, corpus) for c in candidates), default=0.0),
                notice=notice(corpus, terms, verdict, retrieved.notice),
                mode=retrieved.mode,
                embedding_model=retrieved.model,
            )

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """Let one headline a turn of the event loop be thought about, for some milliseconds: when
        the answers to many come at once, whatever else there is to do comes in between."""
        async with self._thinking:
            yield
            await asyncio.sleep(0)

    def _narrowed(self, filters: Filters, asked_at: datetime) -> Filters:
        """Add to the person's filters that a prophecy is older than its headline."""
        limit = asked_at - timedelta(days=self._settings.exclude_recent_months * _DAYS_A_MONTH)
        before = min(filters.before, limit) if filters.before else limit
        return replace(filters, before=before)

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
    """Return what a person should know about how the answer came about, or None.

    `retrieval` is what there is to say about the search itself. Words that were replaced by
    their neighbours are not told: they stand in the terms.
    """
    said = None
    if not corpus.documents:
        said = Message("Corpus {name} is empty.", name=corpus.name)
    elif not terms:
        said = Message("There is no word in this to look for.")
    return join_messages(said, outdated_notice(corpus), retrieval, verdict.notice)


def _proposed(found: Sequence[Candidate], groups: Sequence[Sequence[Candidate]]) -> tuple[str, ...]:
    """Return the external ids of the members of `groups`, in the order they were found in."""
    kept = {one.id for group in groups for one in group}
    return tuple(one.external_id for one in found if one.id in kept)


def _with_addresses(hits: Sequence[Hit], corpus: Corpus) -> tuple[Hit, ...]:
    return tuple(replace(hit, candidate=addressed(hit.candidate, corpus)) for hit in hits)


def _covered(candidate: Candidate, terms: Sequence[Term], corpus: Corpus) -> float:
    return lexical_part(candidate, terms, corpus.documents, corpus.average_length)
