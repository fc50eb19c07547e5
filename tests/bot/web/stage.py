"""The web adapter on a database, asked without a network in between."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any
from unittest.mock import patch

import httpx
from fastapi import FastAPI

from bot.adapter import AdapterStatus
from bot.app import App, open_app
from bot.commands.pasted import read_pasted
from bot.settings import Settings, load_settings
from bot.web.application import create_application
from bot.web.metrics import Metrics
from bot.web.shared_state import SharedState
from engine.corpora import Document
from engine.prophecy.headline import read_headline
from engine.search import Headline
from tests.db.loading import document
from tests.fakes.model import ModelServer

NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)
ADDRESS = "http://localhost:8080"
JULY = datetime(2016, 7, 1, 9, tzinfo=UTC)


def dated(number: int, text: str, moment: datetime, **changes: Any) -> Document:
    """A text of ana, written at that moment."""
    return replace(document(str(number), text, author="ana"), created_at=moment, **changes)


# A thread, another text, and one in each year after.
OF_ANA = (
    dated(1, "The thread begins", JULY, engagement=5),
    dated(2, "Something else", JULY + timedelta(hours=1)),
    dated(3, "and goes on", JULY + timedelta(hours=2), reply_to="1"),
    dated(4, "and ends", JULY + timedelta(days=9), reply_to="3"),
    dated(5, "Of June", datetime(2017, 6, 1, tzinfo=UTC), engagement=90),
    dated(6, "A year on", datetime(2018, 6, 1, 23, tzinfo=UTC), engagement=7),
)


@dataclass(kw_only=True)
class WebStage:
    """What answers, and a client that asks."""

    app: App
    shared: SharedState
    application: FastAPI
    client: httpx.AsyncClient
    settings: Settings  # what is read when they are reloaded

    async def get(self, path: str, **parameters: object) -> httpx.Response:
        given = {name: str(value) for name, value in parameters.items()}
        return await self.client.get(path, params=given or None)

    async def json(self, path: str, **parameters: object) -> Any:
        """Return the answer to a question that is answered."""
        answered = await self.get(path, **parameters)
        assert answered.status_code == 200, answered.text
        return answered.json()

    async def problem(self, path: str, status: int, **parameters: object) -> str:
        """Return what is said about a question that is not answered."""
        answered = await self.get(path, **parameters)
        assert answered.status_code == status, answered.text
        body = answered.json()
        assert answered.headers["content-type"] == "application/problem+json"
        assert set(body) == {"type", "title", "status", "detail", "message", "fix"}
        assert (body["status"], body["detail"]) == (status, body["message"])
        assert (body["type"], body["title"]) == ("about:blank", HTTPStatus(status).phrase)
        return " ".join(filter(None, (body["message"], body["fix"])))


def judging(url: str, model: ModelServer) -> dict[str, str]:
    """Settings by which everybody is judged for."""
    return {
        "DATABASE_URL": url,
        "PRESAGIO_LLM__BASE_URL": model.base_url,
        "PRESAGIO_LLM__RETRIES": "0",
        "PRESAGIO_WEB__JUDGE": "true",
    }


def speaking(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


async def read(app: App, text: str, *, now: datetime) -> Headline:
    """Read a headline; a link to example.org is its page, and one to this machine is fetched."""
    if "127.0.0.1" in text:
        return await read_pasted(app, text, now=now)
    return read_headline("Coffee is dear" if "example.org" in text else text)


@asynccontextmanager
async def web_stage(
    environ: Mapping[str, str] | str,
    *,
    now: Callable[[], datetime] = lambda: NOW,
    client: tuple[str, int] = ("192.0.2.7", 4321),
    patience: float = 60.0,
    **web: Any,
) -> AsyncIterator[WebStage]:
    """Lend the web adapter of an app on a database or by variables, with these settings of it.

    Pages wait for a model for as long as `patience` says, so that what they show hangs on no clock.
    """
    variables = {"DATABASE_URL": environ} if isinstance(environ, str) else environ
    named = {f"PRESAGIO_WEB__{name.upper()}": value for name, value in web.items()}
    settings = load_settings(environ={**variables, **named})
    async with open_app(settings, progress=print) as opened, AsyncExitStack() as stack:
        stack.enter_context(patch("bot.web.visitor.read_pasted", read))
        metrics = Metrics()
        counted = metrics.count_searches(opened)
        shared = SharedState(
            counted,
            metrics,
            now=now,
            adapters=lambda: {"slack": AdapterStatus(listening=False, way="HTTP")},
            clock=lambda: 0.0,
        )
        shared.patience = patience
        shared.reload_settings = lambda: stage.settings
        application = create_application(shared)
        transport = httpx.ASGITransport(application, raise_app_exceptions=False, client=client)
        async with httpx.AsyncClient(transport=transport, base_url=ADDRESS) as asking:
            stage = WebStage(
                app=counted,
                shared=shared,
                application=application,
                client=asking,
                settings=settings,
            )
            yield stage
