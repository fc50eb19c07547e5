"""Maps everything that can go wrong with a model call to the project's errors."""

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
from engine.llm.endpoint import Endpoint
from engine.messages import Message

QUOTE_LENGTH = 160
# Also matches keys that the server has already masked: "sk-ab***yz".
_KEY_SHAPED = re.compile(r"\b(sk-|Bearer\s+)[\w*.…-]{4,}", re.IGNORECASE)
_SCHEMA_WORDS = re.compile(r"response_format|json_schema|schema|structured|parameters", re.I)
_SCHEMA_STATUSES = frozenset({400, 404, 422})


class Fault(Exception):
    """One failed attempt: the error to show, and what the next attempt needs to know.

    `retry_after` is in seconds; `schema_refused` is True if the server refuses the schema.
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
    endpoint: Endpoint,
    *,
    headers: Mapping[str, str],
    now: datetime,
) -> Fault:
    """Map an HTTP status, or the code of an error inside a 200, to a fault.

    `said` is the server's own text; it is masked and cut before it is quoted.
    """
    schema_refused = status in _SCHEMA_STATUSES and bool(_SCHEMA_WORDS.search(said))
    quoted = quote(said, endpoint.api_key)
    head = Message(
        "{host} {did} ({status})", host=endpoint.host, did=what_happened(status), status=status
    )
    message = (
        Message("{head}: {quoted}", head=head, quoted=_whole(quoted))
        if quoted
        else Message("{head}.", head=head)
    )
    if status == 429:
        wait = retry_after(headers.get("retry-after"), now)
        fix = (
            Message("Wait {seconds} s.", seconds=math.ceil(wait))
            if wait is not None
            else Message("Wait a little.")
        )
        return Fault(ModelRateLimited(message, fix=fix), retry_after=wait)
    if status == 408 or status >= 500:
        error = ModelUnreachable(message, fix=Message("Try again later."))
        return Fault(error, retry_after=retry_after(headers.get("retry-after"), now))
    refusal = ModelRefused(message, fix=_fix(status, endpoint))
    return Fault(refusal, schema_refused=schema_refused)


def too_slow(endpoint: Endpoint, seconds: float, setting: str) -> ModelUnreachable:
    """Return the error for a timeout; `setting` is the key that allows a longer one."""
    return ModelUnreachable(
        Message("The model answered nothing within {seconds:g} s.", seconds=seconds),
        fix=Message("Raise {section}.{setting}.", section=endpoint.section, setting=setting),
    )


def model_unreachable(endpoint: Endpoint, message: Message) -> ModelUnreachable:
    """Return the error for a connection that failed or was lost."""
    return ModelUnreachable(
        message,
        fix=Message("Check the network and {section}.base_url.", section=endpoint.section),
    )


def bad_address(endpoint: Endpoint) -> ModelRefused:
    """Return the error for an address that the HTTP client cannot use."""
    return ModelRefused(
        Message("The address of the model cannot be used."), fix=_check_address(endpoint)
    )


def too_long(endpoint: Endpoint, number: int) -> ModelAnswerInvalid:
    """Return the error for an answer of more than `number` bytes."""
    return ModelAnswerInvalid(
        Message("The answer of {host} passes {number} bytes.", host=endpoint.host, number=number),
        fix=_check_address(endpoint),
    )


def unreadable_answer(what: Message, endpoint: Endpoint) -> ModelAnswerInvalid:
    """Return the error for an answer that is no chat completion; `what` completes "it ..."."""
    return ModelAnswerInvalid(
        Message(
            "The answer of {host} is no chat completion: it {what}.", host=endpoint.host, what=what
        ),
        fix=_check_address(endpoint),
    )


def no_vectors(endpoint: Endpoint) -> ModelAnswerInvalid:
    """Return the error for an answer that does not hold a vector for each text."""
    return ModelAnswerInvalid(
        Message("The answer of {host} holds no usable vectors.", host=endpoint.host),
        fix=_check_both(endpoint),
    )


def no_scores(endpoint: Endpoint) -> ModelAnswerInvalid:
    """Return the error for an answer that does not hold a score for each text."""
    return ModelAnswerInvalid(
        Message("The answer of {host} holds no usable scores.", host=endpoint.host),
        fix=_check_both(endpoint),
    )


def _whole(quoted: str) -> str:
    """End a text like a sentence, as what to do follows it."""
    return quoted if quoted.endswith((".", "!", "?", "…")) else f"{quoted}."


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


def what_happened(status: int) -> Message:
    """Return what a server did that answered with this status: "asks to slow down"."""
    if status == 429:
        return Message("asks to slow down")
    if status == 408 or status >= 500:
        return Message("failed")
    if 300 <= status < 400:
        return Message("redirects")
    return {
        401: Message("rejects the API key"),
        402: Message("says that the credit is spent"),
        403: Message("forbids the request"),
    }.get(status, Message("refuses the request"))


def _fix(status: int, endpoint: Endpoint) -> Message:
    section, model, variable = endpoint.section, endpoint.model, endpoint.key_variable
    if 300 <= status < 400:
        return Message("Set {section}.base_url to the final address.", section=section)
    return {
        401: Message("Check {variable}.", variable=variable),
        402: Message("Add credit to the account."),
        403: Message("Check the rights of {variable}.", variable=variable),
        404: _check_both(endpoint),
    }.get(status, Message("Check {section}.model ({model}).", section=section, model=model))


def _check_address(endpoint: Endpoint) -> Message:
    return Message("Check {section}.base_url.", section=endpoint.section)


def _check_both(endpoint: Endpoint) -> Message:
    return Message(
        "Check {section}.base_url and {section}.model ({model}).",
        section=endpoint.section,
        model=endpoint.model,
    )
