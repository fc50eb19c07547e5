"""Parses EPUB and Word (.docx) files, which are zips of XML."""

import io
import posixpath
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from importlib import import_module
from urllib.parse import unquote
from xml.etree.ElementTree import Element

import defusedxml.ElementTree

from engine.errors import RecordError
from engine.ingest.parsers.html import html_blocks
from engine.ingest.parsers.parsed import (
    ParsedDocument,
    damaged_error,
    empty_error,
    first_date,
    missing_extra_error,
    protected_error,
    said_date,
)
from engine.page.metadata import decode_page
from engine.text.chunks import Block
from engine.values import DateKind

_LARGEST = 64_000_000  # bytes that a member may unpack to
_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_CONTAINED = "{urn:oasis:names:tc:opendocument:xmlns:container}"
_BOOK = "{http://www.idpf.org/2007/opf}"
_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
_CIPHER = "{http://www.w3.org/2001/04/xmlenc#}CipherReference"
_TEXT = ("application/xhtml+xml", "text/html")
_PROPERTIES = "docProps/core.xml"
_TERMS = "{http://purl.org/dc/terms/}"


def read_member(archive: zipfile.ZipFile, name: str) -> bytes | None:
    """Return a member, or None if there is none of that name. Raises zipfile's errors."""
    try:
        member = archive.getinfo(name)
    except KeyError:
        return None
    if member.file_size > _LARGEST:
        raise zipfile.BadZipFile("a member unpacks to far more than a document holds")
    with archive.open(member) as stream:
        return stream.read(_LARGEST)


def packed_xml(archive: zipfile.ZipFile, name: str) -> Element | None:
    """Return the root of a member, or None. Raises errors of zipfile and of the XML parser."""
    content = read_member(archive, name)
    return None if content is None else defusedxml.ElementTree.fromstring(content)


def text_at(root: Element | None, path: str) -> str | None:
    """Return the text of the first element at a path, without blanks around it, or None."""
    element = None if root is None else root.find(f".//{path}")
    return ((element.text or "").strip() or None) if element is not None else None


def parse_epub(content: bytes) -> ParsedDocument:
    """Return the text of a book, in the order of reading. Raises RecordError."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            package, name = _read_package(archive)
            blocks = list(_read_blocks(archive, package, posixpath.dirname(name)))
            _require_open(archive, blocks)
    except (MemoryError, RecordError):
        raise
    except Exception as exc:  # anything that zipfile and the XML parser raise
        raise damaged_error() from exc
    return _describe_document(blocks, package, _book_dates(package))


def _describe_document(
    blocks: Sequence[Block],
    core: Element | None,
    dates: Iterable[tuple[datetime | None, DateKind | None]],
) -> ParsedDocument:
    """Return the blocks with what the file says about itself. Raises RecordError without any."""
    if not blocks:
        raise empty_error()
    date, dated_by = first_date(*dates)
    return ParsedDocument(
        blocks=blocks,
        title=text_at(core, f"{_DUBLIN_CORE}title"),
        author=text_at(core, f"{_DUBLIN_CORE}creator"),
        date=date,
        dated_by=dated_by,
        language=text_at(core, f"{_DUBLIN_CORE}language"),
    )


def _read_package(archive: zipfile.ZipFile) -> tuple[Element, str]:
    container = packed_xml(archive, _CONTAINER)
    root = None if container is None else container.find(f".//{_CONTAINED}rootfile")
    name = "" if root is None else root.get("full-path", "")
    package = packed_xml(archive, name)
    if package is None:
        raise damaged_error()
    return package, name


def _require_open(archive: zipfile.ZipFile, blocks: list[Block]) -> None:
    """Raise RecordError if the text is encrypted; that fonts are is usual."""
    encrypted = packed_xml(archive, _ENCRYPTION)
    if encrypted is None:
        return
    names = [element.get("URI", "") for element in encrypted.iter(_CIPHER)]
    if not blocks or any(name.endswith(("html", "htm", "xml")) for name in names):
        raise protected_error()


def _read_blocks(archive: zipfile.ZipFile, package: Element, folder: str) -> Iterator[Block]:
    items = {item.get("id"): item for item in package.iterfind(f".//{_BOOK}item")}
    contents = list(_tables_of_contents(package, items.values()))
    for place in package.iterfind(f".//{_BOOK}itemref"):
        item = items.get(place.get("idref"))
        if item is None or item.get("media-type") not in _TEXT or item in contents:
            continue
        name = posixpath.normpath(posixpath.join(folder, unquote(item.get("href", ""))))
        if (content := read_member(archive, name)) is not None:
            yield from html_blocks(decode_page(content, None))


def _tables_of_contents(package: Element, items: Iterable[Element]) -> Iterator[Element]:
    """Yield the items that do nothing but list the chapters."""
    guide = f".//{_BOOK}reference[@type='toc']"
    listed = {each.get("href", "").partition("#")[0] for each in package.iterfind(guide)}
    for item in items:
        if "nav" in item.get("properties", "").split() or item.get("href") in listed:
            yield item


def _book_dates(package: Element) -> Iterator[tuple[datetime | None, DateKind | None]]:
    """Yield the dates of a book with what they tell: first those of its publication."""
    events = {None: None, "creation": DateKind.CREATED, "modification": DateKind.MODIFIED}
    dates = [
        (
            _parse_date(element.text),
            events.get(element.get(f"{_BOOK}event")),
        )
        for element in package.iterfind(f".//{_DUBLIN_CORE}date")
    ]
    yield from sorted(dates, key=lambda dating: dating[1] is not None)
    for element in package.iterfind(f".//{_BOOK}meta[@property='dcterms:modified']"):
        yield _parse_date(element.text), DateKind.MODIFIED


def _parse_date(text: str | None) -> datetime | None:
    """Return a date of ISO 8601, which may be a mere year."""
    text = (text or "").strip()
    try:
        return said_date(datetime.fromisoformat(f"{text}-01-01" if len(text) == 4 else text))
    except ValueError:
        return None


def parse_word(content: bytes) -> ParsedDocument:
    """Return the text of a Word file. Its pages are not stored in it. Raises RecordError."""
    try:
        library = import_module("mammoth")
    except ImportError as exc:
        raise missing_extra_error() from exc
    no_picture = library.images.img_element(lambda _: {})
    try:
        markup = library.convert_to_html(io.BytesIO(content), convert_image=no_picture).value
        properties = packed_xml(zipfile.ZipFile(io.BytesIO(content)), _PROPERTIES)
    except MemoryError:
        raise
    except Exception as exc:  # anything that a library raises about a file that somebody made
        raise damaged_error() from exc
    blocks = html_blocks(markup)
    dates = (
        (_parse_date(text_at(properties, f"{_TERMS}modified")), DateKind.MODIFIED),
        (_parse_date(text_at(properties, f"{_TERMS}created")), DateKind.CREATED),
    )
    return _describe_document(blocks, properties, dates)
