"""An iterator over the records of one source that can resume where it stopped."""

import itertools
from collections.abc import Generator, Sequence
from typing import Self

from engine.errors import InputError
from engine.ingest.ownership import only_own_words
from engine.ingest.reader import Reader
from engine.ingest.records import Bookmark, Defaults, Reject, SourceRecord
from engine.ingest.sources import Source
from engine.messages import Message


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
        self.total_bytes = source.total_bytes(names)
        self._source = source
        self._file: str | None = None
        self._taken = 0  # records and rejects of that file
        left = _left(source, names, after)
        self._records = _read(source, reader, left, defaults)
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
                raise _changed(after.file)

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


def _read(
    source: Source, reader: Reader, names: Sequence[str], defaults: Defaults
) -> Generator[SourceRecord | Reject]:
    """Yield the records of the named files, and a reject for each file that was refused."""
    yield from source.missed()
    if names:
        yield from reader.records(source, names, defaults)
        yield from source.missed()


def _left(source: Source, names: Sequence[str], after: Bookmark | None) -> Sequence[str]:
    """Return the files that are still to be read. Raises InputError."""
    start = 0
    if after:
        places = [source.place(name) for name in names]
        if after.file not in places:
            raise _changed(after.file)
        start = places.index(after.file)
        source.bytes_read = source.total_bytes(names[:start]) or 0
    return [name for name in names[start:] if not source.is_skipped(name)]


def _changed(file: str) -> InputError:
    return InputError(
        Message("{name} changed while it was read.", name=file),
        fix=Message("Give it again when nobody writes to it."),
    )
