"""Feeds of this project's own making, for the tests."""

from collections.abc import Iterable

URL = "https://news.example.org/feeds/all.xml"


def rss(*items: str, head: str = "", prolog: str = '<?xml version="1.0"?>') -> bytes:
    channel = f"<title>The Lighthouse</title><link>https://news.example.org/</link>{head}"
    return f'{prolog}<rss version="2.0"><channel>{channel}{"".join(items)}</channel></rss>'.encode()


def item(title: str, *, link: str | None = None, guid: str | None = None, more: str = "") -> str:
    parts: Iterable[tuple[str, str | None]] = (("title", title), ("link", link), ("guid", guid))
    said = "".join(f"<{name}>{value}</{name}>" for name, value in parts if value is not None)
    return f"<item>{said}{more}</item>"
