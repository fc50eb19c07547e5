"""Opens sources of records (a file, standard input, a folder or a zip) and counts progress."""

import io
import stat
import zipfile
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path, PurePath, PurePosixPath

from engine.errors import InputError
from engine.ingest.files import Files, FolderFiles, OneStream, ZipFiles
from engine.ingest.records import Reject
from engine.ingest.streams import (
    HEAD,
    STANDARD_INPUT,
    CountedStream,
    Readable,
    buffer_stream,
    closed_on_error,
    not_a_file,
    refused_by_system,
    regular_file,
    rewind_stream,
    unpack_gzip,
)
from engine.messages import Message

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


class Source:
    """The files that a reader reads, with a count of the bytes read so far.

    `name` is the path as given; a `packed` source (folder, zip) has many files. `reading` is the
    file of records that was opened last. Files in `skipped`, given by their places, are treated as
    absent.
    """

    def __init__(
        self,
        name: str,
        files: Files,
        *,
        packed: bool,
        watch: Watch | None = None,
        skipped: Collection[str] = (),
    ) -> None:
        self.name, self.packed, self.bytes_read = name, packed, 0
        self.reading: str | None = None
        self._files = files
        self._watch = watch or Watch()
        self._skipped = skipped
        self._looked_at: dict[str, io.BufferedReader] = {}
        self._missed: list[Reject] = []

    def names(self, *, with_skipped: bool = False) -> Sequence[str]:
        """Return the names of the files that may hold records and may be read."""
        return [
            name
            for name in self._files.names()
            if not self._files.refusal(name) and (with_skipped or not self.is_skipped(name))
        ]

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder, so that its files have paths of their own."""
        return self.packed and isinstance(self._files, FolderFiles)

    def refusal(self, name: str) -> str | None:
        """Return why an existing file is not read, or None if it is."""
        return self._files.refusal(name)

    def size(self, name: str) -> int | None:
        """Return the bytes of a file, if that is known."""
        return self._files.size(name)

    def is_skipped(self, name: str) -> bool:
        """Tell whether the file is to be left out."""
        return bool(self._skipped) and self.is_skipped_place(self.place(name))

    def is_skipped_place(self, place: str) -> bool:
        """Tell whether the file at that place is to be left out."""
        return place in self._skipped

    def refused(self) -> Sequence[str]:
        """Return the names of the files that exist but are not read; see Files.refusal."""
        return [name for name in self._files.names() if self._files.refusal(name)]

    def miss(self, names: Sequence[str]) -> None:
        """Record refused files that would have been read; `missed` returns them."""
        for name in names:
            reason = self._files.refusal(name) or "changed while it was read"
            self._missed.append(Reject(file=self.place(name), line=1, reason=reason))

    def missed(self) -> Sequence[Reject]:
        """Return the files that would have been read but are refused, each once."""
        missed, self._missed = self._missed, []
        return missed

    def total_bytes(self, names: Sequence[str]) -> int | None:
        """Return the final value of `bytes_read`, or None if it is unknown."""
        sizes = [self._files.size(name) for name in names]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None

    def label(self, name: str) -> str:
        """Return the file's name for display."""
        return f"{self.name}/{name}" if self.packed else self.name

    def place(self, name: str) -> str:
        """Return the path of the file; the siblings of a given file are beside it."""
        if self.packed or name in self._files.names():
            return self.label(name)
        return str(PurePath(self.name).with_name(name))

    def citation(self, name: str) -> str:
        """Return the file's name without the folders that contain the export."""
        whole = PurePath(self.name).name
        return f"{whole}/{name}" if self.packed else whole

    def origin(self, name: str) -> str:
        """Return what distinguishes the file from those of other folders: its path here."""
        if self.name == STANDARD_INPUT:
            return self.name
        whole = Path(self.name).resolve()
        return f"{whole}/{name}" if self.packed else str(whole)

    def alive(self) -> None:
        """Tell the watch that work on the file goes on."""
        self._watch.alive()

    def beside(self, name: str, companion: str) -> str | None:
        """Return the name of the file `companion` in the folder of `name`, if there is one."""
        found = str(PurePosixPath(name).parent / companion)
        if not self._files.holds(found) or self.is_skipped(found):
            return None
        if self._files.refusal(found):
            self.miss([found])
            return None
        return found

    def head(self, name: str) -> bytes:
        """Return the first bytes (at most 1 MiB, unpacked) without consuming them.

        Raises InputError.
        """
        stream = self.open(name)
        with closed_on_error(stream):
            head = stream.read(HEAD)
        self._looked_at[name] = rewind_stream(head, stream)
        return head

    def open_ahead(self, name: str) -> io.BufferedReader:
        """Open a file to look through it before it is read; of standard input, its first bytes.

        Raises InputError.
        """
        if self.name == STANDARD_INPUT:
            return io.BufferedReader(io.BytesIO(self.head(name)))
        looked_at, read = self._looked_at.pop(name, None), self.bytes_read
        try:
            return self.open(name, counted=False)
        finally:
            self.bytes_read = read
            if looked_at:
                self._looked_at[name] = looked_at

    def open(self, name: str, *, counted: bool = True) -> io.BufferedReader:
        """Open a file of the source, unpacked if it is a gzip. Raises InputError.

        `counted` adds the bytes read to `bytes_read`.
        """
        label, place = self.label(name), self.place(name)
        self._watch.turn_to(place)
        if counted:
            self.reading = place
        if stream := self._looked_at.pop(name, None):
            return stream
        try:
            opened = self._files.open(name)
        except OSError as exc:
            raise refused_by_system(label, exc) from exc
        count = self._add_bytes if counted else self._watch.count
        raw = CountedStream(label, opened, closes=(opened,), count=count)
        with closed_on_error(raw):
            return unpack_gzip(label, buffer_stream(raw), self._watch.count)

    def close(self) -> None:
        """Close everything that is open."""
        for stream in self._looked_at.values():
            stream.close()
        self._looked_at.clear()
        self._files.close()

    def _add_bytes(self, size: int) -> None:
        self.bytes_read += size
        self._watch.count(size)


def source_at(
    where: str, stdin: Readable, *, watch: Watch | None = None, skipped: Collection[str] = ()
) -> Source:
    """Return the source at a path, or standard input for "-". Raises InputError."""
    source = partial(Source, watch=watch, skipped=skipped)
    if where == "-":
        return source(STANDARD_INPUT, OneStream(stdin), packed=False)
    path = Path(where)
    if not where:  # as of a variable that is not set; Path takes it for the working folder
        raise _no_path(where)
    try:
        if path.is_dir():
            return source(where, FolderFiles(path), packed=True)
        if not stat.S_ISREG(path.stat().st_mode):
            raise not_a_file(where)
        if _begins_like_zip(path) and not _is_document(path):
            return source(where, ZipFiles(path), packed=True)
    except OSError as exc:
        raise refused_by_system(where, exc) from exc
    except ValueError as exc:  # a NUL in the path
        raise _no_path(where) from exc
    return source(where, FolderFiles(path.parent, only=path.name), packed=False)


def _no_path(where: str) -> InputError:
    return InputError(Message("{where!r} is no path.", where=where), fix=Message("Check the path."))


def _begins_like_zip(path: Path) -> bool:
    with regular_file(path, follow=True) as file:
        return file.read(4) in _ZIP


def _is_document(path: Path) -> bool:
    """Tell whether a zip is a document, such as those of Word, rather than a folder of files."""
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name in archive.NameToInfo for name in _OF_DOCUMENTS)
    except zipfile.BadZipFile:
        return path.suffix.lower() in (".docx", ".epub")
