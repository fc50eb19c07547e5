"""Feeds are looked up by an address, in a page and in a list."""

from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import FeedUnreadable, FetchRefused, FetchStatus, InputError
from engine.feeds.lookup import (
    FeedLookup,
    FoundFeed,
    OpmlFeed,
    ReadableFeed,
    address_of,
    discover_feeds,
    read_opml,
    write_opml,
)
from engine.feeds.read import FeedParser
from engine.fetch import FetchLimits
from engine.fetch.client import Fetcher
from engine.settings.fetching import FetchSettings
from tests.engine.feeds.documents import item, rss
from tests.fakes.web import WebServer, page, redirect
from tests.isolation import forked_workers

FEED = page(rss(item("The port is closed")), "application/rss+xml")


def naming(*links: str) -> str:
    tags = "".join(
        f'<link rel="alternate" type="application/rss+xml" title="{link}" href="{link}">'
        for link in links
    )
    return f"<!doctype html><html><head><title>News</title>{tags}</head></html>"


@pytest.fixture
async def web() -> AsyncIterator[WebServer]:
    async with WebServer() as web:
        web.pages["/feed"] = FEED
        yield web


@pytest.fixture
async def lookup() -> AsyncIterator[FeedLookup]:
    settings = FetchSettings(allow_networks=("127.0.0.0/8",))
    limits = FetchLimits(seconds=20, bytes=1_000_000)
    with forked_workers():
        async with Fetcher(settings) as fetcher, FeedParser(workers=1) as parser:
            yield FeedLookup(fetcher=fetcher, parser=parser, limits=limits)


async def test_a_page_that_names_one_feed_leads_to_it(web: WebServer, lookup: FeedLookup) -> None:
    web.pages["/"] = page(naming("/feed"))
    found = await lookup.look_up(web.url("/"))
    assert isinstance(found, ReadableFeed)
    assert found.url == web.url("/feed")


async def test_a_page_of_several_feeds_gives_the_choice(web: WebServer, lookup: FeedLookup) -> None:
    web.pages["/"] = page(naming("/feed", "/other"))
    assert await lookup.look_up(web.url("/")) == (
        FoundFeed(url=web.url("/feed"), title="/feed"),
        FoundFeed(url=web.url("/other"), title="/other"),
    )
    assert web.asked == ["/"]


async def test_a_missing_feed_is_not_advised_as_a_link(web: WebServer, lookup: FeedLookup) -> None:
    with pytest.raises(FetchStatus) as missing:
        await lookup.look_up(web.url("/none"))
    assert str(missing.value).endswith("(404). Check the address of the feed.")


async def test_a_permanent_redirect_alone_moves_a_feed(web: WebServer, lookup: FeedLookup) -> None:
    web.pages |= {"/moved": redirect("/feed", 301), "/elsewhere": redirect("/feed", 302)}
    for path, kept in (("/moved", "/feed"), ("/elsewhere", "/elsewhere")):
        found = await lookup.look_up(web.url(path))
        assert isinstance(found, ReadableFeed)
        assert found.url == web.url(kept)


async def test_a_page_named_as_a_feed_leads_no_further(web: WebServer, lookup: FeedLookup) -> None:
    web.pages["/"] = page(naming("/"))
    with pytest.raises(FeedUnreadable):
        await lookup.look_up(web.url("/"))
    assert web.asked == ["/", "/"]


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("https://e.org/feed", "https://e.org/feed"),
        (" <http://e.org/feed> ", "http://e.org/feed"),
        ("e.org/feed", "https://e.org/feed"),
        ("e.org:8080/feed", "https://e.org:8080/feed"),
        ("feed://e.org/feed", "https://e.org/feed"),
        ("FEED:http://e.org/feed", "http://e.org/feed"),
    ],
)
def test_an_address_may_lack_its_scheme(written: str, address: str) -> None:
    assert address_of(written) == address


@pytest.mark.parametrize(
    "written", ["", "two words", "ftp://e.org/x", "javascript:alert(1)", "://"]
)
def test_an_invalid_web_address_is_rejected(written: str) -> None:
    with pytest.raises(FetchRefused):
        address_of(written)


LIST = b'<opml><body><outline xmlUrl="https://e.org/feed" text="E"/></body></opml>'


async def test_a_list_is_read_as_text_and_by_address(web: WebServer, lookup: FeedLookup) -> None:
    web.pages["/list"] = page(LIST, "text/x-opml")
    feeds = (OpmlFeed(url="https://e.org/feed", title="E"),)
    assert await lookup.read_list(LIST.decode()) == feeds
    assert await lookup.read_list(web.url("/list")) == feeds
    with pytest.raises(InputError, match="not a list of feeds"):
        await lookup.read_list("<?xml version='1.0'?><html/>")


async def test_input_that_crashes_the_reader_yields_no_feeds(
    web: WebServer, lookup: FeedLookup, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.pages["/"] = page(naming("/feed"))
    monkeypatch.setattr("engine.feeds.lookup.discover_feeds", discover_nothing)
    monkeypatch.setattr("engine.feeds.lookup.read_opml", read_nothing)
    with pytest.raises(FeedUnreadable, match="web page"):
        await lookup.look_up(web.url("/"))
    with pytest.raises(InputError, match="not a list of feeds"):
        await lookup.read_list(LIST.decode())


def discover_nothing(body: bytes, content_type: str | None, url: str) -> tuple[FoundFeed, ...]:
    raise SystemExit(len(body) + len(url) + len(content_type or ""))


def read_nothing(body: bytes) -> tuple[OpmlFeed, ...]:
    raise SystemExit(len(body))


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


@pytest.mark.parametrize(
    "page",
    [
        "",
        '<link rel="alternate" type="application/rss+xml" href="javascript:alert(1)">',
        '<link rel="alternate" type="application/rss+xml">',
        '<link type="application/rss+xml" href="/rss">',
    ],
)
def test_pages_without_feed_links_yield_no_feeds(page: str) -> None:
    assert found(page) == []


def test_a_page_of_a_thousand_feeds_offers_some() -> None:
    link = '<link rel="alternate" type="application/rss+xml" href="/{}">'
    assert len(found("".join(link.format(n) for n in range(1000)))) == 20


@given(st.text())
def test_any_page_can_be_searched_for_feeds(page: str) -> None:
    assert len(discover_feeds(page.encode("utf-8", "replace"), None, URL)) <= 20


# Lists of feeds from and for feed readers

OPML = b"""<?xml version="1.0" encoding="ISO-8859-1"?>
<opml version="1.0"><head><title>Mine</title></head><body>
<outline text="Tecnolog\xeda" title="Tecnolog\xeda">
  <outline type="rss" text="One &amp; only" xmlUrl="https://e.org/1" htmlUrl="https://e.org/"/>
  <outline text="Deeper"><outline type="rss" title="Two" text="x" xmlurl="https://e.org/2"/></outline>
  <outline type="rss" text="Three" xmlUrl="https://e.org/3"/>
</outline>
<outline type="rss" xmlUrl="https://e.org/4"/>
<outline type="rss" text="Again" xmlUrl="https://e.org/1"/>
<outline type="rss" text="Bad" xmlUrl="javascript:alert(1)"/>
</body></opml>"""


def test_opml_folders_become_categories_without_duplicate_feeds() -> None:
    assert read_opml(OPML) == (
        OpmlFeed(url="https://e.org/1", title="One & only", category="Tecnología"),
        OpmlFeed(url="https://e.org/2", title="Two", category="Deeper"),
        OpmlFeed(url="https://e.org/3", title="Three", category="Tecnología"),
        OpmlFeed(url="https://e.org/4", title=None, category=None),
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<opml><body/></opml>",
        b"<opml><body><outline text='x'></opml>",
        b"<!DOCTYPE opml [<!ENTITY a 'https://e.org/'>]><opml><outline xmlUrl='&a;'/></opml>",
        b"<!DOCTYPE opml SYSTEM 'file:///etc/passwd'><opml><outline xmlUrl='https://e.org'/></opml>",
        b"<outline>" * 100_000,
    ],
)
def test_invalid_opml_is_rejected(body: bytes) -> None:
    with pytest.raises(InputError, match="not a list of feeds"):
        read_opml(body)


# As stored: cleaned names, in one line.
names = st.text(
    st.characters(min_codepoint=33, exclude_categories=["C", "Z"], exclude_characters="&<>"),
    min_size=1,
)
lists = st.lists(
    st.builds(
        OpmlFeed,
        url=st.integers(min_value=0).map(lambda n: f"https://e.org/?a='{n}'&b=\"<"),
        title=names,
        category=st.none() | names,
    ),
    min_size=1,
    max_size=20,
    unique_by=lambda feed: feed.url,
)


@given(lists)
def test_written_opml_is_read_back_unchanged(feeds: list[OpmlFeed]) -> None:
    again = read_opml(write_opml(feeds, title='Feeds of "us" & them'))
    assert sorted(again, key=lambda feed: feed.url) == sorted(feeds, key=lambda feed: feed.url)


@given(st.text(), st.text(), st.text())
def test_any_title_or_category_can_be_written_as_opml(title: str, name: str, category: str) -> None:
    feeds = [OpmlFeed(url="https://e.org/", title=name, category=category)]
    assert [feed.url for feed in read_opml(write_opml(feeds, title=title))] == ["https://e.org/"]
