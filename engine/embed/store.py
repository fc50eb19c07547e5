"""The storage for vectors that embedding needs, shared by any number of processes.

Processes divide a corpus by ranges of document ids: whoever claims a range embeds it.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from engine.ports import VectorIndex
from engine.types import Corpus
from engine.vectors import CorpusWords, Embedded, Scale, Unembedded

# Ids in a range: enough that claiming costs little beside embedding, few enough that processes end
# at nearly the same time.
RANGE = 2048
# Claimed like a range by whoever brings indexes and the scale up to date.
SETTLING = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeClaim:
    """The right to embed a range; `fence` is higher for each later holder."""

    name: str
    holder: str
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorTally:
    """Vectors that all processes together have stored, replaced ones included."""

    stored: int = 0
    settled: int = 0  # of these, when the vectors were last settled


def range_of(document_id: int) -> int:
    """Return the range of a document."""
    return document_id // RANGE


def ids_of(number: int) -> tuple[int, int]:
    """Return the id before the first of a range, and its last."""
    return number * RANGE - 1, (number + 1) * RANGE - 1


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

    def missing(
        self,
        corpus: Corpus,
        model_id: int,
        *,
        after: int = 0,
        to: int | None = None,
        new: bool = False,
    ) -> AsyncIterator[Sequence[Unembedded]]:
        """Yield documents to embed in batches, by id, above `after`, up to `to`; some may be empty.

        With `new`, yield only documents that never had a vector, without reading the other texts.
        """

    async def unembedded(
        self, corpus: Corpus, model_id: int, ids: Sequence[int]
    ) -> Sequence[Unembedded]:
        """Return those of `ids` that have no vector of their current text, in any order."""

    async def store(
        self,
        corpus: Corpus,
        model_id: int,
        embedded: Sequence[Embedded],
        *,
        claim: RangeClaim | None = None,
    ) -> int:
        """Store vectors in one transaction, replacing older ones; return how many ever were stored.

        Raises EmbeddedElsewhere, and stores nothing, if `claim` is given and no longer holds.
        """

    async def tally(self, corpus: Corpus, model_id: int) -> VectorTally:
        """Return what all processes together have stored and settled."""

    async def settle(self, corpus: Corpus, model_id: int) -> None:
        """Delete vectors of deleted documents, and bring indexes up to date."""

    async def sample(self, corpus: Corpus, model_id: int, limit: int) -> Sequence[Unembedded]:
        """Return some documents that have a vector, the same ones each time."""

    async def count(self, corpus: Corpus, model_id: int) -> int:
        """Return how many documents have a vector."""

    async def measured(self, corpus: Corpus, model_id: int) -> int:
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
