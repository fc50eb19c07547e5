"""The web that the engine reads."""

from collections.abc import AsyncIterator

import pytest

from tests.fakes.web import WebServer


@pytest.fixture
async def web() -> AsyncIterator[WebServer]:
    async with WebServer() as server:
        yield server
