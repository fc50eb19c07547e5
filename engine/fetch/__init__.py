"""Fetches links from strangers, from the public web only and within limits.

Provides `Fetcher` (in `client`) to feeds, to pages and to everything else that reads a link. What
stands here loads no HTTP client.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """The limits of one fetch."""

    seconds: float  # for everything: lookup, redirects, the whole body
    bytes: int  # of the body, both compressed and unpacked
    redirects: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A usable answer: 2xx, or 304 with an empty body."""

    url: str  # the final URL, after redirects
    status: int
    headers: Mapping[str, str]  # names are case-insensitive
    body: bytes = field(repr=False)
    moved_permanently_to: str | None  # the target of the permanent redirects that came first


@dataclass(frozen=True, slots=True, kw_only=True)
class PostResponse:
    """How a server answered a post."""

    status: int
    retry_after: str | None  # the unparsed header


def shown_host(url: str) -> str:
    """Return the host of `url` in ASCII, safe to show: no look-alike letters, no credentials."""
    from httpx import URL, InvalidURL  # noqa: PLC0415 - a quarter of what a chat takes to import

    try:
        return URL(url).raw_host.decode("ascii")[:100] or "the link"
    except (InvalidURL, ValueError):
        return "the link"
