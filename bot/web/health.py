"""What operators watch."""

import asyncio
from http import HTTPStatus

from fastapi import APIRouter, Depends, Response

from bot.web.dependencies import DeskOf, may_ask, paced
from bot.web.failures import Refusal
from bot.web.metrics import exposition
from bot.web.parameters import problems
from bot.web.schemas import Health, Ready
from db.corpus.health import server_version
from engine.errors import StorageError
from engine.messages import Message

_READY_SECONDS = 2.0
_TEXT = "text/plain; version=0.0.4; charset=utf-8"

probes = APIRouter(tags=["operate"])
router = APIRouter(tags=["operate"])


@probes.get("/healthz", response_model=Health, summary="Whether the process works")
async def _healthz(desk: DeskOf) -> dict[str, object]:
    """Answer as long as the process does, and tell which faces hear anything."""
    faces = {
        name: {"listening": status.listening, "way": status.way}
        for name, status in desk.faces().items()
    }
    return {"status": "ok", "faces": faces}


@probes.get(
    "/readyz",
    response_model=Ready,
    responses=problems(503),
    summary="Whether questions can be answered",
)
async def _readyz(desk: DeskOf) -> dict[str, str]:
    """Ask the database for a sign of life."""
    try:
        async with asyncio.timeout(_READY_SECONDS):
            await server_version(desk.app.database)
    except (StorageError, TimeoutError) as error:
        raise Refusal(
            HTTPStatus.SERVICE_UNAVAILABLE,
            Message("The database does not answer."),
            fix=Message("Start it, or look at its log."),
            headers={"Retry-After": "5"},
        ) from error
    return {"status": "ready"}


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}}, **problems(401, 429, 503)},
    summary="Figures for Prometheus",
    dependencies=[Depends(paced), Depends(may_ask)],
)
async def _metrics(desk: DeskOf) -> Response:
    """Tell searches, times of stages, judgments, tokens, cost, feeds, jobs and deliveries."""
    text = await exposition(desk.metrics, desk.app.database, now=desk.now())
    return Response(text, media_type=_TEXT)
