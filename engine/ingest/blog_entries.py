"""The entries of RSS and Atom documents as plain values, with their whole text."""

import calendar
import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import feedparser

from engine.errors import FeedUnreadable
from engine.feeds.markup import markup_text, require_flat, require_harmless
from engine.feeds.plain import language_of, plain, tags_of, web_link
from engine.ingest.html_text import html_text
from engine.ingest.identity import made_id


def blog_entries(content: bytes) -> Sequence[dict[str, Any]]:
    """Return id, title, text, published, url, author, lang and tags of every entry.

    Raises FeedUnreadable when it is no feed, or declares entities.
    """
    text = markup_text(content)
    require_harmless(text)
    body = text.encode("utf-8", "replace")
    require_flat(body)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of feedparser, about its own past
        try:
            found = feedparser.parse(
                body,
                response_headers={"content-type": "application/xml; charset=utf-8"},
                resolve_relative_uris=False,
                sanitize_html=False,  # markup goes as a whole
            )
        except MemoryError:
            raise
        except Exception as exc:  # whatever its lenient parser trips over
            raise FeedUnreadable("The feed is damaged beyond reading.") from exc
    if not found.get("version") and not found.entries:
        raise FeedUnreadable("This is not a feed.")
    base = str(found.feed.get("link") or "")
    lang = language_of(found.feed.get("language"))
    return [{**_entry(entry, base), "lang": lang} for entry in found.entries]


def _entry(entry: Mapping[str, Any], base: str) -> dict[str, Any]:
    title, url = plain(entry.get("title")) or None, web_link(entry.get("link"), base)
    text = html_text(_longest(entry))
    return {
        "id": str(entry.get("id") or url or made_id(title or "", text))[:200],
        "title": title,
        "text": text,
        "published": _published(entry),
        "url": url,
        "author": plain(entry.get("author"), 200) or None,
        "tags": list(tags_of(tag.get("term") for tag in entry.get("tags") or ())),
    }


def _longest(entry: Mapping[str, Any]) -> str:
    """Return the markup of the whole text, where the feed holds more than a summary."""
    found = [str(part.get("value") or "") for part in entry.get("content") or ()]
    return max((*found, str(entry.get("summary") or "")), key=len)


def _published(entry: Mapping[str, Any]) -> str | None:
    for name in ("published_parsed", "created_parsed", "updated_parsed"):
        if parsed := entry.get(name):
            try:
                return datetime.fromtimestamp(calendar.timegm(parsed), UTC).isoformat()
            except (ValueError, OverflowError, OSError):
                continue
    return None
