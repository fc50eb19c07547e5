"""What every response says to browsers, and what of every request is counted."""

import time
import uuid

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.askers import asked_by
from bot.web.metrics import Metrics
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
        asking = Asker(origin=Origin.CHAT, task=f"web-{uuid.uuid4().hex}")
        try:
            with asked_by(asking):
                await self._app(scope, receive, noting)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.requests.labels(route, status).inc()
            elapsed = time.perf_counter() - started
            self._metrics.request_seconds.labels(route).observe(elapsed)
