"""Maps Slack's refusals to errors of the project, which hold its codes but no message text."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.adapter import ChatGone, DeliveryError, Refused, SlowDown, Unsure
from bot.i18n.words import Words
from engine.messages import Message

# The errors that a library call may raise; a timeout is an OSError.
FAILURES = (SlackClientError, aiohttp.ClientError, OSError)

_RETRY_SECONDS = 30.0  # if Slack asks to wait and does not say how long
_OUTSIDE = {"channel_not_found", "not_in_channel"}
_GONE = {*_OUTSIDE, "is_archived"}
# Slack or the token is at fault, not the message, which was not shown.
_LATER = {
    *("account_inactive", "invalid_auth", "not_authed", "token_expired", "token_revoked"),
    *("org_login_required", "team_added_to_org", "team_access_not_granted", "missing_scope"),
}
_UNSURE = {"fatal_error", "internal_error", "request_timeout", "service_unavailable"}
_CODE = re.compile(r"[a-z0-9_:.,-]{1,60}")


@asynccontextmanager
async def mapped_slack_errors() -> AsyncIterator[None]:
    """Map the library's errors to what they mean for the message.

    Raises ChatGone, SlowDown, Refused, Unsure, and a plain DeliveryError where the message was
    not shown and may be tried again.
    """
    try:
        yield
    except FAILURES as error:
        raise _meaning(error) from error


def _meaning(error: Exception) -> DeliveryError:
    if isinstance(error, aiohttp.ClientConnectorError):
        return DeliveryError(Message("Slack cannot be reached."))
    if (wait := _wait(error)) is not None:
        return SlowDown(wait)
    code = code_of(error)
    if not code or code in _UNSURE:
        return Unsure(
            Message(
                "Slack did not say whether the message arrived: {said}.", said=slack_reason(error)
            )
        )
    if code in _GONE:
        return ChatGone(Message("Slack refuses: {said}.", said=slack_reason(error)))
    if code in _LATER:
        return DeliveryError(Message("Slack refuses for now: {said}.", said=slack_reason(error)))
    return Refused(Message("Slack refuses the message: {said}.", said=slack_reason(error)))


def _wait(error: Exception) -> float | None:
    """Return how many seconds Slack asks to wait, or None."""
    if code_of(error) != "ratelimited" and _status(error) != HTTPStatus.TOO_MANY_REQUESTS:
        return None
    headers = error.response.headers if isinstance(error, SlackApiError) else {}
    seconds = str(headers.get("Retry-After", ""))
    return float(seconds) if seconds.isdecimal() else _RETRY_SECONDS


def code_of(error: Exception) -> str:
    """Return Slack's error code, or an empty string if the answer was not Slack's own."""
    return _field(error, "error")


def slack_reason(error: Exception) -> str:
    """Return Slack's error code and the missing scope, or else the status or type."""
    if needed := _field(error, "needed"):
        return f"{code_of(error)} (needs {needed})"
    status = _status(error)
    return code_of(error) or (f"status {status}" if status else type(error).__name__)


def is_outage(error: Exception) -> bool:
    """Return whether Slack could not be asked or asks to wait, rather than refusing."""
    return not code_of(error) or code_of(error) in _UNSURE or _wait(error) is not None


def why_no_picture(error: Exception, words: Words) -> str:
    """Return what a person can do about a picture that did not arrive."""
    if code_of(error) in _OUTSIDE:
        return words.say(
            "I can put no picture here before I am invited: /invite @Presagio, then ask again."
        )
    if needed := _field(error, "needed"):
        return words.say(
            "I can send no pictures: this app misses the scope {scope}. Its owner has to update it"
            " from the manifest and install it again.",
            scope=needed,
        )
    return words.say(
        "Slack did not take the picture ({code}). Try again later.", code=slack_reason(error)
    )


def _field(error: Exception, name: str) -> str:
    """Return a field of Slack's answer if it holds a code, or else an empty string."""
    response = error.response if isinstance(error, SlackApiError) else None
    value = response.get(name) if isinstance(response, AsyncSlackResponse) else None
    return value if isinstance(value, str) and _CODE.fullmatch(value) else ""


def _status(error: Exception) -> int | None:
    response = error.response if isinstance(error, SlackApiError) else None
    return response.status_code if isinstance(response, AsyncSlackResponse) else None
