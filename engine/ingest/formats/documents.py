"""Reads documents: PDF, Word, EPUB, web pages, text, pictures of text, and Markdown notes.

The date of a document is the one that it names. That of its file tells when it was copied.
"""

import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from pathlib import PurePosixPath

from engine.errors import InputError, RecordError
from engine.ingest.fields import (
    as_mapping,
    host_of,
    made_id,
    mapping_at,
    read_string,
    string_at,
    text_of,
    written_at,
    zoned_or_utc,
)
from engine.ingest.parsers.html import parse_page
from engine.ingest.parsers.ocr import Ocr, parse_picture
from engine.ingest.parsers.packed import parse_epub, parse_word
from engine.ingest.parsers.parsed import (
    ParsedDocument,
    article_blocks,
    damaged_error,
    empty_error,
    markdown_blocks,
    parse_text,
    protected_error,
)
from engine.ingest.parsers.pdf import parse_pdf
from engine.ingest.private import describe_private
from engine.ingest.reader import OpenFile, Reader, Sample
from engine.ingest.records import PARTS_VERSION, PostFields, RawRecord, Reject
from engine.ingest.streams import BOM, read_whole
from engine.messages import Message
from engine.page.metadata import decode_page
from engine.text.foreign_data import read_toml, read_yaml
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
_PARSERS_OF_PICTURES = {PDF: parse_pdf, PICTURE: parse_picture}
_PICTURES = (b"\x89PNG", b"\xff\xd8\xff", b"II*\0", b"MM\0*", b"BM")
_OLE, _ENCRYPTED = b"\xd0\xcf\x11\xe0", "EncryptedPackage".encode("utf-16-le")
_MARKUP = re.compile(rb"\s*<(?:!doctype\s+html|html|\?xml[^>]*>\s*<(?:!doctype\s+html|html))", re.I)
_PDF_WITHIN = 1024  # bytes
_MEMBERS = {WORD: "word/document.xml", EPUB: "META-INF/container.xml"}
LARGEST_FILE = 256_000_000  # bytes
_VERSION = "3"  # of what this reader makes of a file; part of every digest
_DATA_ENDINGS = (".json", ".jsonl", ".js", ".csv")
_LONGEST_TITLE = 100  # characters of a first line that is taken for one
_YAML = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LONGEST_FRONT_MATTER = 100_000  # characters
_LARGEST_NOTE = 4_000_000  # bytes
_NOTES_VERSION = "3"  # the same for notes
_DATES = ("date", "published", "created", "publishdate", "pubdate")
_NAMED_DATE = re.compile(r"(\d{4}-\d\d-\d\d)[-_ ]?(.*)", re.DOTALL)
_HEADING = re.compile(r"\s*#[ \t]+([^\n]*)(?:\n|\Z)")


def form_of(name: str) -> str | None:
    """Return the form that the name of a file promises."""
    return _BY_ENDING.get(PurePosixPath(name).suffix.lower())


def is_document(content: bytes) -> bool:
    """Return whether the beginning of a file is that of a document, and not of plain text."""
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


def _recognise_zip(content: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return DAMAGED
    return next((form for form, member in _MEMBERS.items() if member in names), OTHER)


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


class DocumentReader(Reader):
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
        elif recognise_content(content) in (TEXT, PAGE) and (
            reason := describe_private(content, file.defaults)
        ):
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
        if form in _PARSERS_OF_PICTURES:
            language, alive = string_at(payload, "language"), payload.get("alive")
            ocr = Ocr(language, alive=alive if callable(alive) else None)
            parsed = _PARSERS_OF_PICTURES[form](content, ocr)
        else:
            parsed = _PARSERS.get(form, parse_text)(content)
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
    """Return whether a folder holds documents, and not notes or an export with some documents."""
    seen = [name for name in names if _is_seen(name)]
    counts = Counter(form_of(name) for name in seen)
    data = sum(name.lower().endswith(_DATA_ENDINGS) for name in seen)
    pictures, unknown = counts.pop(PICTURE, 0), counts.pop(None, 0) - data
    others = counts.pop(MARKDOWN, 0) + data
    return counts.total() > others or bool(pictures and not others and not unknown)


def _markdown_post(payload: Mapping[str, object], content: bytes) -> PostFields:
    fields, text = split_front_matter(decode_page(content, None).replace("\r\n", "\n"))
    path = _last_name(str(payload.get("name")))
    post = MarkdownReader().post({**payload, "fields": fields, "text": text, "path": path})
    return replace(post, blocks=tuple(markdown_blocks(post.text)), searched=None)


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


def split_front_matter(text: str) -> tuple[dict[str, object], str]:
    """Return the fields, by their names in lower case, and the text below. Raises RecordError."""
    for match, read, name in ((_YAML.match, read_yaml, "YAML"), (_TOML.match, read_toml, "TOML")):
        if front := match(text):
            if len(front[1]) > _LONGEST_FRONT_MATTER:
                raise RecordError(
                    Message(
                        "the front matter is longer than {number:,} characters",
                        number=_LONGEST_FRONT_MATTER,
                    )
                )
            try:
                fields = as_mapping(read(front[1]))
            except InputError as exc:
                raise RecordError(
                    Message(
                        "the front matter is no valid {name}: {message}",
                        name=name,
                        message=exc.message,
                    )
                ) from exc
            return {str(name).lower(): value for name, value in fields.items()}, text[front.end() :]
    return {}, text


def _read_note_date(fields: Mapping[str, object], path: PurePosixPath) -> datetime | None:
    """Return the date of front matter or file name, or None; one without a time is midnight."""
    named = _NAMED_DATE.fullmatch(path.stem)
    dates = (fields[name] for name in _DATES if fields.get(name))
    value = next(dates, named[1] if named else None)
    if isinstance(value, datetime):
        return written_at(value)
    if isinstance(value, date):
        return written_at(datetime.combine(value, time()))
    return None if value is None else zoned_or_utc(value)


def _read_names(value: object) -> tuple[str, ...]:
    """Return the words of a list, or of a text separated by commas."""
    values = value.split(",") if isinstance(value, str) else value
    items = values if isinstance(values, list) else []
    return tuple(text for item in items if (text := str(item).strip()))


class MarkdownReader(Reader):
    """Reads a folder or zip of Markdown files, one article or note each.

    The date is taken from the front matter (date, published, created), else from the file's name
    ("2019-05-23-title.md"), else it is the day of the file's last change.
    """

    name = "markdown"
    kinds = (Kind.PUBLISHED, Kind.PERSONAL, Kind.LIBRARY)
    marks = (PARTS_VERSION, _NOTES_VERSION)
    pattern = r"[^/.][^/]*\.(?:md|markdown|mdx)"

    def recognises(self, sample: Sample) -> bool:
        return bool(re.match(rb"(?:---|\+\+\+)[ \t]*\r?\n\w", sample.head))

    def read_records(self, file: OpenFile) -> Iterator[RawRecord | Reject]:
        raw = file.stream.read(_LARGEST_NOTE + 1).removeprefix(BOM)
        item = RawRecord(file.label, 1, "line", raw, {})
        if len(raw) > _LARGEST_NOTE:
            yield item.reject(f"longer than {_LARGEST_NOTE:,} bytes")
        elif reason := describe_private(raw, file.defaults):
            yield item.reject(reason)
        else:
            try:
                text = raw.decode("utf-8", "replace").replace("\r\n", "\n")
                fields, body = split_front_matter(text)
            except RecordError as exc:
                yield item.reject(str(exc))
                return
            payload = {"fields": fields, "text": body, "path": file.name, "file": file.citation}
            yield replace(item, value=payload)

    def identify(self, value: Mapping[str, object]) -> object:
        return value.get("path")

    def post(self, payload: Mapping[str, object]) -> PostFields:
        path = PurePosixPath(str(payload.get("path")))
        fields, text = mapping_at(payload, "fields"), str(payload.get("text"))
        urls = (string_at(fields, name) for name in ("canonical_url", "url", "link"))
        url = next(filter(None, urls), None)
        title, body = _split_title(fields, text, path)
        folder = str(path.parent)
        written_by = fields.get("author") or fields.get("authors")
        first = written_by[0] if isinstance(written_by, list) and written_by else written_by
        authors = _read_names(fields.get("author")) or _read_names(fields.get("authors"))
        tags = (*_read_names(fields.get("tags")), *_read_names(fields.get("categories")))
        return PostFields(
            text=text_of(body),
            blocks=article_blocks(body, markdown_blocks),
            searched=f"{title}\n\n{body}",
            created_at=_read_note_date(fields, path),
            keywords=(*authors, *(tag.removeprefix("#") for tag in tags)),
            author=read_string(first),
            title=title,
            lang=read_string(fields.get("lang") or fields.get("language")),
            url=url,
            platform=self.name,
            thread=None if folder == "." else folder,
            attribution=string_at(payload, "file"),
            tags=tags,
            mentions=(),
            meta={"domain": host_of(url), "description": string_at(fields, "description")},
        )


def _split_title(fields: Mapping[str, object], text: str, path: PurePosixPath) -> tuple[str, str]:
    """Return the title, and the text without a heading that repeats it."""
    heading = _HEADING.match(text)
    title = heading[1].rstrip(" \t#") if heading else ""
    named = string_at(fields, "title")
    if heading and title and named in (None, title):
        rest = text[heading.end() :].strip()
        return title, rest or title
    dated = _NAMED_DATE.fullmatch(path.stem)
    return named or (dated[2] if dated else "") or path.stem, text.strip()


READERS: tuple[Reader, ...] = (DocumentReader(), MarkdownReader())
