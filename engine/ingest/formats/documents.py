"""Reads documents: PDF, Word, EPUB, web pages, text, Markdown and pictures of text.

The date of a document is the one that it names. That of its file tells when it was copied.
"""

import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from engine.errors import RecordError
from engine.ingest.fields import host_of, made_id
from engine.ingest.formats.markdown import MarkdownReader, split_front_matter
from engine.ingest.parsers.html import parse_page
from engine.ingest.parsers.ocr import Ocr, parse_picture
from engine.ingest.parsers.packed import parse_epub, parse_word
from engine.ingest.parsers.parsed import (
    ParsedDocument,
    damaged_error,
    empty_error,
    markdown_blocks,
    parse_text,
    protected_error,
)
from engine.ingest.parsers.pdf import parse_pdf
from engine.ingest.private import describe_private
from engine.ingest.reader import FileReader, OpenFile, Reader, Sample
from engine.ingest.records import PARTS_VERSION, Defaults, PostFields, RawRecord, Reject
from engine.ingest.streams import BOM, read_whole
from engine.messages import Message
from engine.page.metadata import decode_page
from engine.values import Kind

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
_PARSERS = {WORD: parse_word, EPUB: parse_epub, PAGE: parse_page}
_PICTURES = (b"\x89PNG", b"\xff\xd8\xff", b"II*\0", b"MM\0*", b"BM")
_OLE, _ENCRYPTED = b"\xd0\xcf\x11\xe0", "EncryptedPackage".encode("utf-16-le")
_MARKUP = re.compile(rb"\s*<(?:!doctype\s+html|html|\?xml[^>]*>\s*<(?:!doctype\s+html|html))", re.I)
_PDF_WITHIN = 1024  # bytes
_MEMBERS = {WORD: "word/document.xml", EPUB: "META-INF/container.xml"}
_CONTENT_TYPES = "[Content_Types].xml"
LARGEST_FILE = 256_000_000  # bytes
_VERSION = "3"  # of what this reader makes of a file; part of every digest
_DATA, _DATA_ENDINGS = "data", (".json", ".jsonl", ".js", ".csv")
_LONGEST_TITLE = 100  # characters of a first line that is taken for one


def form_of(name: str) -> str | None:
    """Return the form that the name of a file promises."""
    return _BY_ENDING.get(PurePosixPath(name).suffix.lower())


def is_document(content: bytes) -> bool:
    """Tell whether the beginning of a file is that of a document, and not of plain text."""
    return recognise_content(content) in (PDF, WORD, EPUB, PAGE, PICTURE)


def recognise_content(content: bytes) -> str:
    """Return what the bytes of a file are."""
    if b"%PDF-" in content[:_PDF_WITHIN]:
        return PDF
    if content.startswith(b"PK\x03\x04"):
        return _recognise_zip(content)
    if content.startswith(_PICTURES) or content[8:12] == b"WEBP":
        return PICTURE
    head = content.removeprefix(BOM)[:_PDF_WITHIN]
    if _MARKUP.match(head):
        return PAGE
    utf16 = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    return OTHER if b"\0" in head and not utf16 else TEXT


def _document_in(names: Sequence[str]) -> str | None:
    """Return the form of a document whose zip has these members; None if it is not a document."""
    forms = [form for form, member in _MEMBERS.items() if member in names]
    return forms[0] if forms else OTHER if _CONTENT_TYPES in names else None


def _recognise_zip(content: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _document_in(archive.namelist()) or OTHER
    except (zipfile.BadZipFile, OSError, ValueError):
        return DAMAGED


def checked_form(name: str, content: bytes) -> str:
    """Return the form that both the name and the bytes of a file show. Raises RecordError."""
    named, seen = form_of(name), recognise_content(content)
    if content.startswith(_OLE):
        if _ENCRYPTED in content:
            raise protected_error()
        raise RecordError(Message("it is of an old Office; save it as .docx or PDF"))
    if seen == DAMAGED:
        raise damaged_error()
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


class DocumentReader(FileReader):
    """Reads files one by one. They are parsed only if they have changed."""

    name = "documents"
    marks = (PARTS_VERSION, _VERSION)
    kinds = (Kind.LIBRARY, Kind.PUBLISHED, Kind.PERSONAL)

    def members(self, names: Sequence[str]) -> Sequence[str]:
        return [name for name in names if form_of(name) and _is_seen(name)]

    def recognises(self, sample: Sample) -> bool:
        named = form_of(sample.name)
        return is_document(sample.head) or named is not None

    def read_records(self, file: OpenFile) -> Iterator[RawRecord | Reject]:
        content = read_whole(file.stream, LARGEST_FILE + 1)
        identity = f"{_last_name(file.name)[-80:]}-{made_id(file.source.origin(file.name))[:10]}"
        payload = {
            "id": "".join(filter(str.isprintable, identity)), "content": content,
            "name": file.name, "file": file.citation, "language": file.defaults.language,
            "alive": file.source.watch.alive,
        }  # fmt: skip
        item = RawRecord(file.label, 1, "line", content, payload)
        if len(content) > LARGEST_FILE:
            yield item.reject(f"longer than {LARGEST_FILE:,} bytes")
        elif not content.strip():
            yield item.reject("the file is empty")
        elif reason := _find_private(content, file.defaults):
            yield item.reject(reason)
        else:
            yield item

    def post(self, payload: Mapping[str, object]) -> PostFields:
        name, content = str(payload.get("name")), payload.get("content")
        if not isinstance(content, bytes):
            raise empty_error()
        form = checked_form(name, content)
        if form == MARKDOWN:
            return _markdown_post(payload, content)
        parsed = _parse_document(form, content, _build_ocr(payload))
        return PostFields(
            text="",
            blocks=tuple(parsed.blocks),
            created_at=parsed.date,
            dated_by=parsed.dated_by,
            author=parsed.author,
            title=parsed.title or _first_line(parsed) or _title_of(name),
            lang=parsed.language,
            url=parsed.url,
            platform=form,
            attribution=str(payload.get("file")),
            pages=parsed.pages,
            page_labels=parsed.page_labels,
            unread=parsed.unread,
            tags=(),
            mentions=(),
            meta={"domain": host_of(parsed.url)},
        )


def documents_prevail(names: Sequence[str]) -> bool:
    """Tell whether a folder holds documents, and not notes or an export with some documents."""
    counts = Counter(form_of(name) or _data_form(name) for name in names if _is_seen(name))
    pictures, unknown = counts.pop(PICTURE, 0), counts.pop(None, 0)
    others = counts.pop(MARKDOWN, 0) + counts.pop(_DATA, 0)
    return counts.total() > others or bool(pictures and not others and not unknown)


def _data_form(name: str) -> str | None:
    return _DATA if PurePosixPath(name).suffix.lower() in _DATA_ENDINGS else None


def _find_private(content: bytes, defaults: Defaults) -> str | None:
    """Return why a text or page may not become a document; it holds somebody's messages."""
    if recognise_content(content) not in (TEXT, PAGE):
        return None
    return describe_private(content, defaults)


def _markdown_post(payload: Mapping[str, object], content: bytes) -> PostFields:
    fields, text = split_front_matter(decode_page(content, None).replace("\r\n", "\n"))
    path = _last_name(str(payload.get("name")))
    post = MarkdownReader().post({**payload, "fields": fields, "text": text, "path": path})
    return replace(post, blocks=tuple(markdown_blocks(post.text)), searched=None)


def _parse_document(form: str, content: bytes, ocr: Ocr) -> ParsedDocument:
    if form == PDF:
        return parse_pdf(content, ocr)
    if form == PICTURE:
        return parse_picture(content, ocr)
    return _PARSERS.get(form, parse_text)(content)


def _is_seen(name: str) -> bool:
    return not _last_name(name).startswith((".", "~$"))


def _last_name(name: str) -> str:
    return PurePosixPath(name).name


def _first_line(parsed: ParsedDocument) -> str | None:
    """Return the heading or the short line that a text begins with, which mostly is its title."""
    first = parsed.blocks[0]
    if first.headings:
        return first.headings[0]
    text = first.text
    alone = len(text) <= _LONGEST_TITLE and text[0].isupper() and len(text.split()) > 1
    return text if alone and text[-1] not in ".,;:?!" else None


def _title_of(name: str) -> str:
    stem = PurePosixPath(name).stem
    return " ".join(stem.replace("_", " ").split()) or name


def _build_ocr(payload: Mapping[str, object]) -> Ocr:
    language, alive = payload.get("language"), payload.get("alive")
    return Ocr(
        language if isinstance(language, str) else None, alive=alive if callable(alive) else None
    )


READERS: tuple[Reader, ...] = (DocumentReader(),)
