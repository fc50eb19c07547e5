"""What goes wrong, as HTTP says it: a status, one sentence, and what to do."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from math import ceil
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from bot.incident import reason
from engine.errors import (
    CorpusNotFound,
    ExtraMissing,
    FetchError,
    InputError,
    ModelError,
    PresagioError,
    StorageError,
    UsageError,
)

logger = logging.getLogger("presagio.web")

_AGAIN = {"Retry-After": "5"}  # seconds after which a database may be back

# The first that fits holds.
_STATUS: tuple[tuple[type[PresagioError], HTTPStatus], ...] = (
    (CorpusNotFound, HTTPStatus.NOT_FOUND),
    (UsageError, HTTPStatus.BAD_REQUEST),
    (InputError, HTTPStatus.BAD_REQUEST),
    (FetchError, HTTPStatus.BAD_REQUEST),
    (ExtraMissing, HTTPStatus.NOT_IMPLEMENTED),
    (StorageError, HTTPStatus.SERVICE_UNAVAILABLE),
    (ModelError, HTTPStatus.SERVICE_UNAVAILABLE),
)
_NO_DATABASE = ("The database does not answer.", "Try again in a few minutes.")


class Problem(BaseModel):
    """Why there is no answer."""

    status: int = Field(examples=[400])
    message: str = Field(description="What happened.", examples=["The parameter q is missing."])
    fix: str | None = Field(description="What to do about it.", examples=["Add q=TEXT."])


class Refusal(PresagioError):
    """A request that is turned away before any work."""

    def __init__(
        self,
        status: HTTPStatus,
        message: str,
        *,
        fix: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, fix=fix)
        self.status = status
        self.headers = headers or {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What a response says of an error."""

    problem: Problem
    headers: Mapping[str, str]


def too_many(seconds: float) -> Refusal:
    """Return the refusal of whoever asks too often."""
    again = str(max(1, ceil(seconds)))
    return Refusal(
        HTTPStatus.TOO_MANY_REQUESTS,
        "Too many requests from this address.",
        fix=f"Wait {again} s.",
        headers={"Retry-After": again},
    )


def failure_of(error: Exception) -> Failure:
    """Return how an error is told. What nobody foresaw is logged, and told without details."""
    if isinstance(error, Refusal):
        return _failure(error.status, error.message, error.fix, error.headers)
    if isinstance(error, RequestValidationError):
        return _failure(HTTPStatus.BAD_REQUEST, *_misused(error.errors()[0]))
    if isinstance(error, HTTPException) and error.status_code == HTTPStatus.NOT_FOUND:
        return _failure(HTTPStatus.NOT_FOUND, "There is nothing at this address.", None)
    if isinstance(error, HTTPException):
        return _failure(HTTPStatus(error.status_code), f"{error.detail}.", None, error.headers)
    if isinstance(error, PresagioError) and (failure := _foreseen(error)):
        return failure
    logger.error("not answered: %s", reason(error))
    return _failure(
        HTTPStatus.INTERNAL_SERVER_ERROR, "Something went wrong; the log describes it.", None
    )


def _foreseen(error: PresagioError) -> Failure | None:
    for kind, status in _STATUS:
        if isinstance(error, kind):
            away = status is HTTPStatus.SERVICE_UNAVAILABLE
            if away:
                logger.warning("not answered: %s", error)
            if kind is StorageError:  # what the server says is for those who run it
                return _failure(status, *_NO_DATABASE, _AGAIN)
            return _failure(status, error.message, error.fix, _AGAIN if away else {})
    return None


def _failure(
    status: HTTPStatus,
    message: str,
    fix: str | None,
    headers: Mapping[str, str] | None = None,
) -> Failure:
    problem = Problem(status=status.value, message=message, fix=fix)
    return Failure(problem=problem, headers=headers or {})


def _misused(error: Mapping[str, Any]) -> tuple[str, str | None]:
    """Return what is wrong with a parameter, and what to do."""
    name = str(error["loc"][-1])
    if error["type"] == "extra_forbidden":
        return f"There is no parameter {name!r}.", "The list of parameters is in /openapi.json."
    if error["type"] == "missing":
        return f"The parameter {name} is missing.", f"Add {name}=..."
    said = str(error["msg"]).removeprefix("Value error, ").replace("Input should", "must")
    return f"The parameter {name} is wrong: {said}.", None
