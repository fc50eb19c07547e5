"""Converts HTML that people wrote to text."""

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

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


def _pieces(body: LexborNode) -> Iterator[str]:
    """Yield texts and line ends in document order; works at any depth of nesting."""
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
        elif node.tag not in _UNSEEN:
            after = _line_end(node.tag)
            yield after
            waiting.append(after)
            waiting.extend(reversed(list(node.iter(include_text=True))))


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
