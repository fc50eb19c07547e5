"""The feeds that a web page names (https://blog.whatwg.org/feed-autodiscovery)."""

import re
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

from engine.feeds.plain import plain, web_link
from engine.page.charset import decode_page

_MOST = 20
# Cut out first: a parser that builds the tree of a hostile page takes seconds.
_TELLING_TAGS = re.compile(r"<(?:link|base)\b[^<>]{1,3000}>", re.IGNORECASE)
_MOST_TAGS = 1_000
_FEED_TYPES = re.compile(
    r"(?:application|text)/(?:rss|atom|rdf)(?:\+xml)?|application/feed\+json|(?:application|text)/xml"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFeed:
    """A feed as a page names it."""

    url: str
    title: str | None = None


def discover(body: bytes, content_type: str | None, url: str) -> tuple[FoundFeed, ...]:
    """Return the feeds named by the page that came from `url`, each once, in its order.

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
            title = plain(node.attributes.get("title"), 200) or None
            found.setdefault(link, FoundFeed(url=link, title=title))
    return tuple(found.values())[:_MOST]


def _names_feed(node: LexborNode) -> bool:
    relations = (node.attributes.get("rel") or "").lower().split()
    kind = (node.attributes.get("type") or "").partition(";")[0].strip().lower()
    return "alternate" in relations and _FEED_TYPES.fullmatch(kind) is not None
