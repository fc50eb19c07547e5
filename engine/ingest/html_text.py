"""Converts HTML that people wrote to text."""

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from engine.ingest.parsers.parsed import Heading, under_headings
from engine.text.chunks import Block

_PARAGRAPHS = frozenset(
    ("p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "ul", "ol", "table", "figure")
)
_BLOCKS = frozenset(
    ("address", "article", "dd", "div", "dl", "dt", "figcaption", "hr", "li", "section", "tr")
)
_UNSEEN = frozenset(("script", "style", "template", "noscript", "iframe", "head", "-comment"))
_NAMES = frozenset(("mention", "hashtag"))  # classes of links that are shown by their text
_BLANKS = re.compile(r"[ \t\r\n\f]+")
# Separators of blocks; no text contains them. Several in a row count as one.
_LINE, _PARAGRAPH = "\x00", "\x01"
# Before the level and the text of a heading.
_HEADING = "\x02"
_LEVELS = {f"h{level}": str(level) for level in range(1, 7)}
_LONGEST_CELL = 300  # characters; a longer one is layout
_PARTED = re.compile("(?:(?<![ \\t])[ \\t]++)?[\x00\x01][ \\t\x00\x01]*+")
_AROUND_BREAKS = re.compile(r"(?:(?<![ \t])[ \t]++)?\n[ \t]*+")
_TOO_MANY_BREAKS = re.compile(r"\n{3,}")


def html_text(markup: str) -> str:
    """Return the text of an HTML fragment, with paragraphs separated by an empty line.

    A link whose text is (part of) its address becomes the whole address; any other keeps its text.
    """
    body = LexborHTMLParser(markup).body
    text = _PARTED.sub(_parting, "".join(_pieces(body)) if body else "")
    return _TOO_MANY_BREAKS.sub("\n\n", _AROUND_BREAKS.sub("\n", text)).strip()


def html_blocks(markup: str) -> list[Block]:
    """Return the paragraphs, lists and tables of an HTML page with their headings."""
    body = LexborHTMLParser(markup).body
    text = "".join(_pieces(body, structured=True)) if body else ""
    text = _AROUND_BREAKS.sub("\n", _PARTED.sub(_parting, text))
    return list(under_headings(map(_part, filter(None, map(str.strip, text.split("\n\n"))))))


def _part(text: str) -> Heading | Block:
    if not text.startswith(_HEADING):
        return Block(text=text.replace(_HEADING, ""))
    return Heading(text=" ".join(text[2:].split()), level=int(text[1]))


def _pieces(body: LexborNode, *, structured: bool = False) -> Iterator[str]:
    """Yield texts and line ends in document order; works at any depth of nesting.

    If `structured`, headings are marked and the cells of a row stand in one line.
    """
    waiting: list[LexborNode | str] = [body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            yield node
        elif node.is_text_node:
            yield _BLANKS.sub(" ", node.text(deep=False) or "")
        elif node.tag == "br":
            yield "\n"
        elif node.tag == "a" and (address := _address(node)):
            yield address
        elif structured and node.tag == "tr" and (row := _row(node)):
            yield f"{_LINE}{row}{_LINE}"
        elif node.tag not in _UNSEEN:
            after = _line_end(node.tag)
            yield after
            if structured and node.tag in _LEVELS and node.text().strip():
                yield _HEADING + _LEVELS[node.tag]
            waiting.append(after)
            waiting.extend(reversed(list(node.iter(include_text=True))))


def _row(row: LexborNode) -> str | None:
    """Return the cells of a row of data in one line; None if the table is the page's layout."""
    cells = [cell for cell in row.iter() if cell.tag in ("td", "th")]
    if any(cell.css_first("table, h1, h2, h3") for cell in cells):
        return None
    texts = [" ".join(cell.text(separator=" ").split()) for cell in cells]
    if any(len(text) > _LONGEST_CELL for text in texts):
        return None
    return " | ".join(filter(None, texts))


def _line_end(tag: str | None) -> str:
    if tag in _PARAGRAPHS:
        return _PARAGRAPH
    return _LINE if tag in _BLOCKS else ""


def _parting(found: re.Match[str]) -> str:
    return "\n\n" if _PARAGRAPH in found[0] else "\n"


def _address(link: LexborNode) -> str | None:
    """Return the target of a link that shows its address, which networks shorten for display."""
    address, shown = link.attributes.get("href"), link.text().strip()
    classes = (link.attributes.get("class") or "").split()
    if not address or not shown or _NAMES.intersection(classes):
        return None
    return address if shown.rstrip("…").removesuffix("...") in address else None
