"""Provides the files of a source: those of a folder or a zip, or standard input alone."""

import os
import stat
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from engine.errors import InputError
from engine.ingest.streams import (
    STANDARD_INPUT,
    CountedStream,
    Readable,
    damage_error,
    refused_by_system,
    regular_file,
)
from engine.messages import Message

_NO_FILE = "not a regular file"
LARGEST_MEMBER = 4 << 30  # bytes that a zip member may unpack to


class Files(Protocol):
    """Named files that belong together. Names are relative, with forward slashes."""

    def names(self) -> Sequence[str]:
        """Return the files that may hold records. Raises InputError."""

    def holds(self, name: str) -> bool:
        """Tell whether there is a file of that name, listed or not."""

    def refusal(self, name: str) -> str | None:
        """Return why an existing file is not read, or None if it is.

        Strangers may have made the content of a folder or zip: a link in it must not lead to files
        that they could not see, nor to a device that never ends.
        """

    def size(self, name: str) -> int | None:
        """Return the number of bytes that reading the file will count, if known."""

    def open(self, name: str) -> Readable:
        """Open the file. Raises OSError or InputError."""

    def close(self) -> None:
        """Release open resources."""


class FolderFiles:
    """The files of a folder, or one of them (`only`) and those beside it.

    A person named `only`, so it may be a link to anywhere.
    """

    def __init__(self, root: Path, only: str | None = None) -> None:
        self._root, self._only = root, only

    def names(self) -> Sequence[str]:
        if self._only:
            return (self._only,)
        return sorted(self._walk())

    def _walk(self) -> Iterator[str]:
        """Yield the files of the tree, without hidden folders and links to other folders."""

        def refuse_file(exc: OSError) -> None:
            raise refused_by_system(str(exc.filename or self._root), exc) from exc

        for folder, inner, files in os.walk(self._root, onerror=refuse_file):
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

    def open(self, name: str) -> Readable:
        place, reason = self._locate(name)
        if reason:
            raise InputError(
                Message("{path} is {reason}.", path=self._root / name, reason=reason),
                fix=Message("Take it out of the folder."),
            )
        return regular_file(place, follow=False)

    def close(self) -> None:
        """Do nothing: no file is held open."""


def _link_refusal(target: Path, root: Path) -> str | None:
    """Return why a link from inside `root` to `target` is not followed."""
    if not target.is_relative_to(root):
        return "a link that leaves the folder"
    if any(part.startswith(".") for part in target.relative_to(root).parts):
        return "a link to what is hidden"  # .git/config, .env
    return None if target.is_file() else _NO_FILE


class ZipFiles:
    """The members of a zip file."""

    def __init__(self, path: Path) -> None:
        try:
            self._zip = zipfile.ZipFile(path)
        except zipfile.BadZipFile as exc:
            raise damage_error(str(path)) from exc
        except OSError as exc:
            raise refused_by_system(str(path), exc) from exc
        self._path = path

    def names(self) -> Sequence[str]:
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

    def open(self, name: str) -> Readable:
        try:
            member = self._zip.open(name)
        except zipfile.BadZipFile as exc:
            raise damage_error(str(self._path)) from exc
        except (RuntimeError, NotImplementedError) as exc:  # a password; an unknown compression
            raise InputError(
                Message("{path} cannot be unpacked here: {reason}.", path=self._path, reason=exc),
                fix=Message("Unpack it by hand."),
            ) from exc
        label = f"{self._path}/{name}"
        return CountedStream(label, member, closes=(member,), limit=LARGEST_MEMBER)

    def close(self) -> None:
        self._zip.close()


class OneStream:
    """Standard input as the only file; it stays open."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream

    def names(self) -> Sequence[str]:
        return (STANDARD_INPUT,)

    def holds(self, name: str) -> bool:
        return name == STANDARD_INPUT

    def refusal(self, name: str) -> str | None:  # noqa: ARG002 - the protocol's signature
        return None

    def size(self, name: str) -> int | None:  # noqa: ARG002 - the protocol's signature
        return None

    def open(self, name: str) -> Readable:
        return CountedStream(name, self._stream, closes=())

    def close(self) -> None:
        """Do nothing: the caller owns standard input."""
