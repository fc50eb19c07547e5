"""The web that the engine reads, and the model that it asks."""

from collections.abc import AsyncIterator, Iterator

import psutil  # type: ignore[import-untyped]  # no type information
import pytest
import stamina

from engine.fetch.client import Fetcher
from engine.settings.fetching import FetchSettings
from tests.fakes.model import ModelServer
from tests.fakes.web import WebServer, loopback_resolver

LOOPBACK = FetchSettings(
    user_agent_contact="https://bot.example/about", allow_networks=("127.0.0.0/8",)
)

# Processes of others, such as the server from which commands are forked.
_before = set[psutil.Process]()


def workers() -> list[psutil.Process]:
    """Return the processes that a test under `no_process_is_left` has started."""
    return [child for child in psutil.Process().children() if child not in _before]


@pytest.fixture
def no_process_is_left() -> Iterator[None]:
    _before.clear()
    _before.update(psutil.Process().children())
    yield
    assert workers() == []


@pytest.fixture
async def web() -> AsyncIterator[WebServer]:
    async with WebServer() as server:
        yield server


@pytest.fixture
async def fetcher() -> AsyncIterator[Fetcher]:
    """It may read from this machine, and knows two names."""
    resolver = loopback_resolver("news.example", "other.example")
    async with Fetcher(LOOPBACK, resolver=resolver) as ready:
        yield ready


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer() as running:
        yield running


@pytest.fixture
def no_waits() -> Iterator[None]:
    """Have calls of a model repeated at once."""
    with stamina.set_testing(True, attempts=10, cap=True):
        yield
