"""Reads a folder or zip of Markdown files, one article or note each.

The date is taken from the front matter (date, published, created), else from the file's name
("2019-05-23-title.md"), else it is the day of the file's last change.
"""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import datetime
from pathlib import PurePosixPath

from engine.errors import RecordError
from engine.ingest.fields import host_of, mapping, string, text_of
from engine.ingest.formats.front_matter import moment, names, split_front_matter
from engine.ingest.parsers.plain import article_blocks, markdown_blocks
from engine.ingest.reader import BOM, JsonObject, Sample, members_named
from engine.ingest.records import (
    PARTS_VERSION,
    Defaults,
    PostFields,
    Reject,
    SourceRecord,
    fingerprint,
)
from engine.ingest.sources import Source
from engine.messages import Message
from engine.types import Kind

LARGEST_FILE = 4_000_000  # bytes
_VERSION = "2"  # of what this reader makes of a file; part of every digest
_DATES = ("date", "published", "created", "publishdate", "pubdate")
_NAMED_DATE = re.compile(r"(\d{4}-\d\d-\d\d)[-_ ]?(.*)", re.DOTALL)
_HEADING = re.compile(r"\s*#[ \t]+([^\n]*)(?:\n|\Z)")


class MarkdownReader:
    """Reads files one by one."""

    name = "markdown"
    kinds = (Kind.PUBLISHED, Kind.PERSONAL, Kind.LIBRARY)

    def members(self, names: Sequence[str]) -> Sequence[str]:
        return members_named(r"[^/.][^/]*\.(?:md|markdown|mdx)", names)

    def recognises(self, sample: Sample) -> bool:
        return bool(re.match(rb"(?:---|\+\+\+)[ \t]*\r?\n\w", sample.head))

    def records(
        self, source: Source, names: Sequence[str], defaults: Defaults
    ) -> Generator[SourceRecord | Reject]:
        digest = fingerprint(defaults, self.name, PARTS_VERSION, _VERSION)
        for name in names:
            label = source.label(name)
            with source.open(name) as stream:
                raw = stream.read(LARGEST_FILE + 1).removeprefix(BOM)
            if len(raw) > LARGEST_FILE:
                reason = f"longer than {LARGEST_FILE:,} bytes"
                yield Reject(file=label, line=1, reason=reason)
                continue
            yield _record(source, name, raw, digest)

    def post(self, payload: Mapping[str, object]) -> PostFields:
        path = PurePosixPath(str(payload.get("path")))
        fields, text = mapping(payload.get("fields")), str(payload.get("text"))
        urls = (string(fields.get(name)) for name in ("canonical_url", "url", "link"))
        url = next(filter(None, urls), None)
        title, body = _title(fields, text, path)
        folder = str(path.parent)
        authors = names(fields.get("author")) or names(fields.get("authors"))
        tags = (*names(fields.get("tags")), *names(fields.get("categories")))
        return PostFields(
            text=text_of(body),
            blocks=article_blocks(body, markdown_blocks),
            searched=f"{title}\n\n{body}",
            created_at=_date(fields, path, payload.get("changed")),
            keywords=(*authors, *(tag.removeprefix("#") for tag in tags)),
            author=string(_first(fields.get("author") or fields.get("authors"))),
            title=title,
            lang=string(fields.get("lang") or fields.get("language")),
            url=url,
            platform=self.name,
            thread=None if folder == "." else folder,
            attribution=string(payload.get("file")),
            tags=tags,
            mentions=(),
            meta={
                "domain": host_of(url),
                "description": string(fields.get("description")),
            },
        )


def _record(
    source: Source, name: str, raw: bytes, digest: Callable[[bytes], int]
) -> SourceRecord | Reject:
    found = JsonObject(source.label(name), 1, "line", raw, {})
    try:
        fields, text = split_front_matter(raw.decode("utf-8", "replace").replace("\r\n", "\n"))
    except RecordError as exc:
        return found.reject(str(exc))
    # The day of the last change is used only if nothing better is known: copying a file changes it.
    changed = None if _said_date(fields, PurePosixPath(name)) else source.modified(name)
    payload = {
        "fields": fields, "text": text, "path": name, "changed": changed,
        "file": source.citation(name),
    }  # fmt: skip
    said = digest(raw + str(changed or "").encode())
    return found.record(MarkdownReader.name, name, said, payload)


def _title(fields: Mapping[str, object], text: str, path: PurePosixPath) -> tuple[str, str]:
    """Return the title, and the text without a heading that repeats it."""
    heading = _HEADING.match(text)
    said = heading[1].rstrip(" \t#") if heading else ""
    named = string(fields.get("title"))
    if heading and said and named in (None, said):
        rest = text[heading.end() :].strip()
        return said, rest or said
    dated = _NAMED_DATE.fullmatch(path.stem)
    return named or (dated[2] if dated else "") or path.stem, text.strip()


def _said_date(fields: Mapping[str, object], path: PurePosixPath) -> object:
    """Return the date from front matter or file name, or None."""
    named = _NAMED_DATE.fullmatch(path.stem)
    told = (fields[name] for name in _DATES if fields.get(name))
    return next(told, named[1] if named else None)


def _date(fields: Mapping[str, object], path: PurePosixPath, changed: object) -> datetime:
    said = _said_date(fields, path) or changed
    if said is None:
        raise RecordError(Message("no date: write date: 2019-05-23 into the front matter"))
    return moment(said)


def _first(value: object) -> object:
    return value[0] if isinstance(value, list) and value else value
