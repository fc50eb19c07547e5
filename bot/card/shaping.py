"""Turns text into glyphs: joined, in visual order, with their widths.

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
from bot.card.fonts import FontFace, FontLibrary, Role

ELLIPSIS = "…"
# Joiners and variation selectors: they change their neighbours and are not drawn themselves.
_INVISIBLE = {"\u200c", "\u200d", *map(chr, range(0xFE00, 0xFE10))}
EMOJI_SIZE, EMOJI_ADVANCE = 1.12, 1.24  # a picture, and a picture with air around it


@dataclass(frozen=True, slots=True)
class Cluster:
    """A letter with its marks, an emoji, or a line break (which has neither face nor picture)."""

    text: str
    face: FontFace | None = None
    emoji: Path | None = None


def ellipsis_of(role: Role, fonts: FontLibrary) -> Cluster:
    """Return the ellipsis that marks an omission."""
    return Cluster(ELLIPSIS, fonts.face(role, ELLIPSIS))


def shape_text(text: str, role: Role, fonts: FontLibrary) -> Iterator[Cluster]:
    """Give each grapheme a face or a picture; each undrawable stretch becomes one ellipsis."""
    in_gap = False
    for written, cluster in _dress_graphemes(text, role, fonts):
        if cluster:
            in_gap = in_gap and cluster.text == " "
            yield cluster
        elif _says_something(written[0]) and not in_gap:
            in_gap = True
            yield ellipsis_of(role, fonts)


def count_missing(text: str, role: Role, fonts: FontLibrary) -> int:
    """Return how many graphemes of a text are not drawn, or not with all their marks."""
    return sum(
        cluster is None or (cluster.text != written and cluster.text == written[0])
        for written, cluster in _dress_graphemes(text, role, fonts)
        if written.strip("".join(_INVISIBLE))
    )


def _dress_graphemes(
    text: str, role: Role, fonts: FontLibrary
) -> Iterator[tuple[str, Cluster | None]]:
    """Yield each grapheme as written and as it is drawn, None if nothing can draw it."""
    at = 0
    face: FontFace | None = None
    while at < len(text):
        found = _match_emoji(text, at, role, fonts)
        if found:
            end, picture = found
            yield text[at:end], Cluster(text[at:end], emoji=picture)
            at = end
            continue
        start, at = at, _find_grapheme_end(text, at)
        cluster = _choose_letters(text[start:at], face, role, fonts)
        face = cluster.face if cluster else face
        yield text[start:at], cluster


def _match_emoji(text: str, at: int, role: Role, fonts: FontLibrary) -> tuple[int, Path] | None:
    """Return where the emoji here ends and its picture; None for plain signs such as "©"."""
    found = fonts.emoji.match(text, at)
    if found is None:
        return None
    matched = text[at : found[0]]
    plain = len(matched) == 1 and fonts.primary_draws(role, matched)
    return None if plain else found


def _find_grapheme_end(text: str, at: int) -> int:
    """Return where a letter with all its marks, joiners and selectors ends."""
    end = at + 1
    while end < len(text) and (
        text[end] in _INVISIBLE or unicodedata.category(text[end])[0] == "M"
    ):
        end += 1
    return end


def _choose_letters(
    text: str, before: FontFace | None, role: Role, fonts: FontLibrary
) -> Cluster | None:
    """Return the cluster as written, or its plain equivalent (𝓪 as a), or without its marks."""
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
    """Tell whether omitting the character should show: letters and numbers, not ornaments."""
    return unicodedata.category(character)[0] in "LN"


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

    face: FontFace
    number: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Stamp:
    """One emoji picture whose left edge is `x` ems right of the start of its line."""

    picture: Path
    x: float


@dataclass(frozen=True, slots=True)
class ShapedLine:
    """One line, in visual order from left to right."""

    glyphs: tuple[Glyph, ...]
    stamps: tuple[Stamp, ...]
    width: float

    def within(self, width: float) -> "ShapedLine":
        """Return this line, with its letters moved closer together if it is wider than `width`.

        A word broken between two joined letters becomes a little wider: both are drawn unjoined.
        """
        if self.width <= width:
            return self
        closer = width / self.width
        glyphs = tuple(replace(glyph, x=glyph.x * closer) for glyph in self.glyphs)
        stamps = tuple(replace(stamp, x=stamp.x * closer) for stamp in self.stamps)
        return ShapedLine(glyphs, stamps, width)


def read_paragraph(text: str, role: Role, fonts: FontLibrary) -> Paragraph:
    """Return `text` (cleaned, see `content`) as measured clusters."""
    return measure_clusters(tuple(shape_text(text, role, fonts)))


def measure_clusters(clusters: tuple[Cluster, ...]) -> Paragraph:
    """Return clusters with their levels and advances."""
    text = "".join(cluster.text for cluster in clusters)
    base = bidi.base_level(text)
    by_character = bidi.resolve_levels(text, base)
    levels, at = [], 0
    for cluster in clusters:
        levels.append(by_character[at])
        at += len(cluster.text)
    advances = [0.0] * len(clusters)
    for run in _list_runs(clusters, levels, range(len(clusters))):
        for index, advance in _measure_run(clusters, levels, run):
            advances[index] += advance
    return Paragraph(clusters, tuple(levels), tuple(advances), base)


def set_line(paragraph: Paragraph, start: int, end: int) -> ShapedLine:
    """Return the clusters `start` to `end` in visual order; white space at the end is dropped."""
    clusters = paragraph.clusters
    while end > start and clusters[end - 1].text.isspace():
        end -= 1
    runs = _list_runs(clusters, paragraph.levels, range(start, end))
    order = bidi.visual_order([paragraph.levels[run[0]] for run in runs])
    glyphs: list[Glyph] = []
    stamps: list[Stamp] = []
    x = 0.0
    for run in (runs[index] for index in order):
        picture, face = clusters[run[0]].emoji, clusters[run[0]].face
        if picture:
            stamps.append(Stamp(picture, x + (EMOJI_ADVANCE - EMOJI_SIZE) / 2))
            x += EMOJI_ADVANCE
        elif face:
            for info, position in _shape_run(clusters, paragraph.levels, run, face):
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
    return ShapedLine(tuple(glyphs), tuple(stamps), x)


def _list_runs(
    clusters: Sequence[Cluster], levels: Sequence[int], indices: Iterable[int]
) -> list[list[int]]:
    """Yield runs of neighbours with one face and level; emoji and line breaks stand alone."""

    def key(index: int) -> tuple[object, int]:
        cluster = clusters[index]
        return (cluster.face or index, levels[index])

    return [list(run) for _, run in groupby(indices, key)]


def _measure_run(
    clusters: Sequence[Cluster], levels: Sequence[int], run: Sequence[int]
) -> Iterator[tuple[int, float]]:
    first = clusters[run[0]]
    if first.emoji:
        yield run[0], EMOJI_ADVANCE
    elif first.face:
        owner = [index for index in run for _ in clusters[index].text]
        for info, position in _shape_run(clusters, levels, run, first.face):
            yield owner[info.cluster], position.x_advance / first.face.units_per_em


def _shape_run(
    clusters: Sequence[Cluster], levels: Sequence[int], run: Sequence[int], face: FontFace
) -> Iterator[tuple[hb.GlyphInfo, hb.GlyphPosition]]:
    buffer = hb.Buffer()
    buffer.add_str("".join(clusters[index].text for index in run))
    buffer.direction = "rtl" if levels[run[0]] % 2 else "ltr"
    buffer.guess_segment_properties()
    hb.shape(face.font, buffer)
    return zip(buffer.glyph_infos, buffer.glyph_positions, strict=True)
