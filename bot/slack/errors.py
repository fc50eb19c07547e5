"""What Slack refuses, as errors of the project. They tell its codes, and no text of a message."""

import re
from collections.abc import Awaitable
from typing import TypeVar

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError

from bot.face import ChatGone, DeliveryError
from bot.words import Words

_Result = TypeVar("_Result")

# What a call of the library may raise; a timeout is an OSError.
FAILURES = (SlackClientError, aiohttp.ClientError, OSError)
_OUTSIDE = {"channel_not_found", "not_in_channel"}
_GONE = {*_OUTSIDE, "is_archived"}
_CODE = re.compile(r"[a-z0-9_:.,-]{1,60}")


async def mapped(call: Awaitable[_Result]) -> _Result:
    """Await a call of the library and map its errors. Raises DeliveryError, ChatGone."""
    try:
        return await call
    except FAILURES as error:
        raise (ChatGone if _code(error) in _GONE else DeliveryError)(told(error)) from error


def told(error: Exception) -> str:
    """Return a sentence about a failed call, for the log."""
    if isinstance(error, SlackApiError):
        return f"Slack refuses: {said(error)}."
    return f"Slack did not say whether the message arrived ({said(error)})."


def said(error: Exception) -> str:
    """Return Slack's code for an error and the scope that it misses, else the error's type."""
    needed = _needed(error)
    code = _code(error) or type(error).__name__
    return f"{code} (needs {needed})" if needed else code


def why_no_picture(error: Exception, words: Words) -> str:
    """Return what a person can do about a picture that did not arrive."""
    if _code(error) in _OUTSIDE:
        return words.say(
            "I can put no picture here before I am invited: /invite @Presagio, then ask again."
        )
    if needed := _needed(error):
        return words.say(
            "I can send no pictures: this app misses the scope {scope}. Its owner has to update it"
            " from the manifest and install it again.",
            scope=needed,
        )
    return words.say("Slack did not take the picture ({code}). Try again later.", code=said(error))


def _code(error: Exception) -> str:
    return _word(error, "error") or "unknown" if isinstance(error, SlackApiError) else ""


def _needed(error: Exception) -> str:
    return _word(error, "needed")


def _word(error: Exception, name: str) -> str:
    """Return a field of Slack's answer, if it is one of its codes."""
    value = error.response.get(name) if isinstance(error, SlackApiError) else None
    return value if isinstance(value, str) and _CODE.fullmatch(value) else ""
