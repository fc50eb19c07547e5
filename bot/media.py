"""Pictures and videos of texts, in files next to the data."""

import os
import re
import shutil
import stat
import tarfile
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from engine.errors import InputError
from engine.messages import Message
from engine.values import Corpus

LARGEST = 50_000_000  # bytes of a file
_FOLDER = "media"
REJECTS = "rejects"  # the folder of their reports
# As X names the files of an export: the id of the post, and the name that the file has on its site.
_NAME = re.compile(r"(?P<id>\d{1,25})-(?P<name>[\w-]{1,100}\.(?P<suffix>\w{3,4}))", re.ASCII)
_OWN_NAME = re.compile(r"[\w-]{1,100}\.(?P<suffix>\w{3,4})", re.ASCII)
_ID = re.compile(r"\d{1,25}", re.ASCII)
# What a page may show, by suffix: the media type, and how such a file begins (at which byte).
_TYPES = {
    "jpg": ("image/jpeg", 0, b"\xff\xd8\xff"),
    "jpeg": ("image/jpeg", 0, b"\xff\xd8\xff"),
    "png": ("image/png", 0, b"\x89PNG\r\n\x1a\n"),
    "gif": ("image/gif", 0, b"GIF8"),
    "webp": ("image/webp", 8, b"WEBP"),
    "mp4": ("video/mp4", 4, b"ftyp"),
}
_READ = 16  # bytes that tell the type
# In an archive: id of the corpus, id of the text, name.
_PACKED = re.compile(r"\d{1,10}/\d{1,25}/[\w-]{1,100}\.\w{3,4}", re.ASCII)


class MediaLeftOut(StrEnum):
    """Why a file is not brought."""

    NAME = "not named like the files of an export"
    TYPE = "no picture or video that a page can show"
    SIZE = "larger than 50 MB"
    TEXT = "of texts that the corpus does not hold"


@dataclass(frozen=True, slots=True)
class MediaFile:
    """A file of a text, as a page links it."""

    name: str
    media_type: str

    @property
    def is_video(self) -> bool:
        """Return whether it is a video."""
        return self.media_type.startswith("video/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """How many files were brought, of how many texts, and why others were left out."""

    files: int
    texts: int
    left_out: Counter[MediaLeftOut]


class Media:
    """The files of all corpora, in a folder for each text."""

    def __init__(self, data_dir: Path) -> None:
        self._root = data_dir / _FOLDER

    def of(self, corpus: Corpus, external_id: str) -> Sequence[MediaFile]:
        """Return the files of a text, by name."""
        try:
            files = sorted(self._find_folder(corpus, external_id).iterdir())
        except (OSError, ValueError):
            return ()
        return [
            MediaFile(file.name, _TYPES[found["suffix"]][0])
            for file in files
            if (found := _OWN_NAME.fullmatch(file.name)) and found["suffix"] in _TYPES
        ]

    def path(self, corpus: Corpus, external_id: str, name: str) -> tuple[Path, str] | None:
        """Return where a file of a text is, and its media type; None if there is no such file."""
        found = (file for file in self.of(corpus, external_id) if file.name == name)
        if (file := next(found, None)) is None:
            return None
        path = self._find_folder(corpus, external_id) / file.name
        return (path, file.media_type) if stat.S_ISREG(path.lstat().st_mode) else None

    def bring(self, corpus: Corpus, files: Sequence[Path], known: Collection[str]) -> Brought:
        """Copy the files of texts whose ids are `known`; a file that is there is replaced.

        Raises InputError if a file cannot be copied.
        """
        left_out, texts, copied = Counter[MediaLeftOut](), set[str](), 0
        for file in files:
            try:
                reason = _find_refusal(file, known)
                if reason is None:
                    texts.add(id_of(file) or "")
                    self._copy_file(corpus, file)
                    copied += 1
                else:
                    left_out[reason] += 1
            except OSError as error:
                raise _map_read_error(file, error) from error
        return Brought(files=copied, texts=len(texts), left_out=left_out)

    def drop(self, corpus: Corpus) -> None:
        """Remove all files of a corpus."""
        shutil.rmtree(self._root / str(corpus.id), ignore_errors=True)

    def files(self) -> int:
        """Return the number of files of all corpora."""
        return sum(1 for _ in self._root.glob("*/*/[!.]*"))

    def pack(self, file: Path) -> int:
        """Write all files to a tar archive and return their number.

        The archive appears under its name only when complete, and only its owner may read it.
        Raises InputError if it cannot be written.
        """
        count = 0
        try:
            with tempfile.TemporaryDirectory(dir=file.parent, prefix=f".{file.name}.") as folder:
                part = Path(folder) / file.name
                with tarfile.open(part, "w") as archive:
                    for path in sorted(self._root.glob("*/*/[!.]*")):
                        with suppress(FileNotFoundError):  # its corpus was dropped meanwhile
                            archive.add(path, path.relative_to(self._root).as_posix())
                            count += 1
                part.chmod(0o600)
                part.replace(file)
        except OSError as error:
            message = Message(
                "{file} cannot be written: {reason}.", file=file, reason=_describe_error(error)
            )
            raise InputError(message) from error
        return count

    @contextmanager
    def unpack_archive(self, file: Path) -> Iterator[int]:
        """Unpack an archive of `pack`, whose files replace all others at the end of the block.

        Yields their number. Raises InputError if it cannot be read whole, or cannot take their
        place; the files are then as they were, as they are if the block fails.
        """
        data = self._root.parent
        data.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=data, prefix=".media.") as folder:
            fresh, old = Path(folder) / "fresh", Path(folder) / "old"
            try:
                make_folder(fresh, within=data)
                count = _unpack_archive(file, fresh, within=data)
            except (OSError, tarfile.TarError) as error:
                raise _map_read_error(file, error) from error
            yield count
            try:
                with suppress(FileNotFoundError):
                    self._root.rename(old)
                fresh.rename(self._root)
            except OSError as error:
                with suppress(OSError):
                    old.rename(self._root)
                raise _map_read_error(file, error) from error

    def _copy_file(self, corpus: Corpus, file: Path) -> None:
        found = _NAME.fullmatch(file.name)
        assert found  # noqa: S101 - refused before
        folder = self._find_folder(corpus, found["id"])
        make_folder(folder, within=self._root.parent)
        part = folder / f".{found['name']}.part"  # no page shows half a file
        shutil.copyfile(file, part, follow_symlinks=False)
        give_to_owner(part, of=self._root.parent)
        part.replace(folder / f"{found['name'].rpartition('.')[0]}.{found['suffix'].lower()}")

    def _find_folder(self, corpus: Corpus, external_id: str) -> Path:
        # By the id of the corpus: another one may have its name after it was dropped.
        if not _ID.fullmatch(external_id):
            raise ValueError("no id of a post")
        return self._root / str(corpus.id) / external_id


def make_folder(folder: Path, *, within: Path) -> None:
    """Make a folder below the data folder, which it shares its owner with, for that owner alone."""
    missing = [absent for absent in (folder, *folder.parents) if absent.is_relative_to(within)]
    for absent in reversed(missing):
        if not absent.exists():
            absent.mkdir(mode=0o700, parents=True, exist_ok=True)
            give_to_owner(absent, of=within)


def give_to_owner(path: Path, *, of: Path) -> None:
    """Give what root wrote to the owner of the data folder.

    Otherwise a command of root would keep the account that serves from reading and writing there.
    """
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        owner = of.stat()
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def files_in(name: str) -> list[Path]:
    """Return the files of a folder by name, without links. Raises InputError."""
    folder = Path(name).expanduser()
    try:
        with os.scandir(folder) as entries:
            return sorted(Path(entry) for entry in entries if entry.is_file(follow_symlinks=False))
    except OSError as error:
        raise _map_read_error(folder, error) from error


def id_of(file: Path) -> str | None:
    """Return the id of the text that a file of an export belongs to, or None."""
    found = _NAME.fullmatch(file.name)
    return found["id"] if found else None


def text_ids(files: Sequence[Path]) -> Iterator[str]:
    """Yield the ids of the texts that files belong to."""
    yield from dict.fromkeys(found for file in files if (found := id_of(file)))


def _find_refusal(file: Path, known: Collection[str]) -> MediaLeftOut | None:
    found = _NAME.fullmatch(file.name)
    if not found:
        return MediaLeftOut.NAME
    if not _is_what_it_says(file, found["suffix"].lower()):
        return MediaLeftOut.TYPE
    if file.lstat().st_size > LARGEST:
        return MediaLeftOut.SIZE
    return None if found["id"] in known else MediaLeftOut.TEXT


def _is_what_it_says(file: Path, suffix: str) -> bool:
    if suffix not in _TYPES:
        return False
    _, at, begins = _TYPES[suffix]
    with file.open("rb") as opened:
        return opened.read(_READ)[at:].startswith(begins)


def _unpack_archive(file: Path, folder: Path, *, within: Path) -> int:
    """Write what an archive holds to a folder of the data folder; return the number of files.

    Whoever made the archive, nothing is written elsewhere and no link is made.
    """
    count = 0
    with tarfile.open(file) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isreg() else None
            if content is None or not _PACKED.fullmatch(member.name):
                raise tarfile.TarError("it holds something else than pictures and videos")
            into = folder / member.name
            make_folder(into.parent, within=within)
            with content, into.open("wb") as opened:
                shutil.copyfileobj(content, opened)
            give_to_owner(into, of=within)
            count += 1
    return count


def _map_read_error(file: Path, error: OSError | tarfile.TarError) -> InputError:
    return InputError(
        Message("{file} cannot be read: {error}.", file=str(file), error=_describe_error(error))
    )


def _describe_error(error: OSError | tarfile.TarError) -> str:
    if isinstance(error, tarfile.ReadError) and "opened" in str(error):  # and then as what
        return "it is no archive of backup --media, or was cut off"
    message = error.strerror if isinstance(error, OSError) else None
    return (message or str(error)).lower()
