"""Detects the format of a file from its content, and reads its records."""

import itertools
import re
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from importlib import import_module
from pathlib import PurePosixPath
from pkgutil import iter_modules
from typing import Self

from engine.errors import InputError, PresagioError, UnknownFormat, UsageError
from engine.ingest import formats
from engine.ingest.csv_rows import first_row
from engine.ingest.exports import build_sample, list_unread, no_export, sample_ahead, share_files
from engine.ingest.formats.documents import PAGE, recognise_content
from engine.ingest.formats.jsonl import TableReader
from engine.ingest.formats.mastodon import MastodonReader, holds_direct, is_direct
from engine.ingest.formats.whatsapp import WhatsAppReader
from engine.ingest.private import refuse_chat, refuse_private
from engine.ingest.reader import Reader, Sample, only_own_words, parse_objects
from engine.ingest.records import (
    Bookmark,
    Contents,
    Defaults,
    OpenedSource,
    Reject,
    SourceRecord,
    SourceRequest,
    UnreadFile,
)
from engine.ingest.sources import InputSource, Source, Watch, source_at
from engine.ingest.streams import BOM, UTF_16, WINDOWS, Readable, find_encoding
from engine.ingest.tables import list_names
from engine.messages import Message
from engine.values import Kind

_PACKED = ((b"7z\xbc\xaf\x27\x1c", "7-Zip"), (b"Rar!\x1a\x07", "RAR"))
_SQLITE = b"SQLite format 3\0"
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
# Readers of what anybody may write, and those whose corpora all may read.
_OF_ANYTHING = frozenset(("jsonl", "csv", "feed", "markdown", "documents"))
_PUBLIC = frozenset(("markdown", "documents"))
_SAMPLED_FILES = 50
_WITH_WORDS = (".json", ".js", ".jsonl", ".csv", ".txt", ".html", ".htm", ".xml")


class RecordStream:
    """The records of one source, in order, and how far it is read.

    Iterating may raise InputError if the file turns out to be damaged; what came before is good.
    """

    def __init__(
        self,
        source: Source,
        reader: Reader,
        names: Sequence[str],
        request: SourceRequest,
    ) -> None:
        defaults, after = request.defaults, request.after
        self.opened = OpenedSource(
            name=source.name,
            format=reader.name,
            kinds=(Kind.PERSONAL,) if request.direct else reader.kinds,
            total_bytes=source.total_bytes(names),
            table=reader.layout if isinstance(reader, TableReader) else None,
            guesses=tuple(_list_guesses(source, reader, names, defaults)),
        )
        self.source = source
        self._file: str | None = None
        self._taken = 0  # records and rejects of that file
        left = _remaining_files(source, names, after)
        self._records = _read_files(source, reader, left, defaults)
        if request.direct is not None:
            self._records = _read_part(self._records, direct=request.direct)
        if defaults.only_mine:
            self._records = only_own_words(self._records, reader, defaults.author)
        if after:
            self._take_up(after)

    def _take_up(self, after: Bookmark) -> None:
        """Skip what was read before. Raises InputError."""
        self.source.missed()
        if after.file in self.source.skipped:
            return
        for _ in itertools.islice(self, after.taken):
            if self._file != after.file:
                raise _change_error(after.file)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> SourceRecord | Reject:
        record = next(self._records)
        if self.source.reading != self._file:
            self._file, self._taken = self.source.reading, 0
        self._taken += 1
        return record

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
        self.source.close()


def _read_files(
    source: Source, reader: Reader, names: Sequence[str], defaults: Defaults
) -> Generator[SourceRecord | Reject]:
    """Yield the records of the named files, and a reject for each file that was refused."""
    yield from source.missed()
    if names:
        yield from reader.records(source, names, defaults)
        yield from source.missed()


def _read_part(
    records: Iterable[SourceRecord | Reject], *, direct: bool
) -> Generator[SourceRecord | Reject]:
    """Yield what was sent to named people, or the rest."""
    for record in records:
        payload = {} if isinstance(record, Reject) else record.payload
        if is_direct(payload) is direct:
            yield record


def _list_guesses(
    source: Source, reader: Reader, names: Sequence[str], defaults: Defaults
) -> Iterator[Message]:
    """Yield what is guessed about how the files are read, for those who can say it better."""
    if isinstance(reader, WhatsAppReader):
        yield from reader.tell_guesses(source, names, defaults)
    if reader.name in _PUBLIC and not defaults.kind:
        yield Message(
            "{name} is read as a document, which all who search here may read. If it is private:"
            " --kind personal.",
            name=source.label(names[0]) if len(names) == 1 else source.name,
        )


def _remaining_files(source: Source, names: Sequence[str], after: Bookmark | None) -> Sequence[str]:
    """Return the files that are still to be read. Raises InputError."""
    start = 0
    if after:
        places = [source.label(name) for name in names]
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


def unknown_format(name: str, sample: Sample) -> UnknownFormat:
    """Return the error for a file that no reader recognises."""
    head, known = sample.head, ", ".join(READERS)
    if refusal := _refuse_encoding(name, head) or _refuse_archive(name, head):
        return refusal
    if sample.objects:
        said = Message(
            "The format of {name} is not recognised: its records hold {fields}.",
            name=name,
            fields=list_names(sample.objects[0]),
        )
    elif refusal := _refuse_broken_json(name, head):
        return refusal
    elif len(columns := first_row(head)) > 1 or PurePosixPath(name).suffix.lower() == ".csv":
        said = Message(
            "The format of {name} is not recognised: its first line is {columns}.",
            name=name,
            columns=list_names(columns),
        )
    else:
        return UnknownFormat(
            Message("The format of {name} is not recognised.", name=name),
            fix=Message("Known formats, for --format: {known}.", known=known),
        )
    return UnknownFormat(
        said,
        fix=Message(
            "Say which hold texts and dates: --columns text=NAME,created_at=NAME. Known"
            " formats, for --format: {known}.",
            known=known,
        ),
    )


def _refuse_broken_json(name: str, head: bytes) -> UnknownFormat | None:
    """Return the error for objects on lines, none of which can be read."""
    line, _, _ = head.strip().partition(b"\n")
    if not (line.startswith(b"{") and line.rstrip().endswith(b"}")):
        return None
    for item in parse_objects(name, "line", [(1, line, None)]):
        if isinstance(item, Reject):
            return UnknownFormat(
                Message("In {name} no line can be read: {reason}.", name=name, reason=item.reason),
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
    return _refuse_binary(name, head) if _CONTROL.search(head) else None


def _refuse_binary(name: str, head: bytes) -> UnknownFormat:
    if head.startswith(_SQLITE):
        return UnknownFormat(
            Message("{name} is a database of SQLite.", name=name),
            fix=Message("Export the table that holds the texts as CSV, and give that."),
        )
    return UnknownFormat(
        Message("{name} is neither text nor an archive that can be opened.", name=name),
        fix=Message("If it is an export, it is damaged: download it again."),
    )


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
    request: SourceRequest, *, stdin: Readable | None = None, watch: Watch | None = None
) -> RecordStream:
    """Open a file, folder, zip, gzip or standard input, and detect its format.

    Raises UsageError for a format that does not exist, UnknownFormat if no reader recognises the
    content, InputError if it cannot be read. Use it in a `with`.
    """
    if request.format not in (AUTO, *READERS):
        raise UsageError(
            Message("There is no format {format!r}.", format=request.format),
            fix=Message("Formats: {known}.", known=", ".join(READERS)),
        )
    source: Source
    if request.where == "-":
        source = InputSource(stdin or sys.stdin.buffer, watch)
    else:
        source = source_at(request.where, watch, request.skipped)
    try:
        reader, names = _choose_reader(source, request)
        if isinstance(reader, TableReader):
            reader = reader.with_layout(source, names[0], request.defaults)
        return RecordStream(source, reader, names, request)
    except BaseException:
        source.close()
        raise


def _choose_reader(source: Source, request: SourceRequest) -> tuple[Reader, Sequence[str]]:
    """Return the reader of a source, and the files that it reads there. Raises InputError."""
    if source.packed:
        return _choose_members(source, request)
    names = source.files()
    if request.format != AUTO:
        return READERS[request.format], names
    head = source.head(names[0]).removeprefix(BOM)
    if not head.strip():
        raise InputError(
            Message("{name} is empty.", name=source.name), fix=Message("Check the path.")
        )
    sample = build_sample(names[0], head, request.defaults)
    return _recognise(source.name, sample, request.defaults), names


def _recognise(name: str, sample: Sample, defaults: Defaults) -> Reader:
    """Return the reader of one file. Raises UnknownFormat."""
    if page := page_instead_of_export(name, sample.head):
        raise page
    for reader in READERS.values():
        may_read = isinstance(reader, TableReader) or not defaults.columns
        if reader.name in _OF_ANYTHING and (
            refusal := refuse_private(name, sample.head, sample.objects, defaults)
        ):
            raise refusal
        if may_read and reader.recognises(sample):
            if reader.name in _PUBLIC and (refusal := refuse_chat(name, sample.head, defaults)):
                raise refusal
            return reader
    raise unknown_format(name, sample)


def _choose_members(source: Source, request: SourceRequest) -> tuple[Reader, Sequence[str]]:
    form: str = request.format
    files: Sequence[str] = request.files
    if form == AUTO:
        shares = share_files(source, READERS.values(), request.defaults)
        form, files = next(iter(shares.files.items()), (AUTO, ()))
    elif not files:
        files = READERS[form].members(source.files())
    if not files:
        raise _refuse_archive(source.name, b"") or no_export(source.name)
    return READERS[form], [name for name in files if not source.is_refused(name)]


def list_exports(request: SourceRequest, watch: Watch | None = None) -> Contents:
    """Return the exports at a path, and what is there and not read. Raises InputError."""
    if request.where != "-" and request.format in (AUTO, MastodonReader.name):
        with closing(source_at(request.where, watch)) as source:
            if source.packed and request.format == AUTO:
                return _list_contents(source, request)
            return Contents(exports=_part_direct(source, request))
    return Contents(exports=(request,))


def _part_direct(source: Source, request: SourceRequest) -> tuple[SourceRequest, ...]:
    """Return the request, or one for the posts and one for the messages among them."""
    names = MastodonReader().members(source.files()) if source.packed else source.files()
    if request.defaults.kind or not any(holds_direct(source, name) for name in names):
        return (request,)
    return replace(request, direct=False), replace(request, direct=True)


def _list_contents(source: Source, request: SourceRequest) -> Contents:
    names = source.names()
    shares = share_files(source, READERS.values(), request.defaults)
    exports: list[SourceRequest] = []
    for form, files in shares.files.items():
        part = replace(request, format=form, files=files)
        exports += _part_direct(source, part) if form == MastodonReader.name else (part,)
    taken = {name for share in shares.files.values() for name in share}
    unread: list[UnreadFile] = []
    for name in shares.loose:
        try:
            source.open_ahead(name).close()  # a link that leaves the folder is refused
            inner = _open_loose(replace(request, where=source.label(name)), source.watch)
        except PresagioError as error:
            unread.append(UnreadFile(name, None, str(error.message)))
        else:
            exports += inner.exports
            unread += (replace(file, name=f"{name}/{file.name}") for file in inner.unread)
        taken.add(name)
    if not exports:
        raise (
            _refuse_archive(source.name, b"")
            or _refuse_folder(source, names, request.defaults)
            or no_export(source.name)
        )
    return Contents(exports=tuple(exports), unread=(*unread, *list_unread(source, names, taken)))


def _open_loose(request: SourceRequest, watch: Watch) -> Contents:
    """Return what a file beside others holds. Raises UnknownFormat and the like."""
    contents = list_exports(request, watch)
    if contents.exports == (request,):
        open_source(request, watch=watch).close()
    return contents


def _refuse_folder(
    source: Source, names: Sequence[str], defaults: Defaults
) -> UnknownFormat | None:
    """Return the error for a folder of messages that are not read."""
    for name in [name for name in names if name.lower().endswith(_WITH_WORDS)][:_SAMPLED_FILES]:
        sample = sample_ahead(source, name, defaults)
        label = source.label(name)
        if refusal := refuse_private(label, sample.head, sample.objects, defaults):
            return refusal
    return None
