"""The process that reads sources and translates their records.

An order opens a source, asks for its next batch, or for documents of that batch: records already
stored are recognised by their digest, and are neither translated nor sent. Notes name the current
file, carry documents in parts, and ask for standard input.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from engine.corpora import Document
from engine.errors import InputError, RecordError
from engine.ingest.detect import RecordStream, list_exports, open_source
from engine.ingest.normalise import normalise
from engine.ingest.records import (
    DOCUMENTS,
    FILE,
    INPUT,
    PROGRESS,
    Bookmark,
    Contents,
    Defaults,
    OpenedSource,
    ReadBatch,
    Reject,
    SourceRecord,
)
from engine.ingest.sources import Watch
from engine.isolation.worker import Owner, allow, pack, pack_refusal, seconds_left, seconds_used
from engine.values import Kind

_MEGABYTE = 1_000_000
_BATCH_BYTES = 32 * _MEGABYTE  # of the source; a batch ends there even if it has few records
_DOCUMENT_BYTES = 2 * _MEGABYTE  # the same for documents, which take long to parse
_PART = 500  # documents


class _Allowance(Watch):
    """The processor time that each file may take: a fixed part, plus more for every megabyte."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._file: str | None = None
        self._seconds, self._per_megabyte, self._unpaid = 0.0, 0.0, 0
        self._left: dict[str, float] = {}  # of files that are read again in this batch
        self.bytes_read = self._taken = 0

    def begin(self, seconds: float, per_megabyte: float) -> None:
        """Start with another source."""
        self._seconds, self._per_megabyte = seconds, per_megabyte
        self._file, self._unpaid = None, 0
        self._left.clear()
        allow(seconds)

    def begin_batch(self, reading: str | None) -> None:
        """Continue with the file whose reading was interrupted."""
        if reading:
            self.turn_to(reading)
        self._left.clear()

    def turn_to(self, file: str) -> None:
        if file != self._file:
            self._pay()
            if self._file:
                self._left[self._file] = seconds_left()
            self._file = file
            # Sent before anything else: if the file kills this process, it is too late.
            self._owner.tell(FILE + pack(file))
            allow(self._left.pop(file, self._seconds))

    def count(self, size: int) -> None:
        self.bytes_read += size
        self._unpaid += size
        if self._unpaid >= _MEGABYTE:
            self._pay()
            self._owner.tell(PROGRESS)

    def take_bytes(self) -> int:
        """Return the bytes that were read since the last time, ahead of a batch too."""
        taken, self._taken = self.bytes_read - self._taken, self.bytes_read
        return taken

    def alive(self) -> None:
        self._owner.tell(PROGRESS)

    def _pay(self) -> None:
        allow(seconds_left() + self._unpaid / _MEGABYTE * self._per_megabyte)
        self._unpaid = 0


class _StandardInput:
    """The owner's standard input."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner

    def read(self, size: int, /) -> bytes:
        return self._owner.ask(INPUT + str(size).encode())

    def close(self) -> None:
        """Do nothing: the owner closes it."""


class Desk:
    """Reads sources for the owner of this process; one is open at a time."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._allowance = _Allowance(owner)
        self._stream: RecordStream | None = None
        self._defaults = Defaults()
        self._versions: dict[str, list[SourceRecord]] = {}  # records of the batch, by id

    def open(
        self,
        *,
        where: str,
        format: str,  # noqa: A002 - the name of the command's option
        defaults: Defaults,
        skipped: Sequence[str],
        after: Bookmark | None,
        seconds: float,
        per_megabyte: float,
        shared: bool = False,
    ) -> OpenedSource:
        """Open a source in place of the one before. Raises InputError, UsageError."""
        self._close()
        self._allowance.begin(seconds, per_megabyte)
        self._defaults = defaults
        self._stream = stream = open_source(
            where,
            format=format,
            defaults=self._defaults,
            stdin=_StandardInput(self._owner),
            watch=self._allowance,
            skipped=frozenset(skipped),
            after=after,
            shared=shared,
        )
        return OpenedSource(
            name=stream.name,
            format=stream.format,
            kinds=tuple(stream.kinds),
            total_bytes=stream.total_bytes,
            table=stream.table,
            guesses=stream.guesses,
        )

    def contents(
        self,
        *,
        where: str,
        format: str,  # noqa: A002 - the name of the command's option
        defaults: Defaults,
        seconds: float,
        per_megabyte: float,
    ) -> Contents:
        """Return the exports at a path. Raises InputError."""
        self._close()
        self._allowance.begin(seconds, per_megabyte)
        return list_exports(where, format=format, defaults=defaults, watch=self._allowance)

    def _close(self) -> None:
        self._versions = {}
        if self._stream:
            self._stream.close()
        self._stream = None

    def batch(self, *, number: int) -> ReadBatch:
        """Read the next batch; for each id the last digest counts."""
        if self._stream is None:
            raise ValueError("no source is open")
        self._allowance.begin_batch(self._stream.reading)
        self._versions, rejects, damage, read = {}, list[Reject](), None, 0
        documents = self._stream.kinds[0] is Kind.LIBRARY
        enough = self._allowance.bytes_read + (_DOCUMENT_BYTES if documents else _BATCH_BYTES)
        try:
            for found in islice(self._stream, number):
                read += 1
                if isinstance(found, Reject):
                    rejects.append(found)
                else:
                    self._versions.setdefault(found.external_id, []).append(found)
                if self._allowance.bytes_read > enough:
                    break
        except InputError as exc:
            damage = pack_refusal(exc)
        return ReadBatch(
            read=read,
            last=read < number and self._allowance.bytes_read <= enough,
            digests={identity: found[-1].digest for identity, found in self._versions.items()},
            rejects=tuple(rejects),
            damage=damage,
            bookmark=self._stream.bookmark,
            bytes_read=self._stream.bytes_read,
            unpacked=self._allowance.take_bytes(),
            seconds_used=seconds_used(),
            replaced=sum(
                len({record.digest for record in found}) - 1 for found in self._versions.values()
            ),
        )

    def documents(self, *, ids: Sequence[str]) -> tuple[Reject, ...]:
        """Send the documents of the records with these ids in notes; return the rejects."""
        rejects: list[Reject] = []
        documents = self._translate_records(
            (self._versions.pop(identity) for identity in ids), rejects
        )
        for part in _group_documents(documents):
            self._owner.tell(DOCUMENTS + pack(part))
        self._versions = {}
        return tuple(rejects)

    def _translate_records(
        self, versions: Iterable[Sequence[SourceRecord]], rejects: list[Reject]
    ) -> Iterator[Document]:
        """Yield the document of the last usable version of each record."""
        for records in versions:
            for record in reversed(records):
                self._allowance.turn_to(record.file)
                try:
                    yield normalise(record, self._defaults)
                    break
                except RecordError as exc:
                    rejects.append(record.reject(str(exc)))


def _group_documents(documents: Iterable[Document]) -> Iterator[Sequence[Document]]:
    """Yield groups of documents, so that neither side holds a whole batch as JSON."""
    part, size = list[Document](), 0
    for document in documents:
        part.append(document)
        size += len(document.text) + len(document.search_text) + len(document.title or "")
        size += sum(len(each.text) + len(each.search_text) for each in document.parts)
        if len(part) == _PART or size > _MEGABYTE:
            yield part
            part, size = [], 0
    if part:
        yield part
