"""Opens a source and streams its records: a file, folder, zip, gzip or standard input."""

import itertools
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Self

from engine.errors import InputError
from engine.ingest.detect import AUTO, PUBLIC_FORMATS, get_reader
from engine.ingest.exports import choose_reader
from engine.ingest.formats.mastodon import is_direct
from engine.ingest.reader import Reader, only_own_words
from engine.ingest.records import (
    Bookmark,
    Defaults,
    OpenedSource,
    Reject,
    SourceRecord,
    SourceRequest,
)
from engine.ingest.sources import InputSource, Source, Watch, source_at
from engine.ingest.streams import Readable
from engine.messages import Message
from engine.values import Kind


class RecordStream:
    """The records of one source, in order, and how far it is read.

    Iterating may raise InputError if the file turns out to be damaged; what came before is good.
    """

    def __init__(
        self, source: Source, reader: Reader, names: Sequence[str], request: SourceRequest
    ) -> None:
        defaults, after = request.defaults, request.after
        self.opened = OpenedSource(
            name=source.name,
            format=reader.name,
            kinds=(Kind.PERSONAL,) if request.direct else reader.kinds,
            total_bytes=source.total_bytes(names),
            table=reader.layout,
            guesses=tuple(_list_guesses(source, reader, names, defaults)),
        )
        self.source = source
        self._file: str | None = None
        self._taken = 0  # records and rejects of that file
        left = _remaining_files(source, names, after)
        self._records = _read_files(source, reader, left, defaults)
        if request.direct is not None:
            self._records = _filter_direct(self._records, direct=request.direct)
        if defaults.only_mine:
            self._records = only_own_words(self._records, reader, defaults.author)
        if after:
            self._skip_read(after)

    def _skip_read(self, after: Bookmark) -> None:
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


def _filter_direct(
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
    yield from reader.tell_guesses(source, names, defaults)
    if reader.name in PUBLIC_FORMATS and not defaults.kind:
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


def open_source(
    request: SourceRequest, *, stdin: Readable | None = None, watch: Watch | None = None
) -> RecordStream:
    """Open a file, folder, zip, gzip or standard input, and detect its format.

    Raises UsageError for a format that does not exist, UnknownFormat if no reader recognises the
    content, InputError if it cannot be read. Use it in a `with`.
    """
    if request.format != AUTO:
        get_reader(request.format)
    source: Source
    if request.where == "-":
        source = InputSource(stdin or sys.stdin.buffer, watch)
    else:
        source = source_at(request.where, watch, request.skipped)
    try:
        reader, names = choose_reader(source, request)
        return RecordStream(source, reader, names, request)
    except BaseException:
        source.close()
        raise
