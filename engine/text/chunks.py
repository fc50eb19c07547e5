"""Cuts long texts into overlapping chunks on sentence borders.

A token is counted as four characters, or as one of Chinese, Japanese or Korean. That is close to
what embedding models count, and no model's own tokeniser is needed.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

_END = re.compile(
    r"(?<=[.!?…])(?P<closing>[\"'”’»“‘«)\]]*)(?P<marks>(?:\s*[\[［【][^\[\]［］【】]{1,40}[\]］】])*)"
    r"(?:\s+|$)(?=[^a-zß-öø-ÿ]|$)"
)
_LONGEST_ABBREVIATION = 6  # characters, with the one before it and its stop
_ABBREVIATED = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Dra|Sr|Sra|Jr|St|vs|Gen|Gov|Sen|Rep|Lt|Inc|art|pág|EE|Mio|Mrd|Nr)|\b\w)\.$",
    re.IGNORECASE,
)


# "am 12. Mai"
_GERMAN_DAY = re.compile(
    r"\d\.\s+(?=(?:Jan|Feb|März|Apr|Mai|Jun|Jul|Aug|Sept|Okt|Nov|Dez)[a-z]*\b)"
)
LEAST, MOST, OVERLAP = 300, 500, 60  # tokens
# Weights are quarters of tokens, so that the weights of parts add up.
_TOKEN = 4
_WIDE = re.compile(r"[\u2e80-\uffdc\U0001f000-\U0003ffff]")
# Where a sentence that is too long may be cut.
_BREAK = re.compile(r"\s+|(?<=[。！？、，；])(?=\S)")
_LINE, _PARAGRAPH = "\n", "\n\n"


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, trimmed; marks like [1] stay with the sentence they follow.

    A line end ends a sentence. "Dr." and "U.S." do not.
    """
    return [sentence for line in text.split("\n") for sentence in _of_line(line)]


def _of_line(line: str) -> list[str]:
    found: list[str] = []
    start = 0
    for end in _END.finditer(line):
        sentence = line[start : end.end()].strip()
        abbreviated = _ABBREVIATED.search(sentence[-_LONGEST_ABBREVIATION:])
        goes_on = abbreviated or _GERMAN_DAY.match(line, max(0, end.start() - 2))
        if end.end() < len(line) and not end["marks"] and goes_on:
            continue
        found.append(sentence)
        start = end.end()
    return [part for part in (*found, line[start:].strip()) if part]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A paragraph, list item or table row, with the headings above it, outermost first."""

    text: str
    headings: tuple[str, ...] = ()
    page: int | None = None  # where it begins, from 1
    last_page: int | None = None  # where it ends, if it continues on another page
    recognised: bool = False  # read in a picture by OCR


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A part of a text. `headings` are those above the first words that no earlier chunk holds.

    If it ends under another one, the innermost names both.
    """

    text: str
    headings: tuple[str, ...] = ()
    page: int | None = None
    last_page: int | None = None
    recognised: bool = False  # or a part of it


@dataclass(frozen=True, slots=True)
class _Piece:
    """A sentence, a part of one, or a heading."""

    text: str
    block: Block
    joint: str  # what separates it from the text before it
    heading: bool = False

    @property
    def weight(self) -> int:
        return _weight(self.text) + len(self.joint)


def token_count(text: str) -> int:
    """Return about how many tokens a text has."""
    return -(-_weight(text) // _TOKEN)


def chunks(
    blocks: Iterable[Block], *, least: int = LEAST, most: int = MOST, overlap: int = OVERLAP
) -> tuple[Chunk, ...]:
    """Return chunks of `least` to `most` tokens; only the last one may be shorter.

    Each begins with the last sentences of the one before, about `overlap` tokens. A heading stands
    where it begins. A sentence is cut, between words, only if a chunk would be too short without
    its beginning. Raises ValueError if the overlap does not fit.
    """
    if not 0 < 2 * overlap <= least < most:
        raise ValueError(f"{overlap} of {least} to {most} tokens")
    least, most, overlap = least * _TOKEN, most * _TOKEN, overlap * _TOKEN
    waiting = deque(_pieces(blocks))
    found, current, fresh = list[Chunk](), list[_Piece](), 0
    while waiting:
        piece = waiting.popleft()
        size = sum(each.weight for each in current)
        if not _ends(size, current[fresh:], piece, least, most):
            current.append(piece)
            continue
        if size < least:
            head, rest = _split(piece, most - size)
            current.append(head)
            waiting.appendleft(rest)
        else:
            waiting.appendleft(piece)
            while current[-1].heading and size - current[-1].weight >= least:
                size -= current[-1].weight
                waiting.appendleft(current.pop())
        found.append(_chunk(current, fresh))
        current = _tail(current, overlap)
        fresh = len(current)
    return (*found, _chunk(current, fresh)) if len(current) > fresh else tuple(found)


def _ends(size: int, fresh: Sequence[_Piece], piece: _Piece, least: int, most: int) -> bool:
    """Tell whether the chunk ends before `piece`."""
    if size + piece.weight > most:
        return True
    if not fresh or fresh[-1].heading or size < least:
        return False
    return piece.heading or (piece.joint == _PARAGRAPH and size >= (least + most) / 2)


def _pieces(blocks: Iterable[Block]) -> Iterator[_Piece]:
    above: tuple[str, ...] = ()
    for block in blocks:
        pairs = zip(above, block.headings, strict=False)
        same = len([*takewhile(lambda pair: pair[0] == pair[1], pairs)])
        above = block.headings
        for heading in above[same:]:
            yield from _sentences(heading, block, heading=True)
        yield from _sentences(block.text, block)


def _sentences(text: str, block: Block, *, heading: bool = False) -> Iterator[_Piece]:
    joint = _PARAGRAPH
    for line in text.split(_LINE):
        for sentence in (" ".join(line.split()),) if heading else sentences(line):
            if sentence:
                yield _Piece(sentence, block, joint, heading)
                joint = " "
        joint = joint if joint == _PARAGRAPH else _LINE


def _split(piece: _Piece, room: int) -> tuple[_Piece, _Piece]:
    """Cut a piece so that its first part has at most the weight `room`."""
    end = _longest(piece.text, room - len(piece.joint))
    cut = max((found.end() for found in _BREAK.finditer(piece.text, 0, end + 1)), default=0)
    cut = cut if 0 < cut <= end + 1 else end
    head, rest = piece.text[:cut].rstrip(), piece.text[cut:].lstrip()
    return replace(piece, text=head), replace(piece, text=rest, joint=" ")


def _tail(current: Sequence[_Piece], overlap: int) -> list[_Piece]:
    """Return the last sentences of a chunk; if they are too short, the last words before too."""
    kept, size = deque[_Piece](), 0
    for piece in reversed(current):
        if size + piece.weight > overlap * 3 // 2:
            if size < overlap // 2:
                kept.appendleft(replace(piece, text=_last_words(piece.text, overlap - size)))
            break
        kept.appendleft(piece)
        size += piece.weight
    return [*kept]


def _last_words(text: str, room: int) -> str:
    start = len(text) - _longest(text[::-1], room)
    ends = (found.end() for found in _BREAK.finditer(text, start - 1))
    return text[min(ends, default=start) :]


def _longest(text: str, room: int) -> int:
    """Return how many of the first characters have at most the weight `room`; at least 1."""
    end, weight = 0, 0
    for character in text:
        weight += _weight(character)
        if weight > room:
            break
        end += 1
    return max(end, 1)


def _chunk(pieces: Sequence[_Piece], fresh: int) -> Chunk:
    text = pieces[0].text + "".join(each.joint + each.text for each in pieces[1:])
    pages = [
        page
        for each in pieces
        for page in (each.block.page, each.block.last_page)
        if page is not None
    ]
    return Chunk(
        text=text,
        headings=_tell_headings(pieces[fresh].block.headings, pieces[-1].block.headings),
        page=min(pages, default=None),
        last_page=max(pages, default=None),
        recognised=any(each.block.recognised for each in pieces),
    )


def _tell_headings(first: tuple[str, ...], last: tuple[str, ...]) -> tuple[str, ...]:
    """Return the headings of a chunk that begins under some and ends under others: "A … D"."""
    if not first or not last or first == last[: len(first)]:
        return first
    return (*first[:-1], f"{first[-1]} … {last[-1]}")


def _weight(text: str) -> int:
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    return len(text) + wide * (_TOKEN - 1)
