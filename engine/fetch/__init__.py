"""Fetches links from strangers, from the public web only and within limits.

Provides `Fetcher` (in `client`) to feeds, to pages and to everything else that reads a link. What
stands here loads no HTTP client.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """The limits of one fetch."""

    seconds: float  # for everything: lookup, redirects, the whole body
    bytes: int  # of the body, both compressed and unpacked
    redirects: int = 5
    is_cut: bool = False  # what is longer is read as far as that, and is no error


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A usable answer: 2xx, or 304 with an empty body."""

    url: str  # the final URL, after redirects
    status: int
    headers: Mapping[str, str]  # names are case-insensitive
    body: bytes = field(repr=False)
    moved_permanently_to: str | None  # the target of the permanent redirects that came first


_LONGEST_DATE = 100  # characters


def http_date(written: str) -> datetime | None:
    """Return the moment that a header names, or None if it names none."""
    try:
        date = parsedate_to_datetime(written[:_LONGEST_DATE])
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def requested_pause(header: str | None, now: datetime) -> float | None:
    """Read a Retry-After header (RFC 9110, 10.2.3) as seconds from `now`; None if unusable."""
    try:
        seconds = float(header or "")
    except ValueError:
        date = http_date(header or "")
        if date is None:
            return None
        seconds = (date - now).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


def shown_host(url: str) -> str:
    """Return the host of `url` in ASCII, safe to show: no look-alike letters, no credentials."""
    from httpx import URL, InvalidURL  # noqa: PLC0415 - a quarter of what a chat takes to import

    try:
        return URL(url).raw_host.decode("ascii")[:100] or "the link"
    except (InvalidURL, ValueError):
        return "the link"
