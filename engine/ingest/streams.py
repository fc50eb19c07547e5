"""Streams over a file, standard input or an archive member, with byte counts and clear errors."""

import gzip
import io
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from engine.errors import InputError
from engine.messages import Message

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BUFFER = 1 << 18  # bytes
HEAD = 1 << 20  # bytes read to recognise a format
_GZIP = b"\x1f\x8b"
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # absent on Windows
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # opening a pipe waits for its writer
_DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, zipfile.BadZipFile)


class Readable(Protocol):
    """Anything that bytes can be read from."""

    def read(self, size: int, /) -> bytes | None:
        """Return at most `size` bytes, or none at the end."""

    def close(self) -> None:
        """Release resources."""


class CountedStream(io.RawIOBase):
    """A stream that adds what it reads to a meter and raises InputErrors.

    With `limit` (bytes) it raises InputError if more than that is read.
    """

    def __init__(
        self,
        name: str,
        source: Readable,
        *,
        closes: Sequence[Readable],
        count: Callable[[int], None] | None = None,
        limit: int | None = None,
    ) -> None:
        self._name, self._source, self._closes = name, source, closes
        self._count, self._left = count, limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        target = memoryview(buffer)
        try:
            data = self._source.read(len(target)) or b""
        except _DAMAGED as exc:
            raise damaged(self._name) from exc
        except OSError as exc:
            raise refused_by_system(self._name, exc) from exc
        target[: len(data)] = data
        if self._count:
            self._count(len(data))
        if self._left is not None:
            self._left -= len(data)
            if self._left < 0:
                raise InputError(
                    Message("{name} unpacks to far more than an export holds.", name=self._name),
                    fix=Message("Unpack it by hand and look at it first."),
                )
        return len(data)

    def close(self) -> None:
        for stream in self._closes:
            stream.close()
        super().close()


class _Rewound(io.RawIOBase):
    """The bytes that were already read, then the rest of their stream."""

    def __init__(self, head: bytes, rest: io.BufferedReader) -> None:
        self._head, self._rest = memoryview(head), rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        target = memoryview(buffer)
        data, self._head = self._head[: len(target)], self._head[len(target) :]
        target[: len(data)] = data
        return len(data) + self._rest.readinto1(target[len(data) :])

    def close(self) -> None:
        self._rest.close()
        super().close()


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


def buffered(raw: io.RawIOBase) -> io.BufferedReader:
    """Return `raw` behind a buffer that makes line reading fast."""
    return io.BufferedReader(raw, BUFFER)


def read_whole(stream: io.BufferedReader, most: int) -> bytes:
    """Return the rest of a stream, at most `most` bytes.

    `read(most)` would allocate that much memory for the smallest file.
    """
    content = io.BytesIO()
    while content.tell() < most and (chunk := stream.read(min(BUFFER, most - content.tell()))):
        content.write(chunk)
    return content.getvalue()


def rewound(head: bytes, rest: io.BufferedReader) -> io.BufferedReader:
    """Return a stream that yields `head` first."""
    return buffered(_Rewound(head, rest))


def unpacked(
    name: str, stream: io.BufferedReader, count: Callable[[int], None] | None = None
) -> io.BufferedReader:
    """Return the content of a gzip stream, counted, or the stream itself if it is not one."""
    magic = stream.read(len(_GZIP))
    stream = rewound(magic, stream)
    if magic != _GZIP:
        return stream
    content = gzip.GzipFile(fileobj=stream)
    return buffered(CountedStream(name, content, closes=(content, stream), count=count))


def damaged(name: str) -> InputError:
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
