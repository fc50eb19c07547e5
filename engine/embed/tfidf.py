"""Hashed TF-IDF in 384 dimensions: deterministic, without a model or download.

Feature hashing with signs (Weinberger et al. 2009) over the lexemes of the corpus' own
text-search configuration, weighted (1 + ln tf) ln(1 + N / df), normalised to length 1.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Protocol

from engine.values import Corpus
from engine.vectors import Vector

DIMENSIONS = 384
_MOST_FREQUENT = 200  # lexemes whose shares tell whether the corpus has changed


class Vocabulary(Protocol):
    """The lexemes of a corpus."""

    async def lexemes(
        self, corpus: Corpus, texts: Sequence[str]
    ) -> Sequence[Mapping[str, tuple[int, int]]]:
        """Return for each text its lexemes with (frequency in the text, document frequency)."""

    async def shares(self, corpus: Corpus, limit: int) -> Mapping[str, float]:
        """Return the share of documents that contain each of the `limit` most frequent lexemes."""


class TfidfEmbedder:
    """Embeds texts of one corpus by their words."""

    name = "tfidf-384"
    dimensions = DIMENSIONS

    def __init__(self, vocabulary: Vocabulary, corpus: Corpus) -> None:
        self._vocabulary = vocabulary
        self._corpus = corpus

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text, all zeros if it has no word. Raises StorageError."""
        read = await self._vocabulary.lexemes(self._corpus, texts)
        return [hash_lexemes(lexemes, self._corpus.documents) for lexemes in read]

    async def embed_query(self, text: str) -> Vector:
        """Return a vector comparable with those of documents. Raises StorageError."""
        return (await self.embed_documents([text]))[0]

    async def shares(self) -> Mapping[str, float]:
        """Return what vectors depend on besides the text: shares of the most frequent lexemes.

        Raises StorageError.
        """
        return await self._vocabulary.shares(self._corpus, _MOST_FREQUENT)


def hash_lexemes(lexemes: Mapping[str, tuple[int, int]], documents: int) -> list[float]:
    """Return the vector of a text from its lexemes (frequency in it, document frequency)."""
    vector = [0.0] * DIMENSIONS
    for lexeme, (frequency, document_frequency) in lexemes.items():
        place, sign = _place(lexeme)
        idf = math.log1p(max(documents, 1) / max(document_frequency, 1))
        vector[place] += sign * (1 + math.log(frequency)) * idf
    length = math.sqrt(math.fsum(value * value for value in vector))
    return [value / length for value in vector] if length else vector


@lru_cache(maxsize=65_536)
def _place(lexeme: str) -> tuple[int, int]:
    digest = hashlib.blake2b(lexeme.encode(), digest_size=8).digest()
    number = int.from_bytes(digest)
    return number % DIMENSIONS, 1 if number >> 63 else -1
