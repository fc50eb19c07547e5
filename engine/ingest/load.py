"""The way of a source's records into a corpus: batch by batch, what changed, safely repeatable."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from engine.documents import Document
from engine.errors import PresagioError
from engine.ingest.records import Reject
from engine.ports import DocumentStore
from engine.types import Corpus

BATCH = 10_000


class BatchLost(Exception):
    """A batch cannot be translated: whoever read it is gone. The next one begins where it began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Records of a source: `read` of them, with the digest of each id, and those of no use.

    After `damage`, or the `last` batch, there is no other.
    """

    read: int
    digests: Mapping[str, int] = field(default_factory=dict)
    rejects: Sequence[Reject] = ()
    damage: PresagioError | None = None
    last: bool = False


class RecordSource(Protocol):
    """Where records come from."""

    async def batch(self, number: int) -> Batch:
        """Read on, at most `number` records. Raises UsageError."""

    async def documents(self, ids: Collection[str]) -> tuple[Sequence[Document], Sequence[Reject]]:
        """Return documents of the latest batch: of each id the last usable one, and the unusable.

        Raises BatchLost.
        """


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

    A batch is read and translated while the database stores the one before. It is stored whole
    or not at all; the batches before it stay, and a repeated run completes the rest.
    """

    def __init__(
        self,
        store: DocumentStore,
        corpus: Corpus,
        *,
        rejected: Callable[[Reject], None],
        progress: Callable[[IngestReport], None],
        batch: int = BATCH,
    ) -> None:
        self._store = store
        self._corpus = corpus
        self._rejected = rejected
        self._progress = progress
        self._batch = batch
        self._under_way: dict[str, int] = {}  # digests of the batch that is being stored
        self.report = IngestReport(corpus=corpus.name)

    async def load(self, source: RecordSource) -> IngestReport:
        """Store all records of a source and return the counts so far, of all sources.

        Raises InputError when the source is damaged, after storing what came before the damage,
        and the errors of the store.
        """
        storing: asyncio.Task[None] | None = None
        try:
            while True:
                batch, documents = await self._changed(source)
                if storing:
                    await storing
                self._under_way = {each.external_id: each.digest for each in documents}
                storing = asyncio.create_task(self._upsert(documents))
                if batch.last or batch.damage:
                    break
        except asyncio.CancelledError:
            if storing:
                storing.cancel()
            raise
        finally:
            if storing:
                await storing
        if batch.damage:
            raise batch.damage
        return self.report

    async def finish(self) -> IngestReport:
        """Stitch threads, which may span batches and sources, and return the counts."""
        await self._store.stitch_threads(self._corpus)
        return self.report

    async def _changed(self, source: RecordSource) -> tuple[Batch, Sequence[Document]]:
        """Return the next batch and the documents of its records that are new or changed."""
        while True:
            batch = await source.batch(self._batch)
            try:
                outdated = await self._outdated(batch.digests)
                wanted = [identity for identity in batch.digests if identity in outdated]
                documents, unusable = await source.documents(wanted)
            except BatchLost:
                continue
            for reject in (*batch.rejects, *unusable):
                self._rejected(reject)
            self._count(read=batch.read, rejected=len(batch.rejects) + len(unusable))
            return batch, documents

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
