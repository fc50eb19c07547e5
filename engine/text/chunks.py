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
MINIMUM, MAXIMUM, OVERLAP = 300, 500, 60  # tokens
# Weights are quarters of tokens, so that the weights of parts add up.
_TOKEN = 4
_WIDE = re.compile(r"[\u2e80-\uffdc\U0001f000-\U0003ffff]")
# Where a sentence that is too long may be cut.
_BREAK = re.compile(r"\s+|(?<=[。！？、，；])(?=\S)")
_LINE, _PARAGRAPH = "\n", "\n\n"


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, trimmed; marks like [1] stay with the sentence they follow.

    A line end ends a sentence. "Dr." and "U.S." do not.
    """
    return [sentence for line in text.split("\n") for sentence in _of_line(line)]


def _of_line(line: str) -> list[str]:
    sentences: list[str] = []
    start = 0
    for end in _END.finditer(line):
        sentence = line[start : end.end()].strip()
        abbreviated = _ABBREVIATED.search(sentence[-_LONGEST_ABBREVIATION:])
        goes_on = abbreviated or _GERMAN_DAY.match(line, max(0, end.start() - 2))
        if end.end() < len(line) and not end["marks"] and goes_on:
            continue
        sentences.append(sentence)
        start = end.end()
    return [part for part in (*sentences, line[start:].strip()) if part]


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
        return _weigh_text(self.text) + len(self.joint)


def token_count(text: str) -> int:
    """Return about how many tokens a text has."""
    return -(-_weigh_text(text) // _TOKEN)


def split_chunks(
    blocks: Iterable[Block],
    *,
    minimum: int = MINIMUM,
    maximum: int = MAXIMUM,
    overlap: int = OVERLAP,
) -> tuple[Chunk, ...]:
    """Return chunks of `minimum` to `maximum` tokens; only the last one may be shorter.

    Each begins with the last sentences of the one before, about `overlap` tokens. A heading stands
    where it begins. A sentence is cut, between words, only if a chunk would be too short without
    its beginning. Raises ValueError if the overlap does not fit.
    """
    if not 0 < 2 * overlap <= minimum < maximum:
        raise ValueError(f"{overlap} of {minimum} to {maximum} tokens")
    minimum, maximum, overlap = minimum * _TOKEN, maximum * _TOKEN, overlap * _TOKEN
    waiting = deque(_split_blocks(blocks))
    chunks, current, fresh = list[Chunk](), list[_Piece](), 0
    while waiting:
        piece = waiting.popleft()
        size = sum(each.weight for each in current)
        if not _is_chunk_complete(size, current[fresh:], piece, minimum, maximum):
            current.append(piece)
            continue
        if size < minimum:
            head, rest = _split_piece(piece, maximum - size)
            current.append(head)
            waiting.appendleft(rest)
        else:
            waiting.appendleft(piece)
            while current[-1].heading and size - current[-1].weight >= minimum:
                size -= current[-1].weight
                waiting.appendleft(current.pop())
        chunks.append(_build_chunk(current, fresh))
        current = _choose_tail(current, overlap)
        fresh = len(current)
    return (*chunks, _build_chunk(current, fresh)) if len(current) > fresh else tuple(chunks)


def _is_chunk_complete(
    size: int, fresh: Sequence[_Piece], piece: _Piece, minimum: int, maximum: int
) -> bool:
    """Return whether the chunk ends before `piece`."""
    if size + piece.weight > maximum:
        return True
    if not fresh or fresh[-1].heading or size < minimum:
        return False
    return piece.heading or (piece.joint == _PARAGRAPH and size >= (minimum + maximum) / 2)


def _split_blocks(blocks: Iterable[Block]) -> Iterator[_Piece]:
    above: tuple[str, ...] = ()
    for block in blocks:
        pairs = zip(above, block.headings, strict=False)
        same = len([*takewhile(lambda pair: pair[0] == pair[1], pairs)])
        above = block.headings
        for heading in above[same:]:
            yield from _split_sentences(heading, block, heading=True)
        yield from _split_sentences(block.text, block)


def _split_sentences(text: str, block: Block, *, heading: bool = False) -> Iterator[_Piece]:
    joint = _PARAGRAPH
    for line in text.split(_LINE):
        for sentence in (" ".join(line.split()),) if heading else split_sentences(line):
            if sentence:
                yield _Piece(sentence, block, joint, heading)
                joint = " "
        joint = joint if joint == _PARAGRAPH else _LINE


def _split_piece(piece: _Piece, room: int) -> tuple[_Piece, _Piece]:
    """Cut a piece so that its first part has at most the weight `room`."""
    end = _count_fitting_characters(piece.text, room - len(piece.joint))
    cut = max((match.end() for match in _BREAK.finditer(piece.text, 0, end + 1)), default=0)
    cut = cut if 0 < cut <= end + 1 else end
    head, rest = piece.text[:cut].rstrip(), piece.text[cut:].lstrip()
    return replace(piece, text=head), replace(piece, text=rest, joint=" ")


def _choose_tail(current: Sequence[_Piece], overlap: int) -> list[_Piece]:
    """Return the last sentences of a chunk; if they are too short, the last words before too."""
    tail, size = deque[_Piece](), 0
    for piece in reversed(current):
        if size + piece.weight > overlap * 3 // 2:
            if size < overlap // 2:
                tail.appendleft(replace(piece, text=_last_words(piece.text, overlap - size)))
            break
        tail.appendleft(piece)
        size += piece.weight
    return [*tail]


def _last_words(text: str, room: int) -> str:
    start = len(text) - _count_fitting_characters(text[::-1], room)
    ends = (match.end() for match in _BREAK.finditer(text, start - 1))
    return text[min(ends, default=start) :]


def _count_fitting_characters(text: str, room: int) -> int:
    """Return how many of the first characters have at most the weight `room`; at least 1."""
    end, weight = 0, 0
    for character in text:
        weight += _weigh_text(character)
        if weight > room:
            break
        end += 1
    return max(end, 1)


def _build_chunk(pieces: Sequence[_Piece], fresh: int) -> Chunk:
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


def _weigh_text(text: str) -> int:
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    return len(text) + wide * (_TOKEN - 1)
