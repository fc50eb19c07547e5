"""Types and errors of parsed documents, and parsing of plain text, Markdown and page headers."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import zip_longest
from typing import TypeVar

from engine.errors import RecordError
from engine.extras import how_to_install
from engine.ingest.fields import written_at
from engine.messages import Message
from engine.page.metadata import decode_page
from engine.text.chunks import MAXIMUM, Block, token_count
from engine.values import DateKind

_ITEM = re.compile(r"(?:[•▪◦●‣·*–-]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s")
SENTENCE_END = re.compile(r"[.!?…:;。！？][\"'”’»)\]]*$")
_NUMBER = re.compile(r"\d+")
_SHORT, _SHORTER = 0.85, 0.6  # shares of a full line
_EDGE = 2  # lines at the top and the bottom of a page
_FEWEST_PAGES, _FEWEST_LINES = 3, 6
_LEADERS = re.compile(
    r"(?:(?<!\.)(?<!\.\s)(?:\.\s?){4,}+|(?<!…)…{2,}+)\s*[\divxlc]{1,6}\s*$", re.IGNORECASE
)
_FEWEST_ENTRIES = 4  # of a table of contents on a page
_Line = TypeVar("_Line", bound=str)
_HEADING = re.compile(r"(#{1,6})[ \t]++(\S.*+)")
_FENCE = re.compile(r"[ \t]*(```|~~~)")
_PARTED = re.compile(r"\n[ \t]*\n")


def join_paragraphs(lines: Sequence[str], *, full: int | None = None) -> Iterator[str]:
    """Yield the paragraphs that the lines of a page make; `full` is how long a full line is.

    A paragraph ends at an empty line, before an item of a list, and after a line that is clearly
    shorter than the others.
    """
    full = full_line(lines) if full is None else full
    words: list[str] = []
    for line, following in zip_longest(map(str.strip, lines), map(str.strip, lines[1:])):
        if line:
            words.append(line)
        if words and (not following or _ends_paragraph(line, following, full)):
            yield " ".join(words)
            words = []


def without_running_titles(pages: Sequence[Sequence[_Line]]) -> list[list[_Line]]:
    """Return the lines of pages without titles that run along their edges.

    Such lines are the same but for their numbers, on three pages or more and on at least half of
    those from the first to the last: the pages of a book, or the left ones of a chapter.
    """
    edges = [_find_edge_lines(lines) for lines in pages]
    pages_by_name: dict[str, list[int]] = {}
    for page, own in enumerate(edges):
        for name in set(own.values()):
            pages_by_name.setdefault(name, []).append(page)
    running = {
        name
        for name, places in pages_by_name.items()
        if len(places) >= max(_FEWEST_PAGES, (places[-1] - places[0] + 1) / 2)
    }
    return [
        [line for place, line in enumerate(lines) if own.get(place) not in running]
        for lines, own in zip(pages, edges, strict=True)
    ]


def without_contents(lines: Sequence[_Line]) -> list[_Line]:
    """Return the lines of a page without a table of contents, whose dots lead to page numbers.

    What stands between its entries goes with them, and its title.
    """
    entries = [place for place, line in enumerate(lines) if _LEADERS.search(line)]
    if len(entries) < _FEWEST_ENTRIES:
        return list(lines)
    first = entries[0]
    filled = [place for place in range(first) if lines[place].strip()]
    first = 0 if len(filled) <= 1 else first
    return [*lines[:first], *lines[entries[-1] + 1 :]]


def _find_edge_lines(lines: Sequence[str]) -> dict[int, str]:
    """Return the first and last lines of a page by their places, with # for numbers."""
    filled = [place for place, line in enumerate(lines) if line.strip()]
    if len(filled) < _FEWEST_LINES:
        return {}
    edges = {*filled[:_EDGE], *filled[-_EDGE:]}
    return {place: _NUMBER.sub("#", " ".join(lines[place].split())) for place in edges}


def full_line(lines: Sequence[str]) -> int:
    """Return about how long a line is that fills the page's width."""
    lengths = sorted(len(line.strip()) for line in lines if line.strip())
    return lengths[len(lengths) * 4 // 5] if lengths else 0


def _ends_paragraph(line: str, following: str, full: int) -> bool:
    if _ITEM.match(following):
        return True
    if following[0].islower():
        return False
    if SENTENCE_END.search(line):
        return len(line) < _SHORT * full
    return len(line) < _SHORTER * full and line[-1] not in ",-–"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """The text of a document, and what it says about itself; None = it does not say."""

    blocks: Sequence[Block]
    title: str | None = None
    author: str | None = None
    date: datetime | None = None
    dated_by: DateKind | None = None  # what the date tells, if not when it was published
    language: str | None = None
    url: str | None = None
    pages: int | None = None  # None = the format has no pages
    page_labels: tuple[str, ...] = ()  # as printed; () = they are the numbers of the pages
    unread: Message | None = None  # which pages could not be read, and why


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading; level 1 is the outermost."""

    text: str
    level: int
    page: int | None = None


def under_headings(parts: Iterable[Heading | Block]) -> Iterator[Block]:
    """Yield the paragraphs with the headings above them.

    A heading with nothing below it becomes a paragraph.
    """
    above: list[Heading] = []
    bare = False  # nothing stands below the last heading yet
    for part in parts:
        if isinstance(part, Block):
            yield replace(part, headings=tuple(each.text for each in above))
            bare = False
            continue
        if bare and part.level <= above[-1].level:
            yield _as_paragraph(above)
        above = [each for each in above if each.level < part.level] + [part]
        bare = True
    if bare:
        yield _as_paragraph(above)


def _as_paragraph(above: Sequence[Heading]) -> Block:
    last = above[-1]
    return Block(text=last.text, headings=tuple(each.text for each in above[:-1]), page=last.page)


def protected_error() -> RecordError:
    """Return the error for a file that opens with a password alone."""
    return RecordError(Message("it is protected by a password"))


def damaged_error() -> RecordError:
    """Return the error for a file that has its format's signature but cannot be read."""
    return RecordError(Message("it is damaged or cut off"))


def empty_error() -> RecordError:
    """Return the error for a file without any text."""
    return RecordError(Message("it holds no text"))


def missing_extra_error() -> RecordError:
    """Return the error for a format whose library is not installed."""
    how = how_to_install("documents")
    return RecordError(Message("reading it needs libraries that are not installed. {how}", how=how))


def first_date(
    *dates: tuple[datetime | None, DateKind | None],
) -> tuple[datetime | None, DateKind | None]:
    """Return the first date there is, and what it tells."""
    return next((moment for moment in dates if moment[0]), (None, None))


def said_date(moment: datetime | None) -> datetime | None:
    """Return the date that a document gives itself, or None if no document can have it."""
    try:
        return written_at(moment) if moment else None
    except RecordError:
        return None


def parse_text(content: bytes) -> ParsedDocument:
    """Return the paragraphs of a text; a form feed begins a page. Raises RecordError."""
    pages = decode_page(content, None).replace("\r\n", "\n").split("\f")
    numbered = len(pages) > 1
    blocks = [
        Block(text=text, page=number if numbered else None)
        for number, page in enumerate(pages, start=1)
        for text in join_paragraphs(page.split("\n"))
    ]
    if not blocks:
        raise empty_error()
    return ParsedDocument(blocks=blocks, pages=len(pages) if numbered else None)


def text_blocks(text: str) -> list[Block]:
    """Return the paragraphs of a text in which empty lines part them."""
    return [Block(text=part.strip()) for part in _PARTED.split(text) if part.strip()]


def markdown_blocks(text: str) -> list[Block]:
    """Return the paragraphs of a Markdown text with their headings."""
    return list(under_headings(_split_blocks(text)))


def article_blocks(
    text: str, read: Callable[[str], list[Block]] = text_blocks
) -> tuple[Block, ...] | None:
    """Return the paragraphs of an article that is longer than a part; None for a shorter one."""
    return tuple(read(text)) if token_count(text) > MAXIMUM else None


def _split_blocks(text: str) -> Iterator[Heading | Block]:
    lines: list[str] = []
    fence: str | None = None
    for line in text.split("\n"):
        fenced = _FENCE.match(line)
        if fenced and fence in (None, fenced[1]):
            fence = None if fence else fenced[1]
        match = None if fence else _HEADING.fullmatch(line.rstrip())
        title = match[2].rstrip("#").strip() if match else ""
        if match is None or not title:
            lines.append(line)
            continue
        yield from text_blocks("\n".join(lines))
        lines = []
        yield Heading(text=title, level=len(match[1]))
    yield from text_blocks("\n".join(lines))
