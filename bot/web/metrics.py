"""Metrics counted in this process, for Prometheus."""

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
)

from bot.app import Retrieval
from engine.ports import SearchIndex
from engine.prophecy.expand import Expands
from engine.prophecy.prophecy import Judges, Prophet
from engine.search import (
    Candidate,
    Expansion,
    Filters,
    Headline,
    Prophecy,
    SearchRequest,
    Term,
    Verdict,
)
from engine.settings.searching import ProphecySettings
from engine.values import Corpus

# A search takes milliseconds, a model call many seconds.
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40)


class Metrics:
    """The figures of one process. Every name begins with presagio_ or process_.

    `job_ages` returns how many seconds ago each job of this process last ran.
    """

    def __init__(self) -> None:
        self.job_ages: Callable[[], Mapping[str, float]] = dict
        self.registry = own = CollectorRegistry()
        ProcessCollector(registry=own)
        self.searches = Counter(
            "presagio_searches",
            "Headlines answered, on all adapters.",
            ["mode", "found"],
            registry=own,
        )
        self.stages = Histogram(
            "presagio_stage_seconds",
            "Time of a stage: expand, terms, retrieve, judge, whole.",
            ["stage"],
            buckets=_BUCKETS,
            registry=own,
        )
        self.expansions = Counter(
            "presagio_expansions",
            "Requests for phrases: named, cached, late, or none.",
            ["outcome"],
            registry=own,
        )
        self.judgments = Counter(
            "presagio_judgments",
            "Requests for judgments: judged, cached, or unjudged.",
            ["outcome"],
            registry=own,
        )
        self.repairs = Counter(
            "presagio_judgment_repairs", "Faults in answers of the model.", ["fault"], registry=own
        )
        self.requests = Counter(
            "presagio_http_requests", "Requests over HTTP.", ["route", "status"], registry=own
        )
        self.request_seconds = Histogram(
            "presagio_http_request_seconds",
            "Time until a request over HTTP was answered.",
            ["route"],
            buckets=_BUCKETS,
            registry=own,
        )
        # Present from the start: Prometheus sees no increase in a series that begins at 1.
        for outcome in ("judged", "cached", "unjudged"):
            self.judgments.labels(outcome)

    @asynccontextmanager
    async def time_stage(self, stage: str) -> AsyncIterator[None]:
        """Time a stage, even if it fails."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.stages.labels(stage).observe(time.perf_counter() - started)


class MeasuredIndex:
    """A search index whose calls are timed."""

    def __init__(self, index: SearchIndex, metrics: Metrics) -> None:
        self._index = index
        self._metrics = metrics

    async def terms(self, corpus: Corpus, text: str) -> Sequence[Term]:
        """Read a text."""
        async with self._metrics.time_stage("terms"):
            return await self._index.terms(corpus, text)

    async def top(
        self, corpus: Corpus, terms: Sequence[Term], filters: Filters, limit: int
    ) -> Sequence[Candidate]:
        """Return the best documents."""
        async with self._metrics.time_stage("retrieve"):
            return await self._index.top(corpus, terms, filters, limit)


class MeasuredExpander:
    """An expander whose outcomes are counted; timed is how long searches wait for it."""

    def __init__(self, expander: Expands, metrics: Metrics) -> None:
        self._expander = expander
        self._metrics = metrics

    async def expand(self, corpus: Corpus, headline: Headline, *, now: datetime) -> Expansion:
        """Return the phrases for a headline."""
        async with self._metrics.time_stage("expand"):
            named = await self._expander.expand(corpus, headline, now=now)
        outcome = "named" if named.phrases else "late" if named.late else "none"
        self._metrics.expansions.labels("cached" if named.cached else outcome).inc()
        return named


class MeasuredJudge:
    """A judge whose outcomes are counted."""

    def __init__(self, judge: Judges, metrics: Metrics) -> None:
        self._judge = judge
        self._metrics = metrics

    async def judge(
        self,
        corpus: Corpus,
        headline: Headline,
        candidates: Sequence[Candidate],
        *,
        now: datetime,
    ) -> Verdict:
        """Judge the candidates."""
        async with self._metrics.time_stage("judge"):
            verdict = await self._judge.judge(corpus, headline, candidates, now=now)
        outcome = "unjudged" if not verdict.scores else "cached" if verdict.cached else "judged"
        self._metrics.judgments.labels(outcome).inc()
        for fault, times in verdict.damage.items():
            self._metrics.repairs.labels(fault).inc(times)
        return verdict


class MeasuredProphet(Prophet):
    """A prophet whose answers are counted."""

    def __init__(
        self,
        metrics: Metrics,
        retrieval: Retrieval,
        settings: ProphecySettings,
    ) -> None:
        parts = retrieval
        super().__init__(parts.index, parts.judge, settings, parts.meaning, parts.phrases)
        self._metrics = metrics

    async def prophesy(self, corpus: Corpus, request: SearchRequest) -> Prophecy:
        """Answer a headline."""
        async with self._metrics.time_stage("whole"):
            prophecy = await super().prophesy(corpus, request)
        found = "something" if prophecy.hits else "nothing"
        self._metrics.searches.labels(prophecy.mode.value, found).inc()
        return prophecy
