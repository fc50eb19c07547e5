"""A search index of which only documents with a tag are seen."""

from collections.abc import Mapping, Sequence

from db.shown import Shown
from engine.embed.vectors import Vector, VectorSpace
from engine.ports import SearchIndex, VectorIndex
from engine.types import Candidate, Corpus, Filters, Term

# The tag is looked at after ranking: of so many documents, which is more than a month of news
# says about one thing.
_LOOKED_AT = 1000


class TaggedIndex:
    """Lexical retrieval among documents with a tag; implements engine.ports.SearchIndex."""

    def __init__(self, index: SearchIndex, shown: Shown, tag: str) -> None:
        self._index = index
        self._shown = shown
        self._tag = tag

    async def terms(self, corpus: Corpus, text: str) -> Sequence[Term]:
        """Read a text."""
        return await self._index.terms(corpus, text)

    async def top(
        self, corpus: Corpus, terms: Sequence[Term], filters: Filters, limit: int
    ) -> Sequence[Candidate]:
        """Return the best `limit` with the tag."""
        found = await self._index.top(corpus, terms, filters, max(limit, _LOOKED_AT))
        tagged = await self._shown.tagged(corpus, [one.id for one in found], self._tag)
        return [one for one in found if one.id in tagged][:limit]


class TaggedVectors:
    """Retrieval by meaning among the same; implements engine.ports.VectorIndex."""

    def __init__(self, vectors: VectorIndex, shown: Shown, tag: str) -> None:
        self._vectors = vectors
        self._shown = shown
        self._tag = tag

    async def space(self, corpus: Corpus, model: str) -> VectorSpace | None:
        """Return what is known about the vectors."""
        return await self._vectors.space(corpus, model)

    async def nearest(
        self, corpus: Corpus, space: VectorSpace, vector: Vector, filters: Filters, limit: int
    ) -> Sequence[tuple[int, float]]:
        """Return the nearest `limit` with the tag."""
        wide = max(limit, _LOOKED_AT)
        found = await self._vectors.nearest(corpus, space, vector, filters, wide)
        tagged = await self._shown.tagged(corpus, [number for number, _ in found], self._tag)
        return [pair for pair in found if pair[0] in tagged][:limit]

    async def cosines(
        self, corpus: Corpus, space: VectorSpace, vector: Vector, ids: Sequence[int]
    ) -> Mapping[int, float]:
        """Return the cosine of each of `ids`."""
        return await self._vectors.cosines(corpus, space, vector, ids)
