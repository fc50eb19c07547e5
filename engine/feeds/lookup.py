"""Finds the feed behind an address from a person: the feed itself, or a page that names some.

Lists of feeds are read here as well. All that strangers wrote is parsed in other processes.
"""

import re
from dataclasses import dataclass, replace

from selectolax.lexbor import LexborHTMLParser, LexborNode

from engine.errors import FeedUnreadable, FetchRefused
from engine.feeds.opml import OpmlFeed, read_opml, unusable_list
from engine.feeds.parsing import FeedParser
from engine.feeds.plain import plain_words, web_link
from engine.feeds.types import ParsedFeed
from engine.fetch.client import Fetched, Fetcher, FetchLimits
from engine.fetch.faults import shown_host
from engine.isolation.pool import Isolation
from engine.isolation.process import WorkerEnded
from engine.messages import Message
from engine.page.charset import decode_page

_MOST = 20
_LONGEST_LIST = 1_000_000  # bytes
# Extracted with a regex: a parser that builds the tree of a hostile page takes seconds.
_TELLING_TAGS = re.compile(r"<(?:link|base)\b[^<>]{1,3000}>", re.IGNORECASE)
_MOST_TAGS = 1_000
_FEED_TYPES = re.compile(
    r"(?:application|text)/(?:rss|atom|rdf)(?:\+xml)?|application/feed\+json|(?:application|text)/xml"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFeed:
    """A feed as named by a page."""

    url: str
    title: str | None = None


def discover(body: bytes, content_type: str | None, url: str) -> tuple[FoundFeed, ...]:
    """Return the feeds named by the page that came from `url`, each once, in page order.

    Never raises; takes linear time.
    """
    tags = _TELLING_TAGS.findall(decode_page(body, content_type))[:_MOST_TAGS]
    tree = LexborHTMLParser("".join(tags))
    bases = (node.attributes.get("href") for node in tree.css("base[href]"))
    base = next(filter(None, (web_link(href, url) for href in bases)), url)
    found: dict[str, FoundFeed] = {}
    for node in tree.css("link[href]"):
        link = web_link(node.attributes.get("href"), base)
        if link and _names_feed(node):
            title = plain_words(node.attributes.get("title"), 200) or None
            found.setdefault(link, FoundFeed(url=link, title=title))
    return tuple(found.values())[:_MOST]


def _names_feed(node: LexborNode) -> bool:
    relations = (node.attributes.get("rel") or "").lower().split()
    kind = (node.attributes.get("type") or "").partition(";")[0].strip().lower()
    return "alternate" in relations and _FEED_TYPES.fullmatch(kind) is not None


ACCEPT_FEED = (
    "application/rss+xml, application/atom+xml, application/feed+json, application/rdf+xml,"
    " application/xml;q=0.9, text/xml;q=0.9, application/json;q=0.8, */*;q=0.1"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d)")  # excludes "host:port"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadableFeed:
    """A feed that was read just now, and the address to poll it at."""

    url: str
    parsed: ParsedFeed


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedLookup:
    """Fetches and reads feeds; one lookup takes as long as `limits` allow for two fetches."""

    fetcher: Fetcher
    parser: FeedParser
    limits: FetchLimits

    async def look_up(self, address: str) -> ReadableFeed | tuple[FoundFeed, ...]:
        """Return the feed at an address, which may lack its scheme, or the one that its page names.

        If a page names several feeds, returns all of them, unread. Raises FetchError.
        """
        url = address_of(address)
        fetched = await self._fetch(url)
        try:
            return await self._read(fetched, url)
        except FeedUnreadable:
            found = await self._named(fetched)
            if not found:
                raise
        if len(found) > 1:
            return found
        return await self._read(await self._fetch(found[0].url), found[0].url)

    async def read_list(self, written: str) -> tuple[OpmlFeed, ...]:
        """Return the feeds of an OPML list, or of the one at an address.

        Raises FetchError and InputError.
        """
        body = written.encode("utf-8", "replace")
        if not (written.startswith("<?xml") or "<opml" in written):
            limits = replace(self.limits, bytes=_LONGEST_LIST)
            body = (await self.fetcher.get(address_of(written), limits=limits)).body
        return await read_list(self.parser, body)

    async def _named(self, fetched: Fetched) -> tuple[FoundFeed, ...]:
        """Return the feeds that a page names."""
        media_type = fetched.headers.get("Content-Type")
        try:
            return await self.parser.isolated(discover, fetched.body, media_type, fetched.url)
        except WorkerEnded:  # it names none that anybody could read
            return ()

    async def _fetch(self, url: str) -> Fetched:
        return await self.fetcher.get(url, limits=self.limits, headers={"Accept": ACCEPT_FEED})

    async def _read(self, fetched: Fetched, url: str) -> ReadableFeed:
        media_type = fetched.headers.get("Content-Type")
        parsed = await self.parser.parse(fetched.body, media_type, fetched.url)
        return ReadableFeed(url=fetched.moved_permanently_to or url, parsed=parsed)


async def read_list(isolation: Isolation, body: bytes) -> tuple[OpmlFeed, ...]:
    """Return the feeds of an OPML list. Raises InputError."""
    try:
        return await isolation.isolated(read_opml, body)
    except WorkerEnded as exc:
        raise unusable_list() from exc


def address_of(written: str) -> str:
    """Return what a person wrote as a web address. Raises FetchRefused."""
    written = written.strip().strip("<>")
    url = web_link(written if _SCHEME.match(written) else f"https://{written}", "")
    if url is None:
        raise FetchRefused(
            Message(
                "{host} was not opened: it is no address of the public web.",
                host=shown_host(written),
            ),
            fix=Message("Check the link."),
        )
    return url
