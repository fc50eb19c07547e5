"""What the process that reads feeds is told, and what it answers."""

import pytest

from engine.errors import FeedUnreadable
from engine.feeds.read import read_feed
from engine.feeds.worker import FeedOrder, answer, pack_feed, unpack_answer
from tests.engine.feeds.documents import URL, item, rss


def order(body: bytes) -> bytes:
    return pack_feed(FeedOrder(body=body, content_type="text/xml", url=URL, seconds=30.0))


def test_a_feed_comes_out_as_the_reader_reads_it() -> None:
    body = rss(item("Two", link="/2", more="<pubDate>3 Mar 2020</pubDate>"))
    assert unpack_answer(answer(order(body))) == read_feed(body, "text/xml", URL)


def test_what_is_no_feed_is_refused() -> None:
    with pytest.raises(FeedUnreadable, match="web page"):
        answer(order(b"<html>"))


def test_an_order_does_not_show_its_body() -> None:
    assert "secret" not in repr(FeedOrder(body=b"secret", content_type=None, url=URL, seconds=1.0))
