"""What stands behind an address that a person gave: a feed, or a page that names some."""

import re
from dataclasses import dataclass

from engine.errors import FeedUnreadable, FetchRefused
from engine.feeds.discover import FoundFeed, discover
from engine.feeds.faults import shown_host
from engine.feeds.fetch import Fetched, Fetcher, FetchLimits
from engine.feeds.parsing import FeedParser
from engine.feeds.plain import web_link
from engine.feeds.types import ParsedFeed

ACCEPT_FEED = (
    "application/rss+xml, application/atom+xml, application/feed+json, application/rdf+xml,"
    " application/xml;q=0.9, text/xml;q=0.9, application/json;q=0.8, */*;q=0.1"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d)")  # not the port of a host


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadableFeed:
    """A feed that was read just now, and the address to poll it at."""

    url: str
    parsed: ParsedFeed


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedLookup:
    """Fetches and reads; one look takes as long as `limits` allow two fetches to."""

    fetcher: Fetcher
    parser: FeedParser
    limits: FetchLimits

    async def look_up(self, address: str) -> ReadableFeed | tuple[FoundFeed, ...]:
        """Return the feed at an address, which may lack its scheme, or the one that its page names.

        A page that names several feeds gives all of them, unread. Raises FetchError.
        """
        url = address_of(address)
        fetched = await self._fetch(url)
        try:
            return await self._read(fetched, url)
        except FeedUnreadable:
            found = discover(fetched.body, fetched.headers.get("Content-Type"), fetched.url)
            if not found:
                raise
        if len(found) > 1:
            return found
        return await self._read(await self._fetch(found[0].url), found[0].url)

    async def _fetch(self, url: str) -> Fetched:
        return await self.fetcher.get(url, limits=self.limits, headers={"Accept": ACCEPT_FEED})

    async def _read(self, fetched: Fetched, url: str) -> ReadableFeed:
        media_type = fetched.headers.get("Content-Type")
        parsed = await self.parser.parse(fetched.body, media_type, fetched.url)
        return ReadableFeed(url=fetched.moved_permanently_to or url, parsed=parsed)


def address_of(written: str) -> str:
    """Return what a person wrote as an address of the web. Raises FetchRefused."""
    written = written.strip().strip("<>")
    url = web_link(written if _SCHEME.match(written) else f"https://{written}", "")
    if url is None:
        raise FetchRefused(
            f"{shown_host(written)} was not opened: it is no address of the public web.",
            fix="Check the link.",
        )
    return url
