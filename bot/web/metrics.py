"""Metrics for Prometheus: some counted in this process, some read from the database."""

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from db.model.judgments import Ledger
from db.pool import Database
from db.posting.feeds import Feeds
from db.posting.job_outcomes import JobOutcomes
from db.posting.outbox import Outbox
from db.replicas.replica import ReplicaState
from engine.llm.wire import add_usage
from engine.ports import SearchIndex
from engine.prophecy.expand import Expands, Phrases
from engine.prophecy.prophecy import Judges, Prophet
from engine.prophecy.question import Meaning
from engine.settings.searching import ProphecySettings
from engine.types import (
    Candidate,
    Corpus,
    Expansion,
    Filters,
    Headline,
    Prophecy,
    SearchRequest,
    Term,
    Verdict,
)

# A search takes milliseconds, a model call many seconds.
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40)

_OF_STANDBYS = {
    "used": "Whether this process reads from the standby.",
    "behind_seconds": "How far the standby is behind at most, if that is known.",
    "reads": "Readers that were sent to the standby by this process.",
    "passed_on": "Of those, readers that another server answered.",
}


class Metrics:
    """The figures of one process. Every name begins with presagio_.

    `job_ages` returns how many seconds ago each job of this process last ran.
    """

    def __init__(self) -> None:
        self.job_ages: Callable[[], Mapping[str, float]] = dict
        self.registry = own = CollectorRegistry()
        self.searches = Counter(
            "presagio_searches",
            "Headlines answered, on all faces.",
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

    @asynccontextmanager
    async def timed(self, stage: str) -> AsyncIterator[None]:
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
        async with self._metrics.timed("terms"):
            return await self._index.terms(corpus, text)

    async def top(
        self, corpus: Corpus, terms: Sequence[Term], filters: Filters, limit: int
    ) -> Sequence[Candidate]:
        """Return the best documents."""
        async with self._metrics.timed("retrieve"):
            return await self._index.top(corpus, terms, filters, limit)


class MeasuredExpander:
    """An expander whose outcomes are counted; timed is how long searches wait for it."""

    def __init__(self, expander: Expands, metrics: Metrics) -> None:
        self._expander = expander
        self._metrics = metrics

    async def expand(self, corpus: Corpus, headline: Headline, *, now: datetime) -> Expansion:
        """Return the phrases for a headline."""
        async with self._metrics.timed("expand"):
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
        async with self._metrics.timed("judge"):
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
        index: SearchIndex,
        judge: Judges | None,
        settings: ProphecySettings,
        *,
        meaning: Meaning | None,
        phrases: Phrases | None,
    ) -> None:
        super().__init__(index, judge, settings, meaning, phrases)
        self._metrics = metrics

    async def prophesy(self, corpus: Corpus, request: SearchRequest) -> Prophecy:
        """Answer a headline."""
        async with self._metrics.timed("whole"):
            prophecy = await super().prophesy(corpus, request)
        found = "something" if prophecy.hits else "nothing"
        self._metrics.searches.labels(prophecy.mode.value, found).inc()
        return prophecy


async def exposition(metrics: Metrics, database: Database, *, now: datetime) -> bytes:
    """Return everything in the text format of Prometheus. Raises StorageError.

    Figures from the database cover all processes.
    """
    registry = CollectorRegistry()
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    spent = add_usage((await Ledger(database).spent(today.date())).values())
    tokens = Gauge(
        "presagio_model_tokens_today", "Tokens since midnight UTC.", ["kind"], registry=registry
    )
    tokens.labels("prompt").set(spent.prompt_tokens or 0)
    tokens.labels("completion").set(spent.completion_tokens or 0)
    Gauge(
        "presagio_model_cost_usd_today", "Cost of models since midnight UTC.", registry=registry
    ).set(spent.cost_usd or 0)
    jobs = Gauge(
        "presagio_job_runs_today",
        "Runs of jobs since midnight UTC.",
        ["job", "outcome"],
        registry=registry,
    )
    for one in await JobOutcomes(database).summary(today):
        jobs.labels(one.job, one.outcome.value).set(one.times)
    ages = Gauge(
        "presagio_job_last_run_age_seconds",
        "Seconds since the last run of a job ended, where it is to run in this process.",
        ["job"],
        registry=registry,
    )
    for name, seconds in metrics.job_ages().items():
        ages.labels(name).set(seconds)
    await _feeds(Feeds(database), registry, now)
    await _deliveries(Outbox(database), registry, today)
    _standbys(database.replicas(), registry)
    return generate_latest(metrics.registry) + generate_latest(registry)


async def _feeds(feeds: Feeds, registry: CollectorRegistry, now: datetime) -> None:
    states = Gauge("presagio_feeds", "Feeds by state.", ["state"], registry=registry)
    counted = {"working": 0, "failing": 0, "gone": 0, "new": 0}
    for health in await feeds.health(now=now):
        feed = health.feed
        working = "working" if feed.primed else "new"
        counted["gone" if feed.gone else "failing" if feed.failures else working] += 1
    for state, number in counted.items():
        states.labels(state).set(number)


async def _deliveries(outbox: Outbox, registry: CollectorRegistry, today: datetime) -> None:
    health = await outbox.health(today)
    states = Gauge(
        "presagio_deliveries",
        "Posts that are owed now, those of them tried before, and those given up today.",
        ["state"],
        registry=registry,
    )
    states.labels("owed").set(health.owed)
    states.labels("retried").set(health.retried)
    states.labels("failed").set(health.failed)


def _standbys(states: Sequence[ReplicaState], registry: CollectorRegistry) -> None:
    for name, said in _OF_STANDBYS.items() if states else ():
        gauge = Gauge(f"presagio_replica_{name}", said, ["replica"], registry=registry)
        for one in states:
            if (figure := getattr(one, name)) is not None:
                gauge.labels(one.name).set(figure)
