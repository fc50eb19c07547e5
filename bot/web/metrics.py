"""Metrics for Prometheus: those counted in this process, and those that the database holds."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from importlib.metadata import version
from typing import Any, TypeVar, cast

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from bot.adapter import AdapterStatus
from bot.app import App
from db.logs import JobOutcomes
from db.model_cache import Ledger
from db.pool import Database
from db.posting.feeds import Feeds
from db.posting.outbox import Outbox
from engine.prophecy.prophecy import Prophet
from engine.search import Expansion, Prophecy, Verdict

_GIVEN_UP_WITHIN = timedelta(days=1)

_Port = TypeVar("_Port")

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
        counter = partial(Counter, registry=own)
        histogram = partial(Histogram, buckets=_BUCKETS, registry=own)
        self.searches = counter(
            "presagio_searches", "Headlines answered, on all adapters.", ["mode", "found"]
        )
        self.stages = histogram(
            "presagio_stage_seconds",
            "Time of a stage: expand, terms, retrieve, judge, whole.",
            ["stage"],
        )
        self.expansions = counter(
            "presagio_expansions",
            "Requests for phrases: named, cached, late, or none.",
            ["outcome"],
        )
        self.judgments = counter(
            "presagio_judgments",
            "Requests for judgments: judged, cached, or unjudged.",
            ["outcome"],
        )
        self.repairs = counter(
            "presagio_judgment_repairs", "Faults in answers of the model.", ["fault"]
        )
        self.requests = counter(
            "presagio_http_requests", "Requests over HTTP.", ["route", "status"]
        )
        self.request_seconds = histogram(
            "presagio_http_request_seconds",
            "Time until a request over HTTP was answered.",
            ["route"],
        )
        # Present from the start: Prometheus sees no increase in a series that begins at 1.
        for outcome in ("judged", "cached", "unjudged"):
            self.judgments.labels(outcome)

    def observe(
        self, port: _Port, count: Callable[[Any], None] = lambda _: None, **stages: str
    ) -> _Port:
        """Return a port of the engine whose methods in `stages` are timed as that stage, each.

        `count` is called with what they return.
        """
        return cast("_Port", _Observed(port, self.stages, count, stages))

    def count_searches(self, app: App) -> App:
        """Return the app, whose searches are counted and timed from now on."""
        prophet, phrases = app.prophet, app.prophet.phrases
        if phrases:
            expander = self.observe(phrases.expander, self.count_expansion, expand="expand")
            phrases = replace(phrases, expander=expander)
        index = self.observe(prophet.index, terms="terms", top="retrieve")
        judge = prophet.judge
        judge = judge and self.observe(judge, self.count_verdict, judge="judge")
        whole = Prophet(
            index, judge, settings=app.settings.prophecy, meaning=prophet.meaning, phrases=phrases
        )
        return replace(app, prophet=self.observe(whole, self.count_prophecy, prophesy="whole"))

    def count_expansion(self, named: Expansion) -> None:
        """Count how a request for phrases ended."""
        outcome = "named" if named.phrases else "late" if named.late else "none"
        self.expansions.labels("cached" if named.cached else outcome).inc()

    def count_verdict(self, verdict: Verdict) -> None:
        """Count how a request for judgments ended, and what was amiss with it."""
        outcome = "unjudged" if not verdict.scores else "cached" if verdict.cached else "judged"
        self.judgments.labels(outcome).inc()
        for fault, times in verdict.damage.items():
            self.repairs.labels(fault).inc(times)

    def count_prophecy(self, prophecy: Prophecy) -> None:
        """Count an answer."""
        outcome = "something" if prophecy.hits else "nothing"
        self.searches.labels(prophecy.mode.value, outcome).inc()


class _Observed:
    """Stands for a port: times and counts some of its calls, and passes on everything else."""

    def __init__(
        self,
        port: object,
        seconds: Histogram,
        count: Callable[[Any], None],
        stages: Mapping[str, str],
    ) -> None:
        self._port, self._seconds, self._count, self._stages = port, seconds, count, stages

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._port, name)
        if name not in self._stages:
            return call

        async def observed(*args: Any, **options: Any) -> Any:
            with self._seconds.labels(self._stages[name]).time():  # even if it fails
                answer = await call(*args, **options)
            self._count(answer)
            return answer

        return observed


async def write_exposition(
    metrics: Metrics, app: App, adapters: Mapping[str, AdapterStatus], *, now: datetime
) -> bytes:
    """Return everything in the text format of Prometheus. Raises StorageError.

    Figures from the database cover all processes. None of them falls at midnight, which alerts
    would take for a restart.
    """
    stored = [family async for family in _read_stored(app.database, now)]
    registry = CollectorRegistry()
    registry.register(_Counted(*_describe_process(metrics, app, adapters), *stored))
    return generate_latest(metrics.registry) + generate_latest(registry)


class _Counted(Collector):
    """Figures that are kept elsewhere."""

    def __init__(self, *families: Metric) -> None:
        self._families = families

    def collect(self) -> tuple[Metric, ...]:
        """Return the figures."""
        return self._families


def _build_family(
    kind: type[GaugeMetricFamily] | type[CounterMetricFamily],
    name: str,
    help_text: str,
    label: str,
    figures: Mapping[str, float],
) -> Metric:
    family = kind(name, help_text, labels=[label])
    for value, figure in figures.items():
        family.add_metric([value], figure)
    return family


_gauge = partial(_build_family, GaugeMetricFamily)
_counter = partial(_build_family, CounterMetricFamily)


def _describe_process(
    metrics: Metrics, app: App, adapters: Mapping[str, AdapterStatus]
) -> Iterator[Metric]:
    yield _gauge(
        "presagio_build_info",
        "Always 1; the version of presagio.",
        "version",
        {version("presagio"): 1},
    )
    yield _gauge(
        "presagio_job_last_run_age_seconds",
        "Seconds since the last run of a job ended, where it is to run in this process.",
        "task",  # not "job", which Prometheus keeps for the name of what it scrapes
        metrics.job_ages(),
    )
    yield _gauge(
        "presagio_face_listening",
        "1 while an adapter receives what people write, else 0.",
        "face",
        {name: status.listening for name, status in adapters.items()},
    )
    if app.client:
        yield _counter(
            "presagio_model_calls",
            "Calls of the language model by this process: answered, failed, paused, or over"
            " budget.",
            "outcome",
            {outcome.value: times for outcome, times in app.client.outcomes.times.items()},
        )


async def _read_stored(database: Database, now: datetime) -> AsyncIterator[Metric]:
    spent = await Ledger(database).spent_in_all()
    tokens = {"prompt": spent.prompt_tokens or 0, "completion": spent.completion_tokens or 0}
    yield _counter("presagio_model_tokens", "Tokens of all calls of models.", "kind", tokens)
    yield CounterMetricFamily(
        "presagio_model_cost_usd", "Cost of all calls of models.", spent.cost_usd or 0
    )
    runs = CounterMetricFamily(
        "presagio_job_runs", "Runs of jobs, by how they ended.", labels=["task", "outcome"]
    )
    for (job, outcome), times in (await JobOutcomes(database).totals()).items():
        runs.add_metric([job, outcome.value], times)
    yield runs
    feeds = dict.fromkeys(("working", "failing", "gone", "new"), 0)
    for health in await Feeds(database).health(now=now):
        feed = health.feed
        working = "working" if feed.is_primed else "new"
        feeds["gone" if feed.gone else "failing" if feed.failures else working] += 1
    yield _gauge("presagio_feeds", "Feeds by state.", "state", feeds)
    posts = await Outbox(database).health(now - _GIVEN_UP_WITHIN)
    yield _gauge(
        "presagio_deliveries",
        "Posts that are owed now, those of them tried before, those given up within 24 hours.",
        "state",
        {"owed": posts.owed, "retried": posts.retried, "failed": posts.failed},
    )
