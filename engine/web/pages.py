"""Reads web pages: from the cache, else fetched as their site allows, and extracted."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from urllib.parse import unquote, urlsplit

from engine.errors import FetchDisallowed, FetchStatus, PageUnreadable
from engine.fetch import Fetched, FetchLimits, shown_host
from engine.fetch.client import Fetcher
from engine.llm.asking import SingleFlight
from engine.messages import Message
from engine.page.article import PAGE_TYPES, ArticleReader, require_libraries
from engine.page.metadata import declared_charset
from engine.text.address import canonical_address
from engine.web.results import CACHED_FOR, LONGEST_TEXT, FetchedPage, WebCache

AGENT = "presagio"
PAGE_SECONDS = 6.0
CACHE_BYTES = 100_000_000  # of page text that are kept
_LIMITS = FetchLimits(seconds=5.0, bytes=600_000)  # a site may expect that 500 KiB are read
_MAX_RULES = 5_000
_KEPT = 24 * 3600.0  # seconds
_MAX_KEPT = 1_000  # sites
AT_ONCE = 10  # fetches
_MAX_BYTES = 3_000_000  # of which the first megabyte is read
_LONGEST_VALIDATOR = 300  # characters
_FRESH = timedelta(days=1)  # for which a page is not fetched again
_AHEAD = timedelta(days=1)  # a local time read without its zone can be 14 hours ahead


@dataclass(frozen=True, slots=True)
class RobotRules:
    """The rules for one program: (allowed, pattern). Without rules, everything is allowed."""

    rules: tuple[tuple[bool, str], ...] = ()

    def allows(self, path: str) -> bool:
        """Return whether the longest pattern that matches allows it; in a tie it does."""
        path = unquote(path)
        matching = [
            (len(pattern), allowed) for allowed, pattern in self.rules if _is_match(pattern, path)
        ]
        return max(matching)[1] if matching else True


def parse_robots(text: str, agent: str = AGENT) -> RobotRules:
    """Return the rules for `agent`: those of all groups that name it, or those for "*"."""
    named: list[tuple[bool, str]] = []
    general: list[tuple[bool, str]] = []
    grouped: set[str] = set()  # the agents of the current group
    in_rules = False
    own = False
    for line in text.lstrip("\ufeff").splitlines():
        key, colon, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if not colon or key not in ("user-agent", "allow", "disallow"):
            continue
        if key == "user-agent":
            grouped = {value.lower()} if in_rules else grouped | {value.lower()}
            own = own or agent in grouped
        elif value:
            rule = (key == "allow", unquote(value))
            if agent in grouped:
                named.append(rule)
            if "*" in grouped:
                general.append(rule)
        in_rules = key != "user-agent"
    return RobotRules(tuple((named if own else general)[:_MAX_RULES]))


def _is_match(pattern: str, path: str) -> bool:
    """Match from the beginning; "*" is any text, and "$" at the end is the end of the path."""
    anchored = pattern.endswith("$")
    first, *others = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    place = len(first)
    if not others:
        return not anchored or place == len(path)
    *middle, last = others
    for part in middle:
        start = path.find(part, place)
        if start < 0:
            return False
        place = start + len(part)
    if anchored:
        return path.endswith(last) and len(path) - len(last) >= place
    return path.find(last, place) >= 0


class Robots:
    """The rules of sites, fetched when first needed and kept for a day.

    `clock` returns monotonic seconds.
    """

    def __init__(self, fetcher: Fetcher, *, clock: Callable[[], float]) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._kept: dict[str, tuple[float, RobotRules]] = {}
        self._flights = SingleFlight[RobotRules]()

    async def require(self, url: str) -> None:
        """Raise FetchDisallowed if the site does not let this program read `url`.

        A site without such a file, or that refuses to show it, allows everything; one whose
        server fails allows nothing until it answers, and then FetchError is raised.
        """
        parts = urlsplit(url)
        rules = await self._find_rules(f"{parts.scheme}://{parts.netloc}")
        path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        if not rules.allows(path):
            raise FetchDisallowed(
                Message("{host} does not let programs read this page.", host=shown_host(url))
            )

    async def _find_rules(self, site: str) -> RobotRules:
        until, rules = self._kept.get(site, (0.0, RobotRules()))
        if self._clock() < until:
            return rules
        rules = await self._flights.run(site, lambda: self._fetch_rules(site))
        self._kept.pop(site, None)  # the oldest comes first
        self._kept[site] = (self._clock() + _KEPT, rules)
        while len(self._kept) > _MAX_KEPT:
            del self._kept[next(iter(self._kept))]
        return rules

    async def _fetch_rules(self, site: str) -> RobotRules:
        try:
            fetched = await self._fetcher.get(f"{site}/robots.txt", limits=_LIMITS)
        except FetchStatus as refusal:
            if refusal.status == 429 or refusal.status >= 500:
                raise
            return RobotRules()
        return parse_robots(fetched.body.decode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page, and whether it came from the cache without asking its server."""

    page: FetchedPage
    cached: bool


class Pages:
    """Reads pages, at most ten fetches at once. What comes out of one is data, never trusted."""

    def __init__(
        self, fetcher: Fetcher, reader: ArticleReader, robots: Robots, cache: WebCache
    ) -> None:
        self._fetcher, self._reader = fetcher, reader
        self._robots, self._cache = robots, cache
        self._room = asyncio.Semaphore(AT_ONCE)

    async def read(self, address: str, *, now: datetime) -> ReadPage:
        """Return the page at a canonical address.

        A page that was fetched less than a day ago comes from the cache. An older one is
        asked for with its validators, and its text is used again if the server says that it has
        not changed. Raises FetchError, ExtraMissing, PresagioError if no process can be started,
        and storage errors.
        """
        cached = await self._cache.get(address)
        fresh = now - _FRESH
        if cached and cached.fetched_at > fresh:
            return ReadPage(cached, cached=True)
        require_libraries()  # before anything is fetched
        page = await self._fetch_current_page(address, cached, now)
        await self._cache.put(address, page)
        return ReadPage(page, cached=False)

    async def tidy(self, *, now: datetime) -> int:
        """Remove from the cache what is old or too much; return how many pages."""
        return await self._cache.forget(before=now - CACHED_FOR, max_bytes=CACHE_BYTES)

    async def _fetch_current_page(
        self, address: str, cached: FetchedPage | None, now: datetime
    ) -> FetchedPage:
        fetched = await self._fetch_allowed(address, cached)
        if cached and fetched.status == 304:
            return replace(cached, fetched_at=now)
        charset = declared_charset(fetched.headers.get("Content-Type"))
        article = await self._reader.read(fetched.body, charset=charset, url=fetched.url, now=now)
        if article is None:
            raise PageUnreadable(
                Message("The page of {host} has no text to read.", host=shown_host(address))
            )
        date = (
            article.date
            if article.date and not article.dated_by and article.date <= now + _AHEAD
            else None
        )
        return FetchedPage(
            url=canonical_address(fetched.url) or address,
            title=article.title,
            text=article.text[:LONGEST_TEXT],
            author=article.author,
            site=article.site,
            date=date,
            etag=_read_validator(fetched, "ETag"),
            last_modified=_read_validator(fetched, "Last-Modified"),
            fetched_at=now,
        )

    async def _fetch_allowed(self, address: str, cached: FetchedPage | None) -> Fetched:
        """Fetch a page if its site lets programs read it, and the site it leads to as well."""
        limits = FetchLimits(seconds=PAGE_SECONDS, bytes=_MAX_BYTES)
        conditions = {  # which ask for a page only if it has changed
            "If-None-Match": cached and cached.etag,
            "If-Modified-Since": cached and cached.last_modified,
        }
        headers = {name: value for name, value in conditions.items() if value}
        async with self._room:
            await self._robots.require(address)
            fetched = await self._fetcher.get(
                address, limits=limits, accept=PAGE_TYPES, headers=headers
            )
            if urlsplit(fetched.url)[:3] != urlsplit(address)[:3]:
                await self._robots.require(fetched.url)
        return fetched


def _read_validator(fetched: Fetched, name: str) -> str | None:
    value = fetched.headers.get(name, "")
    return value if value.isascii() and 0 < len(value) <= _LONGEST_VALIDATOR else None
