"""Reads and writes OPML, the lists that feed readers exchange (http://opml.org/spec2.opml)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import ParseError, fromstring

from engine.errors import InputError
from engine.feeds.markup import markup_text, without_forbidden
from engine.feeds.plain import plain_words, web_link
from engine.messages import Message

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MOST_FEEDS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OpmlFeed:
    """One feed of a list. `category` is the folder that contains it."""

    url: str
    title: str | None = None
    category: str | None = None


def read_opml(body: bytes) -> tuple[OpmlFeed, ...]:
    """Return the feeds of a list, each address once, at most MOST_FEEDS.

    Raises InputError if it is not OPML, declares a document type, or names no feed.
    """
    try:
        root = fromstring(markup_text(body).encode(), forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as exc:
        raise unusable_list() from exc
    found: dict[str, OpmlFeed] = {}
    for feed in _feeds(root):
        found.setdefault(feed.url, feed)
    if not found:
        raise unusable_list()
    return tuple(found.values())[:MOST_FEEDS]


def write_opml(feeds: Iterable[OpmlFeed], *, title: str) -> bytes:
    """Return an OPML list of `feeds`, in folders by category."""
    folders: dict[str, list[OpmlFeed]] = defaultdict(list)
    for feed in feeds:
        folders[feed.category or ""].append(feed)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<opml version="2.0"><head><title>{_quoted(title)[1:-1]}</title></head><body>',
    ]
    for category, members in sorted(folders.items()):
        outlines = [_outline(feed) for feed in members]
        folder = [f"<outline text={_quoted(category)}>", *outlines, "</outline>"]
        lines += folder if category else outlines
    return "\n".join((*lines, "</body></opml>", "")).encode()


def _feeds(root: "Element") -> Iterator[OpmlFeed]:
    """Iterate over the outlines in order; not recursive, so any depth is safe."""
    waiting: list[tuple[Element, str | None]] = [(root, None)]
    while waiting:
        element, category = waiting.pop()
        said = {name.lower(): value for name, value in element.attrib.items()}
        name = plain_words(said.get("title")) or plain_words(said.get("text")) or None
        if url := web_link(said.get("xmlurl"), ""):
            yield OpmlFeed(url=url, title=name, category=category)
        elif element.tag.lower() == "outline":
            category = name or category
        waiting.extend((child, category) for child in reversed(element))


def _outline(feed: OpmlFeed) -> str:
    name = _quoted(feed.title or feed.url)
    return f'<outline type="rss" text={name} title={name} xmlUrl={_quoted(feed.url)}/>'


def _quoted(text: str) -> str:
    return quoteattr(without_forbidden(text))


def unusable_list() -> InputError:
    """Return the error for what is no list of feeds."""
    return InputError(
        Message("This is not a list of feeds."),
        fix=Message("Export one as OPML from your feed reader."),
    )
