"""Maps everything that can go wrong with a search provider to the project's errors."""

import re
from collections.abc import Mapping
from datetime import datetime

from engine.errors import (
    WebSearchError,
    WebSearchLimited,
    WebSearchRefused,
    WebSearchSpent,
    WebSearchUnreachable,
)
from engine.llm.faults import quote, retry_after, what_happened
from engine.messages import Message

# Seconds for which a provider is left alone, where it does not say itself.
_SPENT, _REFUSED, _UNREACHABLE, _LIMITED = 3600.0, 600.0, 30.0, 10.0
_LONGEST_REST = 24 * 3600.0

_SPENT_STATUSES = frozenset({402, 432, 433})  # the last two are Tavily's
_SPENT_WORDS = re.compile(
    r"no[_ ]more[_ ]credits|not enough credits|insufficient (?:credits|balance)"
    r"|quota[_ ](?:limited|exceeded)|exceed\w* (?:your|the) (?:plan|quota|monthly)",
    re.IGNORECASE,
)
# Brave answers 422.
_KEY_WORDS = re.compile(r"(?:api key|token) (?:is|was) (?:not valid|invalid)", re.IGNORECASE)


def status_error(
    provider: str,
    status: int,
    said: str,
    *,
    headers: Mapping[str, str],
    key: str | None,
    key_variable: str,
    now: datetime,
) -> WebSearchError:
    """Map an answer with an HTTP status other than 200.

    `said` is the provider's own text; it is masked and cut before it is quoted.
    """
    head = Message("{host} {did} ({status})", host=provider, did=_did(status), status=status)
    quoted = quote(said, key)
    message = (
        Message("{head}: {quoted}", head=head, quoted=quoted)
        if quoted
        else Message("{head}.", head=head)
    )
    wait = retry_after(headers.get("retry-after"), now)
    month = _reset_of_the_month(headers) if status == 429 else None
    spent = 400 <= status < 500 and bool(_SPENT_WORDS.search(said))
    if spent or status in _SPENT_STATUSES or month is not None:
        return WebSearchSpent(
            message, fix=Message("Add credit to the account."), rest=_rest(month or wait, _SPENT)
        )
    if status == 429:
        rest = _rest(wait or _first_reset(headers), _LIMITED)
        return WebSearchLimited(message, fix=Message("Wait a little."), rest=rest)
    if status == 408 or status >= 500:
        rest = _rest(wait, _UNREACHABLE)
        return WebSearchUnreachable(message, fix=Message("Try again later."), rest=rest)
    if status in (401, 403) or _KEY_WORDS.search(said):
        return WebSearchRefused(message, fix=_fix(key_variable), rest=_REFUSED)
    # It may be this query alone that the provider does not like.
    return WebSearchRefused(message)


def unreachable(provider: str, reason: Message) -> WebSearchUnreachable:
    """Return the error for a connection that failed, was lost or timed out."""
    return WebSearchUnreachable(
        Message("{host}: {reason}", host=provider, reason=reason),
        fix=Message("Try again later."),
        rest=_UNREACHABLE,
    )


def unreadable(provider: str) -> WebSearchError:
    """Return the error for an answer that holds no list of results."""
    return WebSearchError(
        Message("The answer of {host} holds no results of a search.", host=provider),
        rest=_UNREACHABLE,
    )


def engines_suspended(engines: str) -> WebSearchError:
    """Return the error for a SearXNG whose engines have all failed."""
    return WebSearchUnreachable(
        Message("No engine of searxng answered: {engines}.", engines=engines),
        fix=Message("Enable other engines in its settings."),
        rest=_UNREACHABLE,
    )


def _did(status: int) -> Message:
    if status in _SPENT_STATUSES:
        return Message("says that the credit is spent")
    return what_happened(status)


def _fix(key_variable: str) -> Message:
    if not key_variable:
        return Message("Allow the format json in the settings of searxng.")
    return Message("Check {variable}.", variable=key_variable)


def _reset_of_the_month(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until the quota of Brave's month is new, or None if some of it is left.

    Its headers hold a figure for each window, the second first: "0, 812" and "1, 1419704".
    """
    left = _figures(headers.get("x-ratelimit-remaining"))
    resets = _figures(headers.get("x-ratelimit-reset"))
    if len(left) < 2 or left[-1] > 0:
        return None
    return resets[-1] if len(resets) == len(left) else _SPENT


def _first_reset(headers: Mapping[str, str]) -> float | None:
    resets = _figures(headers.get("x-ratelimit-reset"))
    return resets[0] if len(resets) > 1 else None  # a single figure is often a time of day


def _figures(header: str | None) -> list[float]:
    parts = [part.strip() for part in (header or "").split(",")]
    return [float(part) for part in parts] if all(part.isdecimal() for part in parts) else []


def _rest(seconds: float | None, otherwise: float) -> float:
    return min(max(1.0, seconds), _LONGEST_REST) if seconds is not None else otherwise
