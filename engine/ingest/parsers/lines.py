"""Joins the lines of a page to paragraphs."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest

_ITEM = re.compile(r"(?:[•▪◦●‣·*–-]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s")
_SENTENCE_END = re.compile(r"[.!?…:;。！？][\"'”’»)\]]*$")
_NUMBER = re.compile(r"\d+")
_SHORT, _SHORTER = 0.85, 0.6  # shares of a full line
_EDGE = 2  # lines at the top and the bottom of a page
_FEWEST_PAGES, _FEWEST_LINES = 3, 6


def paragraphs(lines: Sequence[str]) -> Iterator[str]:
    """Yield the paragraphs that the lines of a page make.

    A paragraph ends at an empty line, before an item of a list, and after a line that is clearly
    shorter than the others.
    """
    full = _full_line(lines)
    words: list[str] = []
    for line, following in zip_longest(map(str.strip, lines), map(str.strip, lines[1:])):
        if line:
            words.append(line)
        if words and (not following or _parted(line, following, full)):
            yield " ".join(words)
            words = []


def without_running_titles(pages: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the lines of pages without those that stand at the edge of most pages.

    Such lines are the same but for their numbers.
    """
    edges = [_edges(lines) for lines in pages]
    counts = Counter(name for each in edges for name in set(each.values()))
    least = max(_FEWEST_PAGES, len(pages) / 2)
    return [
        [line for place, line in enumerate(lines) if counts[own.get(place, "")] < least]
        for lines, own in zip(pages, edges, strict=True)
    ]


def _edges(lines: Sequence[str]) -> dict[int, str]:
    """Return the first and last lines of a page by their places, with # for numbers."""
    filled = [place for place, line in enumerate(lines) if line.strip()]
    if len(filled) < _FEWEST_LINES:
        return {}
    chosen = {*filled[:_EDGE], *filled[-_EDGE:]}
    return {place: _NUMBER.sub("#", " ".join(lines[place].split())) for place in chosen}


def _full_line(lines: Sequence[str]) -> int:
    """Return about how long a line is that fills the page's width."""
    lengths = sorted(len(line.strip()) for line in lines if line.strip())
    return lengths[len(lengths) * 4 // 5] if lengths else 0


def _parted(line: str, following: str, full: int) -> bool:
    if _ITEM.match(following):
        return True
    if following[0].islower():
        return False
    if _SENTENCE_END.search(line):
        return len(line) < _SHORT * full
    return len(line) < _SHORTER * full and line[-1] not in ",-–"
