"""The archive of a blog as RSS and Atom."""

from pathlib import Path

import pytest

from engine.corpora import Document
from engine.errors import InputError
from tests.engine.ingest.reading import accepted, documents, moment_of, records

RSS = """<?xml version="1.0"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"
     xmlns:dc="http://purl.org/dc/elements/1.1/"><channel>
<title>Weather</title><link>https://blog.example/</link><language>es-AR</language>
<item><title>The storm</title><link>https://blog.example/storm</link>
<guid isPermaLink="false">tag:1</guid><pubDate>Thu, 23 May 2019 02:54:59 GMT</pubDate>
<dc:creator>Ana Paz</dc:creator><category>Sea</category>
<description>It is&#8230;</description>
<content:encoded><![CDATA[<p>It is <b>coming</b>.</p><p>Soon &amp; hard.</p>]]></content:encoded>
</item>
<item><title>Rain</title><link>/rain</link><pubDate>Fri, 24 May 2019 02:54:59 GMT</pubDate></item>
</channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>W</title>
<entry><id>tag:2</id><title>Sun</title><updated>2019-05-25T00:00:00Z</updated>
<link href="https://blog.example/sun"/><content type="html">&lt;p&gt;At last&lt;/p&gt;</content>
</entry></feed>"""


def read(content: str) -> list[Document]:
    return accepted(content.encode())


def test_an_article_says_what_its_entry_says() -> None:
    storm, rain = read(RSS)
    assert (storm.external_id, storm.title) == ("tag:1", "The storm")
    assert storm.text == "It is coming.\n\nSoon & hard."
    assert storm.search_text == "The storm It is coming Soon hard"
    assert moment_of(storm).isoformat() == "2019-05-23T02:54:59+00:00"
    assert (storm.author, storm.lang, storm.tags) == ("Ana Paz", "es", ("sea",))
    assert (storm.url, storm.meta) == ("https://blog.example/storm", {"domain": "blog.example"})
    assert (storm.platform, storm.attribution) == ("web", "standard input#tag:1")
    assert (rain.text, rain.search_text) == ("Rain", "Rain")
    assert rain.url == rain.external_id == "https://blog.example/rain"


def test_atom_is_read_too() -> None:
    (sun,) = read(ATOM)
    assert (sun.external_id, sun.text, moment_of(sun).day) == ("tag:2", "At last", 25)


def test_only_the_entry_without_a_date_is_rejected() -> None:
    draft = RSS.replace("<pubDate>Fri, 24 May 2019 02:54:59 GMT</pubDate>", "")
    stored, rejects = documents(draft.encode())
    assert len(stored) == 1
    assert [reject.reason for reject in rejects] == ["record 2: no date"]


@pytest.mark.parametrize(
    "content",
    [
        '<!DOCTYPE rss [<!ENTITY a "b">]>' + RSS.partition("?>")[2],
        "<html><body><rss></body></html>",
        "<rss>" + "<a>" * 500,
    ],
)
def test_an_unreadable_feed_is_rejected(content: str, tmp_path: Path) -> None:
    (tmp_path / "feed.xml").write_text(content)
    with pytest.raises(InputError, match=r"feed\.xml cannot be read: "):
        records(tmp_path / "feed.xml")
