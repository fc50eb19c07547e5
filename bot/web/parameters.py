"""The parameters of the API, each with its limits, and how the API describes itself."""

from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic.json_schema import WithJsonSchema

from bot.replies.dates import Period, read_date
from bot.web.failures import PROBLEM_TYPE, Problem, problem_of
from engine.search import Mode
from engine.settings.searching import MOST_MONTHS
from engine.values import Kind

STEERING = "/api/admin"  # where keys are needed in any case
_JSON = "application/json"
LONGEST_TEXT = 2000  # characters of a headline or a question

Text = Annotated[
    str, StringConstraints(min_length=1, max_length=LONGEST_TEXT, pattern=r"[^\s\u0000]")
]
CorpusName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
Moment = Annotated[
    datetime,
    BeforeValidator(lambda text: read_date(str(text))),
    WithJsonSchema({"type": "string", "examples": ["2015", "2015-03-02", "2015-03-02T14:00Z"]}),
]


class Parameters(BaseModel):
    """What every question may say."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    corpus: CorpusName | None = Field(
        None, description="Corpus to search; left out, the configured or only one.", examples=["me"]
    )


class Narrowed(Parameters):
    """What narrows a search."""

    kind: Kind | None = Field(None, description="Search the corpus of this kind.")
    category: str | None = Field(
        None,
        min_length=1,
        max_length=100,
        pattern=r"^[^\u0000]*$",
        description="Only what feeds of this category brought; without corpus, of the news.",
        examples=["tech"],
    )
    period: Period = Field(
        Period.ALL,
        description="Only texts of the last week or month. Left out, all: most corpora are"
        " archives, of which the last week is a small part.",
    )
    mode: Mode | None = Field(
        None,
        description="lexical: by words; hybrid: by meaning too; rerank: by words, re-ordered by"
        " meaning; semantic: the nearest in meaning, whatever their similarity. Left out, as"
        " configured.",
    )


class SearchParameters(Narrowed):
    """A search by words and, where there are vectors, by meaning."""

    q: Text = Field(description="What to look for, in any words.", examples=["coffee prices"])
    limit: int = Field(10, ge=1, le=100, description="Texts in the answer, at most.")


class ProphecyParameters(Parameters):
    """A headline."""

    headline: Text = Field(
        description="The headline.", examples=["Coffee prices hit a record high"]
    )
    date: Moment | None = Field(
        None, description="Its date; only older texts count. Left out, it is of now."
    )
    mode: Mode | None = Field(None, description="As in /api/search.")
    exclude_recent: int | None = Field(
        None,
        ge=0,
        le=MOST_MONTHS,
        description="Months before the headline to leave out; left out, as configured.",
        examples=[12],
    )
    limit: int = Field(3, ge=1, le=50, description="Texts in the answer, at most.")


class AskParameters(Narrowed):
    """A question."""

    question: Text = Field(description="The question.", examples=["What was said about coffee?"])
    limit: int = Field(5, ge=1, le=20, description="Sources, at most.")


_AGAIN = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
_KEY = {"WWW-Authenticate": {"description": "Bearer", "schema": {"type": "string"}}}
_Example = tuple[str, str, dict[str, Any]]  # message, fix, headers
_PROBLEMS: dict[int, _Example] = {
    400: ("The parameter q is missing.", "Add q=...", {}),
    401: ("A key is needed.", "Send the header: Authorization: Bearer KEY", _KEY),
    403: (
        "Pages of other sites may link here, and nothing else.",
        "Name the page in web.allow_origins.",
        {},
    ),
    404: ("There is no corpus 'me'.", "There are: demo, news.", {}),
    429: ("Too many requests from this address.", "Wait 3 s.", _AGAIN),
    503: ("The database does not answer.", "Start it.", _AGAIN),
}
_NOT_STEERING: _Example = ("This key may ask, but not steer.", "Use a key of WEB_ADMIN_KEYS.", {})


def problems(*statuses: int, steering: bool = False) -> dict[int | str, dict[str, Any]]:
    """Return the description of these statuses, for a route; some are told of keys for `steering`
    too."""
    known = _PROBLEMS | ({403: _NOT_STEERING} if steering else {})
    return {status: _described(status, *known[status]) for status in statuses}


def _described(status: int, message: str, fix: str, headers: dict[str, Any]) -> dict[str, Any]:
    example = problem_of(HTTPStatus(status), message, fix).model_dump()
    said: dict[str, Any] = {
        "model": Problem,
        "description": message,
        "content": {_JSON: {"example": example}},
    }
    return said | ({"headers": headers} if headers else {})


def describe(app: FastAPI, *, keys_needed: bool) -> dict[str, Any]:
    """Return the OpenAPI document: what the framework writes, without a status that is never sent,
    with the media type of problems, and where no `keys_needed`, with the right to send none."""
    if app.openapi_schema:
        return app.openapi_schema
    written = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    for path, operations in written["paths"].items():
        for operation in operations.values():
            operation["responses"].pop("422", None)
            for status, response in operation["responses"].items():
                if status != "200":
                    response["content"][PROBLEM_TYPE] = response["content"].pop(_JSON)
            if "security" in operation and not (keys_needed or path.startswith(STEERING)):
                operation["security"].append({})
    for name in ("HTTPValidationError", "ValidationError"):
        written["components"]["schemas"].pop(name, None)
    app.openapi_schema = written
    return written
