"""The way of a source's records into a corpus: batch by batch, what changed, safely repeatable."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TypeVar

from engine.documents import Document
from engine.errors import InputError, RecordError
from engine.ingest.normalise import normalise
from engine.ingest.records import Defaults, Reject, SourceRecord
from engine.ports import DocumentStore
from engine.types import Corpus

BATCH = 10_000

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """What became of the records; `read` is the sum of the rest."""

    corpus: str
    read: int = 0
    inserted: int = 0
    updated: int = 0
    rejected: int = 0

    @property
    def unchanged(self) -> int:
        """Records whose document was stored already, or stands in the source more than once."""
        return self.read - self.inserted - self.updated - self.rejected

    @property
    def usable(self) -> bool:
        """False when no record could be stored."""
        return self.read > self.rejected


class Loader:
    """Loads sources into one corpus.

    Reading and normalising run in threads while the database stores the batch before. A batch
    is stored whole or not at all; the batches before it stay, and a repeated run completes the
    rest. When it is cancelled, a thread may go on reading: the source is then not to be closed.
    """

    def __init__(
        self,
        store: DocumentStore,
        corpus: Corpus,
        defaults: Defaults,
        *,
        rejected: Callable[[Reject], None],
        progress: Callable[[IngestReport], None],
        batch: int = BATCH,
    ) -> None:
        self._store = store
        self._corpus = corpus
        self._defaults = defaults
        self._rejected = rejected
        self._progress = progress
        self._batch = batch
        self._under_way: dict[str, int] = {}  # digests of the batch that is being stored
        self.report = IngestReport(corpus=corpus.name)

    async def load(self, records: Iterator[SourceRecord | Reject]) -> IngestReport:
        """Store all records of a source and return the counts so far, of all sources.

        Raises InputError when the source is damaged, after storing what came before the damage,
        and the errors of the store.
        """
        storing: asyncio.Task[None] | None = None
        damage: InputError | None = None
        try:
            while damage is None:
                batch, damage = await _in_thread(lambda: _take(records, self._batch))
                if not batch:
                    break
                documents = await self._changed(batch)
                if storing:
                    await storing
                self._under_way = {each.external_id: each.digest for each in documents}
                storing = asyncio.create_task(self._upsert(documents))
        except asyncio.CancelledError:
            if storing:
                storing.cancel()
            raise
        finally:
            if storing:
                await storing
        if damage:
            raise damage
        return self.report

    async def finish(self) -> IngestReport:
        """Stitch threads, which may span batches and sources, and return the counts."""
        await self._store.stitch_threads(self._corpus)
        return self.report

    async def _changed(self, batch: Sequence[SourceRecord | Reject]) -> list[Document]:
        """Return the documents of the records that are new or changed; the last of an id wins."""
        rejects: list[Reject] = []
        versions: dict[str, list[SourceRecord]] = {}
        for record in batch:
            if isinstance(record, Reject):
                rejects.append(record)
            else:
                versions.setdefault(record.external_id, []).append(record)
        digests = {identity: records[-1].digest for identity, records in versions.items()}
        outdated = await self._outdated(digests)
        documents, unusable = await asyncio.to_thread(
            _normalised,
            [versions[identity] for identity in digests if identity in outdated],
            self._defaults,
        )
        for reject in rejects + unusable:
            self._rejected(reject)
        self._count(read=len(batch), rejected=len(rejects) + len(unusable))
        return documents

    async def _outdated(self, digests: Mapping[str, int]) -> set[str]:
        """Return the ids that are new or changed, as it will be after the batch under way."""
        if not digests:
            return set()
        outdated = await self._store.outdated(self._corpus, digests)
        again = {i: digest for i, digest in self._under_way.items() if i in digests}
        changed = {i for i, digest in again.items() if digest != digests[i]}
        return (outdated - again.keys()) | changed

    async def _upsert(self, documents: Sequence[Document]) -> None:
        if documents:
            inserted, updated = await self._store.upsert(self._corpus, documents)
            self._count(inserted=inserted, updated=updated)

    def _count(self, **more: int) -> None:
        counts = {name: getattr(self.report, name) + number for name, number in more.items()}
        self.report = replace(self.report, **counts)
        self._progress(self.report)


def _normalised(
    versions: Sequence[Sequence[SourceRecord]], defaults: Defaults
) -> tuple[list[Document], list[Reject]]:
    """Return the document of the last usable version of each record, and the unusable ones."""
    documents, rejects = [], []
    for records in versions:
        for record in reversed(records):
            try:
                documents.append(normalise(record, defaults))
                break
            except RecordError as exc:
                rejects.append(record.reject(str(exc)))
    return documents, rejects


def _take(
    records: Iterator[SourceRecord | Reject], number: int
) -> tuple[list[SourceRecord | Reject], InputError | None]:
    """Return the next records, fewer at the end, and the damage that hides those after them."""
    batch: list[SourceRecord | Reject] = []
    try:
        batch.extend(islice(records, number))
    except InputError as damage:
        return batch, damage
    return batch, None


async def _in_thread(read: Callable[[], _Result]) -> _Result:
    """Return what `read` returns, from a thread that nobody waits for when this is cancelled.

    A pool's thread would be waited for, and one that reads a pipe may never end.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[_Result] = loop.create_future()

    def settle(settled: Callable[[], None]) -> None:
        if not result.done():
            settled()

    def work() -> None:
        try:
            value = read()
        except Exception as exc:
            settled = partial(result.set_exception, exc)
        else:
            settled = partial(result.set_result, value)
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, settled)

    threading.Thread(target=work, daemon=True).start()
    return await result
