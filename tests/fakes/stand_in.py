"""The base of the stand-in servers: an aiohttp application on a free loopback port."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self, TypeVar

from aiohttp import web

_MAX_BODY = 1 << 26

# A scripted answer to one request, which is its last argument: the model and embedding servers give
# their steps the parsed request before it.
Step = Callable[..., Awaitable[web.StreamResponse]]
Found = TypeVar("Found")


class Changes:
    """Wakes everybody who waits for a condition whenever anything has happened."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def notify(self) -> None:
        self._next.set()
        self._next = asyncio.Event()

    async def until(self, condition: Callable[[], Found | None], within: float | None) -> Found:
        """The first true value of the condition; TimeoutError after `within` seconds."""
        async with asyncio.timeout(within):
            while not (value := condition()):
                await self._next.wait()
        return value


async def listen(app: web.Application, port: int = 0) -> tuple[web.AppRunner, int]:
    """Serve on a port of 127.0.0.1, a free one by default; return what ends that, and the port."""
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    return runner, runner.addresses[0][1]


def cut(request: web.Request) -> web.Response:
    """Cut the connection without a word."""
    if request.transport:
        request.transport.abort()
    return web.Response()


@dataclass
class StandIn(ABC):
    """Listens on a free port of 127.0.0.1. Use `async with`."""

    _runner: web.AppRunner | None = field(default=None, init=False, repr=False)
    _port: int = field(default=0, init=False, repr=False)

    @abstractmethod
    def routes(self) -> Sequence[web.RouteDef]:
        """Return what it serves."""

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=_MAX_BODY)
        app.add_routes(self.routes())
        self._runner, self._port = await listen(app)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()


@dataclass
class Answering(StandIn):
    """Answers whatever is asked in one way."""

    step: Step

    def routes(self) -> Sequence[web.RouteDef]:
        return [web.route("*", "/{path:.*}", self.step)]


def answer(payload: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Step:
    """Any JSON under any status."""

    async def step(*_: object) -> web.StreamResponse:
        return web.json_response(payload, status=status, headers=headers)

    return step


def slow(seconds: float = 3600, then: Step | None = None) -> Step:
    """The same later; by then nobody waits for the empty answer that there is without `then`."""

    async def step(*given: object) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await (then or answer([]))(*given)

    return step


async def dropped(*given: object) -> web.StreamResponse:
    """Cut the connection without a word."""
    request = given[-1]
    assert isinstance(request, web.Request)
    return cut(request)
