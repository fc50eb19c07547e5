"""Files cut into records."""

import io
import tracemalloc
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.ingest.streams import LONGEST_RECORD, Piece, array_items, named_arrays, split_lines
from tests.patterns import grows_faster, needs_timer

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)
OBJECTS = st.lists(st.dictionaries(st.text(max_size=5), JSON), max_size=4)


class Generated(io.RawIOBase):
    """A file that is made while it is read."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        view = memoryview(buffer)
        self._rest = self._rest or next(self._chunks, b"")
        data, self._rest = self._rest[: len(view)], self._rest[len(view) :]
        view[: len(data)] = data
        return len(data)


def streamed(chunks: Iterator[bytes], buffer: int = io.DEFAULT_BUFFER_SIZE) -> io.BufferedReader:
    return io.BufferedReader(Generated(chunks), buffer)


def dribble(data: bytes, size: int) -> io.BufferedReader:
    """A stream that gives few bytes at a time."""
    chunks = (data[start : start + size] for start in range(0, len(data), size))
    return streamed(chunks, 16)


def cut(function: Callable[[io.BufferedReader], Iterator[Piece]], data: bytes) -> list[Piece]:
    return list(function(io.BufferedReader(io.BytesIO(data))))


@given(OBJECTS, st.booleans(), st.integers(1, 40))
def test_an_array_is_cut_into_its_objects(
    objects: list[dict[str, object]], indented: bool, size: int
) -> None:
    data = orjson.dumps(objects, option=orjson.OPT_INDENT_2 if indented else None)
    pieces = list(array_items(dribble(data, size)))
    assert [orjson.loads(raw) for _number, raw, problem in pieces if not problem] == objects
    assert [number for number, *_ in pieces] == list(range(1, len(objects) + 1))


@settings(deadline=None)
@given(st.binary(max_size=200) | st.text(alphabet='[]{},:"\\ a1\n').map(str.encode))
def test_any_bytes_are_cut_without_an_error(data: bytes) -> None:
    cutters: list[Callable[[io.BufferedReader], Iterator[Piece]]] = [array_items, split_lines]
    for function in cutters:
        for number, raw, problem in cut(function, data):
            assert number > 0
            assert bool(raw) != bool(problem)


@pytest.mark.parametrize(
    ("data", "pieces"),
    [
        (b'[{"a":1},{"b":2}]', [b'{"a":1}', b'{"b":2}']),
        (b'window.YTD.tweets.part0 = [ {"a":"]}"} ];\n', [b'{"a":"]}"}']),
        (b'[{"a":"\\"}"},\n{"b":[{}]}]', [b'{"a":"\\"}"}', b'{"b":[{}]}']),
        (b"[]", []),
        (b'[{"a":\xff},{"b":1}]', [b'{"a":\xff}', b'{"b":1}']),
        (b'[1,"x, {y}",null,{"b":1}]', ["not an object"] * 3 + [b'{"b":1}']),
        (b'[{"a":1}},{"b":1}]', [b'{"a":1}', "a bracket that closes nothing", b'{"b":1}']),
        (b'[{"a":1},', [b'{"a":1}', "the file ends before its array does"]),
        (b'[{"a":1},{"b":', [b'{"a":1}', "the end of this record is not found"]),
        (b'[{"a":1},{"b":"', [b'{"a":1}', "the end of this record is not found"]),
        (b"[12", ["the end of this record is not found"]),
        (b"nothing", []),
    ],
)
def test_array_items_splits_an_array_into_objects_and_problems(
    data: bytes, pieces: list[bytes | str]
) -> None:
    found = cut(array_items, data)
    assert len(found) == len(pieces)
    for (_number, raw, problem), piece in zip(found, pieces, strict=True):
        assert raw == piece if isinstance(piece, bytes) else str(problem).startswith(piece)


def test_an_object_over_the_limit_is_left_out_and_the_next_is_found() -> None:
    data = b'[{"a":"' + b"x" * LONGEST_RECORD + b'"},{"b":1}]'
    (first, second) = cut(array_items, data)
    assert (first[1], second[1]) == (b"", b'{"b":1}')
    assert "longer than 1,000,000 bytes" in str(first[2])


@needs_timer
@pytest.mark.parametrize("piece", [b"[", b"{", b'{"', b'"', b"\\", b'{"a":"\\', b"}", b"1 "])
def test_array_items_takes_linear_time_on_hostile_input(piece: bytes) -> None:
    def use(data: bytes) -> None:
        assert cut(array_items, data)

    assert not grows_faster(lambda size: b"[" + piece * (size // len(piece)), use, 500_000)


def test_a_string_without_end_does_not_fill_the_memory() -> None:
    stream = streamed(iter([b'[{"a":"'] + [b"x" * 1_000_000] * 50))
    tracemalloc.start()
    (piece,) = array_items(stream)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "the end of this record is not found" in str(piece[2])
    assert peak < 15_000_000


@pytest.mark.parametrize(
    ("data", "pieces"),
    [
        (b"a\r\nb\n\n  \nc", [(1, b"a"), (2, b"b"), (5, b"c")]),
        (b"", []),
        (b"\n\n", []),
        (b"a\x00b\n", [(1, b"a\x00b")]),
    ],
)
def test_lines_keep_their_numbers(data: bytes, pieces: list[tuple[int, bytes]]) -> None:
    assert cut(split_lines, data) == [(number, raw, None) for number, raw in pieces]


@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_line_over_the_limit_is_left_out_and_the_next_is_found(end: bytes) -> None:
    data = b"a\n" + b"x" * (5 * LONGEST_RECORD) + b"\nb" + end
    first, long, last = cut(split_lines, data)
    assert (first, last) == ((1, b"a", None), (3, b"b", None))
    assert long == (2, b"", "longer than 1,000,000 bytes")


def test_a_line_at_the_limit_is_kept() -> None:
    data = b"x" * LONGEST_RECORD
    assert cut(split_lines, data + b"\n" + data) == [(1, data, None), (2, data, None)]


@given(st.lists(st.tuples(st.dictionaries(st.text(max_size=5), JSON), OBJECTS), max_size=3))
def test_every_array_of_a_name_is_found_with_what_stands_before_it(
    chats: list[tuple[dict[str, object], list[dict[str, object]]]],
) -> None:
    # A key of that name inside what is looked for would rightly be found as well.
    known = [(head, items) for head, items in chats if not head.keys() & {"messages", "x"}]
    whole = [{**head, "x": 1, "messages": items} for head, items in known]
    content = orjson.dumps({"about": '"messages":[{', "chats": {"list": whole}})
    expected = [(each["x"], each["messages"]) for each in whole]
    found = [
        (1 if header.endswith(b'"x":1') else None, [orjson.loads(raw) for _, raw, _ in items])
        for header, items in named_arrays(io.BufferedReader(io.BytesIO(content)), "messages")
    ]
    assert found == expected


def test_distant_arrays_use_little_memory() -> None:
    def chunks() -> Iterator[bytes]:
        yield b'{"a":{"messages":[{"id":1}]},"skipped":"'
        yield from (b"x" * 100_000 for _ in range(500))
        yield b'","b":{"id":7,"messages":[{"id":2}]}}'

    tracemalloc.start()
    stream: io.BufferedReader = io.BufferedReader(Generated(chunks()))
    found = [
        (header, [raw for _, raw, _ in items]) for header, items in named_arrays(stream, "messages")
    ]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [raw for _, raw in found] == [[b'{"id":1}'], [b'{"id":2}']]
    assert found[1][0].endswith(b'"b":{"id":7')
    assert peak < 5_000_000


def test_an_array_that_is_cut_off_hides_none_of_the_objects_before() -> None:
    stream: io.BufferedReader = io.BufferedReader(io.BytesIO(b'{"messages": [{"id":1}, {"id":'))
    ((_, items),) = named_arrays(stream, "messages")
    assert [problem is None for _, _, problem in items] == [True, False]
