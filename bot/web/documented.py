"""How the API describes itself: what may go wrong, with examples."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from bot.web.failures import Problem

_AGAIN = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
_KEY = {"WWW-Authenticate": {"description": "Bearer", "schema": {"type": "string"}}}
_PROBLEMS: dict[int, tuple[str, str, dict[str, Any]]] = {
    400: ("The parameter q is missing.", "Add q=...", {}),
    401: ("A key is needed.", "Send the header: Authorization: Bearer KEY", _KEY),
    403: ("This key may ask, but not steer.", "Use a key of WEB_ADMIN_KEYS.", {}),
    404: ("There is no corpus 'me'.", "There are: demo, news.", {}),
    429: ("Too many requests from this address.", "Wait 3 s.", _AGAIN),
    503: ("The database does not answer.", "Start it.", _AGAIN),
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the description of these statuses, for a route."""
    return {status: _described(status) for status in statuses}


def _described(status: int) -> dict[str, Any]:
    message, fix, headers = _PROBLEMS[status]
    example = {"status": status, "message": message, "fix": fix}
    said: dict[str, Any] = {
        "model": Problem,
        "description": message,
        "content": {"application/json": {"example": example}},
    }
    return said | ({"headers": headers} if headers else {})


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document. The framework would add a status that is never sent."""
    if app.openapi_schema:
        return app.openapi_schema
    written = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    for operations in written["paths"].values():
        for operation in operations.values():
            operation["responses"].pop("422", None)
    for name in ("HTTPValidationError", "ValidationError"):
        written["components"]["schemas"].pop(name, None)
    app.openapi_schema = written
    return written
