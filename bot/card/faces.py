"""Font files as HarfBuzz faces: which characters they can draw, at which weight."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import uharfbuzz as hb

# A font of one weight that is this much lighter than asked for is drawn with thicker strokes (ems).
_LIGHTER_THAN_ASKED = 150
_EMBOLDENED = 0.02
_OPTICAL_SIZE = 32  # headlines and dates: the cut of a serif made for large sizes


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


def coverage(path: Path) -> hb.Set:
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
