"""What can go wrong on the way to a model, mapped to the project's errors in one place."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from engine.errors import (
    ModelAnswerInvalid,
    ModelError,
    ModelRateLimited,
    ModelRefused,
    ModelUnreachable,
)
from engine.llm.settings import LlmSettings

QUOTE_LENGTH = 160
# Also matches keys that a server has shortened itself: "sk-ab***yz".
_KEY_SHAPED = re.compile(r"\b(sk-|Bearer\s+)[\w*.…-]{4,}", re.IGNORECASE)
_SCHEMA_WORDS = re.compile(r"response_format|json_schema|schema|structured|parameters", re.I)
_SCHEMA_STATUSES = frozenset({400, 404, 422})


class Fault(Exception):
    """One failed attempt: the error for a person, and what a further attempt needs to know.

    `retry_after` is in seconds; `schema_refused` tells that the server dislikes the schema.
    """

    def __init__(
        self,
        error: ModelError,
        *,
        retry_after: float | None = None,
        schema_refused: bool = False,
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.retry_after = retry_after
        self.schema_refused = schema_refused


def status_fault(
    status: int,
    said: str,
    settings: LlmSettings,
    *,
    headers: Mapping[str, str],
    now: datetime,
) -> Fault:
    """Map an HTTP status, or the code of an error inside a 200, to a fault.

    `said` is the server's own text; it is masked and cut before it is quoted.
    """
    schema_refused = status in _SCHEMA_STATUSES and bool(_SCHEMA_WORDS.search(said))
    quoted = quote(said, settings.api_key)
    head = f"{settings.host} {_what_happened(status)} ({status})"
    message = f"{head}: {quoted}" if quoted else f"{head}."
    if status == 429:
        wait = retry_after(headers.get("retry-after"), now)
        fix = f"Wait {math.ceil(wait)} s." if wait is not None else "Wait a little."
        return Fault(ModelRateLimited(message, fix=fix), retry_after=wait)
    if status == 408 or status >= 500:
        error = ModelUnreachable(message, fix="Try again later.")
        return Fault(error, retry_after=retry_after(headers.get("retry-after"), now))
    refusal = ModelRefused(message, fix=_fix(status, settings))
    return Fault(refusal, schema_refused=schema_refused)


def too_slow(seconds: float, setting: str) -> ModelUnreachable:
    """The error for a wait that ended; `setting` is the key that allows a longer one."""
    return ModelUnreachable(
        f"The model answered nothing within {seconds:g} s.", fix=f"Raise llm.{setting}."
    )


def model_unreachable(message: str) -> ModelUnreachable:
    """The error for a connection that could not be made or kept."""
    return ModelUnreachable(message, fix="Check the network and llm.base_url.")


def bad_address() -> ModelRefused:
    """The error for an address that the HTTP client cannot use."""
    return ModelRefused("The address of the model cannot be used.", fix="Check llm.base_url.")


def unreadable_answer(what: str, settings: LlmSettings) -> ModelAnswerInvalid:
    """The error for an answer that is no chat completion; `what` completes "it ..."."""
    return ModelAnswerInvalid(
        f"The answer of {settings.host} is no chat completion: it {what}.",
        fix="Check llm.base_url.",
    )


def quote(said: str, api_key: str | None) -> str:
    """Return the server's text as one masked line of at most QUOTE_LENGTH characters."""
    line = " ".join(said.split())
    if api_key:
        line = line.replace(api_key, "***")
    line = _KEY_SHAPED.sub("***", line)
    return line if len(line) <= QUOTE_LENGTH else line[: QUOTE_LENGTH - 1] + "…"


def retry_after(value: str | None, now: datetime) -> float | None:
    """Read a Retry-After header (RFC 9110, 10.2.3) as seconds from `now`; None if unusable."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = _seconds_until(value, now)
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _seconds_until(http_date: str, now: datetime) -> float:
    try:
        moment = parsedate_to_datetime(http_date)
    except ValueError:
        return math.nan
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - now).total_seconds()


def _what_happened(status: int) -> str:
    if status == 429:
        return "asks to slow down"
    if status == 408 or status >= 500:
        return "failed"
    if 300 <= status < 400:
        return "redirects"
    return {
        401: "rejects the API key",
        402: "says that the credit is spent",
        403: "forbids the request",
    }.get(status, "refuses the request")


def _fix(status: int, settings: LlmSettings) -> str:
    if 300 <= status < 400:
        return "Set llm.base_url to the final address."
    return {
        401: "Check OPENROUTER_API_KEY.",
        402: "Add credit to the account.",
        403: "Check the rights of OPENROUTER_API_KEY.",
        404: f"Check llm.base_url and llm.model ({settings.model}).",
    }.get(status, f"Check llm.model ({settings.model}).")
