"""Orders passages on this machine: as they were found, and by meaning as far as time allows."""

import asyncio
from collections.abc import Sequence

from engine.embed.store import SCALES
from engine.ports import Embedder
from engine.text.clean import searchable
from engine.text.terms import FUNCTION_WORDS, folded_words
from engine.values import ScoredText
from engine.vectors import Scale

# Words are compared by their beginnings, which stands in for stems in every language.
_BEGINNING = 5  # characters
_LONGEST_QUERY = 600  # characters
_LONGEST_COMPARED = 300  # characters whose meaning is compared; a model's time grows with them
_LONGEST_READ = 6000  # characters whose words are
_EACH = 40  # characters that take as long as a call without any
_FIRST_GUESS = 0.0004  # seconds a character, until measured
_MEANING = 0.3  # the weight of meaning beside the score: docs/decisions/0032-compose.md


def terms_of(text: str) -> list[str]:
    """Return the terms of a text: beginnings of its words without case and accents.

    Function words of English and Spanish are none: among a few passages they may be rare.
    """
    words = folded_words(searchable(text[:_LONGEST_READ]))
    return [word[:_BEGINNING] for word in words if word not in FUNCTION_WORDS]


class Bm25Reranker:
    """Leaves passages in the order of the words that they were found by."""

    name = "bm25"

    async def rerank(self, query: str, texts: Sequence[ScoredText]) -> list[float]:  # noqa: ARG002 - a Reranker
        """Return the score of each text as it is."""
        return [text.score for text in texts]


class MeaningReranker:
    """Adds meaning to the scores: by stored vectors, and by new ones made within `seconds`.

    Texts without a stored vector are embedded best first. One that was not reached is taken to be
    as similar as the least similar one that was. `embedder` has to be fast, that is, on this
    machine, and the one that made the stored vectors.
    """

    def __init__(self, embedder: Embedder, *, seconds: float) -> None:
        self._embedder = embedder
        self._seconds = seconds
        self._pace = _FIRST_GUESS

    @property
    def name(self) -> str:
        """Name for logs and receipts."""
        return "bm25+e5" if "e5" in self._embedder.name else f"bm25+{self._embedder.name}"

    async def rerank(self, query: str, texts: Sequence[ScoredText]) -> list[float]:
        """Return the mean of score and meaning, 0..1. Raises ModelError, SettingsError."""
        scale = SCALES.get(self._embedder.name)
        similar = await self._similarities(scale, query, texts) if scale else {}
        if not similar:
            return [text.score for text in texts]
        otherwise = min(similar.values())
        return [
            (1 - _MEANING) * text.score + _MEANING * similar.get(place, otherwise)
            for place, text in enumerate(texts)
        ]

    async def _similarities(
        self, scale: Scale, query: str, texts: Sequence[ScoredText]
    ) -> dict[int, float]:
        """Return the similarities, 0..1, by place."""
        cosines = {at: text.cosine for at, text in enumerate(texts) if text.cosine is not None}
        unknown = [at for at in range(len(texts)) if at not in cosines]
        if unknown:
            unknown.sort(key=lambda place: -texts[place].score)
            cosines |= await self._compare_texts(query, {at: texts[at].text for at in unknown})
        return {place: scale.place_on_scale(cosine) for place, cosine in cosines.items()}

    async def _compare_texts(self, query: str, texts: dict[int, str]) -> dict[int, float]:
        """Return the cosines of texts by their place, in this order as time allows."""
        clock = asyncio.get_running_loop().time
        until = clock() + self._seconds
        asked = await self._embedder.embed_query(query[:_LONGEST_QUERY])
        cosines: dict[int, float] = {}
        for place, text in texts.items():
            compared = text[:_LONGEST_COMPARED]
            began = clock()
            # The first is always tried, or a pace that was once slow would never be measured again.
            if began + (self._pace * _effort(compared) if cosines else 0) > until:
                break
            (vector,) = await self._embedder.embed_documents([compared])
            self._pace = (self._pace + (clock() - began) / _effort(compared)) / 2
            cosines[place] = _cosine(asked, vector)
        return cosines


def _effort(text: str) -> int:
    return _EACH + len(text)


def _cosine(vector: Sequence[float], other: Sequence[float]) -> float:
    product = sum(a * b for a, b in zip(vector, other, strict=True))
    lengths = sum(a * a for a in vector) * sum(b * b for b in other)
    return product / lengths**0.5 if lengths else 0.0
