"""Reads the posts of one's own timeline from Facebook's export as HTML (`your_posts_1.html`).

A post is a box with a heading ("Ana updated her status."), words, and a date without a zone, which
is taken as UTC.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC

from selectolax.lexbor import LexborHTMLParser, LexborNode

from engine.ingest.fields import made_id, read_string, read_written_time, text_of
from engine.ingest.parsers.html import html_text
from engine.ingest.reader import FileReader, OpenFile, Reader, Sample
from engine.ingest.records import PostFields, RawRecord, Reject
from engine.ingest.streams import read_whole
from engine.values import Flag, Kind

_LARGEST = 64 << 20  # bytes of a page
_SIGN = re.compile(rb"uiBoxWhite noborder|_a706")
_NAMED = re.compile(r"your_posts[\w&]{0,100}\.html")
# Classes of the box of a post, of its heading, its words and its date.
_BOX, _HEADING, _WORDS, _DATE = "_3-95", "_a6-h", "._2pin", "._2lem, ._a72d, ._a6-o"


class FacebookHtmlReader(FileReader):
    """Reads the boxes of a page."""

    name = "facebook-html"
    kinds = (Kind.SOCIAL,)
    pattern = _NAMED.pattern

    def recognises(self, sample: Sample) -> bool:
        named = _NAMED.fullmatch(sample.name.rpartition("/")[2])
        return bool(named and _SIGN.search(sample.head))

    def read_records(self, file: OpenFile) -> Iterator[RawRecord | Reject]:
        page = LexborHTMLParser(read_whole(file.stream, _LARGEST).decode("utf-8", "replace"))
        for number, date in enumerate(page.css(_DATE), start=1):
            box = _find_box(date)
            if box is None or any(inner != date for inner in date.css(_DATE)):
                continue  # a date within a date is the one that counts
            written = " ".join(date.text(deep=True).split())
            words = "\n\n".join(_read_words(box))
            identity = made_id(written, words)
            payload = {
                "id": identity,
                "text": words,
                "date": written,
                "media": box.css_first("img") is not None,
                "place": f"{file.citation}#{identity}",
            }
            raw = f"{written}\0{words}".encode()
            yield RawRecord(file.label, number, "record", raw, payload)

    def post(self, payload: Mapping[str, object]) -> PostFields:
        media = payload.get("media") is True
        words = read_string(payload.get("text"))
        return PostFields(
            text=words or text_of("[photo]" if media else None),
            searched=None if words else "",
            created_at=read_written_time(payload.get("date"), zone=UTC, is_day_first=None),
            platform="facebook",
            attribution=read_string(payload.get("place")),
            flags=Flag.of({Flag.MEDIA: media}),
            mine=True,
        )


def _find_box(date: LexborNode) -> LexborNode | None:
    node = date.parent
    while node is not None and _BOX not in (node.attributes.get("class") or "").split():
        node = node.parent
    return node


def _read_words(box: LexborNode) -> list[str]:
    """Return the paragraphs of a box, without the heading, which is the first of several."""
    texts = [html_text(node.html or "") for node in box.css(_WORDS)]
    if len(texts) > 1 and box.css_first(f".{_HEADING}") is None:
        texts = texts[1:]
    return [text for text in texts if text]


READERS: tuple[Reader, ...] = (FacebookHtmlReader(),)
