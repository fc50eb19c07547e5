"""Pictures and videos of texts, in files next to the data."""

import os
import re
import shutil
import stat
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from engine.errors import InputError
from engine.messages import Message
from engine.types import Corpus

LARGEST = 50_000_000  # bytes of a file
_FOLDER = "media"
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
            files = sorted(self._folder(corpus, external_id).iterdir())
        except (OSError, ValueError):
            return ()
        return [
            MediaFile(file.name, _TYPES[found["suffix"]][0])
            for file in files
            if (found := _OWN_NAME.fullmatch(file.name)) and found["suffix"] in _TYPES
        ]

    def path(self, corpus: Corpus, external_id: str, name: str) -> tuple[Path, str] | None:
        """Return where a file of a text is, and its media type; None if there is no such file."""
        found = (one for one in self.of(corpus, external_id) if one.name == name)
        if (file := next(found, None)) is None:
            return None
        path = self._folder(corpus, external_id) / file.name
        return (path, file.media_type) if stat.S_ISREG(path.lstat().st_mode) else None

    def bring(self, corpus: Corpus, files: Sequence[Path], known: Collection[str]) -> Brought:
        """Copy the files of texts whose ids are `known`; a file that is there is replaced.

        Raises InputError if a file cannot be copied.
        """
        left_out, texts, copied = Counter[MediaLeftOut](), set[str](), 0
        for file in files:
            try:
                reason = _refused(file, known)
                if reason is None:
                    texts.add(id_of(file) or "")
                    self._copy(corpus, file)
                    copied += 1
                else:
                    left_out[reason] += 1
            except OSError as error:
                raise _unread(file, error) from error
        return Brought(files=copied, texts=len(texts), left_out=left_out)

    def drop(self, corpus: Corpus) -> None:
        """Remove all files of a corpus."""
        shutil.rmtree(self._root / str(corpus.id), ignore_errors=True)

    def _copy(self, corpus: Corpus, file: Path) -> None:
        found = _NAME.fullmatch(file.name)
        assert found  # noqa: S101 - refused before
        folder = self._folder(corpus, found["id"])
        make_folder(folder, within=self._root.parent)
        part = folder / f".{found['name']}.part"  # no page shows half a file
        shutil.copyfile(file, part, follow_symlinks=False)
        part.replace(folder / f"{found['name'].rpartition('.')[0]}.{found['suffix'].lower()}")

    def _folder(self, corpus: Corpus, external_id: str) -> Path:
        # By the id of the corpus: another one may have its name after it was dropped.
        if not _ID.fullmatch(external_id):
            raise ValueError("no id of a post")
        return self._root / str(corpus.id) / external_id


def make_folder(folder: Path, *, within: Path) -> None:
    """Make a folder below the data folder, which it shares its owner with, even if root makes it.

    Otherwise a command of root would keep the account that serves from writing there.
    """
    missing = [one for one in (folder, *folder.parents) if one.is_relative_to(within)]
    for one in reversed(missing):
        if not one.exists():
            one.mkdir(parents=True, exist_ok=True)
            if hasattr(os, "geteuid") and os.geteuid() == 0:
                owner = within.stat()
                os.chown(one, owner.st_uid, owner.st_gid)


def files_in(name: str) -> list[Path]:
    """Return the files of a folder by name, without links. Raises InputError."""
    folder = Path(name).expanduser()
    try:
        with os.scandir(folder) as entries:
            return sorted(Path(one) for one in entries if one.is_file(follow_symlinks=False))
    except OSError as error:
        raise _unread(folder, error) from error


def id_of(file: Path) -> str | None:
    """Return the id of the text that a file of an export belongs to, or None."""
    found = _NAME.fullmatch(file.name)
    return found["id"] if found else None


def text_ids(files: Sequence[Path]) -> Iterator[str]:
    """Yield the ids of the texts that files belong to."""
    yield from dict.fromkeys(found for file in files if (found := id_of(file)))


def _refused(file: Path, known: Collection[str]) -> MediaLeftOut | None:
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


def _unread(file: Path, error: OSError) -> InputError:
    return InputError(
        Message(
            "{file} cannot be read: {error}.",
            file=str(file),
            error=(error.strerror or str(error)).lower(),
        )
    )
