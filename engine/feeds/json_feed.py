"""JSON Feed (https://www.jsonfeed.org/version/1.1/), read leniently."""

from typing import Any

import orjson

from engine.errors import FeedUnreadable
from engine.feeds.plain import (
    LONGEST_SUMMARY,
    MOST_ENTRIES,
    iso_date,
    language_of,
    plain,
    tags_of,
    web_link,
)
from engine.feeds.types import Entry, ParsedFeed

_VERSION = "jsonfeed.org/version/"


def read_json_feed(text: str, url: str) -> ParsedFeed:
    """Read a feed that came from `url`. Raises FeedUnreadable when it is not one."""
    try:
        feed = orjson.loads(text)
    except orjson.JSONDecodeError as exc:
        raise FeedUnreadable("The answer is broken JSON, not a feed.") from exc
    if not isinstance(feed, dict) or _VERSION not in str(feed.get("version")):
        raise FeedUnreadable("The answer is JSON, but not a JSON Feed.")
    items = feed.get("items")
    return ParsedFeed(
        entries=tuple(
            _entry(one, url) for one in _list(items)[:MOST_ENTRIES] if isinstance(one, dict)
        ),
        title=plain(_text(feed.get("title"))) or None,
        link=web_link(feed.get("home_page_url"), url),
        language=language_of(feed.get("language")),
    )


def _entry(item: dict[str, Any], url: str) -> Entry:
    said = ("summary", "content_text", "content_html")
    return Entry(
        identity=_text(item.get("id")),
        title=plain(_text(item.get("title"))),
        link=web_link(item.get("url") or item.get("external_url"), url),
        summary=plain(
            next(filter(None, (_text(item.get(name)) for name in said)), ""), LONGEST_SUMMARY
        ),
        published=iso_date(item.get("date_published")) or iso_date(item.get("date_modified")),
        author=_author(item),
        tags=tags_of(_list(item.get("tags"))),
    )


def _author(item: dict[str, Any]) -> str | None:
    """Return the first name; version 1.0 had one `author`, 1.1 has `authors`."""
    for author in (*_list(item.get("authors")), item.get("author")):
        if isinstance(author, dict) and (name := plain(_text(author.get("name")), 200)):
            return name
    return None


def _text(value: object) -> str:
    """Return strings as they are and numbers as strings: ids are often numbers."""
    return value if isinstance(value, str) else str(value) if isinstance(value, int | float) else ""


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
