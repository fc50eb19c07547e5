"""Reads the plain format, and tables of any other columns: see engine.ingest.tables.

One object per line (or one array), with the fields of a document:

{"id": "1", "text": "...", "created_at": "2009-05-04T18:54:25+00:00"}

and optionally lang, author, title, role, url, in_reply_to, platform, thread, attribution,
favorites, retweets, device, is_retweet, is_quote, is_deleted, and the lists tags, attachments
(names of files) and participants. Without `platform` it is "x" if id and date show that, else
`source`.
`in_reply_to` is the id of the message being answered; a screen name there (some exports have one)
only marks the document as a reply. Without `tags` they are the hashtags of the text.
"""

import copy
import io
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import PurePosixPath
from typing import Self

from engine.errors import InputError, RecordError, UnknownFormat
from engine.ingest.csv_rows import first_row, is_own_device, read_cell, table_rows, translate_row
from engine.ingest.exchange import is_exported, kind_at, read_cells
from engine.ingest.fields import (
    read_flag,
    read_identifier,
    read_number,
    read_string,
    read_strings,
    read_written_time,
    text_of,
)
from engine.ingest.formats.tweets import is_from_x
from engine.ingest.parsers.parsed import article_blocks
from engine.ingest.reader import Digest, JsonReader, OpenFile, Reader, Sample, json_objects
from engine.ingest.records import Defaults, PostFields, RawRecord, Reject, SourceRecord, TableLayout
from engine.ingest.sources import Source
from engine.ingest.streams import BOM, HEAD, UTF_16
from engine.ingest.tables import (
    complete_layout,
    guess_layout,
    layout_mark,
    names_fields,
    sniff_table,
)
from engine.messages import Message
from engine.values import Flag, Kind

_FLAGS = {"is_retweet": Flag.REPOST, "is_quote": Flag.QUOTE, "is_deleted": Flag.DELETED}

# Fields that a record must have.
_NEEDED = frozenset({"id", "text", "created_at"})
# Lists that were not read at first: records with any of them are stored again.
_LISTS = ("tags", "attachments", "participants")
_OF_X = "archive_of_x"  # what a record is marked with
_SAMPLED = 200  # records
_LONGEST_EXPORTED = 128 << 20  # bytes; a book of a library is one record
_SUFFIXES = (".csv", ".tsv", ".tab")
_LONGEST_SOURCE = 40  # characters of the name of a network or paper


class TableReader(JsonReader):
    """What both shapes of the plain format share. `layout` is that of one source."""

    kinds: tuple[Kind, ...] = tuple(Kind)  # tweets first

    def prepare(self, source: Source, names: Sequence[str], defaults: Defaults) -> Self:
        reader = copy.copy(self)
        reader.layout = self._look_at_layout(source, names[0], defaults)
        if reader.layout:
            reader.marks = tuple(filter(None, [layout_mark(reader.layout)]))
            reader.kinds = reader.layout.usual_kinds
        return reader

    @abstractmethod
    def _look_at_layout(self, source: Source, name: str, defaults: Defaults) -> TableLayout | None:
        """Return how the file is read; None if nothing in it shows that."""

    @abstractmethod
    def _read_rows(
        self, label: str, stream: io.BufferedReader, layout: TableLayout | None
    ) -> Iterator[RawRecord | Reject]:
        """Yield the records of a file as they stand there."""

    def read_records(self, file: OpenFile) -> Iterator[RawRecord | Reject]:
        return self._read_rows(file.label, file.stream, self.layout)

    def _read_dates(self, source: Source, name: str, layout: TableLayout) -> Iterator[object]:
        with suppress(InputError), source.open_ahead(name) as stream:
            for item in self._read_rows(name, stream, layout):
                if isinstance(item, RawRecord):
                    yield read_cell(item.value, layout, "created_at")

    def split(self, item: RawRecord, digest: Digest) -> Iterator[SourceRecord | Reject]:
        lists = b"lists" if any(item.value.get(name) for name in _LISTS) else b""
        try:
            value = self._translate(item)
        except RecordError as exc:
            yield item.reject(str(exc))
            return
        yield item.record(self.name, value.get("id"), digest(item.raw + lists), value)

    def _translate(self, item: RawRecord) -> Mapping[str, object]:
        """Return a record with our fields. Raises RecordError."""
        if self.layout is None:
            return item.value
        if self.layout.delimiter and is_exported(item.value):
            return read_cells(item.value)
        value = translate_row(item.value, self.layout) if self.marks else item.value
        return {**value, _OF_X: True} if self.layout.is_of_x else value

    def post(self, payload: Mapping[str, object]) -> PostFields:
        answered = read_identifier(payload.get("in_reply_to"))
        flags = Flag.REPLY if answered else Flag.NONE
        for name, flag in _FLAGS.items():
            if read_flag(payload.get(name), name):
                flags |= flag
        title, text = read_string(payload.get("title")), text_of(payload.get("text"))
        created_at = read_written_time(payload.get("created_at"), zone=None, is_day_first=None)
        return PostFields(
            text=text,
            blocks=article_blocks(text) if title else None,
            created_at=created_at,
            author=read_string(payload.get("author")),
            title=title,
            role=read_string(payload.get("role")),
            lang=read_string(payload.get("lang")),
            url=read_string(payload.get("url")),
            reply_to=None if _is_name(answered, payload.get("id")) else answered,
            platform=_find_platform(payload, created_at),
            thread=read_string(payload.get("thread")),
            attribution=read_string(payload.get("attribution")),
            tags=tuple(read_strings(payload.get("tags"))) or None,
            engagement=read_number(payload.get("favorites")) + read_number(payload.get("retweets")),
            flags=flags,
            device=read_string(payload.get("device")),
            meta={
                name: read_strings(payload.get(name)) for name in ("attachments", "participants")
            },
        )


class JsonlReader(TableReader):
    """Reads objects, one a line or in one array."""

    name = "jsonl"

    def recognises(self, sample: Sample) -> bool:
        if kind_at(sample.head):
            return True
        return bool(sample.objects) and (
            bool(sample.columns)
            or any(value.keys() >= _NEEDED or names_fields(value) for value in sample.objects)
        )

    def _look_at_layout(self, source: Source, name: str, defaults: Defaults) -> TableLayout | None:
        head = source.head(name).removeprefix(BOM)
        items = json_objects(name, io.BufferedReader(io.BytesIO(head)))
        rows = [row.value for row in islice(items, _SAMPLED) if isinstance(row, RawRecord)]
        if not rows:  # the first is longer than what was looked at
            return TableLayout(delimiter="", kind=kind_at(head)) if kind_at(head) else None
        base = TableLayout(
            delimiter="", names=tuple(dict.fromkeys(key for row in rows for key in row))
        )
        dates = partial(self._read_dates, source, name)
        return complete_layout(source.name, base, rows, defaults, dates)

    def _read_rows(
        self,
        label: str,
        stream: io.BufferedReader,
        layout: TableLayout | None,  # noqa: ARG002
    ) -> Iterator[RawRecord | Reject]:
        exported = bool(kind_at(stream.peek(HEAD)))
        return json_objects(label, stream, _LONGEST_EXPORTED if exported else self.longest)


class JsonlCsvReader(TableReader):
    """Reads the rows of a table."""

    name = "csv"

    def recognises(self, sample: Sample) -> bool:
        if sample.objects:
            return False
        table = sniff_table(sample.head)
        if table is None:
            return False
        layout, rows = table
        is_named_so = PurePosixPath(sample.name).suffix.lower() in _SUFFIXES
        is_of_excel = (layout.encoding, layout.delimiter) == (UTF_16, "\t")  # "Unicode text", .txt
        return bool(sample.columns) or is_named_so or is_of_excel or names_fields(rows[0])

    def _look_at_layout(self, source: Source, name: str, defaults: Defaults) -> TableLayout | None:
        head = source.head(name)
        table = sniff_table(head)
        if table is None:
            raise UnknownFormat(
                Message(
                    "{name} is not a table: its first line is {line!r}.",
                    name=source.name,
                    line=" ".join(first_row(head))[:60],
                ),
                fix=Message("A table has commas, semicolons, tabs or | between its columns."),
            )
        dates = partial(self._read_dates, source, name)
        return guess_layout(source.name, *table, defaults, dates)

    def _read_rows(
        self, label: str, stream: io.BufferedReader, layout: TableLayout | None
    ) -> Iterator[RawRecord | Reject]:
        return table_rows(label, stream, layout) if layout else iter(())


def _is_name(answered: str | None, own: object) -> bool:
    """Return whether this is a screen name, not an id.

    If a record's own id is a number, the others are numbers too.
    """
    return answered is not None and str(own).isdigit() and not answered.isdigit()


def _find_platform(payload: Mapping[str, object], created_at: datetime) -> str | None:
    if named := read_string(payload.get("platform")):
        return named
    post_id, sent_by = read_identifier(payload.get("id")), read_string(payload.get("device"))
    of_x = payload.get(_OF_X) is True or is_own_device(sent_by) or "is_retweet" in payload
    if post_id and is_from_x(post_id, created_at, archive_of_x=of_x):
        return "x"
    source = read_string(payload.get("source"))  # X has the program there, as a link
    return source if source and len(source) <= _LONGEST_SOURCE and "<" not in source else None


READERS: tuple[Reader, ...] = (JsonlReader(), JsonlCsvReader())
