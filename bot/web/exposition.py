"""What `/metrics` shows: the counts of this process, and figures from the database."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from importlib.metadata import version

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from bot.face.face import FaceStatus
from bot.web.shared_state import SharedState
from db.model.judgments import Ledger
from db.pool import Database
from db.posting.feeds import Feeds
from db.posting.job_outcomes import JobOutcomes
from db.posting.outbox import Outbox
from db.replicas.replica import ReplicaState
from engine.llm.client import ChatClient

_GIVEN_UP_WITHIN = timedelta(days=1)


OF_STANDBYS = {
    "used": "Whether this process reads from the standby.",
    "behind_seconds": "How far the standby is behind at most, if that is known.",
    "reads": "Readers that were sent to the standby by this process.",
    "passed_on": "Of those, readers that another server answered.",
}


async def exposition(shared: SharedState) -> bytes:
    """Return everything in the text format of Prometheus. Raises StorageError.

    Figures from the database cover all processes. None of them falls at midnight, which alerts
    would take for a restart.
    """
    database, now = shared.app.database, shared.now()
    registry = CollectorRegistry()
    _of_process(shared, registry)
    if shared.app.client:
        registry.register(_Counted(_calls(shared.app.client)))
    registry.register(_Counted(*await _spent(database), await _job_runs(database)))
    await _feeds(Feeds(database), registry, now)
    await _deliveries(Outbox(database), registry, now)
    _standbys(database.replicas(), registry)
    return generate_latest(shared.metrics.registry) + generate_latest(registry)


class _Counted(Collector):
    """Counters that are kept elsewhere."""

    def __init__(self, *families: Metric) -> None:
        self._families = families

    def collect(self) -> tuple[Metric, ...]:
        """Return the counters."""
        return self._families


def _counter(name: str, help_text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = CounterMetricFamily(name, help_text, labels=[label])
    for value, times in values.items():
        family.add_metric([value], times)
    return family


def _of_process(shared: SharedState, registry: CollectorRegistry) -> None:
    Gauge(
        "presagio_build_info", "Always 1; the version of presagio.", ["version"], registry=registry
    ).labels(version("presagio")).set(1)
    # Not "job", which Prometheus keeps for the name of what it scrapes.
    ages = Gauge(
        "presagio_job_last_run_age_seconds",
        "Seconds since the last run of a job ended, where it is to run in this process.",
        ["task"],
        registry=registry,
    )
    for name, seconds in shared.metrics.job_ages().items():
        ages.labels(name).set(seconds)
    _faces(shared.faces(), registry)


def _faces(faces: Mapping[str, FaceStatus], registry: CollectorRegistry) -> None:
    listening = Gauge(
        "presagio_face_listening",
        "1 while a face receives what people write, else 0.",
        ["face"],
        registry=registry,
    )
    for name, status in faces.items():
        listening.labels(name).set(status.listening)


def _calls(client: ChatClient) -> Metric:
    return _counter(
        "presagio_model_calls",
        "Calls of the language model by this process: answered, failed, paused, or over budget.",
        "outcome",
        {outcome.value: times for outcome, times in client.outcomes.times.items()},
    )


async def _spent(database: Database) -> tuple[Metric, Metric]:
    spent = await Ledger(database).spent_in_all()
    tokens = {"prompt": spent.prompt_tokens or 0, "completion": spent.completion_tokens or 0}
    cost = CounterMetricFamily("presagio_model_cost_usd", "Cost of all calls of models.")
    cost.add_metric([], spent.cost_usd or 0)
    return _counter("presagio_model_tokens", "Tokens of all calls of models.", "kind", tokens), cost


async def _job_runs(database: Database) -> Metric:
    runs = CounterMetricFamily(
        "presagio_job_runs", "Runs of jobs, by how they ended.", labels=["task", "outcome"]
    )
    for (job, outcome), times in (await JobOutcomes(database).totals()).items():
        runs.add_metric([job, outcome.value], times)
    return runs


async def _feeds(feeds: Feeds, registry: CollectorRegistry, now: datetime) -> None:
    states = Gauge("presagio_feeds", "Feeds by state.", ["state"], registry=registry)
    counted = {"working": 0, "failing": 0, "gone": 0, "new": 0}
    for health in await feeds.health(now=now):
        feed = health.feed
        working = "working" if feed.primed else "new"
        counted["gone" if feed.gone else "failing" if feed.failures else working] += 1
    for state, number in counted.items():
        states.labels(state).set(number)


async def _deliveries(outbox: Outbox, registry: CollectorRegistry, now: datetime) -> None:
    health = await outbox.health(now - _GIVEN_UP_WITHIN)
    states = Gauge(
        "presagio_deliveries",
        "Posts that are owed now, those of them tried before, those given up within 24 hours.",
        ["state"],
        registry=registry,
    )
    states.labels("owed").set(health.owed)
    states.labels("retried").set(health.retried)
    states.labels("failed").set(health.failed)


def _standbys(states: Sequence[ReplicaState], registry: CollectorRegistry) -> None:
    for name, said in OF_STANDBYS.items() if states else ():
        gauge = Gauge(f"presagio_replica_{name}", said, ["replica"], registry=registry)
        for one in states:
            if (figure := getattr(one, name)) is not None:
                gauge.labels(one.name).set(figure)
