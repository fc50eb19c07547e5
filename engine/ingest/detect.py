"""Detects the format of a file from its content, and reads its records."""

import itertools
import re
import sys
from collections.abc import Collection, Generator, Mapping, Sequence
from importlib import import_module
from io import BufferedReader, BytesIO
from pathlib import PurePosixPath
from pkgutil import iter_modules
from typing import Self

from engine.errors import InputError, UnknownFormat, UsageError
from engine.ingest import formats
from engine.ingest.csv_rows import first_row
from engine.ingest.formats.documents import (
    PAGE,
    DocumentReader,
    documents_prevail,
    recognise_content,
)
from engine.ingest.formats.jsonl import TableReader
from engine.ingest.formats.markdown import MarkdownReader
from engine.ingest.reader import (
    JsonObject,
    Reader,
    Sample,
    json_objects,
    only_own_words,
    parse_objects,
)
from engine.ingest.records import Bookmark, Defaults, Reject, SourceRecord
from engine.ingest.sources import Source, Watch, source_at
from engine.ingest.streams import BOM, UTF_16, WINDOWS, Readable, find_encoding
from engine.ingest.tables import list_names
from engine.messages import Message

_PACKED = ((b"7z\xbc\xaf\x27\x1c", "7-Zip"), (b"Rar!\x1a\x07", "RAR"))
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a]")  # no text has these
_UNPACK = Message("Unpack it and give the folder.")
_SAVE_AS_CSV = Message("Save each sheet as CSV: Save as, CSV UTF-8.")
_WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods", ".numbers")
# Endings of what an export holds; a site that asks to log in answers with a page instead.
_DATA = (".zip", ".js", ".json", ".jsonl", ".csv", ".gz")
AUTO = "auto"
# Asked last, in this order: other formats hold what they recognise, too.
_GENERAL = (
    *("trump-archive-json", "api", "jsonl", "trump-archive-csv", "csv"),
    *("feed", "markdown", "documents"),
)
_SAMPLED = 20  # objects


class RecordStream:
    """The records of one source, in order, and the progress of reading them.

    `bytes_read` grows to `total_bytes` (None if unknown) during reading. Iterating may raise
    InputError if the file turns out to be damaged; what came before it is good.
    """

    def __init__(
        self,
        source: Source,
        reader: Reader,
        names: Sequence[str],
        defaults: Defaults,
        *,
        after: Bookmark | None = None,
    ) -> None:
        self.name, self.format, self.kinds = source.name, reader.name, reader.kinds
        self.table = reader.layout if isinstance(reader, TableReader) else None
        self.total_bytes = source.total_bytes(names)
        self._source = source
        self._file: str | None = None
        self._taken = 0  # records and rejects of that file
        left = _remaining_files(source, names, after)
        self._records = _read_files(source, reader, left, defaults)
        if defaults.only_mine:
            self._records = only_own_words(self._records, reader, defaults.author)
        if after:
            self._take_up(after)

    def _take_up(self, after: Bookmark) -> None:
        """Skip what was read before. Raises InputError."""
        self._source.missed()
        if self._source.is_skipped_place(after.file):
            return
        for _ in itertools.islice(self, after.taken):
            if self._file != after.file:
                raise _change_error(after.file)

    @property
    def bytes_read(self) -> int:
        """Bytes read so far; compressed ones for a gzip file, unpacked ones for a zip."""
        return self._source.bytes_read

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> SourceRecord | Reject:
        found = next(self._records)
        if self._source.reading != self._file:
            self._file, self._taken = self._source.reading, 0
        self._taken += 1
        return found

    @property
    def reading(self) -> str | None:
        """The file being read, or None before the first one."""
        return self._source.reading

    @property
    def bookmark(self) -> Bookmark | None:
        """The position to resume from, or None before the first file."""
        return Bookmark(file=self._file, taken=self._taken) if self._file else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        self._records.close()
        self._source.close()


def _read_files(
    source: Source, reader: Reader, names: Sequence[str], defaults: Defaults
) -> Generator[SourceRecord | Reject]:
    """Yield the records of the named files, and a reject for each file that was refused."""
    yield from source.missed()
    if names:
        yield from reader.records(source, names, defaults)
        yield from source.missed()


def _remaining_files(source: Source, names: Sequence[str], after: Bookmark | None) -> Sequence[str]:
    """Return the files that are still to be read. Raises InputError."""
    start = 0
    if after:
        places = [source.place(name) for name in names]
        if after.file not in places:
            raise _change_error(after.file)
        start = places.index(after.file)
        source.bytes_read = source.total_bytes(names[:start]) or 0
    return [name for name in names[start:] if not source.is_skipped(name)]


def _change_error(file: str) -> InputError:
    return InputError(
        Message("{name} changed while it was read.", name=file),
        fix=Message("Give it again when nobody writes to it."),
    )


def page_instead_of_export(name: str, head: bytes) -> UnknownFormat | None:
    """Return the error for a web page that was saved under the name of an export, or None."""
    if PurePosixPath(name).suffix.lower() not in _DATA or recognise_content(head) != PAGE:
        return None
    return UnknownFormat(
        Message("{name} is a web page, not an export.", name=name),
        fix=Message("Log in where it came from, and download it again."),
    )


def unknown_format(name: str, sample: Sample, known: str) -> UnknownFormat:
    """Return the error for a file that no reader recognises. `known` lists the formats."""
    head = sample.head
    if found := _refuse_encoding(name, head) or _refuse_archive(name, head):
        return found
    fix = Message("Known formats, for --format: {known}.", known=known)
    if sample.objects:
        return UnknownFormat(
            Message(
                "The format of {name} is not recognised: its records hold {fields}.",
                name=name,
                fields=list_names(sample.objects[0]),
            ),
            fix=Message(
                "Say which hold texts and dates: --columns text=NAME,created_at=NAME. Known"
                " formats, for --format: {known}.",
                known=known,
            ),
        )
    if found := _refuse_broken_json(name, head):
        return found
    columns = first_row(head)
    if len(columns) > 1 or PurePosixPath(name).suffix.lower() == ".csv":
        return UnknownFormat(
            Message(
                "The format of {name} is not recognised: its first line is {columns}.",
                name=name,
                columns=list_names(columns),
            ),
            fix=Message(
                "Say which columns hold texts and dates: --columns text=NAME,created_at=NAME. Known"
                " formats, for --format: {known}.",
                known=known,
            ),
        )
    return UnknownFormat(Message("The format of {name} is not recognised.", name=name), fix=fix)


def _refuse_broken_json(name: str, head: bytes) -> UnknownFormat | None:
    """Return the error for objects on lines, none of which can be read."""
    line, _, _ = head.strip().partition(b"\n")
    if not (line.startswith(b"{") and line.rstrip().endswith(b"}")):
        return None
    for found in parse_objects(name, "line", [(1, line, None)]):
        if isinstance(found, Reject):
            return UnknownFormat(
                Message("In {name} no line can be read: {reason}.", name=name, reason=found.reason),
                fix=Message("Each line holds one JSON object."),
            )
    return None


def _refuse_encoding(name: str, head: bytes) -> UnknownFormat | None:
    encoding = find_encoding(head)
    if encoding == UTF_16:
        said = Message("{name} is written in UTF-16.", name=name)
    elif encoding == WINDOWS:
        said = Message("{name} is not written in UTF-8.", name=name)
    elif encoding and b"\r" in head and b"\n" not in head:
        return UnknownFormat(
            Message("{name} has the line ends of old Macs.", name=name), fix=_SAVE_AS_CSV
        )
    else:
        return None
    return UnknownFormat(said, fix=Message("Save it as UTF-8."))


def _refuse_archive(name: str, head: bytes) -> UnknownFormat | None:
    if PurePosixPath(name).suffix.lower() in _WORKBOOKS or b"xl/workbook" in head:
        return UnknownFormat(
            Message("{name} is a workbook of a spreadsheet.", name=name),
            fix=_SAVE_AS_CSV,
        )
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return UnknownFormat(
            Message("{name} is a zip.", name=name),
            fix=Message("Give its path instead of piping it."),
        )
    if head[257:262] == b"ustar":
        return UnknownFormat(Message("{name} is a tar archive.", name=name), fix=_UNPACK)
    for sign, program in _PACKED:
        if head.startswith(sign):
            return UnknownFormat(
                Message("{name} is a {program} archive.", name=name, program=program), fix=_UNPACK
            )
    if _CONTROL.search(head):
        return UnknownFormat(
            Message("{name} is neither text nor an archive that can be opened.", name=name),
            fix=Message("If it is an export, it is damaged: download it again."),
        )
    return None


def find_readers() -> Mapping[str, Reader]:
    """Return the READERS of all modules of engine.ingest.formats in the order to ask them."""
    modules = [
        import_module(f"{formats.__name__}.{module.name}")
        for module in iter_modules(formats.__path__)
    ]
    readers = [reader for module in modules for reader in getattr(module, "READERS", ())]
    return {reader.name: reader for reader in sorted(readers, key=_rank_reader)}


def _rank_reader(reader: Reader) -> int:
    return _GENERAL.index(reader.name) if reader.name in _GENERAL else -1


READERS = find_readers()


def open_source(
    where: str,
    *,
    format: str = AUTO,  # noqa: A002 - the name of the command's option
    defaults: Defaults | None = None,
    stdin: Readable | None = None,
    watch: Watch | None = None,
    skipped: Collection[str] = (),
    after: Bookmark | None = None,
) -> RecordStream:
    """Open a path (file, folder, zip, gzip) or "-" for standard input, and detect its format.

    With `after`, what was read up to there is skipped.

    Raises UsageError for a format that does not exist, UnknownFormat if no reader recognises the
    content, InputError if it cannot be read. Use it in a `with`.
    """
    if format != AUTO and format not in READERS:
        raise UsageError(
            Message("There is no format {format!r}.", format=format),
            fix=Message("Formats: {known}.", known=_list_formats()),
        )
    source = source_at(where, stdin or sys.stdin.buffer, watch=watch, skipped=skipped)
    try:
        defaults = defaults or Defaults()
        reader, names = _choose_reader(
            source, None if format == AUTO else READERS[format], defaults
        )
        if isinstance(reader, TableReader):
            reader = reader.with_layout(source, names[0], defaults)
        return RecordStream(source, reader, names, defaults, after=after)
    except BaseException:
        source.close()
        raise


def _choose_reader(
    source: Source, wanted: Reader | None, defaults: Defaults
) -> tuple[Reader, Sequence[str]]:
    names = source.names(with_skipped=True)
    if source.packed:
        return _choose_members(source, names, wanted)
    if wanted:
        return wanted, names
    sample = _read_sample(source, names[0], defaults)
    if page := page_instead_of_export(source.name, sample.head):
        raise page
    for reader in READERS.values():
        may_read = isinstance(reader, TableReader) or not defaults.columns
        if may_read and reader.recognises(sample):
            return reader, names
    raise unknown_format(source.name, sample, _list_formats())


def _choose_members(
    source: Source, names: Sequence[str], wanted: Reader | None
) -> tuple[Reader, Sequence[str]]:
    refused = source.refused()
    for reader in (wanted,) if wanted else _list_folder_readers([*names, *refused]):
        if reader.members([*names, *refused]):
            source.miss(reader.members(refused))
            return reader, reader.members(names)
    if refusal := _refuse_archive(source.name, b""):
        raise refusal
    raise InputError(
        Message(
            "{name} holds no export that is known: no data/tweets.js, data/tweet.js or"
            " data/js/tweets/ of X, and no other.",
            name=source.name,
        ),
        fix=Message(
            "Give the folder or zip of an export as it was downloaded. Tables and JSON are given"
            " file by file."
        ),
    )


def _list_folder_readers(names: Sequence[str]) -> Sequence[Reader]:
    """Return the readers that may fit a folder; a few files among many others do not count."""
    unlikely = MarkdownReader if documents_prevail(names) else DocumentReader
    return [reader for reader in READERS.values() if not isinstance(reader, unlikely)]


def _read_sample(source: Source, name: str, defaults: Defaults) -> Sample:
    head = source.head(name).removeprefix(BOM)
    if not head.strip():
        raise InputError(
            Message("{name} is empty.", name=source.name), fix=Message("Check the path.")
        )
    # The last line or object of the head may be cut: it is a reject here and is read in full later.
    found = json_objects(name, BufferedReader(BytesIO(head)))
    objects = (item.value for item in found if isinstance(item, JsonObject))
    first = tuple(itertools.islice(objects, _SAMPLED))
    return Sample(name=name, head=head, objects=first, columns=defaults.columns)


def _list_formats() -> str:
    return ", ".join(READERS)
