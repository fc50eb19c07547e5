"""What the engine needs from the outside. Each method lists what it raises.

Any method of a storage port may also raise StorageUnreachable, StorageInterrupted,
StorageFull, StorageRights or StorageOutdated.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Protocol

from engine.types import Candidate, Corpus, Document, Filters, Kind, Term, Usage, Verdict


class CorpusStore(Protocol):
    """The named corpora."""

    async def get(self, name: str) -> Corpus:
        """Return the corpus called `name`. Raises CorpusNotFound."""

    async def list(self) -> Sequence[Corpus]:
        """Return all corpora, by name."""

    async def ensure(
        self,
        name: str,
        *,
        kind: Kind,
        language: str,
        author: str | None,
        url_template: str | None,
    ) -> Corpus:
        """Return the corpus, creating it if it is new.

        Raises CorpusConflict when it exists with another kind or language,
        UsageError when the language or the name is unusable.
        """

    async def change(
        self, name: str, *, author: str | None = None, url_template: str | None = None
    ) -> Corpus:
        """Change what may be changed later. Raises CorpusNotFound."""

    async def drop(self, name: str) -> int:
        """Remove the corpus and return how many documents went with it. Raises CorpusNotFound."""


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


class JudgmentCache(Protocol):
    """Verdicts that were paid for once."""

    async def get(self, key: str) -> Verdict | None:
        """Return the stored verdict, or None."""

    async def put(self, key: str, verdict: Verdict, *, now: datetime) -> None:
        """Store a verdict under its key."""


class UsageLedger(Protocol):
    """What model calls cost, summed by day (UTC)."""

    async def spent(self, day: date) -> Usage:
        """Return the sums of that day; unknown figures count as 0."""

    async def record(self, usage: Usage, *, model: str, purpose: str, now: datetime) -> None:
        """Add one call, failed ones included."""
