"""Reads web pages: from the cache, else fetched as their site allows, and extracted."""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from engine.errors import PageUnreadable
from engine.fetch.client import Fetched, Fetcher, FetchLimits
from engine.fetch.faults import shown_host
from engine.messages import Message
from engine.page.article import require_libraries
from engine.page.charset import declared_charset
from engine.page.links import PAGE_TYPES
from engine.page.reader import ArticleReader
from engine.settings.reading import WebSearchSettings
from engine.text.address import canonical_address
from engine.web.forms import LONGEST_TEXT
from engine.web.robots import Robots
from engine.web.types import CACHED_FOR, FetchedPage, WebCache

AT_ONCE = 10  # fetches
_MOST_BYTES = 3_000_000  # of which the first megabyte is read
_LONGEST_VALIDATOR = 300  # characters
_AHEAD = timedelta(days=1)  # a local time read without its zone can be 14 hours ahead


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page, and whether it came from the cache without asking its server."""

    page: FetchedPage
    cached: bool


class Pages:
    """Reads pages, at most ten fetches at once. What comes out of one is data, never trusted."""

    def __init__(
        self,
        fetcher: Fetcher,
        reader: ArticleReader,
        robots: Robots,
        cache: WebCache,
        settings: WebSearchSettings,
    ) -> None:
        self._fetcher, self._reader = fetcher, reader
        self._robots, self._cache = robots, cache
        self._settings = settings
        self._room = asyncio.Semaphore(AT_ONCE)

    async def read(self, address: str, *, now: datetime) -> ReadPage:
        """Return the page at a canonical address.

        A page that was fetched less than `cache_hours` ago comes from the cache. An older one is
        asked for with its validators, and its text is used again if the server says that it has
        not changed. Raises FetchError, ExtraMissing, PresagioError if no process can be started,
        and storage errors.
        """
        known = await self._cache.get(address)
        fresh = now - timedelta(hours=self._settings.cache_hours)
        if known and known.fetched_at > fresh:
            return ReadPage(known, cached=True)
        require_libraries()  # before anything is fetched
        page = await self._current(address, known, now)
        await self._cache.put(address, page)
        return ReadPage(page, cached=False)

    async def tidy(self, *, now: datetime) -> int:
        """Remove from the cache what is old or too much; return how many pages."""
        return await self._cache.forget(
            before=now - CACHED_FOR, most_bytes=self._settings.cache_mb * 1_000_000
        )

    async def _current(self, address: str, known: FetchedPage | None, now: datetime) -> FetchedPage:
        fetched = await self._fetched(address, known)
        if known and fetched.status == 304:
            return replace(known, fetched_at=now)
        charset = declared_charset(fetched.headers.get("Content-Type"))
        found = await self._reader.read(fetched.body, charset=charset, url=fetched.url, now=now)
        if found is None:
            raise PageUnreadable(
                Message("The page of {host} has no text to read.", host=shown_host(address))
            )
        date = found.date if found.date and found.date <= now + _AHEAD else None
        return FetchedPage(
            url=canonical_address(fetched.url) or address,
            title=found.title,
            text=found.text[:LONGEST_TEXT],
            author=found.author,
            site=found.site,
            date=date,
            etag=_validator(fetched, "ETag"),
            last_modified=_validator(fetched, "Last-Modified"),
            fetched_at=now,
        )

    async def _fetched(self, address: str, known: FetchedPage | None) -> Fetched:
        """Fetch a page if its site lets programs read it, and the site it leads to as well."""
        limits = FetchLimits(seconds=self._settings.page_timeout, bytes=_MOST_BYTES)
        async with self._room:
            await self._robots.require(address)
            fetched = await self._fetcher.get(
                address, limits=limits, accept=PAGE_TYPES, headers=_conditions(known)
            )
            if urlsplit(fetched.url)[:3] != urlsplit(address)[:3]:
                await self._robots.require(fetched.url)
        return fetched


def _conditions(known: FetchedPage | None) -> dict[str, str]:
    """Return the headers that ask for a page only if it has changed."""
    if known is None:
        return {}
    found = {"If-None-Match": known.etag, "If-Modified-Since": known.last_modified}
    return {name: value for name, value in found.items() if value}


def _validator(fetched: Fetched, name: str) -> str | None:
    value = fetched.headers.get(name, "")
    return value if value.isascii() and 0 < len(value) <= _LONGEST_VALIDATOR else None
