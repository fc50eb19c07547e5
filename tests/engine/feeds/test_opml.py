"""Lists of feeds from and for feed readers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InputError
from engine.feeds.lookup import OpmlFeed, read_opml, write_opml

LIST = b"""<?xml version="1.0" encoding="ISO-8859-1"?>
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
    assert read_opml(LIST) == (
        OpmlFeed(url="https://e.org/1", title="One & only", category="Tecnología"),
        OpmlFeed(url="https://e.org/2", title="Two", category="Deeper"),
        OpmlFeed(url="https://e.org/3", title="Three", category="Tecnología"),
        OpmlFeed(url="https://e.org/4", title=None, category=None),
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\0\0\0\0",
        b"hello",
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
