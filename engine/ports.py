"""The interfaces that the engine needs from outside. Each method lists what it raises.

Any method of a storage port may also raise StorageUnreachable, StorageInterrupted,
StorageFull, StorageRights or StorageOutdated.
"""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import date, datetime
from typing import Generic, Protocol, TypeVar

from engine.budget import BudgetSource, PlannedCall
from engine.corpora import ArchiveSummary, Document
from engine.search import Candidate, Filters, Term
from engine.text.terms import Reading
from engine.values import Corpus, ScoredText, Usage
from engine.vectors import (
    CorpusWords,
    NewVector,
    RangeClaim,
    Scale,
    UnembeddedText,
    Vector,
    VectorSpace,
    VectorTally,
)

_Answer = TypeVar("_Answer")


class DocumentStore(Protocol):
    """The documents of one corpus."""

    async def find_outdated(self, corpus: Corpus, digests: Mapping[str, int]) -> set[str]:
        """Return the external ids among `digests` that are new or have another digest."""

    async def upsert(self, corpus: Corpus, documents: Sequence[Document]) -> tuple[int, int]:
        """Store a batch in one transaction and return (inserted, updated)."""

    async def stitch_threads(self, corpus: Corpus) -> int:
        """Add to each reply the text of the message it answers, if both are of the same account.

        Returns the number of documents changed. Safe to repeat.
        """


class LexemeSource(Protocol):
    """Reads texts as the text search does."""

    async def read(self, corpus: Corpus, texts: Sequence[str]) -> Sequence[Reading]:
        """Return the lexemes of normalised texts in the languages of the corpus."""


class SearchIndex(Protocol):
    """Lexical retrieval."""

    async def terms(self, corpus: Corpus, text: str) -> Sequence[Term]:
        """Return the terms of `text`, read in every language of the corpus.

        Terms are in the order of the text. A word that no document has is returned as a term
        with document_frequency 0, followed by its neighbours (neighbour_of set).
        """

    async def top(
        self, corpus: Corpus, terms: Sequence[Term], filters: Filters, limit: int
    ) -> Sequence[Candidate]:
        """Return the exact best `limit` documents by BM25, ties by date then id."""


class PhraseIndex(Protocol):
    """Lexical retrieval for several short texts."""

    async def rank_phrases(
        self, corpus: Corpus, phrases: Sequence[str], filters: Filters, limit: int
    ) -> Sequence[Sequence[int]]:
        """Return for each phrase the ids of the exact best `limit` documents, best first.

        Phrases are read like headlines, but without neighbours and aliases.
        """


class ArchiveSummaries(Protocol):
    """Tells what corpora hold."""

    async def summarise(self, corpus: Corpus) -> ArchiveSummary:
        """Return the years and the authors of a corpus. Raises StorageError."""


class Descriptions(Protocol):
    """Candidates for documents that were found other than by words."""

    async def describe_documents(
        self, corpus: Corpus, terms: Sequence[Term], ids: Sequence[int]
    ) -> Sequence[Candidate]:
        """Return those of `ids` that exist as SearchIndex.top would return them, in any order."""


class VectorIndex(Protocol):
    """Retrieval by meaning: cosines are -1..1, higher is nearer."""

    async def space(self, corpus: Corpus, model: str) -> VectorSpace | None:
        """Return the vector space of a model in a corpus, or None if it has no vectors."""

    async def nearest(
        self, corpus: Corpus, space: VectorSpace, vector: Vector, filters: Filters, limit: int
    ) -> Sequence[tuple[int, float]]:
        """Return (id, cosine) of the nearest `limit` documents within `filters`, nearest first."""

    async def cosines(
        self, corpus: Corpus, space: VectorSpace, vector: Vector, ids: Sequence[int]
    ) -> Mapping[int, float]:
        """Return the cosine of each of `ids` that has a vector."""


class VectorStore(VectorIndex, Protocol):
    """Storage for vectors. Methods raise the errors of storage ports."""

    async def prepare(self, model: str, dimensions: int) -> int:
        """Return the id of a model's vectors, creating their storage if needed.

        Raises VectorsUnsupported, and UsageError if vectors of another length are stored under
        that name.
        """

    def claim(
        self, corpus: Corpus, model_id: int, place: int, *, wait: bool = False
    ) -> AbstractAsyncContextManager[RangeClaim | None]:
        """Hold a range, or SETTLING, while the block runs; None if another process holds it.

        With `wait`, a claim that a killed process left is waited for, but not that of a living one.
        """

    async def missing_by_range(self, corpus: Corpus, model_id: int) -> Mapping[int, int]:
        """Return how many documents of each range have no vector of their current text."""

    def find_missing(
        self,
        corpus: Corpus,
        model_id: int,
        *,
        after: int = 0,
        to: int | None = None,
        new: bool = False,
    ) -> AsyncIterator[Sequence[UnembeddedText]]:
        """Yield documents to embed in batches, by id, above `after`, up to `to`; some may be empty.

        With `new`, yield only documents that never had a vector, without reading the other texts.
        """

    async def find_unembedded(
        self, corpus: Corpus, model_id: int, ids: Sequence[int]
    ) -> Sequence[UnembeddedText]:
        """Return those of `ids` that have no vector of their current text, in any order."""

    async def store(
        self,
        corpus: Corpus,
        model_id: int,
        embedded: Sequence[NewVector],
        *,
        claim: RangeClaim | None = None,
    ) -> int:
        """Store vectors in one transaction, replacing older ones; return how many ever were stored.

        Raises EmbeddedElsewhere, and stores nothing, if `claim` is given and no longer holds.
        """

    async def count_vectors(self, corpus: Corpus, model_id: int) -> VectorTally:
        """Return what all processes together have stored and settled."""

    async def settle(self, corpus: Corpus, model_id: int) -> None:
        """Delete vectors of deleted documents, and bring indexes up to date."""

    async def sample(self, corpus: Corpus, model_id: int, limit: int) -> Sequence[UnembeddedText]:
        """Return some documents that have a vector, the same ones each time."""

    async def count(self, corpus: Corpus, model_id: int) -> int:
        """Return how many documents have a vector."""

    async def count_measured(self, corpus: Corpus, model_id: int) -> int:
        """Return how many documents had one when the scale was measured; 0 = never measured."""

    async def keep_scale(
        self,
        corpus: Corpus,
        model_id: int,
        scale: Scale,
        *,
        documents: int,
        claim: RangeClaim | None = None,
    ) -> None:
        """Store the measured scale, and the number of documents at that time.

        Stores nothing if `claim` is given and no longer holds.
        """

    async def words(self, corpus: Corpus, model_id: int) -> CorpusWords:
        """Return the state of the corpus' words that its vectors were made with."""

    async def renew(self, corpus: Corpus, model_id: int, words: CorpusWords, *, anew: bool) -> bool:
        """Store that state; with `anew`, every vector counts as missing from now on.

        Return False, and store nothing, if another process has begun a generation meanwhile.
        """


class Embedder(Protocol):
    """A model that turns texts into vectors.

    Methods raise ModelError, SettingsError, and the errors of storage ports.
    """

    @property
    def name(self) -> str:
        """A name for the vectors; only vectors of the same name may be compared."""

    @property
    def dimensions(self) -> int | None:
        """Length of a vector: 0 = makes no vectors, None = not known before the first one."""

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return a vector for each text; all zeros if the text means nothing to the model."""

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question."""


class SetAsideTexts(Protocol):
    """The texts that a model on this machine breaks down over, by engine.vectors.source_of."""

    async def sources(self, model: str) -> Collection[str]:
        """Return those of a model. Raises the errors of storage ports."""

    async def add(self, model: str, source: str, *, characters: int) -> None:
        """Keep one more, of so many characters. Raises the errors of storage ports."""


class Reranker(Protocol):
    """Orders passages by how well they answer a query."""

    @property
    def name(self) -> str:
        """Name for logs and receipts."""

    async def rerank(self, query: str, texts: Sequence[ScoredText]) -> Sequence[float]:
        """Return a score 0..1 for each text, best highest. Raises ModelError, SettingsError."""


class Cache(Protocol, Generic[_Answer]):
    """A cache of what models answered, so that nothing is paid for twice."""

    async def get(self, key: str) -> _Answer | None:
        """Return what is stored under this key, or None."""

    async def put(self, key: str, answer: _Answer, *, now: datetime) -> None:
        """Store an answer under its key."""


class UsageLedger(Protocol):
    """The cost of model calls, by day (UTC) and source."""

    async def spent(self, day: date) -> Mapping[BudgetSource, Usage]:
        """Return the sums for a day by source; unknown figures count as 0."""

    async def record(
        self, usage: Usage, *, model: str, purpose: str, source: BudgetSource, now: datetime
    ) -> None:
        """Add one call, failed ones included."""

    async def reserve(
        self,
        planned: PlannedCall,
        check: Callable[[Mapping[BudgetSource, Usage]], None],
        *,
        now: datetime,
    ) -> int:
        """Count a call as under way and return the id of its reservation.

        `check` gets today's sums, calls under way included; check and reservation are atomic.
        Raises what `check` raises, and then reserves nothing.
        """

    async def release(self, place: int) -> None:
        """Stop counting a call as under way."""
