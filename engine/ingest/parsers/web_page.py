"""Reads saved web pages."""

from engine.errors import ExtraMissing
from engine.ingest.dates import LATEST
from engine.ingest.html_text import html_blocks
from engine.ingest.parsers.parsed import Parsed, needs_extra, said_date, says_nothing
from engine.page.article import LONGEST_PAGE, article
from engine.page.charset import decode_page
from engine.page.read import read_page
from engine.text.chunks import Block


def parse_page(content: bytes) -> Parsed:
    """Return the article of a page, or all its text if it has none. Raises RecordError.

    A longer page is a book or a report, which has no menus to leave out.
    """
    try:
        found = article(content) if len(content) <= LONGEST_PAGE else None
    except ExtraMissing as exc:
        raise needs_extra() from exc
    if found is None:
        return _whole(content)
    return Parsed(
        blocks=[Block(text=one.text, headings=one.headings) for one in found.blocks],
        title=found.title,
        author=found.author,
        date=said_date(found.date),
        language=found.language,
    )


def _whole(content: bytes) -> Parsed:
    blocks = html_blocks(decode_page(content, None))
    if not blocks:
        raise says_nothing()
    page = read_page(content[:LONGEST_PAGE], None, now=LATEST)
    return Parsed(
        blocks=blocks, title=page.title, date=said_date(page.published), language=page.language
    )
