"""Reads EPUB books."""

import io
import posixpath
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from engine.errors import RecordError
from engine.ingest.html_text import html_blocks
from engine.ingest.parsers.packed import packed, packed_xml, text_at
from engine.ingest.parsers.parsed import (
    Parsed,
    is_damaged,
    is_protected,
    said_date,
    says_nothing,
)
from engine.page.charset import decode_page
from engine.text.chunks import Block

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_CONTAINED = "{urn:oasis:names:tc:opendocument:xmlns:container}"
_BOOK = "{http://www.idpf.org/2007/opf}"
_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
_CIPHER = "{http://www.w3.org/2001/04/xmlenc#}CipherReference"
_TEXT = ("application/xhtml+xml", "text/html")


def parse_epub(content: bytes) -> Parsed:
    """Return the text of a book, in the order of reading. Raises RecordError."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            package, name = _package(archive)
            blocks = list(_blocks(archive, package, posixpath.dirname(name)))
            _require_open(archive, blocks)
    except (MemoryError, RecordError):
        raise
    except Exception as exc:  # anything that zipfile and the XML parser raise
        raise is_damaged() from exc
    if not blocks:
        raise says_nothing()
    return Parsed(
        blocks=blocks,
        title=text_at(package, f"{_DUBLIN_CORE}title"),
        author=text_at(package, f"{_DUBLIN_CORE}creator"),
        date=_date(text_at(package, f"{_DUBLIN_CORE}date")),
        language=text_at(package, f"{_DUBLIN_CORE}language"),
    )


def _package(archive: zipfile.ZipFile) -> tuple[Element, str]:
    container = packed_xml(archive, _CONTAINER)
    root = None if container is None else container.find(f".//{_CONTAINED}rootfile")
    name = "" if root is None else root.get("full-path", "")
    package = packed_xml(archive, name)
    if package is None:
        raise is_damaged()
    return package, name


def _blocks(archive: zipfile.ZipFile, package: Element, folder: str) -> Iterator[Block]:
    items = {item.get("id"): item for item in package.iterfind(f".//{_BOOK}item")}
    for place in package.iterfind(f".//{_BOOK}itemref"):
        item = items.get(place.get("idref"))
        if item is None or item.get("media-type") not in _TEXT:
            continue
        name = posixpath.normpath(posixpath.join(folder, unquote(item.get("href", ""))))
        if (content := packed(archive, name)) is not None:
            yield from html_blocks(decode_page(content, None))


def _require_open(archive: zipfile.ZipFile, blocks: list[Block]) -> None:
    """Raise RecordError if the text is encrypted; that fonts are is usual."""
    encrypted = packed_xml(archive, _ENCRYPTION)
    if encrypted is None:
        return
    names = [one.get("URI", "") for one in encrypted.iter(_CIPHER)]
    if not blocks or any(name.endswith(("html", "htm", "xml")) for name in names):
        raise is_protected()


def _date(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(f"{text}-01-01" if len(text) == 4 else text)
    except ValueError:
        return None
    return said_date(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
