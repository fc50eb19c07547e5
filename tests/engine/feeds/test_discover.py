"""The feeds that a page names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.feeds.lookup import FoundFeed, discover_feeds

URL = "https://e.org/news/index.html"


def found(page: str) -> list[tuple[str, str | None]]:
    return [(feed.url, feed.title) for feed in discover_feeds(page.encode(), "text/html", URL)]


def test_a_page_names_its_feeds_in_order() -> None:
    page = """<!doctype html><html><head><title>News</title>
        <link rel="stylesheet" href="/style.css">
        <LINK REL='Alternate' TYPE='application/rss+xml' title="All &amp; more"
         HREF='/rss?a=1&amp;b=2'>
        <link rel="alternate" type="application/atom+xml; charset=utf-8" href="atom.xml">
        <link rel="alternate" type="application/feed+json" href="//e.org/feed.json" title="">
        <link rel="alternate" hreflang="es" href="/es/">
        <link rel="alternate" type="application/json+oembed" href="/oembed">
        <link rel="alternate" type="application/rss+xml" href="/rss?a=1&b=2" title="again">
        </head><body></body></html>"""
    assert found(page) == [
        ("https://e.org/rss?a=1&b=2", "All & more"),
        ("https://e.org/news/atom.xml", None),
        ("https://e.org/feed.json", None),
    ]


def test_relative_feed_links_respect_the_base_element() -> None:
    page = '<base href="/feeds/"><link rel=alternate type=application/rss+xml href=all.xml>'
    assert found(page) == [("https://e.org/feeds/all.xml", None)]


@pytest.mark.parametrize(
    "page",
    [
        "",
        "<p>No feeds here</p>",
        '<link rel="alternate" type="application/rss+xml" href="javascript:alert(1)">',
        '<link rel="alternate" type="application/rss+xml" href="file:///etc/passwd">',
        '<link rel="alternate" type="application/rss+xml">',
        '<link type="application/rss+xml" href="/rss">',
    ],
)
def test_pages_without_feed_links_yield_no_feeds(page: str) -> None:
    assert found(page) == []


def test_pages_in_other_encodings_are_read() -> None:
    link = '<link rel=alternate type=application/rss+xml title="Añ" href=/a>'
    body = f'<meta charset="iso-8859-1">{link}'.encode("latin-1")
    assert discover_feeds(body, None, URL) == (FoundFeed(url="https://e.org/a", title="Añ"),)


def test_a_page_of_a_thousand_feeds_offers_some() -> None:
    link = '<link rel="alternate" type="application/rss+xml" href="/{}">'
    assert len(found("".join(link.format(n) for n in range(1000)))) == 20


@given(st.text())
def test_any_page_can_be_searched_for_feeds(page: str) -> None:
    assert len(discover_feeds(page.encode("utf-8", "replace"), None, URL)) <= 20
