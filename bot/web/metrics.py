"""Metrics counted in this process, for Prometheus."""

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar, cast

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
)

from engine.search import Expansion, Prophecy, Verdict

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

    def observe(
        self, port: _Port, count: Callable[[Any], None] = lambda _: None, **stages: str
    ) -> _Port:
        """Return a port of the engine whose methods in `stages` are timed as that stage, each.

        `count` is called with what they return.
        """
        return cast("_Port", _Observed(port, self.time_stage, count, stages))

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
        found = "something" if prophecy.hits else "nothing"
        self.searches.labels(prophecy.mode.value, found).inc()


class _Observed:
    """Stands for a port: times and counts some of its calls, and passes on everything else."""

    def __init__(
        self,
        port: object,
        time_stage: Callable[[str], AbstractAsyncContextManager[None]],
        count: Callable[[Any], None],
        stages: Mapping[str, str],
    ) -> None:
        self._port, self._time, self._count, self._stages = port, time_stage, count, stages

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._port, name)
        if name not in self._stages:
            return call

        async def observed(*args: Any, **options: Any) -> Any:
            async with self._time(self._stages[name]):
                answer = await call(*args, **options)
            self._count(answer)
            return answer

        return observed
