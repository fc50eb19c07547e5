"""Feed discovery behind an address, a list of popular feeds, and OPML.

Lists of feeds are read here as well. All that strangers wrote is parsed in other processes.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import ParseError, fromstring
from selectolax.lexbor import LexborHTMLParser, LexborNode

from engine.errors import FeedUnreadable, FetchError, FetchRefused, InputError
from engine.feeds.feed import ParsedFeed
from engine.feeds.markup import markup_text, plain_words, web_link, without_forbidden
from engine.feeds.read import FeedParser
from engine.fetch import Fetched, FetchLimits, shown_host
from engine.messages import Message
from engine.page.metadata import decode_page
from engine.process_pool import ProcessPool, WorkerEnded

FEED_LIMITS = FetchLimits(seconds=30.0, bytes=10_000_000)  # of a feed, unpacked
MAX_FEEDS = 1_000
_MAXIMUM = 20
_LONGEST_LIST = 1_000_000  # bytes
# Extracted with a regex: a parser that builds the tree of a hostile page takes seconds.
_TELLING_TAGS = re.compile(r"<(?:link|base)\b[^<>]{1,3000}>", re.IGNORECASE)
_MAX_TAGS = 1_000
_FEED_TYPES = re.compile(
    r"(?:application|text)/(?:rss|atom|rdf)(?:\+xml)?|application/feed\+json|(?:application|text)/xml"
)
ACCEPT_FEED = (
    "application/rss+xml, application/atom+xml, application/feed+json, application/rdf+xml,"
    " application/xml;q=0.9, text/xml;q=0.9, application/json;q=0.8, */*;q=0.1"
)
_FEED_SCHEME = re.compile(r"^feed:(?://)?", re.IGNORECASE)  # what browsers once gave to readers
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d)")  # excludes "host:port"


@dataclass(frozen=True, slots=True)
class WellKnownFeed:
    """A feed of general news that needs no key."""

    name: str  # as people type it
    title: str
    language: str  # ISO 639-1
    url: str


WELL_KNOWN = (
    WellKnownFeed("bbc", "BBC News", "en", "https://feeds.bbci.co.uk/news/world/rss.xml"),
    WellKnownFeed("guardian", "The Guardian", "en", "https://www.theguardian.com/world/rss"),
    WellKnownFeed("npr", "NPR", "en", "https://feeds.npr.org/1001/rss.xml"),
    WellKnownFeed(
        "nyt",
        "The New York Times",
        "en",
        "https://rss.nytimes.com/services/xml/rss/nyt/HomePage.xml",
    ),
    WellKnownFeed("aljazeera", "Al Jazeera", "en", "https://www.aljazeera.com/xml/rss/all.xml"),
    WellKnownFeed("bbcmundo", "BBC Mundo", "es", "https://feeds.bbci.co.uk/mundo/rss.xml"),
    WellKnownFeed(
        "elpais",
        "El País",
        "es",
        "https://feeds.elpais.com/mrss-s/pages/ep/site/elpais.com/portada",
    ),
    WellKnownFeed(
        "elmundo", "El Mundo", "es", "https://e00-elmundo.uecdn.es/elmundo/rss/portada.xml"
    ),
    WellKnownFeed("eldiario", "elDiario.es", "es", "https://www.eldiario.es/rss/"),
    WellKnownFeed("dw", "Deutsche Welle", "es", "https://rss.dw.com/xml/rss-sp-all"),
)

_BY_NAME = {feed.name: feed for feed in WELL_KNOWN}


def well_known(name: str) -> WellKnownFeed | None:
    """Return the feed of that name, whatever its case, or None."""
    return _BY_NAME.get(name.casefold())


def well_known_in(language: str) -> tuple[WellKnownFeed, ...]:
    """Return the feeds in a language; those in English if there are none."""
    feeds = tuple(feed for feed in WELL_KNOWN if feed.language == language)
    return feeds or well_known_in("en")


if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from engine.fetch.client import Fetcher


@dataclass(frozen=True, slots=True, kw_only=True)
class OpmlFeed:
    """One feed of a list. `category` is the folder that contains it."""

    url: str
    title: str | None = None
    category: str | None = None


def read_opml(body: bytes) -> tuple[OpmlFeed, ...]:
    """Return the feeds of a list, each address once, at most MAX_FEEDS.

    Raises InputError if it is not OPML, declares a document type, or names no feed.
    """
    try:
        root = fromstring(markup_text(body).encode(), forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as exc:
        raise unusable_list() from exc
    feeds: dict[str, OpmlFeed] = {}
    for feed in _read_outlines(root):
        feeds.setdefault(feed.url, feed)
    if not feeds:
        raise unusable_list()
    return tuple(feeds.values())[:MAX_FEEDS]


def write_opml(feeds: Iterable[OpmlFeed], *, title: str) -> bytes:
    """Return an OPML list of `feeds`, in folders by category."""
    folders: dict[str, list[OpmlFeed]] = defaultdict(list)
    for feed in feeds:
        folders[feed.category or ""].append(feed)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<opml version="2.0"><head><title>{_quote_attribute(title)[1:-1]}</title></head><body>',
    ]
    for category, members in sorted(folders.items()):
        outlines = [_build_outline(feed) for feed in members]
        folder = [f"<outline text={_quote_attribute(category)}>", *outlines, "</outline>"]
        lines += folder if category else outlines
    return "\n".join((*lines, "</body></opml>", "")).encode()


def _read_outlines(root: "Element") -> Iterator[OpmlFeed]:
    """Iterate over the outlines in order; not recursive, so any depth is safe."""
    waiting: list[tuple[Element, str | None]] = [(root, None)]
    while waiting:
        element, category = waiting.pop()
        attributes = {name.lower(): value for name, value in element.attrib.items()}
        name = plain_words(attributes.get("title")) or plain_words(attributes.get("text")) or None
        if url := web_link(attributes.get("xmlurl"), ""):
            yield OpmlFeed(url=url, title=name, category=category)
        elif element.tag.lower() == "outline":
            category = name or category
        waiting.extend((child, category) for child in reversed(element))


def _build_outline(feed: OpmlFeed) -> str:
    name = _quote_attribute(feed.title or feed.url)
    return f'<outline type="rss" text={name} title={name} xmlUrl={_quote_attribute(feed.url)}/>'


def _quote_attribute(text: str) -> str:
    return quoteattr(without_forbidden(text))


def unusable_list() -> InputError:
    """Return the error for what is no list of feeds."""
    return InputError(
        Message("This is not a list of feeds."),
        fix=Message("Export one as OPML from your feed reader."),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFeed:
    """A feed as named by a page."""

    url: str
    title: str | None = None


def discover_feeds(body: bytes, content_type: str | None, url: str) -> tuple[FoundFeed, ...]:
    """Return the feeds named by the page that came from `url`, each once, in page order.

    Never raises; takes linear time.
    """
    tags = _TELLING_TAGS.findall(decode_page(body, content_type))[:_MAX_TAGS]
    tree = LexborHTMLParser("".join(tags))
    bases = (node.attributes.get("href") for node in tree.css("base[href]"))
    base = next(filter(None, (web_link(href, url) for href in bases)), url)
    feeds: dict[str, FoundFeed] = {}
    for node in tree.css("link[href]"):
        link = web_link(node.attributes.get("href"), base)
        if link and _names_feed(node):
            title = plain_words(node.attributes.get("title"), 200) or None
            feeds.setdefault(link, FoundFeed(url=link, title=title))
    return tuple(feeds.values())[:_MAXIMUM]


def _names_feed(node: LexborNode) -> bool:
    relations = (node.attributes.get("rel") or "").lower().split()
    kind = (node.attributes.get("type") or "").partition(";")[0].strip().lower()
    return "alternate" in relations and _FEED_TYPES.fullmatch(kind) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadableFeed:
    """A feed that was read just now, and the address to poll it at."""

    url: str
    parsed: ParsedFeed

    def named(self, category: str) -> OpmlFeed:
        """Return it as an entry of a list, under its own title."""
        title = self.parsed.title or None
        return OpmlFeed(url=self.url, title=title, category=category or None)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedLookup:
    """Fetches and reads feeds; one lookup takes as long as `limits` allow for two fetches."""

    fetcher: "Fetcher"
    parser: FeedParser
    limits: FetchLimits

    async def look_up(self, address: str) -> ReadableFeed | tuple[FoundFeed, ...]:
        """Return the feed at an address, which may lack its scheme, or the one that its page names.

        If a page names several feeds, returns all of them, unread. Raises FetchError.
        """
        url = address_of(address)
        fetched = await self._fetch(url)
        try:
            return await self._read_feed(fetched, url)
        except FeedUnreadable:
            feeds = await self._find_named_feeds(fetched)
            if not feeds:
                raise
        if len(feeds) > 1:
            return feeds
        return await self._read_feed(await self._fetch(feeds[0].url), feeds[0].url)

    async def read_list(self, written: str) -> tuple[OpmlFeed, ...]:
        """Return the feeds of an OPML list, or of the one at an address.

        Raises FetchError and InputError.
        """
        body = written.encode("utf-8", "replace")
        if not (written.startswith("<?xml") or "<opml" in written):
            limits = replace(self.limits, bytes=_LONGEST_LIST)
            body = (await self._fetch(address_of(written), limits)).body
        return await read_list(self.parser, body)

    async def _find_named_feeds(self, fetched: Fetched) -> tuple[FoundFeed, ...]:
        """Return the feeds that a page names."""
        media_type = fetched.headers.get("Content-Type")
        try:
            return await self.parser.run(discover_feeds, fetched.body, media_type, fetched.url)
        except WorkerEnded:  # it names none that anybody could read
            return ()

    async def _fetch(self, url: str, limits: FetchLimits | None = None) -> Fetched:
        headers = {"Accept": ACCEPT_FEED}
        try:
            return await self.fetcher.get(url, limits=limits or self.limits, headers=headers)
        except FetchError as error:
            if error.fix and "headline" in error.fix:  # which helps where a link was pasted
                error.fix = Message("Check the address of the feed.")
            raise

    async def _read_feed(self, fetched: Fetched, url: str) -> ReadableFeed:
        media_type = fetched.headers.get("Content-Type")
        parsed = await self.parser.parse(fetched.body, media_type, fetched.url)
        return ReadableFeed(url=fetched.moved_permanently_to or url, parsed=parsed)


async def read_list(isolation: ProcessPool, body: bytes) -> tuple[OpmlFeed, ...]:
    """Return the feeds of an OPML list. Raises InputError."""
    try:
        return await isolation.run(read_opml, body)
    except WorkerEnded as exc:
        raise unusable_list() from exc


def address_of(written: str) -> str:
    """Return what a person wrote as a web address. Raises FetchRefused."""
    written = _FEED_SCHEME.sub("", written.strip().strip("<>"))
    url = web_link(written if _SCHEME.match(written) else f"https://{written}", "")
    if url is None or " " in written:
        raise FetchRefused(
            Message(
                "{host} was not opened: it is no address of the public web.",
                host=shown_host(written),
            ),
            fix=Message("Check the link."),
        )
    return url
