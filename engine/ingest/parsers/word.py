"""Reads Word files (.docx)."""

import io
import zipfile
from datetime import datetime
from importlib import import_module

from engine.ingest.html_text import html_blocks
from engine.ingest.parsers.packed import packed_xml, text_at
from engine.ingest.parsers.parsed import Parsed, is_damaged, needs_extra, said_date, says_nothing

_PROPERTIES = "docProps/core.xml"
_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
_TERMS = "{http://purl.org/dc/terms/}"


def parse_word(content: bytes) -> Parsed:
    """Return the text of a Word file. Its pages are not stored in it. Raises RecordError."""
    try:
        library = import_module("mammoth")
    except ImportError as exc:
        raise needs_extra() from exc
    no_picture = library.images.img_element(lambda _: {})
    try:
        markup = library.convert_to_html(io.BytesIO(content), convert_image=no_picture).value
        said = packed_xml(zipfile.ZipFile(io.BytesIO(content)), _PROPERTIES)
    except MemoryError:
        raise
    except Exception as exc:  # anything that a library raises about a file that somebody made
        raise is_damaged() from exc
    blocks = html_blocks(markup)
    if not blocks:
        raise says_nothing()
    return Parsed(
        blocks=blocks,
        title=text_at(said, f"{_DUBLIN_CORE}title"),
        author=text_at(said, f"{_DUBLIN_CORE}creator"),
        date=_date(text_at(said, f"{_TERMS}modified") or text_at(said, f"{_TERMS}created")),
        language=text_at(said, f"{_DUBLIN_CORE}language"),
    )


def _date(text: str | None) -> datetime | None:
    try:
        return said_date(datetime.fromisoformat(text)) if text else None
    except ValueError:
        return None
