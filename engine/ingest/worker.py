"""The worker process of ingest: reads sources in batches and translates their records.

A task opens a source, reads its next batch, or translates records of that batch: those already
stored are recognised by their digest, and are neither translated nor sent.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from engine.corpora import Document
from engine.errors import InputError, RecordError
from engine.ingest.exports import list_exports
from engine.ingest.normalise import normalise
from engine.ingest.record_stream import RecordStream, open_source
from engine.ingest.records import (
    Batch,
    Contents,
    Defaults,
    Note,
    OpenedSource,
    Reject,
    SourceRecord,
    SourceRequest,
)
from engine.ingest.sources import Watch
from engine.process_worker import Owner, limit_cpu, seconds_left, seconds_used
from engine.values import Kind

_MEGABYTE = 1_000_000
_BATCH_BYTES = 32 * _MEGABYTE  # of the source; a batch ends there even if it has few records
_DOCUMENT_BYTES = 2 * _MEGABYTE  # the same for documents, which take long to parse
_PART = 500  # documents


class _CpuBudget(Watch):
    """The CPU time that each file may take: a fixed part, plus more for every megabyte."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._file: str | None = None
        self._seconds, self._per_megabyte, self._uncharged = 0.0, 0.0, 0
        self._left: dict[str, float] = {}  # of files that are read again in this batch
        self.bytes_read = self._taken = 0

    def begin(self, request: SourceRequest) -> None:
        """Start with another source."""
        self._seconds, self._per_megabyte = request.seconds, request.seconds_per_megabyte
        self._file, self._uncharged = None, 0
        self._left.clear()
        limit_cpu(self._seconds)

    def begin_batch(self, reading: str | None) -> None:
        """Continue with the file whose reading was interrupted."""
        if reading:
            self.turn_to(reading)
        self._left.clear()

    def turn_to(self, file: str) -> None:
        if file != self._file:
            self._charge()
            if self._file:
                self._left[self._file] = seconds_left()
            self._file = file
            # Sent before anything else: if the file kills this process, it is too late.
            self._owner.tell(Note(file=file))
            limit_cpu(self._left.pop(file, self._seconds))

    def count(self, size: int) -> None:
        self.bytes_read += size
        self._uncharged += size
        if self._uncharged >= _MEGABYTE:
            self._charge()
            self.alive()

    def take_bytes(self) -> int:
        """Return the bytes that were read since the last time."""
        taken, self._taken = self.bytes_read - self._taken, self.bytes_read
        return taken

    def alive(self) -> None:
        self._owner.tell(Note())

    def _charge(self) -> None:
        limit_cpu(seconds_left() + self._uncharged / _MEGABYTE * self._per_megabyte)
        self._uncharged = 0


class _StandardInput:
    """The owner's standard input."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner

    def read(self, size: int, /) -> bytes:
        return self._owner.ask(Note(input=size))

    def close(self) -> None:
        """Do nothing: the owner closes it."""


class SourceSession:
    """Reads sources for the owner of this process; one is open at a time."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._budget = _CpuBudget(owner)
        self._stream: RecordStream | None = None
        self._defaults = Defaults()
        self._versions: dict[str, list[SourceRecord]] = {}  # records of the batch, by id

    def open(self, request: SourceRequest) -> OpenedSource:
        """Open a source in place of the one before. Raises InputError, UsageError."""
        self._begin(request)
        stdin = _StandardInput(self._owner)
        self._stream = open_source(request, stdin=stdin, watch=self._budget)
        self._budget.take_bytes()  # what was looked at is read again
        return self._stream.opened

    def contents(self, request: SourceRequest) -> Contents:
        """Return the exports at a path. Raises InputError."""
        self._begin(request)
        return list_exports(request, self._budget)

    def _begin(self, request: SourceRequest) -> None:
        self._versions, self._defaults = {}, request.defaults
        if self._stream:
            self._stream.close()
        self._stream = None
        self._budget.begin(request)

    def batch(self, number: int) -> Batch:
        """Read the next batch; for each id the last digest counts."""
        if self._stream is None:
            raise ValueError("no source is open")
        self._budget.begin_batch(self._stream.source.reading)
        self._versions, rejects, damage, read = {}, list[Reject](), None, 0
        documents = self._stream.opened.kinds[0] is Kind.LIBRARY
        enough = self._budget.bytes_read + (_DOCUMENT_BYTES if documents else _BATCH_BYTES)
        try:
            for record in islice(self._stream, number):
                read += 1
                if isinstance(record, Reject):
                    rejects.append(record)
                else:
                    self._versions.setdefault(record.external_id, []).append(record)
                if self._budget.bytes_read > enough:
                    break
        except InputError as exc:
            damage = exc
        versions = self._versions.items()
        return Batch(
            read=read,
            last=read < number and self._budget.bytes_read <= enough,
            digests={identity: records[-1].digest for identity, records in versions},
            rejects=tuple(rejects),
            damage=damage,
            bookmark=self._stream.bookmark,
            bytes_read=self._stream.source.bytes_read,
            unpacked=self._budget.take_bytes(),
            seconds_used=seconds_used(),
            replaced=sum(len({each.digest for each in records}) - 1 for _, records in versions),
        )

    def documents(self, ids: Sequence[str]) -> tuple[Reject, ...]:
        """Send the documents of the records with these ids in notes; return the rejects."""
        rejects: list[Reject] = []
        documents = self._translate_records(
            (self._versions.pop(identity) for identity in ids), rejects
        )
        for part in _group_documents(documents):
            self._owner.tell(Note(documents=tuple(part)))
        self._versions = {}
        return tuple(rejects)

    def _translate_records(
        self, versions: Iterable[Sequence[SourceRecord]], rejects: list[Reject]
    ) -> Iterator[Document]:
        """Yield the document of the last usable version of each record."""
        for records in versions:
            for record in reversed(records):
                self._budget.turn_to(record.file)
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
