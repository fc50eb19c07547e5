"""What the reading process and its owner say to each other."""

import io
import subprocess
import sys

import pytest

from engine.errors import FeedUnreadable
from engine.feeds import worker
from engine.feeds.read import read_feed
from engine.feeds.types import ParsedFeed
from engine.feeds.worker import LENGTH, READY, Order, pack_order, unpack_answer, work
from tests.engine.feeds.documents import URL, item, rss


def order(body: bytes) -> bytes:
    return pack_order(Order(body=body, content_type="text/xml", url=URL, seconds=30.0))


def answers(orders: bytes) -> list[bytes]:
    """Let a worker answer, and take its output apart."""
    output = io.BytesIO()
    work(io.BytesIO(orders), output)
    output.seek(0)
    assert output.read(len(READY)) == READY
    found = []
    while length := output.read(LENGTH.size):
        found.append(output.read(*LENGTH.unpack(length)))
    return found


def test_orders_are_answered_in_turn_until_there_are_no_more() -> None:
    one, two = rss(item("One", link="/1")), rss(item("Two", more="<pubDate>3 Mar 2020</pubDate>"))
    found = [unpack_answer(answer) for answer in answers(order(one) + order(two))]
    assert found == [read_feed(one, "text/xml", URL), read_feed(two, "text/xml", URL)]


def test_an_error_comes_out_as_it_went_in() -> None:
    (answer,) = answers(order(b"<html>"))
    with pytest.raises(FeedUnreadable) as caught:
        unpack_answer(answer)
    assert caught.value.message == "This is a web page, not a feed."
    assert caught.value.fix == "Give the address of its feed."


@pytest.mark.parametrize("kept", [1, 4, 20, -1])
def test_an_order_that_was_cut_off_ends_the_work(kept: int) -> None:
    assert answers(order(rss())[:kept]) == []


def test_a_feed_too_large_for_memory_is_unreadable_and_the_next_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def greedy(body: bytes, content_type: str | None, url: str) -> ParsedFeed:
        if body == b"large":
            raise MemoryError
        return read_feed(body, content_type, url)

    monkeypatch.setattr(worker, "read_feed", greedy)
    large, small = answers(order(b"large") + order(rss(item("One"))))
    with pytest.raises(FeedUnreadable, match="too much memory"):
        unpack_answer(large)
    assert len(unpack_answer(small).entries) == 1


def test_an_order_does_not_show_its_body() -> None:
    assert "secret" not in repr(Order(body=b"secret", content_type=None, url=URL, seconds=1.0))


def test_a_worker_whose_owner_was_killed_ends_without_a_word() -> None:
    start = "from engine.feeds.worker import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", start, str(1 << 31)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        assert process.stdout.read(len(READY)) == READY
        process.stdout.close()
        process.stdin.write(order(rss()))
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait(20) == 0
