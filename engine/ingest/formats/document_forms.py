"""Tells the forms of documents apart, by the names and the bytes of files."""

import io
import re
import zipfile
from collections.abc import Sequence
from pathlib import PurePosixPath

from engine.errors import RecordError
from engine.ingest.parsers.parsed import is_damaged, is_protected
from engine.ingest.reader import BOM
from engine.messages import Message

PDF, WORD, EPUB, PAGE = "pdf", "docx", "epub", "html"
PICTURE, TEXT, MARKDOWN = "picture", "text", "markdown"
OTHER, DAMAGED = "other", "damaged"
_ENDINGS = {
    PDF: ("pdf",),
    WORD: ("docx", "docm", "dotx"),
    EPUB: ("epub",),
    PAGE: ("html", "htm", "xhtml"),
    PICTURE: ("png", "jpg", "jpeg", "tif", "tiff", "bmp", "webp"),
    TEXT: ("txt", "text"),
    MARKDOWN: ("md", "markdown", "mdx"),
}
_BY_ENDING = {f".{ending}": form for form, endings in _ENDINGS.items() for ending in endings}
_NAMES = {
    PDF: Message("a PDF file"),
    WORD: Message("a Word file"),
    EPUB: Message("an EPUB book"),
    PAGE: Message("a web page"),
    PICTURE: Message("a picture"),
    TEXT: Message("text"),
    MARKDOWN: Message("text"),
    OTHER: Message("something else"),
}
_PICTURES = (b"\x89PNG", b"\xff\xd8\xff", b"II*\0", b"MM\0*", b"BM")
_OLE, _ENCRYPTED = b"\xd0\xcf\x11\xe0", "EncryptedPackage".encode("utf-16-le")
_MARKUP = re.compile(rb"\s*<(?:!doctype\s+html|html|\?xml[^>]*>\s*<(?:!doctype\s+html|html))", re.I)
_PDF_WITHIN = 1024  # bytes
_MEMBERS = {WORD: "word/document.xml", EPUB: "META-INF/container.xml"}
_CONTENT_TYPES = "[Content_Types].xml"


def form_of(name: str) -> str | None:
    """Return the form that the name of a file promises."""
    return _BY_ENDING.get(PurePosixPath(name).suffix.lower())


def is_document(content: bytes) -> bool:
    """Tell whether the beginning of a file is that of a document, and not of plain text."""
    return recognised(content) in (PDF, WORD, EPUB, PAGE, PICTURE)


def recognised(content: bytes) -> str:
    """Return what the bytes of a file are."""
    if b"%PDF-" in content[:_PDF_WITHIN]:
        return PDF
    if content.startswith(b"PK\x03\x04"):
        return _zipped(content)
    if content.startswith(_PICTURES) or content[8:12] == b"WEBP":
        return PICTURE
    head = content.removeprefix(BOM)[:_PDF_WITHIN]
    if _MARKUP.match(head):
        return PAGE
    utf16 = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    return OTHER if b"\0" in head and not utf16 else TEXT


def _document_in(names: Sequence[str]) -> str | None:
    """Return the form of a document whose zip has these members; None if it is not a document."""
    found = [form for form, member in _MEMBERS.items() if member in names]
    return found[0] if found else OTHER if _CONTENT_TYPES in names else None


def _zipped(content: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _document_in(archive.namelist()) or OTHER
    except (zipfile.BadZipFile, OSError, ValueError):
        return DAMAGED


def checked_form(name: str, content: bytes) -> str:
    """Return the form that both the name and the bytes of a file show. Raises RecordError."""
    named, seen = form_of(name), recognised(content)
    if content.startswith(_OLE):
        if _ENCRYPTED in content:
            raise is_protected()
        raise RecordError(Message("it is of an old Office; save it as .docx or PDF"))
    if seen == DAMAGED:
        raise is_damaged()
    if {named, seen} <= {TEXT, MARKDOWN, PAGE}:
        return named or seen
    if named not in (None, seen):
        raise RecordError(
            Message(
                "its name says that it is {named}, but it is {seen}",
                named=_NAMES[named or OTHER],
                seen=_NAMES[seen],
            )
        )
    if seen == OTHER:
        raise RecordError(Message("it is no document that can be read here"))
    return seen
