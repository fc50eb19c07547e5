"""Byte streams (gzip, encodings, counts), and splitting them into lines and JSON objects."""

import gzip
import io
import itertools
import os
import re
import stat
import zipfile
import zlib
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from engine.errors import InputError
from engine.messages import Message

STANDARD_INPUT = "standard input"  # the name of its only file
LONGEST_RECORD = 1_000_000  # bytes
_GIVE_UP = 4  # in longest records: the end of an array's record is not searched for beyond this
_LONGEST_PREFIX = 1_000_000  # bytes before an array, as in "window.YTD.tweets.part0 = ["
_LONGEST_HEADER = 1 << 16  # bytes before an array that identify it
_CHUNK = 1 << 18  # bytes

Piece = tuple[int, bytes, str | None]

# After these nothing of an array can be read.
_NO_END = "the end of this record is not found: the file is cut or damaged here"
_CUT_ARRAY = "the file ends before its array does"
# Up to the next bracket, skipping strings as a whole; possessive, hence linear.
_TO_BRACKET = re.compile(
    rb'[^"{}\[\]]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"{}\[\]]*+)*+([{}\[\]])', re.DOTALL
)
_GAP = re.compile(rb"[\s,]*+")
_SCALAR = re.compile(rb'(?:"(?:[^"\\]|\\.)*+"|[^\s,"\[\]{}]++)(?=[\s,\]{\[])', re.DOTALL)
UTF_8, UTF_16, WINDOWS = "utf-8", "utf-16", "cp1252"
BOM = b"\xef\xbb\xbf"  # byte order mark
BUFFER = 1 << 18  # bytes
HEAD = 1 << 20  # bytes read to recognise a format
_GZIP = b"\x1f\x8b"
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # absent on Windows
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # opening a pipe waits for its writer
_DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, zipfile.BadZipFile)


def raw_lines(stream: io.BufferedReader, longest: int = LONGEST_RECORD) -> Iterator[Piece]:
    """Yield every line with its end; a line of more than `longest` bytes as a bare line end."""
    number = 0
    while line := stream.readline(longest + 1):
        number += 1
        if len(line) > longest and not line.endswith(b"\n"):
            while (rest := stream.readline(_CHUNK)) and not rest.endswith(b"\n"):
                pass
            yield number, b"\n", f"longer than {longest:,} bytes"
        else:
            yield number, line, None


def split_lines(stream: io.BufferedReader, longest: int = LONGEST_RECORD) -> Iterator[Piece]:
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
    return scanner.items() if scanner.find_array() else iter(())


def whole_objects(stream: io.BufferedReader, longest: int = LONGEST_RECORD) -> Iterator[Piece]:
    """Yield the objects of a stream, each over as many lines as it takes, as jq writes them."""
    return _ArrayScanner(stream, longest).items(enclosed=False)


def spans_lines(head: bytes) -> bool:
    """Return whether the first object of a stream does not end in its first line."""
    first, _, rest = head.lstrip().partition(b"\n")
    if not first.startswith(b"{") or first.rstrip().endswith(b"}"):
        return False
    return bool(rest.strip()) and not rest.lstrip().startswith(b"{")


def named_arrays(stream: io.BufferedReader, name: str) -> Iterator[tuple[bytes, Iterator[Piece]]]:
    """Yield every array that is the value of a key `name`, at any depth.

    Each comes with its header: the bytes before it, back to the previous array or as many as are
    needed to identify it. Read the objects of one array before asking for the next; numbers begin
    at 1 in each.
    """
    # Inside a string the quotes would be escaped.
    opening = re.compile(rb'[{,]\s*+"' + re.escape(name.encode()) + rb'"\s*+:\s*+\[')
    scanner = _ArrayScanner(stream, LONGEST_RECORD)
    while (header := scanner.seek(opening)) is not None:
        yield header, scanner.items()


class _ArrayScanner:
    """Holds the bytes from the start of the current item on."""

    def __init__(self, stream: io.BufferedReader, longest: int) -> None:
        self._stream = stream
        self._longest = longest
        self._buffer = b""
        self._start = 0
        self._position = 0

    def find_array(self) -> bool:
        """Skip the opening bracket, and what an export may write before it; False without one."""
        while b"[" not in self._buffer:
            if len(self._buffer) >= _LONGEST_PREFIX or not self._read_more():
                return False
        self._position = self._buffer.find(b"[") + 1
        return True

    def seek(self, opening: re.Pattern[bytes]) -> bytes | None:
        """Skip past the next match of `opening` and return what precedes it, or None."""
        self._start = self._position
        while (match := opening.search(self._buffer, self._position)) is None:
            self._start = max(self._start, len(self._buffer) - _LONGEST_HEADER)
            self._position = self._start
            if not self._read_more():
                return None
        self._position = match.end()
        return self._buffer[max(self._start, match.start() - _LONGEST_HEADER) : match.start()]

    def items(self, *, enclosed: bool = True) -> Iterator[Piece]:
        """Yield the objects up to the closing bracket, or to the end, numbered from 1."""
        for number in itertools.count(1):
            opening = self._read_opening()
            if opening == b"]" or not (opening or enclosed):
                return
            raw, problem = b"", None
            if not opening:
                problem = _CUT_ARRAY
            elif opening == b"}":
                self._position += 1
                problem = "a bracket that closes nothing"
            elif opening not in (b"{", b"["):
                problem = "not an object" if self._match(_SCALAR.match) else _NO_END
            elif not (raw := self._read_object()):
                problem = _NO_END
            elif len(raw) > self._longest:
                raw, problem = b"", f"longer than {self._longest:,} bytes"
            yield number, raw, problem
            if problem in (_CUT_ARRAY, _NO_END):
                return

    def _read_opening(self) -> bytes:
        """Return the first byte of the next item, or none at the end of the file."""
        while True:
            gap = _GAP.match(self._buffer, self._position)
            self._start = self._position = gap.end() if gap else self._position
            opening = self._buffer[self._position : self._position + 1]
            if opening or not self._read_more():
                return opening

    def _read_object(self) -> bytes:
        """Return the bytes of an object or array, or none if its end is not found."""
        depth = 0
        while match := self._match(_TO_BRACKET.match):
            depth += 1 if match[1] in b"{[" else -1
            if depth == 0:
                return self._buffer[self._start : self._position]
        return b""

    def _match(
        self, match_at: Callable[[bytes, int], re.Match[bytes] | None]
    ) -> re.Match[bytes] | None:
        """Return the match at the position, and go past it; None if there is none to the end."""
        while not (match := match_at(self._buffer, self._position)):
            if not self._read_more():
                return None
        self._position = match.end()
        return match

    def _read_more(self) -> bool:
        """Read more bytes; return False at the end of the file, or if one item is far too long."""
        self._buffer = self._buffer[self._start :]
        self._position -= self._start
        self._start = 0
        if len(self._buffer) > _GIVE_UP * self._longest:
            return False
        chunk = self._stream.read(_CHUNK)
        self._buffer += chunk
        return bool(chunk)


if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class Readable(Protocol):
    """Anything that bytes can be read from."""

    def read(self, size: int, /) -> bytes | None:
        """Return at most `size` bytes, or none at the end."""

    def close(self) -> None:
        """Release resources."""


class _ChunkStream(io.RawIOBase):
    """A stream of chunks of bytes, which closes others with itself."""

    def __init__(self, chunks: Iterator[bytes], closes: Sequence[Readable] = ()) -> None:
        self._chunks, self._closes = chunks, closes
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        target = memoryview(buffer)
        while not self._left and (chunk := next(self._chunks, None)) is not None:
            self._left = memoryview(chunk)
        data, self._left = self._left[: len(target)], self._left[len(target) :]
        target[: len(data)] = data
        return len(data)

    def close(self) -> None:
        for stream in self._closes:
            stream.close()
        super().close()


def stream_chunks(chunks: Iterator[bytes], closes: Sequence[Readable] = ()) -> io.BufferedReader:
    """Return a stream of chunks of bytes, which closes others with itself."""
    return io.BufferedReader(_ChunkStream(chunks, closes), BUFFER)


def read_chunks(
    name: str,
    source: Readable,
    count: Callable[[int], None] | None = None,
    *,
    limit: int | None = None,
) -> Iterator[bytes]:
    """Yield what a source holds, counted. Raises InputError, also if it is more than `limit`."""
    size = 0
    while True:
        try:
            chunk = source.read(BUFFER)
        except _DAMAGED as exc:
            raise damage_error(name) from exc
        except OSError as exc:
            raise refused_by_system(name, exc) from exc
        if not chunk:
            return
        if count:
            count(len(chunk))
        size += len(chunk)
        if limit is not None and size > limit:
            raise InputError(
                Message("{name} unpacks to far more than an export holds.", name=name),
                fix=Message("Unpack it by hand and look at it first."),
            )
        yield chunk


@contextmanager
def closed_on_error(stream: Readable) -> Iterator[None]:
    """Close the stream if the block raises: nobody else will."""
    try:
        yield
    except BaseException:
        stream.close()
        raise


def regular_file(path: Path, *, follow: bool) -> io.FileIO:
    """Open a regular file, and nothing else: a pipe or a device may never end.

    If `follow` is false a link is refused as well. Raises OSError, InputError.
    """
    extra = _NO_WAIT | (0 if follow else _NO_LINK)
    file = io.FileIO(path, opener=lambda name, flags: os.open(name, flags | extra))
    with closed_on_error(file):
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise not_a_file(str(path))
    return file


def skip_bom(stream: io.BufferedReader) -> None:
    """Skip the byte order mark with which some files begin."""
    if stream.peek(len(BOM)).startswith(BOM):
        stream.read(len(BOM))


def find_encoding(head: bytes) -> str | None:
    """Return the encoding of the beginning of a text file; None for what is no text."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return UTF_16
    controls = sum(byte < 0x20 and byte not in b"\t\n\r" for byte in head[:4096])
    if controls * 20 > len(head[:4096]):
        return None
    try:
        head.decode()
    except UnicodeDecodeError as exc:
        is_cut = exc.reason == "unexpected end of data" and len(head) - exc.start < 4
        return UTF_8 if is_cut else WINDOWS
    return UTF_8


def decode_stream(stream: io.BufferedReader, encoding: str) -> io.BufferedReader:
    """Return the text of a stream in UTF-8, without a byte order mark."""
    if encoding != UTF_8:
        return stream_chunks(_decode_chunks(stream, encoding))
    skip_bom(stream)
    return stream


def _decode_chunks(stream: io.BufferedReader, encoding: str) -> Iterator[bytes]:
    decoder = getincrementaldecoder(encoding)("replace")
    while chunk := stream.read(BUFFER):
        yield decoder.decode(chunk).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def read_whole(stream: io.BufferedReader, maximum: int) -> bytes:
    """Return the rest of a stream, at most `maximum` bytes.

    `read(most)` would allocate that much memory for the smallest file.
    """
    content = io.BytesIO()
    while content.tell() < maximum and (
        chunk := stream.read(min(BUFFER, maximum - content.tell()))
    ):
        content.write(chunk)
    return content.getvalue()


def unpack_gzip(
    name: str, stream: io.BufferedReader, count: Callable[[int], None] | None = None
) -> io.BufferedReader:
    """Return the content of a gzip stream, counted, or the stream itself if it is not one."""
    if not stream.peek(len(_GZIP)).startswith(_GZIP):
        return stream
    content = gzip.GzipFile(fileobj=stream)
    return stream_chunks(read_chunks(name, content, count), (content, stream))


def damage_error(name: str) -> InputError:
    """Return the error for a compressed file that cannot be unpacked to its end."""
    return InputError(
        Message("{name} is damaged or cut off.", name=name),
        fix=Message("Get or make the file again."),
    )


def not_a_file(name: str) -> InputError:
    """Return the error for a pipe, a device or a socket."""
    return InputError(
        Message("{name} is neither a regular file nor a folder.", name=name),
        fix=Message("Send a stream to standard input, and give - for it."),
    )


def refused_by_system(name: str, exc: OSError) -> InputError:
    """Return the error for a refusal by the operating system."""
    if isinstance(exc, FileNotFoundError):
        return InputError(
            Message("{name} does not exist.", name=name), fix=Message("Check the path.")
        )
    if isinstance(exc, PermissionError):
        return InputError(
            Message("{name} may not be read.", name=name), fix=Message("Change its permissions.")
        )
    return InputError(
        Message("{name} cannot be read: {reason}.", name=name, reason=exc.strerror or exc),
        fix=Message("Check the disk."),
    )
