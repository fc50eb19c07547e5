"""Orders passages on this machine: as they were found, and by meaning where time allows."""

import asyncio
from collections.abc import Sequence

from engine.embed.store import SCALES
from engine.errors import ModelUnreachable
from engine.messages import Message
from engine.ports import Embedder
from engine.text.clean import searchable
from engine.text.terms import FUNCTION_WORDS, folded_words
from engine.values import ScoredText

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

    It compares all texts or none, and none of corpora without vectors: the same passages are
    ordered alike however busy the machine is, or the reason is said. `embedder` has to be fast,
    that is, on this machine, and the one that made the stored vectors.
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
        """Return the mean of score and meaning, 0..1.

        Raises ModelError, also if time does not suffice for all texts, and SettingsError.
        """
        scale = SCALES.get(self._embedder.name)
        if scale is None or not all(text.has_peers for text in texts):
            return [text.score for text in texts]
        return [
            (1 - _MEANING) * text.score + _MEANING * scale.place_on_scale(cosine)
            for text, cosine in zip(texts, await self._compare(query, texts), strict=True)
        ]

    async def _compare(self, query: str, texts: Sequence[ScoredText]) -> list[float]:
        """Return the cosine of each text, stored or new."""
        new = [text.text[:_LONGEST_COMPARED] for text in texts if text.cosine is None]
        made = iter(await self._compare_new(query, new) if new else ())
        return [next(made) if text.cosine is None else text.cosine for text in texts]

    async def _compare_new(self, query: str, texts: Sequence[str]) -> list[float]:
        clock = asyncio.get_running_loop().time
        until = clock() + self._seconds
        asked = await self._embedder.embed_query(query[:_LONGEST_QUERY])
        left = sum(map(_effort, texts))
        cosines: list[float] = []
        for text in texts:
            # The first is always tried, or a pace that was once slow would never be measured again.
            if cosines and clock() + self._pace * left > until:
                raise ModelUnreachable(
                    Message(
                        "Comparing {number} texts takes longer than {seconds:g} s.",
                        number=len(texts),
                        seconds=self._seconds,
                    )
                )
            began = clock()
            (vector,) = await self._embedder.embed_documents([text])
            self._pace = (self._pace + (clock() - began) / _effort(text)) / 2
            left -= _effort(text)
            cosines.append(_cosine(asked, vector))
        return cosines


def _effort(text: str) -> int:
    return _EACH + len(text)


def _cosine(vector: Sequence[float], other: Sequence[float]) -> float:
    product = sum(a * b for a, b in zip(vector, other, strict=True))
    lengths = sum(a * a for a in vector) * sum(b * b for b in other)
    return product / lengths**0.5 if lengths else 0.0
