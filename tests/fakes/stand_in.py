"""The base of the stand-in servers: an aiohttp application on a free loopback port."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from aiohttp import web

_MAX_BODY = 1 << 26

# A scripted answer to one request. The model and embedding servers define their own kind, which
# also receives the parsed request.
Step = Callable[[web.Request], Awaitable[web.StreamResponse]]


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
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self._port = self._runner.addresses[0][1]
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

    async def step(_: web.Request) -> web.StreamResponse:
        return web.json_response(payload, status=status, headers=headers)

    return step


def slow(seconds: float = 3600) -> Step:
    """No answer for so long."""

    async def step(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return web.json_response([])

    return step
