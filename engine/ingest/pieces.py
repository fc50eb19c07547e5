"""Cuts files into records, so that a damaged record does not hide the others.

Each function yields `(number, raw, problem)`: the line or record number from 1, its bytes, and None
or the reason why the bytes are not a record. Memory holds one record, not the file.
"""

import io
import re
from collections.abc import Iterator

LONGEST_RECORD = 1_000_000  # bytes
_GIVE_UP = 4  # in longest records: the end of an array's record is not searched for beyond this
_LONGEST_PREFIX = 1_000_000  # bytes before an array, as in "window.YTD.tweets.part0 = ["
_LONGEST_HEADER = 1 << 16  # bytes before an array that identify it
_CHUNK = 1 << 18  # bytes

Piece = tuple[int, bytes, str | None]

_NO_END = "the end of this record is not found: the file is cut or damaged here"
# Up to the next bracket, skipping strings as a whole; possessive, hence linear.
_TO_BRACKET = re.compile(
    rb'[^"{}\[\]]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"{}\[\]]*+)*+([{}\[\]])', re.DOTALL
)
_GAP = re.compile(rb"[\s,]*+")
_SCALAR = re.compile(rb'(?:"(?:[^"\\]|\\.)*+"|[^\s,"\[\]{}]++)(?=[\s,\]{\[])', re.DOTALL)


def raw_lines(stream: io.BufferedReader, longest: int = LONGEST_RECORD) -> Iterator[Piece]:
    """Yield every line with its end; a line of more than `longest` bytes as a bare line end."""
    number = 0
    while line := stream.readline(longest + 1):
        number += 1
        if len(line) > longest and not line.endswith(b"\n"):
            _skip_line(stream)
            yield number, b"\n", f"longer than {longest:,} bytes"
        else:
            yield number, line, None


def lines(stream: io.BufferedReader, longest: int = LONGEST_RECORD) -> Iterator[Piece]:
    """Yield the lines that are not blank, without their ends."""
    for number, line, problem in raw_lines(stream, longest):
        if problem or not line.isspace():
            yield number, line.strip(), problem


def array_items(stream: io.BufferedReader, longest: int = LONGEST_RECORD) -> Iterator[Piece]:
    """Yield the objects of the first JSON array of the stream.

    Objects are cut out by their brackets and not parsed, so that a bad escape, an oversized number
    or a broken byte costs one record. A parser that reads the array as a whole stops at the first
    such fault.
    """
    scanner = _ArrayScanner(stream, longest)
    scanner.expect_array()
    return scanner.items()


def named_arrays(
    stream: io.BufferedReader, name: str, longest: int = LONGEST_RECORD
) -> Iterator[tuple[bytes, Iterator[Piece]]]:
    """Yield every array that is the value of a key `name`, at any depth.

    Each comes with its header: the bytes before it, back to the previous array or as many as are
    needed to identify it. Read the objects of one array before asking for the next; numbers begin
    at 1 in each.
    """
    # Inside a string the quotes would be escaped.
    opening = re.compile(rb'[{,]\s*+"' + re.escape(name.encode()) + rb'"\s*+:\s*+\[')
    scanner = _ArrayScanner(stream, longest)
    while (header := scanner.seek(opening)) is not None:
        yield header, scanner.items()


def _skip_line(stream: io.BufferedReader) -> None:
    while rest := stream.readline(_CHUNK):
        if rest.endswith(b"\n"):
            return


class _ArrayScanner:
    """Holds the bytes from the start of the current item on."""

    def __init__(self, stream: io.BufferedReader, longest: int) -> None:
        self._stream = stream
        self._longest = longest
        self._buffer = b""
        self._start = 0
        self._position = 0
        self._over = False

    def expect_array(self) -> None:
        """Skip the opening bracket, and what an export may write before it."""
        while b"[" not in self._buffer and len(self._buffer) < _LONGEST_PREFIX and self._more():
            pass
        self._over = b"[" not in self._buffer
        self._position = self._buffer.find(b"[") + 1

    def seek(self, opening: re.Pattern[bytes]) -> bytes | None:
        """Skip past the next match of `opening` and return what precedes it, or None."""
        self._start = self._position
        while (found := opening.search(self._buffer, self._position)) is None:
            self._start = max(self._start, len(self._buffer) - _LONGEST_HEADER)
            self._position = self._start
            if not self._more():
                return None
        header = self._buffer[max(self._start, found.start() - _LONGEST_HEADER) : found.start()]
        self._position, self._over = found.end(), False
        return header

    def items(self) -> Iterator[Piece]:
        """Yield the objects up to the closing bracket, numbered from 1."""
        number = 1
        while (piece := self._next_item()) is not None:
            yield number, *piece
            number += 1

    def _next_item(self) -> tuple[bytes, str | None] | None:
        """Return the next object or a problem; None after the closing bracket."""
        if self._over:
            return None
        opening = self._opening()
        if opening == b"]":
            self._over = True
            return None
        if opening in (b"{", b"["):
            return self._object()
        if opening == b"}":
            self._position += 1
            return b"", "a bracket that closes nothing"
        return self._scalar() if opening else self._give_up("the file ends before its array does")

    def _opening(self) -> bytes:
        while True:
            gap = _GAP.match(self._buffer, self._position)
            self._start = self._position = gap.end() if gap else self._position
            opening = self._buffer[self._position : self._position + 1]
            if opening or not self._more():
                return opening

    def _object(self) -> tuple[bytes, str | None]:
        depth = 0
        while True:
            if found := _TO_BRACKET.match(self._buffer, self._position):
                self._position = found.end()
                depth += 1 if found[1] in b"{[" else -1
                if depth == 0:
                    raw = self._buffer[self._start : self._position]
                    if len(raw) > self._longest:
                        return b"", f"longer than {self._longest:,} bytes"
                    return raw, None
            elif not self._more():
                return self._give_up(_NO_END)

    def _scalar(self) -> tuple[bytes, str | None]:
        while True:
            if found := _SCALAR.match(self._buffer, self._position):
                self._position = found.end()
                return b"", "not an object"
            if not self._more():
                return self._give_up(_NO_END)

    def _give_up(self, problem: str) -> tuple[bytes, str]:
        self._over = True
        return b"", problem

    def _more(self) -> bool:
        """Read more bytes; return False at the end of the file, or if one item is far too long."""
        self._buffer = self._buffer[self._start :]
        self._position -= self._start
        self._start = 0
        if len(self._buffer) > _GIVE_UP * self._longest:
            return False
        chunk = self._stream.read(_CHUNK)
        self._buffer += chunk
        return bool(chunk)
