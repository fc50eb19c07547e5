"""Finds what `make words` collects and no literal of the sources says: the prose of the API.

Its page translates what the OpenAPI document says, which comes from docstrings and the descriptions
of fields.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import IO, Any

from babel.messages.extract import extract_python
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from bot.web import api, composing, operating
from bot.web.pages import add_routes
from bot.web.reference import list_prose


def extract_reference(
    file: IO[bytes],
    keywords: Mapping[str, Any],
    comment_tags: Collection[str],
    options: Mapping[str, Any],
) -> Iterator[Any]:
    """Yield what Babel finds in bot/web/reference.py, and then what its page translates."""
    yield from extract_python(file, keywords, comment_tags, options)  # type: ignore[arg-type]  # it takes any
    for text in list_api_prose():
        yield 0, None, text, []


def list_api_prose() -> set[str]:
    """Return the prose of the API."""
    app = FastAPI()
    add_routes(
        app,
        operating.probes,
        api.router,
        composing.programs,
        operating.steering,
        operating.figures,
    )
    return set(list_prose(get_openapi(title="", version="", routes=app.routes)))
