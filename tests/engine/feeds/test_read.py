"""What the bytes of a feed say."""

import re
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import FeedUnreadable
from engine.feeds.feed import FeedEntry, ParsedFeed
from engine.feeds.read import read_feed, read_feed_date
from tests.engine.feeds.documents import URL, item, rss

# A page that an address moved to, kept among the feeds; nothing in it is one.
NO_FEED = "unrecognized.rss"
ITEM = re.compile(rb"<(?:item|entry)[\s>/]")


@pytest.fixture
def real(shared_data: Path) -> Path:
    return shared_data / "feeds" / "real"


def read(body: bytes, content_type: str | None = None) -> ParsedFeed:
    return read_feed(body, content_type, URL)


def only(feed: ParsedFeed) -> FeedEntry:
    (entry,) = feed.entries
    return entry


@pytest.mark.slow
def test_published_feeds_have_the_entries_that_their_authors_wrote(real: Path) -> None:
    files = [*real.glob("*.rss"), *real.glob("*.atom")]
    written = {file.name: len(ITEM.findall(file.read_bytes())) for file in files}
    assert written.pop(NO_FEED) == 0
    found = {name: read((real / name).read_bytes()).entries for name in written}
    assert {name: len(entries) for name, entries in found.items()} == written
    assert len(written) == 30
    for entries in found.values():
        assert len({entry.identity for entry in entries}) == len(entries)


RSS = rss(
    item(
        "Port &amp;amp; harbour &lt;b&gt;closed&lt;/b&gt;",
        link="/storm?id=1&amp;utm_source=rss",
        guid="tag:1",
        more="<pubDate>Tue, 03 Mar 2020 10:00:00 -0500</pubDate><category>Weather</category>"
        "<description>&lt;p&gt;Ships wait.&lt;/p&gt;&lt;script&gt;x()&lt;/script&gt;</description>"
        "<author>desk@example.org (Ann Lee)</author>",
    ),
    head="<language>en-us</language><ttl>45</ttl>",
)
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en-us"><title>The Lighthouse</title>
<link href="https://news.example.org/"/><entry><id>tag:1</id>
<title type="html">Port &amp;amp; harbour &lt;b&gt;closed&lt;/b&gt;</title>
<link rel="enclosure" href="/a.mp3"/><link href="/storm?id=1&amp;utm_source=rss"/>
<updated>2020-03-03T15:00:00Z</updated><category term="Weather"/>
<author><name>Ann Lee</name></author>
<summary type="html">&lt;p&gt;Ships wait.&lt;/p&gt;&lt;script&gt;x()&lt;/script&gt;</summary>
</entry></feed>"""
RDF = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel rdf:about="https://news.example.org/"><title>The Lighthouse</title>
<link>https://news.example.org/</link><dc:language>en-us</dc:language></channel>
<item rdf:about="tag:1"><title>Port &amp;amp; harbour closed</title>
<link>/storm?id=1&amp;utm_source=rss</link><description>Ships wait.</description>
<dc:date>2020-03-03T15:00:00Z</dc:date><dc:creator>Ann Lee</dc:creator>
<dc:subject>Weather</dc:subject></item></rdf:RDF>"""
JSON = orjson.dumps(
    {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "The Lighthouse",
        "home_page_url": "https://news.example.org/",
        "language": "en-US",
        "items": [
            {
                "id": "tag:1",
                "url": "/storm?id=1&utm_source=rss",
                "title": "Port & harbour closed",
                "content_html": "<p>Ships wait.</p>",
                "date_published": "2020-03-03T10:00:00-05:00",
                "authors": [{"name": "Ann Lee"}],
                "tags": ["Weather"],
            }
        ],
    }
)


@pytest.mark.parametrize("body", [RSS, ATOM, RDF, JSON], ids=["rss", "atom", "rdf", "json"])
def test_every_format_says_the_same(body: bytes) -> None:
    feed = read(body)
    assert (feed.title, feed.link) == ("The Lighthouse", "https://news.example.org/")
    entry = only(feed)
    assert entry.identity.endswith("tag:1")
    assert entry.title == "Port & harbour closed"
    assert entry.link == "https://news.example.org/storm?id=1&utm_source=rss"
    assert entry.summary == "Ships wait."
    assert entry.published == datetime(2020, 3, 3, 15, tzinfo=UTC)
    assert entry.author is not None and "Ann Lee" in entry.author
    assert entry.tags == ("Weather",)
    assert feed.language == "en"


@pytest.mark.parametrize(
    ("head", "seconds"),
    [
        ("<ttl>45</ttl>", 2700),
        ("<ttl>soon</ttl>", None),
        ("<ttl>99999999999999999999</ttl>", None),
        (
            '<sy:updatePeriod xmlns:sy="http://purl.org/rss/1.0/modules/syndication/">daily'
            '</sy:updatePeriod><sy:updateFrequency xmlns:sy="http://purl.org/rss/1.0/modules/'
            'syndication/">4</sy:updateFrequency>',
            21_600,
        ),
        ("", None),
    ],
)
def test_the_ttl_of_a_feed_is_read(head: str, seconds: float | None) -> None:
    assert read(rss(head=head)).ttl == seconds


NAMES = "El niño ganó: “sí”, dijo Núñez"


@pytest.mark.parametrize(
    ("encoding", "declared", "header"),
    [
        ("utf-8", "utf-8", None),
        ("utf-8", "iso-8859-1", None),  # lies
        ("utf-8", None, "text/xml; charset=us-ascii"),  # lies
        ("utf-8-sig", None, None),
        ("windows-1252", "utf-8", None),  # lies
        ("windows-1252", None, "application/rss+xml; charset=windows-1252"),
        ("utf-16", "utf-16", None),
        ("utf-32", None, None),
    ],
)
def test_words_survive_wrong_encodings(
    encoding: str, declared: str | None, header: str | None
) -> None:
    prolog = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""
    body = rss(item(NAMES), prolog=prolog).decode().encode(encoding)
    assert only(read(body, header)).title == NAMES


@pytest.mark.parametrize("newest", ["first", "last", "unknown"])
def test_of_an_endless_list_the_newest_end_is_read(newest: str) -> None:
    days = [f"{year}-{month:02}-{day:02}" for year in range(2020, 2027)
            for month in range(1, 13) for day in range(1, 29)]  # fmt: skip
    ordered = {"first": days[::-1], "last": days, "unknown": [""] * len(days)}[newest]
    items = (item(f"Item {n}", more=f"<pubDate>{day}</pubDate>") for n, day in enumerate(ordered))
    titles = {entry.title for entry in read(rss(*items)).entries}
    assert len(titles) == 2000
    assert ("Item 0" in titles) is (newest != "last")
    assert (f"Item {len(days) - 1}" in titles) is (newest != "first")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "not a feed"),
        (b"\0" * 1000, "not a feed"),
        (b"Not found", "not a feed"),
        (b"<!doctype html><html><body>Hello</body></html>", "web page"),
        (b"<!--" * 1000, "ends before it begins"),
        (b'{"items": []}', "not a JSON Feed"),
        (b'{"version": "https://jsonfeed.org/version/1"', "broken JSON"),
        (b'{"a":' * 100_000, "broken JSON"),
        (rss(item("<a>" * 300 + "</a>" * 300)), "nested without end"),
        (rss(prolog="<!DOCTYPE rss [<!ENTITY a 'b'>]>"), "declares XML entities"),
        (rss(prolog="<!doctype bomb><!-- x -->"), "declares XML entities"),
        (rss(prolog="<!-- <a> --><!DOCTYPE rss [<!ENTITY a 'b'>]>"), "declares XML entities"),
        (rss(prolog="<!DOCTYPE rss><!-- <!ENTITY a 'b'> -->"), "declares XML entities"),
    ],
)
def test_data_that_is_no_feed_is_rejected(body: bytes, words: str) -> None:
    with pytest.raises(FeedUnreadable, match=words):
        read(body)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-7", "cp037"])
def test_no_encoding_hides_an_entity(encoding: str) -> None:
    prolog = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE rss [<!ENTITY a "boo">]>'
    body = rss(item("&a;"), prolog=prolog).decode().encode(encoding)
    try:
        titles = [entry.title for entry in read(body, f"text/xml; charset={encoding}").entries]
    except FeedUnreadable:
        titles = []
    assert not any("boo" in title for title in titles)


@given(
    st.one_of(
        st.binary(max_size=400),
        st.lists(
            st.sampled_from(
                re.findall(
                    r"\S+",
                    "<rss <channel> <item> </item> <entry> <title> </title> <![CDATA[ ]]> <!-- "
                    "--> <!DOCTYPE > &amp; &#xD800; & < words <link> {} \0 é <guid> <?xml ?>",
                )
            )
        ).map(lambda parts: "".join(parts).encode()),
        st.text().map(lambda text: rss(item(text))),
    )
)
def test_any_bytes_are_parsed_or_rejected(body: bytes) -> None:
    try:
        feed = read(body)
    except FeedUnreadable:
        return
    for entry in feed.entries:
        assert entry.identity
        shown = (entry.title, entry.summary, entry.identity, entry.link or "", *entry.tags)
        "".join(shown).encode()  # no lone surrogates
        assert "\0" not in "".join(shown)


def test_an_internal_parser_error_makes_a_feed_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    def trip(*_: object, **__: object) -> None:
        raise AssertionError("we should not get here!")

    monkeypatch.setattr("engine.feeds.elements.parse_elements", trip)
    with pytest.raises(FeedUnreadable, match="damaged beyond reading"):
        read(rss())


# Dates

DAY = datetime(2026, 11, 27, tzinfo=UTC)
MOMENT = datetime(2026, 11, 27, 14, 5, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    "written",
    [
        *("2026-11-27", "2026/11/27", "2026.11.27", "2026. 11. 27.", "2026 11 27", "20261127"),
        *("2026年11月27日", "2026年 11月 27日", "2026년 11월 27일", "2026-W48-5", "27-11-2026"),
        *("27.11.2026", "27/11/2026", "11/27/2026", "27-Nov-2026", "27 Nov 26", "Nov 27, 2026"),
        *("Friday, November 27th, 2026", "fr, 27. November 2026", "ven., 27 nov. 2026"),
        *("sex, 27 de novembro de 2026", "vr, 27 nov 2026"),
        *("27 ноября 2026", "Пт, 27 ноя 2026", "  2026-11-27  "),
    ],
)
def test_a_day_is_read_in_any_common_spelling(written: str) -> None:
    assert read_feed_date(written) == DAY


@pytest.mark.parametrize(
    "written",
    [
        *("2026-11-27T14:05:09Z", "2026-11-27 14:05:09", "2026/11/27 14:05:09", "20261127T140509Z"),
        *("Fri, 27 Nov 2026 14:05:09 GMT", "Fri, 27 Nov 2026 14:05:09 UT", "1795788309"),
        *("Thu, 27 Nov 2026 14:05:09 +0000", "Fri Nov 27 14:05:09 2026", "1795788309000"),
        *("Fri Nov 27 14:05:09 UTC 2026", "Fri, Nov 27 2026 02:05:09 PM"),
        *("2:05:09 p.m., 27 Nov 2026",),
        *("Fri, 27 Nov 2026 15:05:09 CET", "Fri, 27 Nov 2026 09:05:09 EST"),
        *("2026年11月27日 14:05:09", "Fri, 27 Nov 2026 14:5:9 Z", 1795788309),
        *("2026-11-27 15:05:09.364419679 +0100 CET",),
        *("Fri, 27 Nov 2026 17:05:09 UTC+3", "Fri, 27 Nov 2026 17:05:09 GMT+0300"),
        *("2026-11-27T09:05:09.000-0500", "2026-11-27T09:05:09-05:00[America/New_York]"),
        *("2026-11-27 15:05:09 Europe/Madrid", "Sat, 28 Nov 2026 00:05:09 AEST"),
        *("Fri, 27 Nov 2026 14:05:09 +0000 (UTC)", "2026年11月27日 14时05分09秒"),
        *("27/11/2026 14:05:09",),
    ],
)  # fmt: skip
def test_a_clock_half_of_the_day_and_a_zone_are_applied(written: str) -> None:
    assert read_feed_date(written) == MOMENT


@pytest.mark.parametrize(
    "written",
    [
        *("", "yesterday", "2 hours ago", "27", "27 Nov", "Nov 2026", "2026", "2026-11", "11/2026"),
        *("2026/13/40", "2026-11-27 and more", "32 Nov 2026", "Fri, 27 Nov 2026 25:05 GMT"),
        *("Fri, 27 Nov 2026 14:05 IST", "Fri, 27 Nov 2026 14:05 Atlantis/Centre", "03/04/2026"),
        *("9999-12-31T23:00:00-05:00", "Blah, 27 Nov 2026 x"),
        *("1" * 500, "27 Nov 2026 28 Nov 2026", "２０２６ words"),
        *(None, 5, True, ["2026-11-27"]),
    ],
)
def test_what_is_not_a_date_as_a_whole_is_none(written: object) -> None:
    assert read_feed_date(written) is None


def test_an_unreadable_date_gives_way_to_the_next_best() -> None:
    second = '<dc:date xmlns:dc="http://purl.org/dc/elements/1.1/">2026-11-27</dc:date>'
    both = rss(item("News", more=f"<pubDate>some day</pubDate>{second}"))
    assert only(read(both)).published == DAY


@given(st.text(max_size=60))
def test_no_text_is_more_than_a_date_or_none(written: str) -> None:
    date = read_feed_date(written)
    assert date is None or date.tzinfo is UTC


@given(st.datetimes(datetime(1990, 1, 1), datetime(2200, 1, 1)))  # noqa: DTZ001 - hypothesis' own
def test_every_day_is_read_in_each_order_of_its_numbers(moment: datetime) -> None:
    day = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    for sign in "-/. ":
        assert read_feed_date(day.strftime(f"%Y{sign}%m{sign}%d")) == day
    assert read_feed_date(day.strftime("%d.%m.%Y")) == day
    assert read_feed_date(f"{day:%a, %d %b %Y} 00:00:00 +0000") == day
