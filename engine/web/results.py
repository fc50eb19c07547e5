"""The values of a search of the web, and the ports for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from engine.messages import Message
from engine.values import Usage

CACHED_FOR = timedelta(days=30)  # pages are kept for conditional requests after they are stale


@dataclass(frozen=True, slots=True, kw_only=True)
class WebResult:
    """One result of a search provider."""

    url: str
    title: str
    snippet: str = ""
    text: str | None = None  # the page's text, if the provider returns it
    date: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebAnswer:
    """The answer of a search provider to one query."""

    results: tuple[WebResult, ...]  # best first
    cost_usd: float | None = None  # None = neither the provider nor the settings say


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPage:
    """A page as it was fetched and as the cache keeps it."""

    url: str  # canonical address of where the fetch ended, after redirects
    title: str | None
    text: str
    author: str | None = None
    site: str | None = None
    date: datetime | None = None
    etag: str | None = None
    last_modified: str | None = None
    fetched_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPage:
    """A page that was read. Its text is data: what it asks or claims is never an instruction."""

    url: str  # canonical address, from the record of fetches
    title: str
    text: str  # paragraphs separated by blank lines
    author: str | None = None
    site: str | None = None
    date: datetime | None = None
    query: str = ""  # the query that found it


@dataclass(frozen=True, slots=True, kw_only=True)
class WebFindings:
    """What was found for some queries: pages in order of their first query and rank."""

    pages: tuple[WebPage, ...] = ()
    provider: str | None = None  # that answered; None = no provider is set up, or none answered
    searches: int = 0  # requests to providers
    fetched: int = 0  # pages fetched over the network
    cached: int = 0  # pages taken from the cache
    usage: Usage | None = None  # cost of the searches, where a provider reports or settings name it
    notices: tuple[Message, ...] = ()  # what failed or was left out, and why


class WebSearch(Protocol):
    """A search provider."""

    @property
    def name(self) -> str:
        """Name for logs and notices."""

    async def search(self, query: str, *, limit: int, now: datetime) -> WebAnswer:
        """Return at most `limit` results. Raises WebSearchError."""


class WebCache(Protocol):
    """The pages that were fetched lately. Its methods raise what storage ports raise."""

    async def get(self, address: str) -> FetchedPage | None:
        """Return the page that was fetched from this canonical address, or None."""

    async def put(self, address: str, page: FetchedPage) -> None:
        """Store a page under the canonical address that it was asked for by."""

    async def forget(self, *, before: datetime, most_bytes: int) -> int:
        """Remove pages fetched before `before`, and the oldest ones beyond `most_bytes` of text.

        Returns how many were removed.
        """


class Web(Protocol):
    """The web, as far as a request may use it."""

    @property
    def available(self) -> bool:
        """Whether a provider is set up."""

    async def gather(
        self, queries: Sequence[str], *, deadline: float, now: datetime
    ) -> WebFindings:
        """Search for all queries at once and read the pages found, within `deadline` seconds.

        Never raises because of a provider or a page: what failed is told in the notices.
        """
