"""Web adapters on the bundled corpus, which tests only read, and on databases of their own."""

from collections.abc import AsyncIterator, Iterator, Sequence
from copy import deepcopy
from typing import Any
from unittest.mock import patch

import pytest
from fastapi.openapi.utils import get_openapi
from starlette.routing import BaseRoute

from tests.bot.web.browser import Visit, browsing
from tests.bot.web.stage import OF_ANA, WebStage, judging, web_stage
from tests.bot.web.test_service import served
from tests.db.loading import load
from tests.fakes.model import ModelServer, scoring
from tests.programs import require_program
from tests.scenarios.stage import Stage, staged


@pytest.fixture(scope="session", autouse=True)
def _routes_described_once() -> Iterator[None]:
    """Let each application describe its routes, which all of them share, without asking pydantic
    again for the schemas."""
    known: dict[tuple[int, ...], dict[str, Any]] = {}

    def describe_once(*, routes: Sequence[BaseRoute], **named: Any) -> dict[str, Any]:
        shown = tuple(id(route) for route in routes if getattr(route, "include_in_schema", False))
        if shown not in known:
            known[shown] = get_openapi(routes=routes, **named)
        return deepcopy(known[shown])

    with patch("bot.web.failures.get_openapi", describe_once):
        yield


@pytest.fixture
async def web(database_url: str) -> AsyncIterator[WebStage]:
    """A page over a database without a corpus."""
    async with web_stage(database_url) as stage:
        yield stage


@pytest.fixture
async def archive(web: WebStage) -> WebStage:
    """Six texts of ana, of three years."""
    await load(web.app.database, "ana", OF_ANA)
    return web


@pytest.fixture
async def demo_web(demo: str) -> AsyncIterator[WebStage]:
    """The bundled corpus."""
    async with web_stage(demo) as stage:
        yield stage


@pytest.fixture
async def coffee_web(coffee_url: str) -> AsyncIterator[WebStage]:
    """Eight tweets about coffee."""
    async with web_stage(coffee_url) as stage:
        yield stage


@pytest.fixture
async def judged_web(coffee_url: str) -> AsyncIterator[WebStage]:
    """Tweets about coffee, all of which foretold any headline."""
    async with (
        ModelServer([scoring(lambda _headline, _candidate: 6)]) as model,
        web_stage(judging(coffee_url, model)) as stage,
    ):
        yield stage


@pytest.fixture
async def stage(coffee_url: str) -> AsyncIterator[Stage]:
    """Telegram around a bot that does not run yet."""
    async with staged(coffee_url) as stage:
        yield stage


@pytest.fixture
async def visit(coffee_url: str) -> AsyncIterator[Visit]:
    """A visit that ends without a complaint of the browser, and without another server asked."""
    program = require_program("chromium")
    async with served(coffee_url) as one, browsing(program) as browser:
        await browser.look_like(width=1280, height=900)
        yield Visit(browser, one.service.address)
        own = (one.service.address, "data:", "about:")
        foreign = [url for url in browser.asked if not url.startswith(own)]
        assert foreign == []
        assert browser.complaints == []
