"""Where records come from: a file, standard input, a folder or a zip, with their progress."""

import io
import os
import stat
import zipfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, Protocol

from engine.errors import InputError
from engine.ingest.streams import (
    HEAD,
    Counted,
    Readable,
    buffered,
    closed_on_error,
    damaged,
    rewound,
    unpacked,
    unreadable,
)

STANDARD_INPUT = "standard input"
LARGEST_MEMBER = 4 << 30  # bytes that a zip member may unpack to
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")


class Files(Protocol):
    """Named files that belong together. Names are relative, with forward slashes."""

    def names(self) -> Sequence[str]:
        """Return the files that may hold records. Raises InputError."""

    def holds(self, name: str) -> bool:
        """Tell whether there is a file of that name, listed or not."""

    def size(self, name: str) -> int | None:
        """Return the number of bytes that reading the file will count, if known."""

    def modified(self, name: str) -> datetime | None:
        """Return when the file was last changed, if known."""

    def open(self, name: str) -> Readable:
        """Open the file. Raises OSError or InputError."""

    def close(self) -> None:
        """Release what is held open."""


class FolderFiles:
    """The files of a folder, or one of them (`only`) and what lies beside it."""

    def __init__(self, root: Path, only: str | None = None) -> None:
        self._root, self._only = root, only

    def names(self) -> Sequence[str]:
        if self._only:
            return (self._only,)
        return sorted(self._walk())

    def _walk(self) -> Iterator[str]:
        """Yield the files of the tree, without hidden folders and links to other folders."""

        def refused(exc: OSError) -> None:
            raise unreadable(str(exc.filename or self._root), exc) from exc

        for folder, inner, files in os.walk(self._root, onerror=refused):
            inner[:] = [name for name in inner if not name.startswith(".")]
            place = Path(folder).relative_to(self._root)
            yield from ((place / name).as_posix() for name in files)

    def holds(self, name: str) -> bool:
        return (self._root / name).is_file()

    def size(self, name: str) -> int | None:
        try:
            status = (self._root / name).stat()
        except OSError:
            return None  # opening it will say why
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def modified(self, name: str) -> datetime | None:
        try:
            return datetime.fromtimestamp(int((self._root / name).stat().st_mtime), UTC)
        except (OSError, OverflowError, ValueError):
            return None

    def open(self, name: str) -> Readable:
        return (self._root / name).open("rb", buffering=0)

    def close(self) -> None:
        """Nothing is held open."""


class ZipFiles:
    """The members of a zip file."""

    def __init__(self, path: Path) -> None:
        try:
            self._zip = zipfile.ZipFile(path)
        except zipfile.BadZipFile as exc:
            raise damaged(str(path)) from exc
        except OSError as exc:
            raise unreadable(str(path), exc) from exc
        self._path = path

    def names(self) -> Sequence[str]:
        return sorted(n for n in self._zip.namelist() if not n.startswith("__MACOSX/"))

    def holds(self, name: str) -> bool:
        return name in self._zip.NameToInfo

    def size(self, name: str) -> int | None:
        return self._zip.getinfo(name).file_size

    def modified(self, name: str) -> datetime | None:
        try:
            return datetime(*self._zip.getinfo(name).date_time, tzinfo=UTC)
        except ValueError:  # a month 0
            return None

    def open(self, name: str) -> Readable:
        try:
            member = self._zip.open(name)
        except zipfile.BadZipFile as exc:
            raise damaged(str(self._path)) from exc
        except (RuntimeError, NotImplementedError) as exc:  # a password; an unknown compression
            raise InputError(
                f"{self._path} cannot be unpacked here: {exc}.", fix="Unpack it by hand."
            ) from exc
        label = f"{self._path}/{name}"
        return Counted(label, member, closes=(member,), limit=LARGEST_MEMBER)

    def close(self) -> None:
        self._zip.close()


class OneStream:
    """Standard input as the only file; it stays open."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def names(self) -> Sequence[str]:
        return (STANDARD_INPUT,)

    def holds(self, name: str) -> bool:
        return name == STANDARD_INPUT

    def size(self, name: str) -> int | None:  # noqa: ARG002 - the protocol's signature
        return None

    def modified(self, name: str) -> datetime | None:  # noqa: ARG002 - the protocol's signature
        return None

    def open(self, name: str) -> Readable:
        return Counted(name, self._stream, closes=())

    def close(self) -> None:
        """Standard input is not ours to close."""


class Source:
    """Files that a reader reads, with the bytes counted that it has read so far.

    `name` is the path as given; a `packed` source (folder, zip) has many files.
    """

    def __init__(self, name: str, files: Files, *, packed: bool) -> None:
        self.name, self.packed, self.bytes_read = name, packed, 0
        self._files = files
        self._looked_at: dict[str, io.BufferedReader] = {}

    def names(self) -> Sequence[str]:
        """Return the names of the files that may hold records."""
        return self._files.names()

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
        return found if self._files.holds(found) else None

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
            raise unreadable(label, exc) from exc
        raw = Counted(label, opened, closes=(opened,), count=self._count if counted else None)
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
        if stat.S_ISREG(path.stat().st_mode) and _begins_like_zip(path):
            return Source(where, ZipFiles(path), packed=True)
    except OSError as exc:
        raise unreadable(where, exc) from exc
    except ValueError as exc:  # a NUL in the path
        raise InputError(f"{where!r} is no path.", fix="Check the path.") from exc
    return Source(where, FolderFiles(path.parent, only=path.name), packed=False)


def _begins_like_zip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) in _ZIP
