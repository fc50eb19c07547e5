"""Orders passages on this machine: by their words, and by their meaning as far as time allows."""

import asyncio
from collections.abc import Sequence

from engine.embed.scales import SCALES
from engine.ports import Embedder
from engine.ranking.bm25 import scores_of
from engine.text.clean import searchable
from engine.text.words import FUNCTION_WORDS, folded_words
from engine.vectors import Scale

# Words are compared by their beginnings, which stands in for stems in every language.
_BEGINNING = 5  # characters
_LONGEST_COMPARED = 600  # characters whose meaning is compared; a model's time grows with them
_LONGEST_READ = 6000  # characters whose words are
_AT_ONCE = 4  # texts that are embedded between two looks at the clock
_MEANING = 0.5  # the weight of meaning beside words


def terms_of(text: str) -> list[str]:
    """Return the terms of a text: beginnings of its words without case and accents.

    Function words of English and Spanish are none: among a few passages they may be rare.
    """
    words = folded_words(searchable(text[:_LONGEST_READ]))
    return [word[:_BEGINNING] for word in words if word not in FUNCTION_WORDS]


class Bm25Reranker:
    """Compares words only."""

    name = "bm25"

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the BM25 score of each text, 0..1, among these texts."""
        return scores_of(terms_of(query), [terms_of(text) for text in texts])


class MeaningReranker:
    """Compares words, and the meaning of as many texts as `seconds` allow, best by words first.

    `embedder` has to be fast, that is, on this machine. A text that was not reached is taken to
    be as similar as the least similar one that was.
    """

    def __init__(self, embedder: Embedder, *, seconds: float) -> None:
        self._embedder = embedder
        self._seconds = seconds
        self._words = Bm25Reranker()

    @property
    def name(self) -> str:
        """Name for logs and receipts."""
        return "bm25+e5" if "e5" in self._embedder.name else f"bm25+{self._embedder.name}"

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the mean of words and meaning, 0..1. Raises ModelError, SettingsError."""
        by_words = await self._words.rerank(query, texts)
        best_first = sorted(range(len(texts)), key=lambda place: -by_words[place])
        similar = await self._similarities(query, [(one, texts[one]) for one in best_first])
        if not similar:
            return by_words
        otherwise = min(similar.values())
        return [
            (1 - _MEANING) * words + _MEANING * similar.get(place, otherwise)
            for place, words in enumerate(by_words)
        ]

    async def _similarities(self, query: str, texts: Sequence[tuple[int, str]]) -> dict[int, float]:
        """Return the similarity, 0..1, of texts by their place, in this order as time allows."""
        scale = SCALES.get(self._embedder.name)
        if not texts or scale is None:
            return {}
        clock = asyncio.get_running_loop().time
        until = clock() + self._seconds
        asked = await self._embedder.embed_query(query[:_LONGEST_COMPARED])
        similar: dict[int, float] = {}
        for start in range(0, len(texts), _AT_ONCE):
            if clock() >= until:
                break
            some = texts[start : start + _AT_ONCE]
            vectors = await self._embedder.embed_documents(
                [text[:_LONGEST_COMPARED] for _, text in some]
            )
            for (place, _), vector in zip(some, vectors, strict=True):
                similar[place] = _similarity(scale, asked, vector)
        return similar


def _similarity(scale: Scale, one: Sequence[float], other: Sequence[float]) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    lengths = sum(a * a for a in one) * sum(b * b for b in other)
    return scale.calibrated(product / lengths**0.5) if lengths else 0.0
