"""What the engine needs from the outside. Each method lists what it raises.

Any method of a storage port may also raise StorageUnreachable, StorageInterrupted,
StorageFull, StorageRights or StorageOutdated.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Protocol

from engine.budget import BudgetSource, Planned
from engine.documents import Document
from engine.text.terms import Reading
from engine.types import Candidate, Corpus, Expansion, Filters, Term, Usage, Verdict
from engine.vectors import Vector, VectorSpace


class DocumentStore(Protocol):
    """The documents of one corpus."""

    async def outdated(self, corpus: Corpus, digests: Mapping[str, int]) -> set[str]:
        """Return the external ids among `digests` that are new or have another digest."""

    async def upsert(self, corpus: Corpus, documents: Sequence[Document]) -> tuple[int, int]:
        """Store a batch in one transaction and return (inserted, updated)."""

    async def stitch_threads(self, corpus: Corpus) -> int:
        """Add to every reply the text of the message of the same account that it answers.

        Returns how many documents changed. Safe to repeat.
        """


class Reads(Protocol):
    """Who knows the words of a corpus."""

    async def read(self, corpus: Corpus, texts: Sequence[str]) -> Sequence[Reading]:
        """Return the lexemes of normalised texts in the corpus' languages."""


class SearchIndex(Protocol):
    """Lexical retrieval."""

    async def terms(self, corpus: Corpus, text: str) -> Sequence[Term]:
        """Read `text` in every language the corpus holds.

        Terms come in the order of the text. A word that the corpus has never seen comes back
        as a term with document_frequency 0 and, after it, its neighbours (neighbour_of set).
        """

    async def top(
        self, corpus: Corpus, terms: Sequence[Term], filters: Filters, limit: int
    ) -> Sequence[Candidate]:
        """Return the exact best `limit` documents by BM25, ties by date then id."""


class PhraseIndex(Protocol):
    """Lexical retrieval for several short texts."""

    async def ranked(
        self, corpus: Corpus, phrases: Sequence[str], filters: Filters, limit: int
    ) -> Sequence[Sequence[int]]:
        """Return for each phrase the ids of the exact best `limit` documents, best first.

        Phrases are read as headlines are, without neighbours and aliases.
        """


class Descriptions(Protocol):
    """Documents that something else than words has found."""

    async def described(
        self, corpus: Corpus, terms: Sequence[Term], ids: Sequence[int]
    ) -> Sequence[Candidate]:
        """Return those of `ids` that exist, as SearchIndex.top would give them, in any order."""


class VectorIndex(Protocol):
    """Retrieval by meaning: cosines are -1..1, higher is nearer."""

    async def space(self, corpus: Corpus, model: str) -> VectorSpace | None:
        """Return what is known about the corpus' vectors of a model, or None without any."""

    async def nearest(
        self, corpus: Corpus, space: VectorSpace, vector: Vector, filters: Filters, limit: int
    ) -> Sequence[tuple[int, float]]:
        """Return (id, cosine) of the nearest `limit` documents that pass, nearest first."""

    async def cosines(
        self, corpus: Corpus, space: VectorSpace, vector: Vector, ids: Sequence[int]
    ) -> Mapping[int, float]:
        """Return the cosine of each of `ids` that has a vector."""


class Embedder(Protocol):
    """A model that turns texts into vectors.

    Methods raise ModelError, SettingsError, and the errors of storage ports.
    """

    @property
    def name(self) -> str:
        """What tells vectors that may be compared from others."""

    @property
    def dimensions(self) -> int | None:
        """Length of a vector: 0 = there are none, None = not known before the first."""

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return a vector for each text; one of zeros says nothing."""

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question."""


class JudgmentCache(Protocol):
    """Verdicts that were paid for once."""

    async def get(self, key: str) -> Verdict | None:
        """Return the stored verdict, or None."""

    async def put(self, key: str, verdict: Verdict, *, now: datetime) -> None:
        """Store a verdict under its key."""


class ExpansionCache(Protocol):
    """Phrases that were paid for once."""

    async def get(self, key: str) -> Expansion | None:
        """Return the stored expansion, or None."""

    async def put(self, key: str, expansion: Expansion, *, now: datetime) -> None:
        """Store an expansion under its key."""


class UsageLedger(Protocol):
    """What model calls cost, by day (UTC) and by who had the model asked."""

    async def spent(self, day: date) -> Mapping[BudgetSource, Usage]:
        """Return the sums of that day; unknown figures count as 0."""

    async def record(
        self, usage: Usage, *, model: str, purpose: str, source: BudgetSource, now: datetime
    ) -> None:
        """Add one call, failed ones included."""

    async def reserve(
        self,
        planned: Planned,
        check: Callable[[Mapping[BudgetSource, Usage]], None],
        *,
        now: datetime,
    ) -> int:
        """Count a call as under way, and return its place.

        `check` gets the sums of today, calls under way included; between its look and the
        counting nobody else is counted. Raises what `check` raises, and then counts nothing.
        """

    async def release(self, place: int) -> None:
        """Count a call as under way no longer."""
