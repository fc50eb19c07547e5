"""Loads documents into a corpus in batches: upserts what is new or changed, can be repeated."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from engine.corpora import Document
from engine.ingest.records import Batch, BatchLost, Reject
from engine.text.language import detect_language
from engine.values import Corpus

if TYPE_CHECKING:  # the process that reads needs no settings
    from engine.ingest.isolated_reader import IsolatedSource
    from engine.ports import DocumentStore

BATCH = 10_000
_SAMPLED = 50  # texts of a batch, for telling the language of those that name none


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """What became of the records; `read` is the sum of the other counts."""

    corpus: str
    read: int = 0
    inserted: int = 0
    updated: int = 0
    rejected: int = 0
    replaced: int = 0  # of the unchanged: by a later record of the source with the same id
    languages: Mapping[str, int] = field(default_factory=dict)  # documents whose words told theirs
    looks: str | None = None  # the language of most new texts that name none, if it is sure

    @property
    def unchanged(self) -> int:
        """Records whose document was stored already, or that occur more than once in the source."""
        return self.read - self.inserted - self.updated - self.rejected

    @property
    def usable(self) -> bool:
        """False if no record could be stored."""
        return self.read > self.rejected


class Loader:
    """Loads sources into one corpus.

    A batch is read and translated while the database stores the one before. It is stored whole or
    not at all; earlier batches stay, and another run completes the rest.
    """

    def __init__(
        self,
        store: "DocumentStore",
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
        self._under_way: dict[str, int] = {}  # digests of the batch being stored
        self._looks: Counter[str | None] = Counter()  # of batches
        self.report = IngestReport(corpus=corpus.name)

    async def load(self, source: "IsolatedSource") -> IngestReport:
        """Store all records of a source and return the counts so far, over all sources.

        Raises InputError if the source is damaged, after storing what came before the damage, and
        the errors of the store.
        """
        storing: asyncio.Task[None] | None = None
        try:
            while True:
                batch, documents = await self._read_changes(source)
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

    async def _read_changes(self, source: "IsolatedSource") -> tuple[Batch, Sequence[Document]]:
        """Return the next batch and the documents of its new or changed records."""
        while True:
            batch = await source.batch(self._batch)
            try:
                outdated = await self._find_outdated(batch.digests)
                wanted = [identity for identity in batch.digests if identity in outdated]
                documents, unusable = await source.documents(wanted)
            except BatchLost:
                continue
            for reject in (*batch.rejects, *unusable, *map(_describe_unread, documents)):
                if reject:
                    self._rejected(reject)
            self._add_counts(
                read=batch.read,
                rejected=len(batch.rejects) + len(unusable),
                replaced=batch.replaced,
            )
            languages = Counter(self.report.languages)
            languages.update(
                each.lang for each in documents if each.lang and not each.is_language_named
            )
            self._looks[detect_documents_language(documents)] += 1
            looks = self._looks.most_common(1)[0][0]
            self.report = replace(self.report, languages=languages, looks=looks)
            return batch, documents

    async def _find_outdated(self, digests: Mapping[str, int]) -> set[str]:
        """Return the ids that are new or changed, given the batch that is being stored."""
        if not digests:
            return set()
        outdated = await self._store.find_outdated(self._corpus, digests)
        again = {i: digest for i, digest in self._under_way.items() if i in digests}
        changed = {i for i, digest in again.items() if digest != digests[i]}
        return (outdated - again.keys()) | changed

    async def _upsert(self, documents: Sequence[Document]) -> None:
        if documents:
            inserted, updated = await self._store.upsert(self._corpus, documents)
            self._add_counts(inserted=inserted, updated=updated)

    def _add_counts(self, **more: int) -> None:
        counts = {name: getattr(self.report, name) + number for name, number in more.items()}
        self.report = replace(self.report, **counts)
        self._progress(self.report)


def detect_documents_language(documents: Sequence[Document]) -> str | None:
    """Return the language (ISO 639-1) of the texts that name none, if it is sure."""
    texts = [each.text for each in documents if each.lang is None and not each.parts]
    return detect_language("\n".join(texts[:: len(texts) // _SAMPLED + 1]))


def _describe_unread(document: Document) -> Reject | None:
    """Return what is missing of a document that is stored all the same."""
    if not document.unread:
        return None
    place = document.attribution or document.external_id
    return Reject(file=place, line=1, reason=document.unread, stored=True)
