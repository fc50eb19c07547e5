"""Types of ingest: records, rejects, batches, defaults and table layouts."""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from engine.corpora import Document
from engine.errors import PresagioError, RecordError
from engine.messages import Message
from engine.text.chunks import Block
from engine.values import DateKind, Flag, Kind

# Part of every digest: raise it when the same record would become another document, so that files
# ingested before are stored again.
NORMALISER_VERSION = 3
# The same for texts that may be stored in parts.
PARTS_VERSION = "2"

_LONGEST_ID = 200
_ROUNDED = re.compile(r"\d(?:[.,]\d+)?[eE]\+?\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """The values of a record that does not set them itself.

    `only_mine` leaves out what others wrote. What follows it is about tables.
    """

    author: str | None = None
    language: str | None = None  # text-search language, for reading pictures of text
    only_mine: bool = False
    kind: Kind | None = None  # of corpus, if the command says it: it knows whether it is private
    columns: Mapping[str, str] = field(default_factory=dict)  # the column of each field
    timezone: str | None = None  # of times that name none: "Europe/Madrid"
    is_day_first: bool | None = None  # in 03/04/2019


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    """A record that cannot be used. `line` counts lines, or the records of an array, from 1.

    With `stored`, it is used without what the reason names.
    """

    file: str
    line: int
    reason: str
    stored: bool = False


@dataclass(frozen=True, slots=True)
class UnreadFile:
    """A file with words that no reader reads; `records` of them, if that could be counted."""

    name: str
    records: int | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bookmark:
    """How far a source was read: up to `taken` records and rejects of the file."""

    file: str
    taken: int


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """A source to read: where ("-" is standard input), how, and from where on.

    `files` are those of a folder or zip that are this format's, if others are there too; those in
    `skipped` are left out. `direct` is whether to read what named people alone could see, or the
    rest; None reads both. Each may take `seconds` of CPU time, and more for every megabyte, if it
    is read in a process of its own.
    """

    where: str
    format: str = "auto"
    defaults: Defaults = field(default_factory=Defaults)
    files: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    direct: bool | None = None
    after: Bookmark | None = None
    seconds: float = 0.0
    seconds_per_megabyte: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The exports at a path, and what is there and not read."""

    exports: tuple[SourceRequest, ...]
    unread: tuple[UnreadFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What the process that reads sends before its result; without fields, a sign of life."""

    file: str | None = None  # that is read from here on
    documents: tuple[Document, ...] = ()  # of the batch
    input: int = 0  # bytes of standard input that are needed; they are the reply


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLayout:
    """How a table is read: what its file says, what the command says, and what was guessed."""

    encoding: str = "utf-8"
    delimiter: str = ","  # "" = the records are objects of JSON
    names: tuple[str, ...] = ()  # of its columns, in order
    has_header: bool = True
    columns: Mapping[str, str] = field(default_factory=dict)  # the column of each field
    timezone: str | None = None  # of times that name none; None = all name theirs
    is_day_first: bool | None = None  # None = no date leaves it open
    guessed: tuple[str, ...] = ()  # fields, "header", "encoding", "timezone"
    first: tuple[Mapping[str, str], ...] = ()  # of the records, as they will be stored
    kind: str = ""  # of the corpus that it was exported from
    is_chat: bool = False  # whether its columns are those of messages
    is_of_x: bool = False  # whether its columns and devices are those of X
    looks: str | None = None  # ISO 639-1: the language of its texts, if only their words tell it

    @property
    def usual_kinds(self) -> tuple[Kind, ...]:
        """The kinds that it may fill, the usual one first: what looks like messages is personal."""
        if self.kind == Kind.PERSONAL:  # exported chats and notes stay personal
            return (Kind.PERSONAL,)
        usual = self.kind if self.kind in set(Kind) else ""
        first = Kind(usual or (Kind.PERSONAL if self.is_chat else Kind.TWEETS))
        return (first, *(kind for kind in Kind if kind != first))

    @property
    def unused(self) -> list[str]:
        """Columns that no field is read from."""
        used = {part for column in self.columns.values() for part in (column, *column.split("+"))}
        return [name for name in self.names if name and name not in used]

    @property
    def needs_consent(self) -> bool:
        """Whether what was guessed may well be wrong."""
        return not {"id", "text", "created_at", "header", "encoding", "timezone"}.isdisjoint(
            self.guessed
        )


@dataclass(frozen=True, slots=True)
class OpenedSource:
    """A source that was recognised."""

    name: str
    format: str
    kinds: tuple[Kind, ...] = ()  # that it may fill, the usual one first
    total_bytes: int | None = None
    table: TableLayout | None = None
    guesses: tuple[str, ...] = ()  # about how it is read


class BatchLost(Exception):
    """The reader of a batch died before translating it. The next batch starts where it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch of a source: `read` records, with the digest of each id, and the rejects.

    `replaced` of them have the id of a later one that differs, which is stored in their place.
    After `damage`, or the `last` batch, no other follows.
    """

    read: int
    digests: Mapping[str, int] = field(default_factory=dict)
    rejects: tuple[Reject, ...] = ()
    replaced: int = 0
    damage: PresagioError | None = None
    last: bool = False
    bookmark: Bookmark | None = None  # how far the source is read
    bytes_read: int = 0  # of the source so far, as they lie on the disk
    unpacked: int = 0  # bytes of the batch
    seconds_used: float = 0.0  # CPU time of the process so far


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """Where a record stands. `line` counts lines, or the records of an array, from 1."""

    file: str
    line: int
    unit: Literal["line", "record"]

    def reject(self, reason: str) -> Reject:
        """Return the entry for the rejects report; it names the record if it has no line."""
        if self.unit == "record":
            reason = f"record {self.line}: {reason}"
        return Reject(file=self.file, line=self.line, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecord(RecordPlace):
    """One record as the file holds it: cheap to make, not normalised.

    `digest` is a signed 64-bit hash of the record's bytes, the normaliser's version and the
    defaults: an equal digest means an equal document. `payload` has the shape of `format`.
    """

    external_id: str
    digest: int
    format: str
    payload: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class RawRecord(RecordPlace):
    """A record as it stands in a file: its place, the bytes that its digest is made of, fields."""

    raw: bytes
    value: Mapping[str, object]

    def record(
        self,
        format: str,  # noqa: A002 - the name of the field
        identity: object,
        digest: int,
        payload: Mapping[str, object] | None = None,
    ) -> SourceRecord | Reject:
        """Return the record with that id, or a reject if it cannot be used."""
        try:
            return SourceRecord(
                self.file,
                self.line,
                self.unit,
                external_id=external_id(identity),
                digest=digest,
                format=format,
                payload=self.value if payload is None else payload,
            )
        except RecordError as exc:
            return self.reject(str(exc))


@dataclass(frozen=True, slots=True, kw_only=True)
class PostFields:
    """The fields of one message, in terms common to all formats.

    `text` is as the source wrote it (HTML entities, short links). `links` pairs each short link
    with its expanded form.
    """

    text: str
    created_at: datetime | None  # None: nothing tells when it was written
    dated_by: DateKind | None = None  # what the date tells, if not when it was written
    searched: str | None = None  # the text to search, if it differs from `text`
    keywords: tuple[str, ...] = ()  # also found by these: tags and authors of a file
    # Words that stand beside the text, each with what it is: ("image", "A heron on the quay").
    beside: tuple[tuple[str, str], ...] = ()
    author: str | None = None
    title: str | None = None
    role: str | None = None
    lang: str | None = None
    url: str | None = None
    reply_to: str | None = None
    platform: str | None = None
    thread: str | None = None
    attribution: str | None = None
    tags: tuple[str, ...] | None = None  # None = take them from the text
    mentions: tuple[str, ...] | None = None  # None = take them from the text
    engagement: int = 0
    flags: Flag = Flag.NONE
    links: tuple[tuple[str, str], ...] = ()
    device: str | None = None
    meta: Mapping[str, object] = field(default_factory=dict)
    blocks: tuple[Block, ...] | None = None  # the text, if it is stored in parts
    pages: int | None = None
    page_labels: tuple[str, ...] = ()  # as printed
    unread: str | None = None  # which pages could not be read, and why
    mine: bool | None = None  # written by the owner of the export; None = not known here


def build_fingerprint(defaults: Defaults, *context: str) -> Callable[[bytes], int]:
    """Return a function from a record's bytes to its digest.

    `context` is whatever else affects the resulting document, such as the format.
    """
    context_key = "\0".join((str(NORMALISER_VERSION), defaults.author or "", *context))
    base = hashlib.blake2b(context_key.encode("utf-8", "replace") + b"\0", digest_size=8)

    def digest(raw: bytes) -> int:
        hasher = base.copy()
        hasher.update(raw)
        return int.from_bytes(hasher.digest(), "big", signed=True)

    return digest


def external_id(value: object) -> str:
    """Return the id of a record as text. Raises RecordError if it is missing or not exact."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, float):
        raise RecordError(
            Message("the id {value!r} is not a whole number, its last digits are lost", value=value)
        )
    if value is not None and not isinstance(value, str):
        names = {bool: "true or false", list: "a list", dict: "an object"}
        kind = names.get(type(value), type(value).__name__)
        raise RecordError(Message("the id is {kind}, not a text or a whole number", kind=kind))
    text = (value or "").strip()
    if not text:
        raise RecordError(Message("no id"))
    if len(text) > _LONGEST_ID:
        raise RecordError(Message("the id is longer than {number} characters", number=_LONGEST_ID))
    if not text.isprintable():
        raise RecordError(Message("the id holds control characters"))
    if not text.isdigit() and _ROUNDED.fullmatch(text):
        raise RecordError(
            Message(
                "the id {text} was rounded by a spreadsheet, its last digits are"
                " lost; take the file as it was downloaded",
                text=text,
            )
        )
    return text
