"""Opens sources: one file, the files of a folder or a zip, or standard input; counts bytes."""

import io
import os
import stat
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path, PurePath, PurePosixPath

from engine.errors import InputError
from engine.ingest.records import Reject
from engine.ingest.streams import (
    BUFFER,
    HEAD,
    STANDARD_INPUT,
    Readable,
    closed_on_error,
    damage_error,
    not_a_file,
    read_chunks,
    refused_by_system,
    regular_file,
    stream_chunks,
    unpack_gzip,
)
from engine.messages import Message

LARGEST_MEMBER = 4 << 30  # bytes that a zip member may unpack to
_NO_FILE = "not a regular file"
# Members of the zips of Office and EPUB.
_OF_DOCUMENTS = ("[Content_Types].xml", "META-INF/container.xml")
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")


class Watch:
    """Observes the reading of a source; this one does nothing."""

    def turn_to(self, file: str) -> None:
        """Called before a file is read, or before its records are translated."""

    def count(self, size: int) -> None:
        """Called when `size` bytes of it were read, or unpacked from a gzip."""

    def alive(self) -> None:
        """Called now and then while another program works on it."""


class Source(ABC):
    """The files that a reader reads, with a count of the bytes read so far.

    Names of files are relative, with forward slashes. `name` is the path as given; a `packed`
    source (folder, zip) has many files. `reading` is the file of records that was opened last.
    Files in `skipped`, given by their labels, are treated as absent.
    """

    packed = True
    _limit: int | None = None  # bytes of one file

    def __init__(
        self, name: str, watch: Watch | None = None, skipped: Collection[str] = ()
    ) -> None:
        self.name, self.bytes_read = name, 0
        self.reading: str | None = None
        self.watch = watch or Watch()
        self.skipped = skipped
        self._missed: list[Reject] = []

    @abstractmethod
    def files(self) -> Sequence[str]:
        """Return the files that may hold records, refused ones too. Raises InputError."""

    @abstractmethod
    def holds(self, name: str) -> bool:
        """Return whether there is a file of that name, listed or not."""

    @abstractmethod
    def _open_file(self, name: str) -> Readable:
        """Open the file. Raises OSError or InputError."""

    def refusal(self, name: str) -> str | None:  # noqa: ARG002 - of some sources
        """Return why an existing file is not read, or None if it is.

        Strangers may have made the content of a folder or zip: a link in it must not lead to files
        that they could not see, nor to a device that never ends.
        """
        return None

    def size(self, name: str) -> int | None:  # noqa: ARG002 - of some sources
        """Return the number of bytes that reading the file will count, if known."""
        return None

    def names(self) -> Sequence[str]:
        """Return the files that may hold records and are read."""
        return [
            name for name in self.files() if not self.refusal(name) and not self.is_skipped(name)
        ]

    def is_skipped(self, name: str) -> bool:
        """Return whether the file is to be left out."""
        return bool(self.skipped) and self.label(name) in self.skipped

    def is_refused(self, name: str) -> bool:
        """Return whether a file that is wanted is refused; `missed` returns why."""
        if reason := self.refusal(name):
            self._missed.append(Reject(file=self.label(name), line=1, reason=reason))
        return bool(reason)

    def missed(self) -> Sequence[Reject]:
        """Return the files that were wanted but are refused, each once."""
        missed, self._missed = self._missed, []
        return missed

    def total_bytes(self, names: Sequence[str]) -> int | None:
        """Return the final value of `bytes_read`, or None if it is unknown."""
        sizes = [self.size(name) for name in names]
        return None if None in sizes else sum(filter(None, sizes))

    def label(self, name: str) -> str:
        """Return the path of the file; the siblings of a given file are beside it."""
        if self.packed:
            return f"{self.name}/{name}"
        whole = PurePath(self.name)
        return self.name if whole.name == name else str(whole.with_name(name))

    def citation(self, name: str) -> str:
        """Return the file's name without the folders that contain the export."""
        whole = PurePath(self.name).name
        return f"{whole}/{name}" if self.packed else whole

    def origin(self, name: str) -> str:
        """Return what distinguishes the file from those of other folders: its path here."""
        whole = Path(self.name).resolve()
        return f"{whole}/{name}" if self.packed else str(whole)

    def beside(self, name: str, companion: str) -> str | None:
        """Return the name of the file `companion` in the folder of `name`, if there is one."""
        sibling = str(PurePosixPath(name).parent / companion)
        if not self.holds(sibling) or self.is_skipped(sibling) or self.is_refused(sibling):
            return None
        return sibling

    def head(self, name: str) -> bytes:
        """Return the first bytes (at most 1 MiB, unpacked). Raises InputError."""
        with self.open_ahead(name) as stream:
            return stream.read(HEAD)

    def open(self, name: str) -> io.BufferedReader:
        """Open a file of the source, unpacked if it is a gzip. Raises InputError."""
        self.reading = self.label(name)
        self.watch.turn_to(self.reading)
        return self._open_stream(name, self._count)

    def open_ahead(self, name: str) -> io.BufferedReader:
        """Open a file to look through it before it is read; of standard input, its first bytes.

        What is read so is not counted in `bytes_read`. Raises InputError.
        """
        self.watch.turn_to(self.label(name))
        return self._open_stream(name, self.watch.count)

    def _open_stream(self, name: str, count: Callable[[int], None]) -> io.BufferedReader:
        label = self.label(name)
        try:
            file = self._open_file(name)
        except OSError as exc:
            raise refused_by_system(label, exc) from exc
        stream = stream_chunks(read_chunks(label, file, count, limit=self._limit), (file,))
        with closed_on_error(stream):
            return unpack_gzip(label, stream, self.watch.count)

    def close(self) -> None:  # noqa: B027 - of some sources
        """Close what is open between files."""

    def _count(self, size: int) -> None:
        self.bytes_read += size
        self.watch.count(size)


class FolderSource(Source):
    """The files of a folder; or one file, which has those beside it.

    A person named that one, so it may be a link to anywhere.
    """

    def __init__(
        self, name: str, watch: Watch | None = None, skipped: Collection[str] = ()
    ) -> None:
        super().__init__(name, watch, skipped)
        path = Path(name)
        self.packed = path.is_dir()
        self._root = path if self.packed else path.parent
        self._only = None if self.packed else path.name

    def files(self) -> Sequence[str]:
        return (self._only,) if self._only else sorted(self._walk())

    def _walk(self) -> Iterator[str]:
        """Yield the files of the tree, without hidden folders and links to other folders."""

        def refuse_folder(exc: OSError) -> None:
            raise refused_by_system(str(exc.filename or self._root), exc) from exc

        for folder, inner, files in os.walk(self._root, onerror=refuse_folder):
            inner[:] = [name for name in inner if not name.startswith(".")]
            place = Path(folder).relative_to(self._root)
            yield from ((place / name).as_posix() for name in files)

    def holds(self, name: str) -> bool:
        return os.path.lexists(self._root / name)

    def refusal(self, name: str) -> str | None:
        return self._locate(name)[1]

    def _locate(self, name: str) -> tuple[Path, str | None]:
        """Return the path of the file itself, with links resolved, and why it is not read."""
        path = self._root / name
        if name == self._only:
            return path.resolve(), None
        try:
            kind = path.lstat().st_mode
        except OSError:
            return path, None  # opening it will raise the reason
        if not stat.S_ISLNK(kind):
            return path, None if stat.S_ISREG(kind) else _NO_FILE
        try:
            target, root = path.resolve(strict=True), self._root.resolve()
            return target, _link_refusal(target, root)
        except (OSError, RuntimeError):  # RuntimeError: links in a circle
            return path, "a link that leads nowhere"

    def size(self, name: str) -> int | None:
        try:
            status = (self._root / name).stat()
        except OSError:
            return None  # opening it will raise the reason
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def _open_file(self, name: str) -> Readable:
        place, reason = self._locate(name)
        if reason:
            raise InputError(
                Message("{path} is {reason}.", path=self._root / name, reason=reason),
                fix=Message("Take it out of the folder."),
            )
        return regular_file(place, follow=False)


def _link_refusal(target: Path, root: Path) -> str | None:
    """Return why a link from inside `root` to `target` is not followed."""
    if not target.is_relative_to(root):
        return "a link that leaves the folder"
    if any(part.startswith(".") for part in target.relative_to(root).parts):
        return "a link to what is hidden"  # .git/config, .env
    return None if target.is_file() else _NO_FILE


class ZipSource(Source):
    """The members of a zip file."""

    def __init__(
        self, name: str, watch: Watch | None = None, skipped: Collection[str] = ()
    ) -> None:
        super().__init__(name, watch, skipped)
        self._path, self._limit = Path(name), LARGEST_MEMBER
        try:
            self._zip = zipfile.ZipFile(self._path)
        except zipfile.BadZipFile as exc:
            raise damage_error(str(self._path)) from exc

    def files(self) -> Sequence[str]:
        return sorted(n for n in self._zip.namelist() if not n.startswith("__MACOSX/"))

    def holds(self, name: str) -> bool:
        return name in self._zip.NameToInfo

    def refusal(self, name: str) -> str | None:
        kind = stat.S_IFMT(self._zip.getinfo(name).external_attr >> 16)
        if kind == stat.S_IFLNK:
            return "a link"
        return None if kind in (0, stat.S_IFREG) else _NO_FILE

    def size(self, name: str) -> int | None:
        return self._zip.getinfo(name).file_size

    def _open_file(self, name: str) -> Readable:
        try:
            return self._zip.open(name)
        except zipfile.BadZipFile as exc:
            raise damage_error(str(self._path)) from exc
        except (RuntimeError, NotImplementedError) as exc:  # a password; an unknown compression
            raise InputError(
                Message("{path} cannot be unpacked here: {reason}.", path=self._path, reason=exc),
                fix=Message("Unpack it by hand."),
            ) from exc

    def close(self) -> None:
        self._zip.close()


class InputSource(Source):
    """Standard input as the only file; it stays open."""

    packed = False

    def __init__(self, stream: Readable, watch: Watch | None = None) -> None:
        super().__init__(STANDARD_INPUT, watch)
        self._stream = stream
        self._ahead: tuple[bytes, io.BufferedReader] | None = None  # the first bytes, and the rest

    def files(self) -> Sequence[str]:
        return (STANDARD_INPUT,)

    def holds(self, name: str) -> bool:
        return name == STANDARD_INPUT

    def origin(self, name: str) -> str:
        return name

    def _open_file(self, name: str) -> Readable:
        return stream_chunks(read_chunks(name, self._stream))

    def open_ahead(self, name: str) -> io.BufferedReader:
        return io.BufferedReader(io.BytesIO(self._read_ahead(name)[0]))

    def open(self, name: str) -> io.BufferedReader:
        # Readers may look at the beginning while they read.
        head, rest = self._read_ahead(name)
        return stream_chunks(chain((head,), iter(partial(rest.read1, BUFFER), b"")), (rest,))

    def _read_ahead(self, name: str) -> tuple[bytes, io.BufferedReader]:
        if self._ahead is None:
            stream = super().open(name)
            self._ahead = stream.read(HEAD), stream
        return self._ahead


def source_at(where: str, watch: Watch | None = None, skipped: Collection[str] = ()) -> Source:
    """Return the source at a path. Raises InputError."""
    # Nothing, as of a variable that is not set, would be the working folder.
    path = Path(where or "\0")
    try:
        if not path.is_dir():
            if not stat.S_ISREG(path.stat().st_mode):
                raise not_a_file(where)
            if _is_zip_of_files(path):
                return ZipSource(where, watch, skipped)
    except OSError as exc:
        raise refused_by_system(where, exc) from exc
    except ValueError as exc:  # a NUL in the path
        raise InputError(
            Message("{where!r} is no path.", where=where), fix=Message("Check the path.")
        ) from exc
    return FolderSource(where, watch, skipped)


def _is_zip_of_files(path: Path) -> bool:
    """Return whether a file is a zip, and not a document that is one, such as those of Word."""
    with regular_file(path, follow=True) as file:
        if file.read(4) not in _ZIP:
            return False
    try:
        with zipfile.ZipFile(path) as archive:
            return not any(name in archive.NameToInfo for name in _OF_DOCUMENTS)
    except zipfile.BadZipFile:
        return path.suffix.lower() not in (".docx", ".epub")
