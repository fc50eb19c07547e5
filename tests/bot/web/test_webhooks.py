"""What platforms push comes in by the same port as visitors do."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx
import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bot.listening import LARGEST, Webhook, read_body
from bot.web.application import create_application
from engine.errors import StorageError
from tests.bot.web.stage import WebStage

PATH = "/a/path:that-is-secret"


async def _echo(request: Request) -> Response:
    return Response(await read_body(request), 202)


def webhook(error: Exception | None = None) -> Webhook:
    """A webhook that sends back what it is sent, or fails."""

    async def failing(_: Request) -> Response:
        raise error or AssertionError

    return Webhook(platform="carrier", path=PATH, answer=failing if error else _echo)


@asynccontextmanager
async def asking(
    stage: WebStage, webhooks: Sequence[Webhook], *, visitors: bool = True, host: str = "localhost"
) -> AsyncIterator[httpx.AsyncClient]:
    application = create_application(stage.shared, webhooks, visitors=visitors)
    transport = httpx.ASGITransport(application, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}") as client:
        yield client


async def test_a_webhook_at_the_root_opens_no_page_to_other_names(demo_web: WebStage) -> None:
    root = replace(webhook(), path="/")
    async with asking(demo_web, [root], host="bot.example.org") as client:
        assert (await client.post("/", content=b"news")).status_code == 202
        assert (await client.get("/")).status_code == 400
    async with asking(demo_web, [root]) as client:
        assert "</html>" in (await client.get("/")).text
        assert "</html>" in (await client.get("/nothing-here")).text


async def test_without_visitors_there_are_webhooks_and_probes_alone(demo_web: WebStage) -> None:
    async with asking(demo_web, [webhook()], visitors=False) as client:
        assert (await client.post(PATH, content=b"news")).status_code == 202
        for path, status in {
            **{"/healthz": 200, "/readyz": 200},
            **{"/": 404, "/api/corpora": 404, "/metrics": 404, "/openapi.json": 404},
            **{"/static/page.css": 404, "/search": 404, PATH: 405},
        }.items():
            answered = await client.get(path)
            assert (answered.status_code, path) == (status, path)
            answered_as = "json" if status == 200 else "problem+json"
            assert answered.headers["content-type"] == f"application/{answered_as}"


async def test_a_webhook_is_counted_by_its_platform_and_described_nowhere(
    demo_web: WebStage,
) -> None:
    async with asking(demo_web, [webhook()]) as client:
        await client.post(PATH, content=b"news")
        await client.get(PATH)
        figures = (await client.get("/metrics")).text
        assert '{route="webhook of carrier",status="202"} 1.0' in figures
        for text in (figures, (await client.get("/openapi.json")).text):
            assert "secret" not in text


@pytest.mark.parametrize(
    ("error", "status", "logged"),
    [
        (StorageError("The database is away."), 503, ["WARNING"]),
        (ValueError("what somebody wrote"), 500, ["ERROR"]),
        (HTTPException(413), 413, []),
    ],
    ids=repr,
)
async def test_failed_event_is_answered_with_a_server_error(
    demo_web: WebStage,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    status: int,
    logged: list[str],
) -> None:
    async with asking(demo_web, [webhook(error)]) as client:
        answered = await client.post(PATH, content=b"news")
    assert (answered.status_code, answered.content) == (status, b"")
    told = [record.levelname for record in caplog.records if record.name.startswith("presagio")]
    assert told == logged
    assert "what somebody wrote" not in caplog.text


async def test_a_body_is_taken_up_to_a_limit(demo_web: WebStage) -> None:
    async with asking(demo_web, [webhook()]) as client:
        for length, status in ((LARGEST, 202), (LARGEST + 1, 413)):
            assert (await client.post(PATH, content=b"x" * length)).status_code == status
