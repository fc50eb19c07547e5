"""Base classes for the readers of formats, of JSON and of CSV among them."""

import io
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal, Self

import orjson

from engine.errors import RecordError, UsageError
from engine.ingest.csv_rows import csv_rows, first_row
from engine.ingest.records import (
    Defaults,
    PostFields,
    RawRecord,
    RecordPlace,
    Reject,
    SourceRecord,
    TableLayout,
    build_fingerprint,
)
from engine.ingest.sources import Source
from engine.ingest.streams import (
    BOM,
    HEAD,
    LONGEST_RECORD,
    Piece,
    array_items,
    named_arrays,
    skip_bom,
    spans_lines,
    split_lines,
    whole_objects,
)
from engine.messages import Message
from engine.values import Flag, Kind

Digest = Callable[[bytes], int]
_SAMPLED_OBJECTS, _SAMPLE_SIZE = 20, 1 << 18  # objects, bytes
_DEEPEST = 100  # levels; orjson writes at most 254, and Python recurses 1,000 deep
# "[1, 2]" may be a bad line; an array of records begins with an object. X writes an assignment.
_ARRAY = re.compile(rb"\s*(?:(?:window\.|Grailbird\.)[\w.]+\s*=\s*)?\[\s*(?:[{\]]|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The beginning of a file: its bytes without a byte order mark, and the JSON objects in it."""

    name: str = ""
    head: bytes
    objects: tuple[Mapping[str, object], ...]  # the first few, in order
    columns: Mapping[str, str] = field(default_factory=dict)  # that the command names


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file of a source while it is read."""

    source: Source
    name: str
    stream: io.BufferedReader
    defaults: Defaults
    owner: str | None = None  # of the export, where another file names it

    @property
    def label(self) -> str:
        """Its path, for people."""
        return self.source.label(self.name)

    @property
    def citation(self) -> str:
        """Its name without the folders that contain the export."""
        return self.source.citation(self.name)


class Reader:
    """One format; docs/extending.md tells how to add one.

    It is read file by file: subclasses give the records of a file in `read_records`, and their ids
    in `identify`.
    """

    name: str
    kinds: tuple[Kind, ...]  # of corpus that it may fill, the usual one first
    pattern = ""  # of the names of its files in a folder or zip; "" = it reads none there
    marks: tuple[str, ...] = ()  # of what it makes of a file: part of each digest
    layout: TableLayout | None = None  # of the file, if it is a table

    def members(self, names: Sequence[str]) -> Sequence[str]:
        """Return the files of a folder or zip that hold records, in the order to read them."""
        return members_named(self.pattern, names) if self.pattern else ()

    def recognises(self, sample: Sample) -> bool:
        """Return whether the beginning of a file looks like this format."""
        raise NotImplementedError

    def prepare(
        self,
        source: Source,  # noqa: ARG002
        names: Sequence[str],  # noqa: ARG002
        defaults: Defaults,  # noqa: ARG002
    ) -> Self:
        """Return the reader of these files, which it may look at.

        Raises UnknownFormat, UsageError, InputError.
        """
        return self

    def tell_guesses(
        self,
        source: Source,  # noqa: ARG002
        names: Sequence[str],  # noqa: ARG002
        defaults: Defaults,  # noqa: ARG002
    ) -> Iterable[Message]:
        """Return what is guessed about how the files are read."""
        return ()

    def find_owner(self, source: Source, defaults: Defaults) -> str | None:  # noqa: ARG002
        """Return whose export it is, "" if nothing says so; None where documents need no owner.

        The owner is part of each digest.
        """
        return None

    def records(
        self, source: Source, names: Sequence[str], defaults: Defaults
    ) -> Generator[SourceRecord | Reject]:
        """Yield the records of the named files, in order, without normalising them.

        Raises InputError if a file cannot be read further.
        """
        owner = self.find_owner(source, defaults)
        marks = self.marks if owner is None else (owner,)
        digest = build_fingerprint(defaults, self.name, *marks)
        for name in names:
            with source.open(name) as stream:
                file = OpenFile(source, name, stream, defaults, owner or None)
                yield from self.read_file(file, digest)

    def read_file(self, file: OpenFile, digest: Digest) -> Iterator[SourceRecord | Reject]:
        """Yield the records of one file, in order. Raises InputError."""
        for item in self.read_records(file):
            if isinstance(item, Reject):
                yield item
            else:
                yield from self.split(item, digest)

    def read_records(self, file: OpenFile) -> Iterator[RawRecord | Reject]:
        """Yield the records of one file as they stand there, in order. Raises InputError."""
        raise NotImplementedError

    def split(self, item: RawRecord, digest: Digest) -> Iterator[SourceRecord | Reject]:
        """Turn what was read into records; usually it is one."""
        yield item.record(self.name, self.identify(item.value), digest(item.raw))

    def identify(self, value: Mapping[str, object]) -> object:
        """Return the id of a record."""
        return value.get("id")

    def post(self, payload: Mapping[str, object]) -> PostFields:
        """Translate a record's payload. Raises RecordError."""
        raise NotImplementedError


class JsonReader(Reader):
    """Reads objects from lines or from one array, whichever the file contains.

    Readers of other shapes override `read_records`, and `recognises` in place of `fits`.
    """

    longest = LONGEST_RECORD  # bytes of an object

    def recognises(self, sample: Sample) -> bool:
        return any(self.fits(value) for value in sample.objects)

    def fits(self, value: Mapping[str, object]) -> bool:
        """Return whether one object looks like a record of this format."""
        raise NotImplementedError

    def read_records(self, file: OpenFile) -> Iterator[RawRecord | Reject]:
        return json_objects(file.label, file.stream, self.longest)


def change_values(
    items: Iterable[RawRecord | Reject],
    change: Callable[[Mapping[str, object]], Mapping[str, object]],
) -> Iterator[RawRecord | Reject]:
    """Yield records with other fields, which `change` makes of theirs, and the same digest."""
    for item in items:
        yield item if isinstance(item, Reject) else replace(item, value=change(item.value))


def json_arrays(label: str, stream: io.BufferedReader, name: str) -> Iterator[RawRecord | Reject]:
    """Yield the objects of every array that is the value of a key `name`, at any depth."""
    for _header, pieces in named_arrays(stream, name):
        yield from parse_objects(label, "record", pieces)


def json_objects(
    label: str, stream: io.BufferedReader, longest: int = LONGEST_RECORD
) -> Iterator[RawRecord | Reject]:
    """Yield the objects of a file that is one array, one object a line, or objects over many lines.

    `longest` is what one of them may take, in bytes.
    """
    skip_bom(stream)
    head = stream.peek(HEAD)
    if _ARRAY.match(head):
        return parse_objects(label, "record", array_items(stream, longest))
    if spans_lines(head):
        return parse_objects(label, "record", whole_objects(stream, longest))
    return parse_objects(label, "line", split_lines(stream, longest))


def sample_ahead(source: Source, name: str, defaults: Defaults) -> Sample:
    """Return the beginning of one of many files, which is closed again. Raises InputError."""
    with source.open_ahead(name) as stream:
        return build_sample(name, stream.read(_SAMPLE_SIZE), defaults)


def build_sample(name: str, head: bytes, defaults: Defaults) -> Sample:
    """Return what readers recognise a file by."""
    head = head.removeprefix(BOM)
    # The last line or object of the head may be cut: it is a reject here and is read in full later.
    items = json_objects(name, io.BufferedReader(io.BytesIO(head)))
    objects = (item.value for item in items if isinstance(item, RawRecord))
    first = tuple(islice(objects, _SAMPLED_OBJECTS))
    return Sample(name=name, head=head, objects=first, columns=defaults.columns)


def parse_objects(
    label: str, unit: Literal["line", "record"], pieces: Iterable[Piece]
) -> Iterator[RawRecord | Reject]:
    """Yield the JSON objects in pieces of a file."""
    for number, raw, problem in pieces:
        parsed = problem or _parse_object(raw)
        if isinstance(parsed, str):
            yield RecordPlace(label, number, unit).reject(parsed)
        else:
            yield RawRecord(label, number, unit, raw, parsed)


def _parse_object(raw: bytes) -> Mapping[str, object] | str:
    """Return an object of JSON, or what is wrong with it."""
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as exc:
        try:
            raw.decode()
        except UnicodeDecodeError:
            return "invalid UTF-8"
        return f"not valid JSON: {exc.msg} at character {exc.pos + 1}"
    if sum(map(raw.count, (b"{", b"["))) > _DEEPEST and _is_deep(value):
        return f"nested more than {_DEEPEST} levels deep"
    return value if isinstance(value, dict) else "not an object"


def _is_deep(value: object, levels: int = _DEEPEST) -> bool:
    """Return whether a value is nested too deeply for recursive functions."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not levels or any(
        _is_deep(each, levels - 1) for each in inner if isinstance(each, dict | list)
    )


def members_named(pattern: str, names: Sequence[str]) -> Sequence[str]:
    """Return the names whose last part is `pattern`, in the order given."""
    whole = re.compile(f"(?:.*/)?(?:{pattern})")
    return [name for name in names if whole.fullmatch(name)]


def is_mine(owner: object, *names: object) -> bool | None:
    """Return whether one of the names is the owner's, or None if the owner is unknown."""
    if not isinstance(owner, str) or not owner:
        return None
    return _fold_name(owner) in {_fold_name(name) for name in names if isinstance(name, str)}


def role_of(mine: bool | None) -> str | None:
    """Return the role of a message in a chat among people."""
    return None if mine is None else "me" if mine else "others"


def only_own_words(
    records: Iterable[SourceRecord | Reject], reader: Reader, author: str | None
) -> Generator[SourceRecord | Reject]:
    """Yield the records that the owner wrote, and those that cannot be used.

    `author` is the owner as named on the command line. Raises UsageError if neither the file nor
    the command line names the owner.
    """
    for record in records:
        if isinstance(record, Reject) or _is_own(record, reader, author):
            yield record


def _is_own(record: SourceRecord, reader: Reader, author: str | None) -> bool:
    try:
        post = reader.post(record.payload)
    except RecordError:
        return True  # the normaliser reports why it cannot be used
    mine = post.mine
    if mine is None and Flag.REPOST in post.flags:
        mine = False
    elif mine is None:
        mine = True if post.author is None else is_mine(author, post.author)
    if mine is None:
        raise UsageError(
            Message(
                "{file} does not say whose it is, so nobody's own words can be kept.",
                file=record.file,
            ),
            fix=Message("Name the person with --author, as the file writes the name."),
        )
    return mine


def _fold_name(name: str) -> str:
    return name.strip().removeprefix("@").casefold()


class CsvReader(JsonReader):
    """Reads objects from the rows of a CSV, by the names of its columns."""

    columns: str  # that a file must have, as a message names them

    def recognises(self, sample: Sample) -> bool:
        return self.is_header(first_row(sample.head))

    def is_header(self, row: Sequence[str]) -> bool:
        """Return whether a row names the columns of this format."""
        raise NotImplementedError

    def escape(self, header: Sequence[str]) -> str | None:  # noqa: ARG002 - of some formats
        """Return the character that quotes are escaped with; None if they are doubled."""
        return None

    def read_records(self, file: OpenFile) -> Iterator[RawRecord | Reject]:
        return csv_rows(
            file.label,
            file.stream,
            is_header=self.is_header,
            expected=self.columns,
            escape=self.escape,
        )
