"""Whether the model endpoint works is found out without asking the model anything."""

import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from aiohttp import web

from engine.errors import ModelRefused, ModelUnreachable
from engine.llm.endpoint import Endpoint
from engine.llm.transport import check_endpoint
from tests.fakes.stand_in import StandIn

KEY = "sk-or-secret"


@dataclass
class Listening(StandIn):
    """A server that answers every GET alike and remembers what it was asked."""

    status: int = 200
    asked: list[web.Request] = field(default_factory=list)

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/{path:.*}", self.answer)]

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request)
        headers = {"Location": "http://127.0.0.1:1/"} if self.status in (301, 302) else {}
        return web.json_response({"data": []}, status=self.status, headers=headers)

    @property
    def url(self) -> str:
        return f"{self.root}/v1/"


@pytest.fixture
async def endpoint() -> AsyncIterator[Listening]:
    async with Listening() as listening:
        yield listening


def asked_at(url: str, key: str | None = None) -> Endpoint:
    return Endpoint(section="llm", base_url=url, model="local/model", api_key=key)


async def test_a_server_that_lists_its_models_is_fine(endpoint: Listening) -> None:
    answered = await check_endpoint(asked_at(endpoint.url, KEY))
    assert answered.line == "local/model at 127.0.0.1"
    assert answered.date is not None
    assert abs(answered.date - datetime.now(UTC)) < timedelta(minutes=10)
    [asked] = endpoint.asked
    assert (asked.method, asked.path) == ("GET", "/v1/models")
    assert asked.headers["Authorization"] == f"Bearer {KEY}"


async def test_openrouter_is_asked_about_the_key(
    endpoint: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Endpoint, "is_openrouter", True)
    await check_endpoint(asked_at(endpoint.url, KEY))
    assert endpoint.asked[0].path == "/v1/key"


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "127.0.0.1 refuses the key. Check OPENROUTER_API_KEY."),
        (403, "127.0.0.1 refuses the key. Check OPENROUTER_API_KEY."),
        (302, "127.0.0.1 answered 302. Check llm.base_url."),
        (404, "127.0.0.1 answered 404. Check llm.base_url."),
        (500, "127.0.0.1 answered 500. Check llm.base_url."),
    ],
)
async def test_other_responses_tell_a_fix(endpoint: Listening, status: int, said: str) -> None:
    endpoint.status = status
    with pytest.raises(ModelRefused) as refused:
        await check_endpoint(asked_at(endpoint.url, KEY))
    assert str(refused.value) == said


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/v1", "https://127.0.0.1:1"])
async def test_an_unreachable_server_is_reported_without_the_key(url: str) -> None:
    with pytest.raises(ModelUnreachable) as failed:
        await check_endpoint(asked_at(url, KEY))
    assert str(failed.value) == (
        "127.0.0.1 does not answer (ConnectError). Check llm.base_url and the network."
    )


async def test_a_server_that_never_answers_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.llm.transport._TOTAL", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ModelUnreachable, match="TimeoutError"):
            await check_endpoint(asked_at(url))
