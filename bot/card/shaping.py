"""Text to glyphs: which face draws each letter, in which order, how wide it is.

All measures are in ems (multiples of the font size), so that a text is shaped once and fitted at
any size by arithmetic.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import uharfbuzz as hb

from bot.card import bidi
from bot.card.faces import Face
from bot.card.fonts import FontLibrary, Role

EMOJI_ADVANCE = 1.24  # a picture of 1.12 em and air around it
ELLIPSIS = "…"
_JOINERS = "\u200c\u200d"
_SELECTORS = {chr(code) for code in range(0xFE00, 0xFE10)}
_INVISIBLE = _SELECTORS | set(_JOINERS)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A letter with its marks, an emoji, or a line break (which has neither face nor picture)."""

    text: str
    face: Face | None = None
    emoji: Path | None = None


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Clusters in reading order, with the level (see `bidi`) and the advance of each."""

    clusters: tuple[Cluster, ...]
    levels: tuple[int, ...]
    advances: tuple[float, ...]
    base: int

    @property
    def right_to_left(self) -> bool:
        return self.base == 1


@dataclass(frozen=True, slots=True)
class Glyph:
    """One glyph of a face, `x` ems right of the start of its line and `y` above the baseline."""

    face: Face
    number: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Stamp:
    """One emoji picture whose left edge is `x` ems right of the start of its line."""

    picture: Path
    x: float


@dataclass(frozen=True, slots=True)
class Line:
    """One line, from left to right as it is seen."""

    glyphs: tuple[Glyph, ...]
    stamps: tuple[Stamp, ...]
    width: float

    def within(self, width: float) -> "Line":
        """This line, its letters drawn together where it is wider than `width`.

        A word broken between two joined letters grows a little: both are then drawn unjoined.
        """
        if self.width <= width:
            return self
        closer = width / self.width
        glyphs = tuple(replace(glyph, x=glyph.x * closer) for glyph in self.glyphs)
        stamps = tuple(replace(stamp, x=stamp.x * closer) for stamp in self.stamps)
        return Line(glyphs, stamps, width)


def read(text: str, role: Role, fonts: FontLibrary) -> Paragraph:
    """Return `text` (clean, see `cleaning`) as measured clusters."""
    return measured(tuple(_dress(text, role, fonts)))


def ellipsis_of(role: Role, fonts: FontLibrary) -> Cluster:
    """Return the mark of something left out."""
    return Cluster(ELLIPSIS, fonts.face(role, ELLIPSIS))


def measured(clusters: tuple[Cluster, ...]) -> Paragraph:
    """Return clusters with their levels and advances."""
    text = "".join(cluster.text for cluster in clusters)
    base = bidi.base_level(text)
    by_character = bidi.levels(text, base)
    levels, at = [], 0
    for cluster in clusters:
        levels.append(by_character[at])
        at += len(cluster.text)
    advances = [0.0] * len(clusters)
    for run in _runs(clusters, levels, range(len(clusters))):
        for index, advance in _run_advances(clusters, levels, run):
            advances[index] += advance
    return Paragraph(clusters, tuple(levels), tuple(advances), base)


def set_line(paragraph: Paragraph, start: int, end: int) -> Line:
    """Return the clusters `start` to `end` in visual order; white space at the end is dropped."""
    clusters = paragraph.clusters
    while end > start and clusters[end - 1].text.isspace():
        end -= 1
    runs = _runs(clusters, paragraph.levels, range(start, end))
    order = bidi.visual_order([paragraph.levels[run[0]] for run in runs])
    glyphs: list[Glyph] = []
    stamps: list[Stamp] = []
    x = 0.0
    for run in (runs[index] for index in order):
        picture, face = clusters[run[0]].emoji, clusters[run[0]].face
        if picture:
            stamps.append(Stamp(picture, x + (EMOJI_ADVANCE - 1.12) / 2))
            x += EMOJI_ADVANCE
        elif face:
            for info, position in _shape(clusters, paragraph.levels, run, face):
                scale = 1 / face.units_per_em
                glyphs.append(
                    Glyph(
                        face,
                        info.codepoint,
                        x + position.x_offset * scale,
                        position.y_offset * scale,
                    )
                )
                x += position.x_advance * scale
    return Line(tuple(glyphs), tuple(stamps), x)


def _runs(
    clusters: Sequence[Cluster], levels: Sequence[int], indices: Iterable[int]
) -> list[list[int]]:
    """Neighbours of one face and level; emoji and line breaks stand alone."""

    def key(index: int) -> tuple[object, int]:
        cluster = clusters[index]
        return (cluster.face or index, levels[index])

    return [list(run) for _, run in groupby(indices, key)]


def _run_advances(
    clusters: Sequence[Cluster], levels: Sequence[int], run: Sequence[int]
) -> Iterator[tuple[int, float]]:
    first = clusters[run[0]]
    if first.emoji:
        yield run[0], EMOJI_ADVANCE
    elif first.face:
        owner = [index for index in run for _ in clusters[index].text]
        for info, position in _shape(clusters, levels, run, first.face):
            yield owner[info.cluster], position.x_advance / first.face.units_per_em


def _shape(
    clusters: Sequence[Cluster], levels: Sequence[int], run: Sequence[int], face: Face
) -> Iterator[tuple[hb.GlyphInfo, hb.GlyphPosition]]:
    buffer = hb.Buffer()
    buffer.add_str("".join(clusters[index].text for index in run))
    buffer.direction = "rtl" if levels[run[0]] % 2 else "ltr"
    buffer.guess_segment_properties()
    hb.shape(face.font, buffer)
    return zip(buffer.glyph_infos, buffer.glyph_positions, strict=True)


def _dress(text: str, role: Role, fonts: FontLibrary) -> Iterator[Cluster]:
    """Give each grapheme a face or a picture; what nothing can draw becomes one ellipsis a gap."""
    at = 0
    face: Face | None = None
    in_gap = False
    while at < len(text):
        found = _emoji(text, at, role, fonts)
        if found:
            end, picture = found
            yield Cluster(text[at:end], emoji=picture)
            at, in_gap = end, False
            continue
        start, at = at, _grapheme_end(text, at)
        cluster = _lettered(text[start:at], face, role, fonts)
        if cluster:
            face, in_gap = cluster.face, in_gap and cluster.text == " "
            yield cluster
        elif _says_something(text[start]) and not in_gap:
            in_gap = True
            yield ellipsis_of(role, fonts)


def _emoji(text: str, at: int, role: Role, fonts: FontLibrary) -> tuple[int, Path] | None:
    """A picture for what stands here, unless it is a sign of plain text such as "©"."""
    found = fonts.emoji.match(text, at)
    if found is None:
        return None
    matched = text[at : found[0]]
    plain = len(matched) == 1 and fonts.primary_draws(role, matched)
    return None if plain else found


def _grapheme_end(text: str, at: int) -> int:
    """Where a letter with all its marks, joiners and selectors ends."""
    end = at + 1
    while end < len(text) and (
        text[end] in _INVISIBLE or unicodedata.category(text[end])[0] == "M"
    ):
        end += 1
    return end


def _lettered(text: str, before: Face | None, role: Role, fonts: FontLibrary) -> Cluster | None:
    """The cluster as written, else its plain equivalent (𝓪 as a), else without its marks."""
    if text == "\n":
        return Cluster(text)
    visible = "".join(character for character in text if character not in _INVISIBLE)
    if not visible:
        return None
    if visible == " " and before and before.draws(visible):
        return Cluster(visible, before)
    for candidate in (visible, unicodedata.normalize("NFKC", visible), visible[0]):
        face = fonts.face(role, candidate) if candidate else None
        if face:
            return Cluster(text if candidate == visible else candidate, face)
    return None


def _says_something(character: str) -> bool:
    """Whether leaving the character out should be seen: letters and numbers, not ornaments."""
    return unicodedata.category(character)[0] in "LN"
