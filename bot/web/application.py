"""Assembles the routes, and the layers around them that every request passes.

The server speaks nothing but HTTP: each scope is that of a request.
"""

import logging
import time
import uuid
from collections.abc import Container, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import JSONResponse, Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.listening import LARGEST, SAFE_HEADERS, Webhook
from bot.query_log import asked_by
from bot.web import api, composing, feeds, operating
from bot.web.access import require_own_name, require_own_page
from bot.web.failure_page import render_failure
from bot.web.failures import PROBLEM_TYPE, describe_api, map_error
from bot.web.metrics import Metrics
from bot.web.pages import add_pages, add_routes
from bot.web.shared_state import SharedState
from db.logs import Asker, Origin
from engine.budget import BudgetSource
from engine.errors import PresagioError

logger = logging.getLogger("presagio.web")

# Each of these requests is logged; all others are only counted.
_ANSWERS = ("/prophecy", "/compose", "/api/", "/mcp")
_COMPRESSION = 6  # more costs twice the time and saves a hundredth
_ABOUT = "There is always a tweet: old posts that foresaw today's headlines."
TOOLS_PATH = "/mcp"
_TOOL_HEADERS = ("Mcp-Protocol-Version", "Content-Type", "Mcp-Method", "Mcp-Name")
_PROBES = ("/healthz", "/readyz")
_PROGRAMS = ("/api/", TOOLS_PATH, *_PROBES, "/metrics", "/openapi.json")
# What readers of feeds and previews of links may show on pages of theirs; none of it asks a model.
_SHOWN_ELSEWHERE = ("/static/", "/card/")
_READING = ("GET", "OPTIONS")


class SafeHeaders:
    """Adds security headers to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SAFE_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)


class Failures:
    """Answers in place of an application that fails: the framework's own page of an unexpected
    error would be sent outside all that adds headers and counts."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        started = False

        async def note_start(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, note_start)
        except Exception as error:
            if started:
                raise
            response = await _render_failure(Request(scope, receive), error)
            await response(scope, receive, send)


class BodyLimit:
    """Refuses a body that is too large, at every path and before anything else is looked at: by
    its announced length, or else as soon as more has come."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. Raises HTTPException (413)."""
        taken = 0

        async def receive_within_limit() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > LARGEST:
                raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return message

        # The server has checked that the length is a number.
        if int(Headers(scope=scope).get("content-length", 0)) > LARGEST:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        await self._app(scope, receive_within_limit, send)


class HeadAsGet:
    """Answers HEAD as GET without the body, at every path."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_without_body(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
            elif not message.get("more_body"):
                await send({"type": "http.response.body"})

        await self._app({**scope, "method": "GET"}, receive, send_without_body)


class OwnRequests:
    """Answers only requests that are meant for this server, by a name of its own, and that no page
    of another site makes a visitor's browser send.

    A site may point its own name at the address of this server and then read, in a visitor's
    browser, whatever is served there, because the browser takes it for that site (DNS rebinding).
    Webhooks prove themselves, and probes tell nothing that needs protection: they are asked by
    names and addresses that nobody can list.
    """

    def __init__(self, app: ASGIApp, shared: SharedState, webhooks: Container[str]) -> None:
        self._app = app
        self._shared = shared
        self._webhooks = webhooks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. Raises Refusal."""
        method, path = scope["method"], scope["path"]
        if not (path in _PROBES or (method == "POST" and path in self._webhooks)):
            headers, own = Headers(scope=scope), self._shared.own
            require_own_name(headers, own, arrived_at=(scope.get("server") or ("",))[0])
            if not path.startswith(_SHOWN_ELSEWHERE):
                named_may = path.startswith(_PROGRAMS) or method in _READING
                require_own_page(headers, method, own, named_may=named_may)
        await self._app(scope, receive, send)


class RequestCounter:
    """Counts every request by its route, never by its URL, which may contain anything. `named`
    holds other names by path: a webhook is counted by its platform, as its path may be secret."""

    def __init__(self, app: ASGIApp, metrics: Metrics, named: Mapping[str, str]) -> None:
        self._app = app
        self._metrics = metrics
        self._named = named

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        status, started = "none", time.perf_counter()

        async def note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        # A visitor's words are logged in the same way as a chat's.
        asking = Asker(origin=Origin.CHAT, task=f"web-{uuid.uuid4().hex}", source=BudgetSource.WEB)
        try:
            with asked_by(asking):
                await self._app(scope, receive, note_status)
        finally:
            found = getattr(scope.get("route"), "path", "other")
            route = self._named.get(scope["path"], found)
            self._metrics.requests.labels(route, status).inc()
            elapsed = time.perf_counter() - started
            self._metrics.request_seconds.labels(route).observe(elapsed)
            if route.startswith(_ANSWERS):
                fields = {"platform": "web", "to": route, "status": status}
                logger.info("answered", extra={"fields": fields | {"ms": round(elapsed * 1000)}})


def create_application(
    shared: SharedState,
    webhooks: Sequence[Webhook] = (),
    *,
    visitors: bool = True,
    tools: ASGIApp | None = None,
) -> FastAPI:
    """Return the application; its routes work with `shared`.

    Without `visitors` it has only the webhooks and the probes: no pages, no API. `tools` serves
    agents, if they may ask.
    """
    app = FastAPI(
        title="Presagio",
        version=version("presagio"),
        description=_ABOUT,
        openapi_url="/openapi.json" if visitors else None,
        docs_url=None,  # its page would load scripts from other hosts
        redoc_url=None,
    )
    app.state.shared = shared
    platforms = {webhook.path: f"webhook of {webhook.platform}" for webhook in webhooks}
    for webhook in webhooks:
        app.add_route(webhook.path, webhook.receive, methods=["POST"], include_in_schema=False)
    add_routes(app, operating.probes)
    if visitors:
        add_routes(app, api.router, composing.programs, operating.steering, operating.figures)
    if tools:
        app.router.routes.append(Route(TOOLS_PATH, tools, include_in_schema=False))
    app.state.pages = visitors and shared.settings.web.page
    if app.state.pages:
        add_pages(app)
        add_routes(app, composing.people, feeds.router)
    for kind in (PresagioError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _render_failure)
    _add_middleware(app, shared, platforms, has_tools=tools is not None)
    described: Any = partial(describe_api, app, keys_needed=shared.keys.asks_for_keys())
    app.openapi = described  # type: ignore[method-assign]  # as the framework's manual says
    return app


def _add_middleware(
    app: FastAPI, shared: SharedState, webhooks: Mapping[str, str], *, has_tools: bool
) -> None:
    """Wrap the application, from the inside out. `webhooks` are the names of their paths."""
    if shared.settings.web.allow_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=shared.settings.web.allow_origins,
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", *(_TOOL_HEADERS if has_tools else ())],
        )
    app.add_middleware(GZipMiddleware, compresslevel=_COMPRESSION)
    app.add_middleware(OwnRequests, shared=shared, webhooks=webhooks)
    app.add_middleware(BodyLimit)
    app.add_middleware(Failures)
    app.add_middleware(SafeHeaders)
    # The framework names only routes that it made itself.
    named = {**webhooks, **({TOOLS_PATH: TOOLS_PATH} if has_tools else {})}
    app.add_middleware(RequestCounter, metrics=shared.metrics, named=named)
    app.add_middleware(HeadAsGet)


async def _render_failure(request: Request, error: Exception) -> Response:
    failure = map_error(error)
    if not request.app.state.pages or request.url.path.startswith(_PROGRAMS):
        problem = failure.problem()
        headers = dict(failure.headers)
        return JSONResponse(problem.model_dump(), problem.status, headers, PROBLEM_TYPE)
    return await render_failure(request, failure)
