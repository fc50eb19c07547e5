"""Parses HTML documents: text, paragraphs, headings and tables."""

import re
from collections.abc import Iterator, Sequence

from selectolax.lexbor import LexborHTMLParser, LexborNode

from engine.errors import ExtraMissing
from engine.ingest.fields import LATEST
from engine.ingest.parsers.parsed import (
    Heading,
    ParsedDocument,
    empty_error,
    first_date,
    missing_extra_error,
    said_date,
    under_headings,
)
from engine.page.article import LONGEST_PAGE, read_article
from engine.page.metadata import decode_page, read_page
from engine.text.chunks import Block
from engine.values import DateKind

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
# Around a quotation.
_QUOTE, _UNQUOTE = "\x03", "\x04"
# Before the level and the text of a heading.
_HEADING = "\x02"
_LEVELS = {f"h{level}": str(level) for level in range(1, 7)}
_LONGEST_CELL = 300  # characters; a longer one is layout
_PARTED = re.compile("(?:(?<![ \\t])[ \\t]++)?[\x00\x01][ \\t\x00\x01]*+")
_AROUND_BREAKS = re.compile(r"(?:(?<![ \t])[ \t]++)?\n[ \t]*+")
_TOO_MANY_BREAKS = re.compile(r"\n{3,}")
_MARK = re.compile(r"\[?(?:\d{1,4}|[a-z]|[*†‡§]{1,3})\]?", re.IGNORECASE)
_BACK = re.compile("[↑↩\ufe0e\ufe0f^]+")
_Cells = list[str]
_MAX_REPEATS, _LONGEST_REPEATED = 50, 60  # cells that one stands in; characters of such a one


def html_text(markup: str) -> str:
    """Return the text of an HTML fragment, with paragraphs separated by an empty line.

    A link whose text is (part of) its address becomes the whole address; any other keeps its text.
    The lines of a quotation begin with ">".
    """
    body = LexborHTMLParser(markup).body
    text = _PARTED.sub(_break_between, "".join(_list_pieces(body)) if body else "")
    text = _AROUND_BREAKS.sub("\n", text)
    if _QUOTE in text:
        text = "\n".join(_mark_quoted(text))
    return _TOO_MANY_BREAKS.sub("\n\n", text).strip()


def _mark_quoted(text: str) -> Iterator[str]:
    depth = 0
    for line in text.split("\n"):
        words = line.replace(_QUOTE, "").replace(_UNQUOTE, "").strip()
        depth += line.count(_QUOTE)
        yield f"> {words}" if depth > 0 and words else words
        depth -= line.count(_UNQUOTE)


def html_blocks(markup: str) -> list[Block]:
    """Return the paragraphs, lists and tables of an HTML page with their headings."""
    body = LexborHTMLParser(markup).body
    text = "".join(_list_pieces(body, structured=True)) if body else ""
    text = _AROUND_BREAKS.sub("\n", _PARTED.sub(_break_between, text))
    return list(under_headings(map(_parse_part, filter(None, map(str.strip, text.split("\n\n"))))))


def _parse_part(text: str) -> Heading | Block:
    if not text.startswith(_HEADING):
        return Block(text=text.replace(_HEADING, ""))
    return Heading(text=" ".join(text[2:].split()), level=int(text[1]))


def _list_pieces(body: LexborNode, *, structured: bool = False) -> Iterator[str]:
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
        elif node.tag == "a" and (address := _find_shown_address(node)):
            yield address
        elif structured and (_is_note_mark(node) or _has_type(node, "nav", "toc")):
            continue
        elif structured and node.tag == "table" and (rows := _table_rows(node)):
            yield f"{_PARAGRAPH}{_LINE.join(rows)}{_PARAGRAPH}"
        elif structured and node.tag == "tr" and (row := _join_cells(_read_cells(node))):
            yield f"{_LINE}{row}{_LINE}"
        elif node.tag not in _UNSEEN:
            after = _PARAGRAPH if node.tag in _PARAGRAPHS else ""
            after = _LINE if node.tag in _BLOCKS else after
            yield after
            if structured and node.tag in _LEVELS and node.text().strip():
                yield _HEADING + _LEVELS[node.tag]
            waiting.append(after)
            if node.tag == "blockquote" and not structured:
                yield _QUOTE
                waiting.append(_UNQUOTE)
            waiting.extend(reversed(list(node.iter(include_text=True))))


def _is_note_mark(node: LexborNode) -> bool:
    """Return whether a node is the mark of a note, or the way back from one: words have neither."""
    if _has_type(node, "a", "noteref"):
        return True
    if node.tag not in ("a", "sup"):
        return False
    link = node if node.tag == "a" else node.css_first("a")
    target = "#" in ((link.attributes.get("href") if link else "") or "")
    text = (node.text() or "").strip()
    # It stands above the line, or all of it is in brackets.
    raised = node.tag == "sup" or bool(node.css_first("sup")) or (node.text() or "").startswith("[")
    return target and bool(_BACK.fullmatch(text) or (raised and _MARK.fullmatch(text)))


def _has_type(node: LexborNode, tag: str, kind: str) -> bool:
    """Return whether a node is of this kind, as books name them."""
    return node.tag == tag and kind in (node.attributes.get("epub:type") or "")


def _table_rows(table: LexborNode) -> _Cells | None:
    """Return the rows of a table of data, each in one line; None if it is the page's layout.

    A cell that spans rows or columns stands in each of them.
    """
    below: dict[int, tuple[int, str]] = {}  # by column: for how many more rows, and what
    lines: list[str] = []
    if table.css_first("table table"):
        return None
    for row in table.css("tr"):
        texts = _read_cells(row)
        if texts is None:
            return None
        filled: _Cells = []
        for text, across, down in texts:
            _fill_from_above(filled, below)
            for _ in range(across):
                if down > 1:
                    below[len(filled)] = (down, text)
                filled.append(text)
        _fill_from_above(filled, below)
        below = {at: (left - 1, text) for at, (left, text) in below.items() if left > 1}
        line = filled[0] if len(texts) == 1 and len({*filled}) == 1 else " | ".join(filled)
        lines += filter(None, [line.strip().rstrip("| ")])
    caption = table.css_first("caption")
    title = " ".join(caption.text().split()) if caption else ""
    return [*filter(None, [title]), *lines] or None


def _fill_from_above(filled: _Cells, below: dict[int, tuple[int, str]]) -> None:
    """Add the cells that span the row from above, as far as there are any."""
    while held := below.get(len(filled)):
        filled.append(held[1])


def _read_cells(row: LexborNode) -> list[tuple[str, int, int]] | None:
    """Return the text of each cell and how many columns and rows it spans; None for layout."""
    cells = [cell for cell in row.iter() if cell.tag in ("td", "th")]
    if any(cell.css_first("table, h1, h2, h3") for cell in cells):
        return None
    contents = [(_cell_text(cell), *_read_spans(cell)) for cell in cells]
    if any(len(text) > _LONGEST_CELL for text, _, _ in contents):
        return None
    return [
        (text, across, down) if len(text) <= _LONGEST_REPEATED else (text, 1, 1)
        for text, across, down in contents
    ]


def _cell_text(cell: LexborNode) -> str:
    marks = [node for node in cell.css("a, sup") if _is_note_mark(node)]
    for mark in marks:
        mark.decompose()
    return " ".join(cell.text(separator=" ").split())


def _read_spans(cell: LexborNode) -> tuple[int, int]:
    """Return how many columns and rows a cell spans, together no more than are repeated."""
    written = (cell.attributes.get(name) or "" for name in ("colspan", "rowspan"))
    read = (int(span[:4]) if span.isascii() and span.isdigit() else 1 for span in written)
    across, down = (min(max(span, 1), _MAX_REPEATS) for span in read)
    return across, max(1, min(down, _MAX_REPEATS // across))


def _break_between(match: re.Match[str]) -> str:
    return "\n\n" if _PARAGRAPH in match[0] else "\n"


def _join_cells(cells: Sequence[tuple[str, int, int]] | None) -> str:
    """Return the cells of a row of data within a table of layout in one line."""
    return " | ".join(text for text, _, _ in cells or () if text)


def _find_shown_address(link: LexborNode) -> str | None:
    """Return the target of a link that shows its address, which networks shorten for display."""
    address, text = link.attributes.get("href"), link.text().strip()
    classes = (link.attributes.get("class") or "").split()
    if not address or not text or address.startswith("#") or _NAMES.intersection(classes):
        return None
    return address if text.rstrip("…").removesuffix("...") in address else None


def parse_page(content: bytes) -> ParsedDocument:
    """Return the article of a page, or all its text if it has none. Raises RecordError.

    A longer page is a book or a report, which has no menus to leave out.
    """
    try:
        article = read_article(content) if len(content) <= LONGEST_PAGE else None
    except ExtraMissing as exc:
        raise missing_extra_error() from exc
    if article is None:
        return _parse_whole_page(content)
    date, dated_by = first_date((said_date(article.date), article.dated_by))
    return ParsedDocument(
        blocks=[Block(text=block.text, headings=block.headings) for block in article.blocks],
        title=article.title,
        author=article.author,
        date=date,
        dated_by=dated_by,
        language=article.language,
    )


def _parse_whole_page(content: bytes) -> ParsedDocument:
    blocks = html_blocks(decode_page(content, None))
    if not blocks:
        raise empty_error()
    page = read_page(content[:LONGEST_PAGE], None, now=LATEST)
    date, dated_by = first_date(
        (said_date(page.published), None), (said_date(page.modified), DateKind.MODIFIED)
    )
    return ParsedDocument(
        blocks=blocks, title=page.title, date=date, dated_by=dated_by, language=page.language
    )
