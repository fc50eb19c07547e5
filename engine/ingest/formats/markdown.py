"""Reads a folder or zip of Markdown files, one article or note each.

The date is taken from the front matter (date, published, created), else from the file's name
("2019-05-23-title.md"), else it is the day of the file's last change.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, time
from pathlib import PurePosixPath

from engine.errors import InputError, RecordError
from engine.ingest.fields import (
    as_mapping,
    host_of,
    mapping_at,
    read_string,
    string_at,
    text_of,
    written_at,
    zoned_or_utc,
)
from engine.ingest.parsers.parsed import article_blocks, markdown_blocks
from engine.ingest.private import describe_private
from engine.ingest.reader import FileReader, OpenFile, Reader, Sample
from engine.ingest.records import PARTS_VERSION, PostFields, RawRecord, Reject
from engine.ingest.streams import BOM
from engine.messages import Message
from engine.text.foreign_data import read_toml, read_yaml
from engine.values import Kind

_YAML = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LONGEST = 100_000  # characters
LARGEST_FILE = 4_000_000  # bytes
_VERSION = "3"  # of what this reader makes of a file; part of every digest
_DATES = ("date", "published", "created", "publishdate", "pubdate")
_NAMED_DATE = re.compile(r"(\d{4}-\d\d-\d\d)[-_ ]?(.*)", re.DOTALL)
_HEADING = re.compile(r"\s*#[ \t]+([^\n]*)(?:\n|\Z)")


def split_front_matter(text: str) -> tuple[dict[str, object], str]:
    """Return the fields, by their names in lower case, and the text below. Raises RecordError."""
    for match, read, name in ((_YAML.match, read_yaml, "YAML"), (_TOML.match, read_toml, "TOML")):
        if front := match(text):
            if len(front[1]) > _LONGEST:
                raise RecordError(
                    Message(
                        "the front matter is longer than {number:,} characters", number=_LONGEST
                    )
                )
            fields = as_mapping(_parse_header(read, front[1], name))
            return {str(name).lower(): value for name, value in fields.items()}, text[front.end() :]
    return {}, text


def moment(value: object) -> datetime:
    """Read a date of front matter; one without a time is midnight, without a zone UTC.

    Raises RecordError.
    """
    if isinstance(value, datetime):
        return written_at(value)
    if isinstance(value, date):
        return written_at(datetime.combine(value, time(), UTC))
    return zoned_or_utc(value)


def read_names(value: object) -> tuple[str, ...]:
    """Return the words of a list, or of a text separated by commas."""
    values = value.split(",") if isinstance(value, str) else value
    items = values if isinstance(values, list) else []
    return tuple(text for item in items if (text := str(item).strip()))


def _parse_header(read: Callable[[str], object], text: str, name: str) -> object:
    try:
        return read(text)
    except InputError as exc:
        raise RecordError(
            Message(
                "the front matter is no valid {name}: {message}", name=name, message=exc.message
            )
        ) from exc


class MarkdownReader(FileReader):
    """Reads files one by one."""

    name = "markdown"
    kinds = (Kind.PUBLISHED, Kind.PERSONAL, Kind.LIBRARY)
    marks = (PARTS_VERSION, _VERSION)
    pattern = r"[^/.][^/]*\.(?:md|markdown|mdx)"

    def recognises(self, sample: Sample) -> bool:
        return bool(re.match(rb"(?:---|\+\+\+)[ \t]*\r?\n\w", sample.head))

    def read_records(self, file: OpenFile) -> Iterator[RawRecord | Reject]:
        raw = file.stream.read(LARGEST_FILE + 1).removeprefix(BOM)
        item = RawRecord(file.label, 1, "line", raw, {})
        if len(raw) > LARGEST_FILE:
            yield item.reject(f"longer than {LARGEST_FILE:,} bytes")
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
        authors = read_names(fields.get("author")) or read_names(fields.get("authors"))
        tags = (*read_names(fields.get("tags")), *read_names(fields.get("categories")))
        return PostFields(
            text=text_of(body),
            blocks=article_blocks(body, markdown_blocks),
            searched=f"{title}\n\n{body}",
            created_at=_header_date(fields, path),
            keywords=(*authors, *(tag.removeprefix("#") for tag in tags)),
            author=read_string(_take_first_item(fields.get("author") or fields.get("authors"))),
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


def _header_date(fields: Mapping[str, object], path: PurePosixPath) -> datetime | None:
    """Return the date from front matter or file name, or None."""
    named = _NAMED_DATE.fullmatch(path.stem)
    dates = (fields[name] for name in _DATES if fields.get(name))
    date = next(dates, named[1] if named else None)
    return None if date is None else moment(date)


def _take_first_item(value: object) -> object:
    return value[0] if isinstance(value, list) and value else value


READERS: tuple[Reader, ...] = (MarkdownReader(),)
