"""Reads a blog from RSS or Atom: its feed, or an export of WordPress and others in that form."""

import calendar
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from engine.errors import FeedUnreadable, InputError
from engine.feeds.markup import (
    feed_language,
    markup_text,
    parse_markup,
    plain_words,
    tags_of,
    web_link,
)
from engine.ingest.fields import host_of, made_id, read_strings, read_zoned_time, string_at, text_of
from engine.ingest.parsers.html import html_text
from engine.ingest.parsers.parsed import article_blocks
from engine.ingest.reader import OpenFile, Reader, Sample
from engine.ingest.records import PARTS_VERSION, PostFields, RawRecord, Reject
from engine.ingest.streams import read_whole
from engine.messages import Message
from engine.values import Kind

LARGEST = 64_000_000  # bytes; 2 MB take half a second


def _read_entry(entry: Mapping[str, Any], base: str, lang: str | None) -> dict[str, Any]:
    title, url = plain_words(entry.get("title")) or None, web_link(entry.get("link"), base)
    # The whole text is the longest, if the feed holds more than a summary.
    texts = [str(part.get("value") or "") for part in entry.get("content") or ()]
    text = html_text(max((*texts, str(entry.get("summary") or "")), key=len))
    return {
        "id": str(entry.get("id") or url or made_id(title or "", text))[:200],
        "title": title,
        "text": text,
        "published": _read_date(entry),
        "url": url,
        "author": plain_words(entry.get("author"), 200) or None,
        "tags": list(tags_of(tag.get("term") for tag in entry.get("tags") or ())),
        "lang": lang,
    }


def _read_date(entry: Mapping[str, Any]) -> str | None:
    for name in ("published_parsed", "created_parsed", "updated_parsed"):
        if parsed := entry.get(name):
            try:
                return datetime.fromtimestamp(calendar.timegm(parsed), UTC).isoformat()
            except (ValueError, OverflowError, OSError):
                continue
    return None


class BlogFeedReader(Reader):
    """Reads the entries of a feed with their whole text."""

    name = "feed"
    marks = (PARTS_VERSION,)
    kinds = (Kind.PUBLISHED, Kind.LIBRARY)

    def recognises(self, sample: Sample) -> bool:
        head = sample.head[:4096]
        return head.lstrip().startswith(b"<") and any(
            root in head for root in (b"<rss", b"<feed", b"<rdf:RDF")
        )

    def read_records(self, file: OpenFile) -> Iterator[RawRecord | Reject]:
        label, content = file.label, read_whole(file.stream, LARGEST + 1)
        if len(content) > LARGEST:
            raise InputError(
                Message("{label} is longer than {number:,} bytes.", label=label, number=LARGEST),
                fix=Message("Split it."),
            )
        try:
            entries = _list_entries(content)
        except FeedUnreadable as exc:
            raise InputError(
                Message("{label} cannot be read: {message}", label=label, message=exc.message),
                fix=exc.fix,
            ) from exc
        for number, entry in enumerate(entries, start=1):
            payload = {**entry, "file": file.citation}
            yield RawRecord(label, number, "record", orjson.dumps(entry), payload)

    def post(self, payload: Mapping[str, object]) -> PostFields:
        title, url = string_at(payload, "title"), string_at(payload, "url")
        body = string_at(payload, "text") or title
        return PostFields(
            text=text_of(body),
            blocks=article_blocks(text_of(body)),
            searched=f"{title}\n\n{body}" if title != body else None,
            created_at=read_zoned_time(payload.get("published")),
            author=string_at(payload, "author"),
            title=title,
            lang=string_at(payload, "lang"),
            url=url,
            platform="web",
            attribution=f"{payload.get('file')}#{payload.get('id')}",
            tags=tuple(read_strings(payload.get("tags"))),
            mentions=(),
            meta={"domain": host_of(url)},
        )


def _list_entries(content: bytes) -> list[dict[str, Any]]:
    """Return the entries of a feed. Raises FeedUnreadable if it is none, or declares entities."""
    parsed = parse_markup(markup_text(content))
    if not parsed.version and not parsed.entries:
        raise FeedUnreadable(Message("This is not a feed."))
    base = str(parsed.feeddata.get("link") or "")
    lang = feed_language(parsed.feeddata.get("language"))
    return [_read_entry(entry, base, lang) for entry in parsed.entries]


READERS: tuple[Reader, ...] = (BlogFeedReader(),)
