"""Parses the XML of feeds with feedparser, corrected where it loses titles, links and items.

It is imported where a feed is read, as feedparser takes a while to load.
"""

import io
from typing import Any
from xml.sax import SAXException, handler
from xml.sax.xmlreader import InputSource

from defusedxml.sax import make_parser
from feedparser.api import LooseFeedParser, StrictFeedParser
from feedparser.exceptions import UndeclaredNamespace

from engine.feeds.mending import mend_link

_STATE = ("title_depth", "guidislink", "hasContent")  # what feedparser keeps of the current item
_UTF8 = "utf-8"


class _Corrections:
    """What both parsers of feedparser do differently here.

    A title of Dublin Core is kept aside under "dc_title". Links are mended before they are made
    absolute, and keep their semicolons. "is_permalink" tells whether the guid may be a link.
    """

    def _start_dc_title(self: Any, _: dict[str, str]) -> None:
        self.push("dc_title", 1)

    def _end_dc_title(self: Any) -> None:
        self.pop("dc_title")

    def _start_link(self: Any, attributes: dict[str, str]) -> None:
        attributes.pop("uri", None)  # names something else than a page
        if "href" in attributes:
            attributes["href"] = mend_link(attributes["href"], base=self._site())
        super()._start_link(attributes)  # type: ignore[misc]

    def _start_guid(self: Any, attributes: dict[str, str]) -> None:
        attributes["ispermalink"] = attributes.get("ispermalink", "true").strip().lower()
        super()._start_guid(attributes)  # type: ignore[misc]

    def _end_guid(self: Any) -> None:
        written = _join_pieces(self.elementstack[-1][2]) if self.elementstack else ""
        self._save("is_permalink", bool(self.guidislink) and "://" in written)
        super()._end_guid()  # type: ignore[misc]

    _start_id, _end_id = _start_guid, _end_guid

    def pop(self: Any, element: str, strip_whitespace: int = 1) -> Any:
        """Return the text of an element, as feedparser does."""
        stack = self.elementstack
        if element != "link" or not stack or stack[-1][0] != "link":
            return super().pop(element, strip_whitespace)  # type: ignore[misc]
        mended = mend_link(_join_pieces(stack[-1][2]), base=self._site())
        stack[-1][2] = [mended]
        output = super().pop(element, strip_whitespace)  # type: ignore[misc]
        links = self._get_context().get("links")
        if mended and links and not self.inimage:
            links[-1]["href"] = self.resolve_uri(self.decode_entities("link", mended))
        return output

    def _site(self: Any) -> str:
        return str(self.feeddata.get("link") or self.baseuri or "")


def _join_pieces(pieces: list[str | bytes]) -> str:
    return "".join(
        piece.decode(_UTF8, "replace") if isinstance(piece, bytes) else piece for piece in pieces
    )


class _Strict(_Corrections, StrictFeedParser):  # type: ignore[misc]  # no type information
    """Reads well-formed documents. An item inside another one comes before it, both whole."""

    def __init__(self, address: str) -> None:
        super().__init__(address, None, _UTF8)
        self.resolve_relative_uris = self.sanitize_html = False
        self._outer: list[tuple[int, dict[str, object]]] = []

    def _start_item(self, attributes: dict[str, str]) -> None:
        outer = {name: getattr(self, name) for name in _STATE} if self.inentry else {}
        self._outer.append((len(self.entries) - 1, outer))
        super()._start_item(attributes)

    _start_entry = _start_item

    def _end_item(self) -> None:
        super()._end_item()
        place, outer = self._outer.pop()
        if outer:  # feedparser writes into the last one
            self.entries.append(self.entries.pop(place))
            self.inentry = 1
            self.__dict__.update(outer)

    _end_entry = _end_item


class _Loose(_Corrections, LooseFeedParser):  # type: ignore[misc]  # no type information
    """Reads what is left of damaged documents."""

    def __init__(self, address: str) -> None:
        super().__init__(address, None, _UTF8, {})
        self.resolve_relative_uris = self.sanitize_html = False


def parse_elements(body: bytes, address: str) -> Any:
    """Return feedparser's parser behind a document in UTF-8 that came from `address`.

    Its `version`, `feeddata` and `entries` tell what was found. Raises anything that the lenient
    parser of feedparser raises.
    """
    strict = _Strict(address)
    reader = make_parser()
    reader.setFeature(handler.feature_namespaces, True)
    reader.setFeature(handler.feature_external_ges, False)
    reader.setContentHandler(strict)
    reader.setErrorHandler(strict)
    source = InputSource()
    source.setByteStream(io.BytesIO(body))
    try:
        reader.parse(source)
    except (SAXException, UndeclaredNamespace):
        loose = _Loose(address)
        loose.feed(body.decode(_UTF8, "replace"))
        return loose
    return strict
