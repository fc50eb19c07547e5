"""A body is unpacked piece by piece, and never further than its limit."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import FetchFailed, FetchTooLarge
from engine.fetch.client import Body
from tests.fakes.web import gzip_bomb, gzipped


def unpacked(*pieces: bytes, encoding: str = "gzip", limit: int = 1000) -> bytes:
    body = Body(host="news.example", encoding=encoding, limit=limit)
    for piece in pieces:
        body.add(piece)
    return body.content()


@given(st.lists(st.binary(max_size=50), max_size=4), st.integers(1, 40))
def test_unpacking_does_not_depend_on_chunks_or_members(members: list[bytes], size: int) -> None:
    packed = b"".join(map(gzipped, members))
    pieces = [packed[start : start + size] for start in range(0, len(packed), size)]
    assert unpacked(*pieces) == b"".join(members)


ENCODINGS = [
    *("gzip", "X-GZIP", " gzip ", "", "identity", " Identity ", "UTF-8", "none", "text/html"),
    *("application/xml; charset=utf-8", "binary", "8bit"),
]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("size", [1, 2, 50])
def test_a_body_is_what_its_bytes_are(encoding: str, size: int) -> None:
    for written in (b"<rss/>", b"<", b""):
        packed = gzipped(written)
        pieces = [packed[start : start + size] for start in range(0, len(packed), size)]
        assert unpacked(*pieces, encoding=encoding) == written
        plain = [written[start : start + size] for start in range(0, len(written), size)]
        assert unpacked(*plain, encoding=encoding) == written


@pytest.mark.parametrize("padding", [b"\0\0\0", b"<!-- served from cache -->"])
def test_what_follows_the_last_member_is_dropped(padding: bytes) -> None:
    assert unpacked(gzipped(b"a") + padding) == unpacked(gzipped(b"a"), padding) == b"a"


@pytest.mark.parametrize(
    "damaged",
    [gzipped(b"a" * 100)[:-9], gzipped(b"a")[:5], gzipped(b"a")[:-8] + b"\0" * 8],
    ids=["cut", "cut in its head", "checksum"],
)
def test_a_damaged_body_is_a_failure(damaged: bytes) -> None:
    with pytest.raises(FetchFailed, match="damaged"):
        unpacked(damaged)


def test_a_bomb_is_never_unpacked_beyond_the_limit() -> None:
    bomb = gzip_bomb(50)  # 50 KB
    tracemalloc.start()
    with pytest.raises(FetchTooLarge):
        unpacked(bomb, limit=100_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
