"""What every response says to browsers, and what of every request is counted."""

import time
import uuid
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.askers import asked_by
from bot.web.failures import Problem
from bot.web.metrics import Metrics
from engine.budget import Source
from engine.search_log import Asker, Origin

# Nothing but what this server sends: no other host, no script or style within a page.
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class SafeHeaders:
    """Adds the headers to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, with_headers if scope["type"] == "http" else send)


class LocalNames:
    """Answers those alone who came by a name of this machine.

    Another site may let its own name lead to 127.0.0.1 and then read, in a visitor's browser,
    whatever is said there: to the browser it is that site.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or is_local(Headers(scope=scope).get("host", "")):
            await self._app(scope, receive, send)
            return
        problem = Problem(
            status=400,
            message="This name does not lead here.",
            fix="Use localhost; behind a proxy, set web.trusted_proxies.",
        )
        await JSONResponse(problem.model_dump(), problem.status)(scope, receive, send)


def is_local(host: str) -> bool:
    """Tell whether a name with or without a port means this machine and no other."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


class Counted:
    """Counts every request by its route, never by its address: that may hold anything."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, started = "none", time.perf_counter()

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        # A visitor's words are logged as those of a chat are.
        asking = Asker(origin=Origin.CHAT, task=f"web-{uuid.uuid4().hex}", source=Source.WEB)
        try:
            with asked_by(asking):
                await self._app(scope, receive, noting)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.requests.labels(route, status).inc()
            elapsed = time.perf_counter() - started
            self._metrics.request_seconds.labels(route).observe(elapsed)
