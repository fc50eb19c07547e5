"""Runs the HTTP server: listens, finishes requests under way, stops."""

import asyncio
import socket
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

import uvicorn
from fastapi import FastAPI
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from bot.adapter import AdapterFailed, AdapterStatus
from bot.listening import (
    ACCEPTED_AT_ONCE,
    WAITING,
    Connections,
    PatientProtocol,
    Webhook,
    limit_of_port,
)
from bot.settings.model import WebSettings
from bot.web.access import describe_open_access
from bot.web.application import TOOLS_PATH, create_application
from bot.web.shared_state import SharedState
from engine.errors import ExtraMissing
from engine.messages import Message

if TYPE_CHECKING:
    from bot.web.mcp import ToolEndpoint

_CLOSE_SECONDS = 0.5  # for connections that are cut off
_IDLE_SECONDS = 20  # after which an idle connection is closed


class _Server(uvicorn.Server):
    """A server that leaves signal handling to its process."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do nothing: bot.signals shuts the process down."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen; the system queues more connections than are accepted at once."""
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(WAITING)


def _create_server(application: FastAPI, web: WebSettings, *, visitors: bool) -> _Server:
    proxies = list(web.trusted_proxies)
    return _Server(
        uvicorn.Config(
            application,
            http=partial(  # type: ignore[arg-type]  # any protocol factory works
                PatientProtocol,
                open_connections=Connections(limit_of_port()),
                # Platforms connect from few addresses, or from one through a proxy.
                proxies=_parse_hosts(proxies if visitors else ["*"]),
            ),
            ws="none",
            backlog=ACCEPTED_AT_ONCE,
            access_log=False,  # URLs contain what people ask
            log_config=None,
            lifespan="off",
            proxy_headers=bool(proxies),
            forwarded_allow_ips=proxies,
            server_header=False,
            timeout_keep_alive=_IDLE_SECONDS,
        )
    )


class WebService:
    """The one listening address: for visitors, programs, and platforms that push."""

    webhook = None  # it serves the webhooks of the other adapters

    def __init__(
        self,
        shared: SharedState,
        *,
        tell: Callable[[str], None],
        webhooks: Sequence[Webhook] = (),
        visitors: bool = True,
    ) -> None:
        """Without `visitors` it serves only the webhooks and the probes."""
        self._tell = tell
        self._shared, self._settings = shared, shared.settings
        self._visitors = visitors
        web = shared.settings.web
        self._host, self._port = web.host, web.port
        self._tools = open_tools(shared) if visitors and web.mcp else None
        application = create_application(shared, webhooks, visitors=visitors, tools=self._tools)
        self._server = _create_server(application, web, visitors=visitors)
        self._serving: asyncio.Task[None] | None = None
        self._tried = asyncio.Event()  # set once it is known whether it can listen
        self._failure: AdapterFailed | None = None

    @property
    def address(self) -> str:
        """Return the URL that it listens on, as given to a browser."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}/"

    def status(self) -> AdapterStatus:
        """Return whether requests are accepted now."""
        listening = self._server.started and not self._server.should_exit
        return AdapterStatus(listening=listening, way=f"HTTP at {self.address}")

    async def wait_until_open(self) -> None:
        """Wait until it listens. Raises AdapterFailed when the address cannot be bound."""
        await self._tried.wait()
        if self._failure:
            raise self._failure

    async def run(self) -> None:
        """Answer until cancelled; requests under way then continue until `stop`.

        Raises AdapterFailed when the address cannot be bound.
        """
        try:
            opened = self._bind_socket()
        except AdapterFailed as error:
            self._failure = error
            raise
        finally:
            self._tried.set()
        self._tell_address()
        self._serving = asyncio.create_task(self._serve(opened))
        self._serving.add_done_callback(lambda _: opened.close())
        try:
            await asyncio.shield(self._serving)
        finally:
            self._server.should_exit = True

    async def _serve(self, opened: socket.socket) -> None:
        async with self._tools.run() if self._tools else nullcontext():
            await self._server.serve([opened])

    async def stop(self, seconds: float) -> None:
        """Accept nothing new; requests not answered after `seconds` are cut off."""
        self._server.should_exit = True
        if self._serving is None or self._serving.done():
            return
        await asyncio.wait({self._serving}, timeout=seconds)
        await self._shared.prophecies.aclose()
        await self._shared.compositions.aclose()
        for answering in self._server.server_state.tasks:
            answering.cancel()
        self._server.force_exit = True
        await asyncio.wait({self._serving}, timeout=_CLOSE_SECONDS)

    def _tell_address(self) -> None:
        if not self._visitors:
            self._tell(f"Webhooks are taken at {self.address}")
            return
        what = "web page" if self._settings.web.page else "API"
        self._tell(f"The {what} is at {self.address}")
        if self._tools:
            self._tell(f"Agents find their tools at {self.address.rstrip('/')}{TOOLS_PATH}")
        for sentence in describe_open_access(self._settings):
            self._tell(sentence)

    def _bind_socket(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        # Declared as TCP; otherwise asyncio leaves Nagle's algorithm on, which delays packets.
        opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            opened.bind((self._host, self._port))
            opened.listen(ACCEPTED_AT_ONCE)
            opened.setblocking(False)
        except (OSError, OverflowError) as error:
            opened.close()
            raise AdapterFailed(
                Message(
                    "Presagio cannot listen on {host} port {port} ({error}).",
                    host=self._host,
                    port=self._port,
                    error=getattr(error, "strerror", None) or error,
                ),
                fix=Message("Set web.host and web.port to what is free here."),
            ) from error
        self._port = opened.getsockname()[1]
        return opened


def open_tools(shared: SharedState) -> "ToolEndpoint":
    """Return the endpoint for agents. Raises ExtraMissing."""
    require_mcp()
    from bot.web.mcp import ToolEndpoint  # noqa: PLC0415 - an extra

    return ToolEndpoint(shared)


def require_mcp() -> None:
    """Raise ExtraMissing if the SDK of the protocol is not installed."""
    if not find_spec("mcp"):
        raise ExtraMissing(Message("Agents cannot be served here."), extra="mcp")


def _parse_hosts(proxies: list[str]) -> Container[str]:
    """Return the addresses of the proxies, read as the server does: they may be networks."""
    nobody: Any = None
    return cast(Container[str], ProxyHeadersMiddleware(nobody, proxies).trusted_hosts)
