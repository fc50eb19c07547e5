"""Reads plain text and Markdown."""

import re
from collections.abc import Callable, Iterator

from engine.ingest.parsers.lines import paragraphs
from engine.ingest.parsers.parsed import Heading, Parsed, says_nothing, under_headings
from engine.page.charset import decode_page
from engine.text.chunks import MOST, Block, token_count

_HEADING = re.compile(r"(#{1,6})[ \t]++(\S.*+)")
_FENCE = re.compile(r"[ \t]*(```|~~~)")
_PARTED = re.compile(r"\n[ \t]*\n")


def parse_text(content: bytes) -> Parsed:
    """Return the paragraphs of a text; a form feed begins a page. Raises RecordError."""
    pages = decode_page(content, None).replace("\r\n", "\n").split("\f")
    numbered = len(pages) > 1
    blocks = [
        Block(text=text, page=number if numbered else None)
        for number, page in enumerate(pages, start=1)
        for text in paragraphs(page.split("\n"))
    ]
    if not blocks:
        raise says_nothing()
    return Parsed(blocks=blocks, pages=len(pages) if numbered else None)


def text_blocks(text: str) -> list[Block]:
    """Return the paragraphs of a text in which empty lines part them."""
    return [Block(text=part.strip()) for part in _PARTED.split(text) if part.strip()]


def markdown_blocks(text: str) -> list[Block]:
    """Return the paragraphs of a Markdown text with their headings."""
    return list(under_headings(_parts(text)))


def article_blocks(
    text: str, read: Callable[[str], list[Block]] = text_blocks
) -> tuple[Block, ...] | None:
    """Return the paragraphs of an article that is longer than a part; None for a shorter one."""
    return tuple(read(text)) if token_count(text) > MOST else None


def _parts(text: str) -> Iterator[Heading | Block]:
    lines: list[str] = []
    fence: str | None = None
    for line in text.split("\n"):
        fenced = _FENCE.match(line)
        if fenced and fence in (None, fenced[1]):
            fence = None if fence else fenced[1]
        found = None if fence else _HEADING.fullmatch(line.rstrip())
        title = found[2].rstrip("#").strip() if found else ""
        if found is None or not title:
            lines.append(line)
            continue
        yield from text_blocks("\n".join(lines))
        lines = []
        yield Heading(text=title, level=len(found[1]))
    yield from text_blocks("\n".join(lines))
