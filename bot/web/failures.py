"""Maps errors to HTTP problems (RFC 9457), and describes them in the OpenAPI document."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from math import ceil
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from bot.i18n.words import DEFAULT, Words, words_for
from engine.errors import (
    BudgetClosed,
    CorpusNotFound,
    ExtraMissing,
    FetchError,
    InputError,
    ModelError,
    NotAnswerable,
    PresagioError,
    StorageError,
    UsageError,
    explain_error,
)
from engine.messages import Message, as_message

logger = logging.getLogger("presagio.web")

_AGAIN = {"Retry-After": "5"}  # seconds after which the database may be back

# The first match counts.
_STATUS: tuple[tuple[type[PresagioError], HTTPStatus], ...] = (
    (CorpusNotFound, HTTPStatus.NOT_FOUND),
    (NotAnswerable, HTTPStatus.CONFLICT),
    (UsageError, HTTPStatus.BAD_REQUEST),
    (InputError, HTTPStatus.BAD_REQUEST),
    (FetchError, HTTPStatus.BAD_REQUEST),
    (ExtraMissing, HTTPStatus.NOT_IMPLEMENTED),
    (StorageError, HTTPStatus.SERVICE_UNAVAILABLE),
    (BudgetClosed, HTTPStatus.FORBIDDEN),
    (ModelError, HTTPStatus.SERVICE_UNAVAILABLE),
)
_NO_DATABASE = (Message("The database does not answer."), Message("Try again in a few minutes."))
_OF_STATUS = {
    HTTPStatus.METHOD_NOT_ALLOWED: (
        Message("That cannot be done at this address."),
        Message("The header Allow says what can."),
    ),
    HTTPStatus.REQUEST_TIMEOUT: (Message("The request took too long to come."), None),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (Message("That is too large."), Message("Send less.")),
}
PROBLEM_TYPE = "application/problem+json"  # RFC 9457

STEERING = "/api/admin"  # where keys are needed in any case
_JSON = "application/json"

_RETRY_HEADER = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
_KEY_HEADER = {"WWW-Authenticate": {"description": "Bearer", "schema": {"type": "string"}}}
_ProblemExample = tuple[str, str, dict[str, Any]]  # message, fix, headers
_PROBLEMS: dict[int, _ProblemExample] = {
    400: ("The parameter q is missing.", "Add q=...", {}),
    401: ("A key is needed.", "Send the header: Authorization: Bearer KEY", _KEY_HEADER),
    403: (
        "Pages of other sites may link here, and nothing else.",
        "Name the page in web.allow_origins.",
        {},
    ),
    404: ("There is no corpus 'me'.", "There are: demo, news.", {}),
    409: (
        "Corpus news is of kind published, not library.",
        "Name another corpus, or another kind.",
        {},
    ),
    413: ("That is too large.", "Send less.", {}),
    415: (
        "The body is of type text/plain, not JSON.",
        "Send the header: Content-Type: application/json",
        {},
    ),
    429: ("Too many requests from this address.", "Wait 3 s.", _RETRY_HEADER),
    503: ("The database does not answer.", "Start it.", _RETRY_HEADER),
}
_NOT_STEERING: _ProblemExample = (
    "This key may ask, but not steer.",
    "Use a key of WEB_ADMIN_KEYS.",
    {},
)


# By the kind of error, as pydantic names it, and the parameter; "" is any.
_FIXES = {
    ("int_parsing", ""): Message("Write a whole number."),
    ("int_type", ""): Message("Write a whole number."),
    ("bool_parsing", ""): Message("Write true or false."),
    ("bool_type", ""): Message("Write true or false."),
    ("json_invalid", ""): Message("Send a JSON object, as /docs shows it."),
    ("model_type", ""): Message("Send a JSON object, as /docs shows it."),
    ("string_pattern_mismatch", "corpus"): Message("/api/corpora lists the names."),
    ("string_pattern_mismatch", "month"): Message("Write a month as 2015-03."),
    ("string_pattern_mismatch", "q"): Message("Write a word at least."),
    ("string_too_short", "q"): Message("Write a word at least."),
}


class Problem(BaseModel):
    """Why there is no answer (RFC 9457). `detail` and `message` are the same."""

    type: str = Field("about:blank", description="Nothing but the status tells problems apart.")
    title: str = Field(description="The status in words.", examples=["Bad Request"])
    status: int = Field(examples=[400])
    detail: str = Field(description="What happened.", examples=["The parameter q is missing."])
    message: str = Field(description="What happened.", examples=["The parameter q is missing."])
    fix: str | None = Field(description="What to do about it.", examples=["Add q=TEXT."])


def build_problem(status: HTTPStatus, message: str, fix: str | None) -> Problem:
    """Return the body for programs of a problem in these words."""
    return Problem(
        title=status.phrase, status=status.value, detail=message, message=message, fix=fix
    )


class Refusal(PresagioError):
    """What a request gets in place of an answer. It is raised where one is refused before any
    work."""

    def __init__(
        self,
        status: HTTPStatus,
        message: str,
        *,
        fix: str | None = None,
        headers: Mapping[str, str] | None = None,
        unknown: str = "",  # the name of a corpus that does not exist
    ) -> None:
        super().__init__(message, fix=fix)
        self.unknown = unknown
        self.status = status
        self.headers = headers or {}

    def problem(self, words: Words | None = None) -> Problem:
        """Return the body for programs, or for a page in the words of its visitor."""
        words_used = words or words_for(DEFAULT)
        return build_problem(
            self.status, words_used.render(self.message), words_used.render(self.fix or "") or None
        )


def too_many(seconds: float) -> Refusal:
    """Return the refusal for an address that asks too often."""
    again = str(max(1, ceil(seconds)))
    return Refusal(
        HTTPStatus.TOO_MANY_REQUESTS,
        Message("Too many requests from this address."),
        fix=Message("Wait {seconds} s.", seconds=again),
        headers={"Retry-After": again},
    )


def map_error(error: Exception) -> Refusal:
    """Return the response to an error. Unexpected errors are logged and sent without details."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, RequestValidationError):
        message, fix = _explain_parameter(error.errors()[0])
        return Refusal(HTTPStatus.BAD_REQUEST, message, fix=fix)
    if isinstance(error, HTTPException):
        status = HTTPStatus(error.status_code)
        if status is HTTPStatus.NOT_FOUND:
            return nothing_here()
        said, fix = _OF_STATUS.get(status) or (as_message(f"{error.detail}."), None)
        return Refusal(status, said, fix=fix, headers=error.headers)
    if isinstance(error, PresagioError) and (refusal := _map_known_error(error)):
        return refusal
    logger.error("not answered: %s", explain_error(error))
    return Refusal(
        HTTPStatus.INTERNAL_SERVER_ERROR, Message("Something went wrong; the log describes it.")
    )


def nothing_here() -> Refusal:
    """Return the refusal of an address at which there is nothing."""
    return Refusal(HTTPStatus.NOT_FOUND, Message("There is nothing at this address."))


def _map_known_error(error: PresagioError) -> Refusal | None:
    for kind, status in _STATUS:
        if isinstance(error, kind):
            away = status is HTTPStatus.SERVICE_UNAVAILABLE
            if away:
                logger.warning("not answered: %s", error)
            message, fix = error.message, error.fix
            if kind is StorageError:  # the server's message is for operators only
                message, fix = _NO_DATABASE
            unknown = str(message.values.get("name", "")) if kind is CorpusNotFound else ""
            headers = _AGAIN if away else None
            return Refusal(status, message, fix=fix, headers=headers, unknown=unknown)
    return None


def _explain_parameter(error: Mapping[str, Any]) -> tuple[Message, Message | None]:
    """Return what is wrong with a parameter, and what to do about it."""
    name = str(error["loc"][-1])
    if error["type"] == "extra_forbidden":
        return (
            Message("There is no parameter {name!r}.", name=name),
            Message("The list of parameters is in /openapi.json."),
        )
    if error["type"] == "missing":
        return (
            Message("The parameter {name} is missing.", name=name),
            Message("Add {name}=...", name=name),
        )
    reason = str(error["msg"]).removeprefix("Value error, ").replace("Input should", "must")
    wrong = Message("The parameter {name} is wrong: {reason}.", name=name, reason=reason)
    return wrong, _say_fix(name, error["type"], error.get("ctx", {}))


def _say_fix(name: str, kind: str, limits: Mapping[str, Any]) -> Message:
    """Return what to send in place of a wrong value: pydantic names the kind and the limits."""
    if "ge" in limits:
        return Message("Write at least {number}.", number=limits["ge"])
    if "le" in limits:
        return Message("Write at most {number}.", number=limits["le"])
    if kind == "string_too_long":
        return Message("Write at most {number} characters.", number=limits["max_length"])
    if "expected" in limits:
        return Message("There are: {names}.", names=limits["expected"])
    other = Message("/docs shows which values {name} may have.", name=name)
    return _FIXES.get((kind, name)) or _FIXES.get((kind, ""), other)


def describe_problems(*statuses: int, steering: bool = False) -> dict[int | str, dict[str, Any]]:
    """Return the description of these statuses, for a route; some are told of keys for `steering`
    too."""
    problems = _PROBLEMS | ({403: _NOT_STEERING} if steering else {})
    described: dict[int | str, dict[str, Any]] = {}
    for status in statuses:
        message, fix, headers = problems[status]
        example = build_problem(HTTPStatus(status), message, fix).model_dump()
        described[status] = {
            "model": Problem,
            "description": message,
            "content": {_JSON: {"example": example}},
            **({"headers": headers} if headers else {}),
        }
    return described


def describe_api(app: FastAPI, *, keys_needed: bool) -> dict[str, Any]:
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
