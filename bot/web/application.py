"""Puts the routes together."""

from functools import partial
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from bot.web import admin, api, health
from bot.web.desk import Desk
from bot.web.documented import describe
from bot.web.failures import failure_of
from bot.web.headers import Counted, LocalNames, SafeHeaders, is_local
from bot.web.pages import add_pages, failure_page
from engine.errors import PresagioError

_ABOUT = "There is always a tweet: old posts that foresaw today's headlines."
_PROGRAMS = ("/api/", "/healthz", "/readyz", "/metrics", "/openapi.json")


def create_application(desk: Desk) -> FastAPI:
    """Return the application; the desk is what its routes work with."""
    app = FastAPI(
        title="Presagio",
        version=version("presagio"),
        description=_ABOUT,
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
    )
    app.state.desk = desk
    for router in (api.router, admin.router, health.router):
        app.include_router(router)
    if desk.settings.web.page:
        add_pages(app)
    for kind in (PresagioError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _failed)
    if desk.settings.web.allow_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=desk.settings.web.allow_origins,
            allow_methods=["GET"],
            allow_headers=["Authorization"],
        )
    web = desk.settings.web
    if is_local(web.host) and not web.trusted_proxies:
        app.add_middleware(LocalNames)
    app.add_middleware(SafeHeaders)
    app.add_middleware(Counted, metrics=desk.metrics)
    described: Any = partial(describe, app)
    app.openapi = described  # type: ignore[method-assign]  # as the framework's manual says
    return app


async def _failed(request: Request, error: Exception) -> Response:
    failure = failure_of(error)
    headers = dict(failure.headers)
    if not request.app.state.desk.settings.web.page or request.url.path.startswith(_PROGRAMS):
        problem = failure.problem
        return JSONResponse(problem.model_dump(), problem.status, headers)
    return failure_page(request, failure.problem, headers)
