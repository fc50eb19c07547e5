"""A headline as a vector, and the vectors that it can be compared with."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from engine.embed.scales import SCALES
from engine.errors import ModelUnreachable
from engine.messages import Message
from engine.ports import Descriptions, Embedder, VectorIndex
from engine.prophecy.rerank import Reranker
from engine.types import Corpus, Filters
from engine.vectors import Vector, VectorSpace

_LONGEST_QUESTION = 1000  # characters
_PATIENCE = 10.0  # seconds for the vector of a headline


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a search by meaning needs. `embedder` returns the one for a corpus.

    `reranker` compares the best few of a corpus that is not embedded; None where no model is quick
    enough for that.
    """

    embedder: Callable[[Corpus], Embedder]
    vectors: VectorIndex
    descriptions: Descriptions
    reranker: Reranker | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The text as a vector, and the vectors that it can be compared with."""

    corpus: Corpus
    space: VectorSpace
    vector: Vector
    vectors: VectorIndex

    async def nearest(self, filters: Filters, limit: int) -> dict[int, float]:
        """Return the cosines of the nearest documents, nearest first."""
        return dict(
            await self.vectors.nearest(self.corpus, self.space, self.vector, filters, limit)
        )

    async def cosines(self, ids: Sequence[int]) -> Mapping[int, float]:
        """Return the cosine of each of `ids` that has a vector."""
        if not ids:
            return {}
        return await self.vectors.cosines(self.corpus, self.space, self.vector, ids)

    def similarity(self, cosine: float | None) -> float | None:
        """Return what a cosine means, 0..1, or None when it is not known.

        A corpus too small to have a scale of its own goes by the model's.
        """
        scale = self.space.scale or SCALES.get(self.space.model)
        return None if scale is None or cosine is None else scale.calibrated(cosine)

    def shown(self, cosine: float) -> float:
        """Return the similarity, or the cosine itself where there is no scale."""
        similarity = self.similarity(cosine)
        return min(1.0, max(0.0, cosine)) if similarity is None else similarity


def comparable(vector: Vector, space: VectorSpace) -> bool:
    """Tell whether a vector says something, and as many figures as those that are kept."""
    return any(vector) and len(vector) == space.dimensions


async def vector_of(embedder: Embedder, text: str) -> Vector:
    """Return the vector of a question. Raises ModelError and what else the model raises."""
    try:
        async with asyncio.timeout(_PATIENCE):
            return await embedder.embed_query(text[:_LONGEST_QUESTION])
    except TimeoutError as exc:
        raise ModelUnreachable(
            Message("the headline was not embedded within {seconds:g} s.", seconds=_PATIENCE)
        ) from exc
