"""Where records come from: a file, standard input, a folder or a zip, with their progress."""

import io
import stat
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path, PurePath, PurePosixPath
from typing import IO

from engine.errors import InputError
from engine.ingest.files import STANDARD_INPUT, Files, FolderFiles, OneStream, ZipFiles
from engine.ingest.records import Reject
from engine.ingest.streams import (
    HEAD,
    CountedStream,
    buffered,
    closed_on_error,
    not_a_file,
    refused_by_system,
    regular_file,
    rewound,
    unpacked,
)
from engine.messages import Message

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")


class Source:
    """Files that a reader reads, with the bytes counted that it has read so far.

    `name` is the path as given; a `packed` source (folder, zip) has many files.
    """

    def __init__(self, name: str, files: Files, *, packed: bool) -> None:
        self.name, self.packed, self.bytes_read = name, packed, 0
        self._files = files
        self._looked_at: dict[str, io.BufferedReader] = {}
        self._missed: list[Reject] = []

    def names(self) -> Sequence[str]:
        """Return the names of the files that may hold records and may be read."""
        return [name for name in self._files.names() if not self._files.refusal(name)]

    def refused(self) -> Sequence[str]:
        """Return the names of the files that are there and not read; see Files.refusal."""
        return [name for name in self._files.names() if self._files.refusal(name)]

    def miss(self, names: Sequence[str]) -> None:
        """Note that refused files are missed; `missed` tells of them."""
        for name in names:
            reason = self._files.refusal(name) or "changed while it was read"
            label = self.label(name) if self.packed else str(PurePath(self.name).with_name(name))
            self._missed.append(Reject(file=label, line=1, reason=reason))

    def missed(self) -> Sequence[Reject]:
        """Return the files that would have been read but are refused, each once."""
        told, self._missed = self._missed, []
        return told

    def total_bytes(self, names: Sequence[str]) -> int | None:
        """Return how far `bytes_read` will go, or None where that is unknown."""
        sizes = [self._files.size(name) for name in names]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None

    def label(self, name: str) -> str:
        """Return the file's name as a person should see it."""
        return f"{self.name}/{name}" if self.packed else self.name

    def citation(self, name: str) -> str:
        """Return the file's name without the folders that the export happens to lie in."""
        whole = PurePath(self.name).name
        return f"{whole}/{name}" if self.packed else whole

    def modified(self, name: str) -> datetime | None:
        """Return when the file was last changed, if known; zips do not say in which zone."""
        return self._files.modified(name)

    def beside(self, name: str, companion: str) -> str | None:
        """Return the name of the file `companion` in the folder of `name`, if there is one."""
        found = str(PurePosixPath(name).parent / companion)
        if not self._files.holds(found):
            return None
        if self._files.refusal(found):
            self.miss([found])
            return None
        return found

    def head(self, name: str) -> bytes:
        """Return the first bytes (at most 1 MiB, unpacked) without using them up.

        Raises InputError.
        """
        stream = self.open(name)
        with closed_on_error(stream):
            head = stream.read(HEAD)
        self._looked_at[name] = rewound(head, stream)
        return head

    def open(self, name: str, *, counted: bool = True) -> io.BufferedReader:
        """Open a file of the source, unpacked where it is a gzip. Raises InputError.

        `counted` adds what is read to `bytes_read`.
        """
        if stream := self._looked_at.pop(name, None):
            return stream
        label = self.label(name)
        try:
            opened = self._files.open(name)
        except OSError as exc:
            raise refused_by_system(label, exc) from exc
        raw = CountedStream(label, opened, closes=(opened,), count=self._count if counted else None)
        with closed_on_error(raw):
            return unpacked(label, buffered(raw))

    def close(self) -> None:
        """Close what is still open."""
        for stream in self._looked_at.values():
            stream.close()
        self._looked_at.clear()
        self._files.close()

    def _count(self, size: int) -> None:
        self.bytes_read += size


def source_at(where: str, stdin: IO[bytes]) -> Source:
    """Return the source at a path, or standard input for "-". Raises InputError."""
    if where == "-":
        return Source(STANDARD_INPUT, OneStream(stdin), packed=False)
    path = Path(where)
    try:
        if path.is_dir():
            return Source(where, FolderFiles(path), packed=True)
        if not stat.S_ISREG(path.stat().st_mode):
            raise not_a_file(where)
        if _begins_like_zip(path):
            return Source(where, ZipFiles(path), packed=True)
    except OSError as exc:
        raise refused_by_system(where, exc) from exc
    except ValueError as exc:  # a NUL in the path
        raise InputError(
            Message("{where!r} is no path.", where=where), fix=Message("Check the path.")
        ) from exc
    return Source(where, FolderFiles(path.parent, only=path.name), packed=False)


def _begins_like_zip(path: Path) -> bool:
    with regular_file(path, follow=True) as file:
        return file.read(4) in _ZIP
