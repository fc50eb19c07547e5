"""Breaks text into lines: where it may break, at which size it fits, where it is cut if none."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.card.fonts import FontLibrary, Role
from bot.card.shaping import (
    Cluster,
    Paragraph,
    ShapedLine,
    ellipsis_of,
    measure_clusters,
    read_paragraph,
    set_line,
)

_BREAKS_AFTER = "-‐–—/"
# East Asian lines do not start with the first of these nor end with the second.
_NOT_FIRST = "、。，．・：；？！）］｝」』】〕〉》ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ"
_NOT_LAST = "（［｛「『【〔〈《"
# Characters that read badly before an ellipsis.
_LOOSE_ENDS = frozenset(" \n,;:.-–—(¿¡«“\"'")

Span = tuple[int, int]  # clusters [from, to)


@dataclass(frozen=True, slots=True)
class Flow:
    """A paragraph, and for each of its clusters whether a line may end before it."""

    paragraph: Paragraph
    chances: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Style:
    """How a text may be set. `sizes` (pixels) go from the preferred one to the smallest."""

    role: Role
    sizes: range
    leading: float  # distance of baselines, in multiples of the size
    max_lines: int = 20
    balanced: bool = False  # lines of similar length, none of which is a word left over

    def within(self, height: float) -> "Style":
        """Return this style without the sizes of which not even one line has that height."""
        sizes = tuple(size for size in self.sizes if size * self.leading <= height)
        return replace(self, sizes=range(sizes[0], self.sizes.stop, self.sizes.step))

    def lines_in(self, height: float, size: int) -> int:
        """Return how many lines of `size` fit into `height` pixels, at least one."""
        return max(1, min(self.max_lines, int(height / (size * self.leading))))


@dataclass(frozen=True, slots=True)
class Setting:
    """A text that fits: its lines at one size (pixels)."""

    lines: tuple[ShapedLine, ...]
    size: int
    leading: float
    right_to_left: bool
    cut: bool

    @property
    def height(self) -> float:
        return len(self.lines) * self.size * self.leading

    @property
    def width(self) -> float:
        return max((line.width for line in self.lines), default=0.0) * self.size


def fit(text: str, style: Style, width: float, height: float, fonts: FontLibrary) -> Setting:
    """Set cleaned `text` as large as fits into `width` x `height` pixels.

    A text that does not fit at the smallest size is cut after a word, with an ellipsis.
    """
    flow = find_breaks(read_paragraph(text, style.role, fonts))
    for size in style.sizes:
        maximum = style.lines_in(height, size)
        spans, whole_words = wrap(flow, width / size, maximum)
        smallest = size == style.sizes[-1]
        if len(spans) <= maximum and (whole_words or smallest):
            return _choose_setting(flow, spans, style, size, width)
    flow = _cut_flow(
        flow, spans[maximum - 1], width / size, maximum, ellipsis_of(style.role, fonts)
    )
    spans, _ = wrap(flow, width / size, maximum)
    return replace(_choose_setting(flow, spans[:maximum], style, size, width), cut=True)


def _choose_setting(
    flow: Flow, spans: Sequence[Span], style: Style, size: int, width: float
) -> Setting:
    if style.balanced:
        spans = _balance_lines(flow, spans, width / size)
    lines = tuple(set_line(flow.paragraph, *span).within(width / size) for span in spans)
    return Setting(lines, size, style.leading, flow.paragraph.right_to_left, cut=False)


def find_breaks(paragraph: Paragraph) -> Flow:
    """Return a paragraph with its line-break opportunities."""
    clusters = paragraph.clusters
    return Flow(paragraph, tuple(_may_break(clusters, at) for at in range(len(clusters) + 1)))


def wrap(flow: Flow, width: float, maximum: int) -> tuple[list[Span], bool]:
    """Return the lines of at most `width` ems, and whether no word had to be broken.

    Stops after more than `maximum` lines, so that a long text costs no more than a page.
    """
    clusters, advances = flow.paragraph.clusters, flow.paragraph.advances
    spans: list[Span] = []
    whole_words = True
    start = at = chance = 0
    used = 0.0
    while at < len(clusters) and len(spans) <= maximum:
        text = clusters[at].text
        too_wide = used + advances[at] > width and at > start and not text.isspace()
        if text == "\n" or too_wide:
            whole_words = whole_words and (chance > start or not too_wide)
            end = chance if too_wide and chance > start else at
            spans.append((start, end))
            start = at = chance = end if too_wide else end + 1
            used = 0.0
            continue
        used += advances[at]
        at += 1
        if flow.chances[at]:
            chance = at
    if start < len(clusters) and len(spans) <= maximum:
        spans.append((start, len(clusters)))
    return spans, whole_words


def _may_break(clusters: Sequence[Cluster], at: int) -> bool:
    """Tell whether a line may end before cluster `at`.

    It may after spaces and hyphens, beside emoji, and nearly anywhere in East Asian text (UAX #14).
    """
    if at in {0, len(clusters)}:
        return False
    before, after = clusters[at - 1], clusters[at]
    if after.text.isspace():
        return False
    if before.text.isspace() or before.emoji or after.emoji:
        return True
    if before.text in _BREAKS_AFTER:
        return after.text.isalpha()
    either_wide = _is_wide(before.text) or _is_wide(after.text)
    return either_wide and after.text not in _NOT_FIRST and before.text not in _NOT_LAST


def _is_wide(text: str) -> bool:
    return unicodedata.east_asian_width(text[0]) in {"W", "F"}


def _balance_lines(flow: Flow, spans: Sequence[Span], width: float) -> Sequence[Span]:
    """Return the same number of lines, set in the narrowest column that allows it."""
    count = len(spans)
    low, high = width / 2, width
    for _ in range(6 if count > 1 else 0):
        middle = (low + high) / 2
        narrower, whole_words = wrap(flow, middle, count)
        if whole_words and len(narrower) == count:
            spans, high = narrower, middle
        else:
            low = middle
    return spans


def _cut_flow(flow: Flow, last: Span, width: float, maximum: int, ellipsis: Cluster) -> Flow:
    """Return the text up to the last word that leaves room for the ellipsis on the last line."""
    start, end = last
    clusters = flow.paragraph.clusters
    while True:
        kept = end
        while kept > start and clusters[kept - 1].text in _LOOSE_ENDS:
            kept -= 1
        shortened = find_breaks(measure_clusters((*clusters[:kept], ellipsis)))
        if kept <= start or len(wrap(shortened, width, maximum)[0]) <= maximum:
            return shortened
        words = (at for at in range(kept - 1, start, -1) if flow.chances[at])
        end = next(words, kept - 1)
