"""Finds the nearest vectors of a question; implements engine.ports.VectorIndex."""

from collections.abc import Sequence

import asyncpg
import orjson

from db.corpus.partitions import partition
from db.pool import Database
from db.search.passing import passes
from db.statements import statements
from engine.search import Filters
from engine.types import Corpus
from engine.vectors import Scale, Vector, VectorSpace

# Neighbours to examine for each that is wanted, before applying the filters first instead.
_DEPTH = 4
# How an index is walked, for one transaction. 1000 candidates at once is the maximum: with fewer it
# loses neighbours, because the vectors of many models lie close together. The planner does not know
# how many neighbours are wanted and would rather sort them all.
_WALK = (
    "SET LOCAL hnsw.ef_search = 1000; SET LOCAL hnsw.iterative_scan = strict_order;"
    "SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off"
)


def embedding_table(model_id: int) -> str:
    """Return the name of the table that holds one model's vectors."""
    return f"embedding_{int(model_id)}"


def index_name(corpus: Corpus, model_id: int) -> str:
    """Return the name of the index of one model's vectors in one corpus."""
    return f"{embedding_table(model_id)}_{int(corpus.id)}_nearest"


def as_text(vector: Vector) -> str:
    """Return a vector in pgvector's text form."""
    return orjson.dumps(list(vector)).decode()


class Nearest:
    """Compares a question with all vectors of a corpus, or with those that an index proposes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = statements("embeddings")

    async def space(self, corpus: Corpus, model: str) -> VectorSpace | None:
        """Return what is known about the vectors, or None if there are none."""
        async with self._database.reading() as reader:
            row = await reader.fetchrow(self._sql["space"], corpus.id, model)
            if row is None:
                return None
            filled = self._sql["filled"].format(embedding=embedding_table(row["id"]))
            state = await reader.fetchrow(filled, corpus.id, index_name(corpus, row["id"]))
        if state is None or not state["filled"]:
            return None
        return VectorSpace(
            model_id=row["id"],
            model=model,
            dimensions=row["dimensions"],
            indexed=state["indexed"],
            scale=_scale(row),
            share=row["share"] or 0.0,
        )

    async def nearest(
        self, corpus: Corpus, space: VectorSpace, vector: Vector, filters: Filters, limit: int
    ) -> list[tuple[int, float]]:
        """Return (id, cosine) of the nearest documents that pass, ties by date then id.

        Exact, unless there is an index and enough of its proposals pass the filters.
        """
        passing = (filters.before, filters.after, int(filters.require), int(filters.exclude))
        asked = (corpus.id, as_text(vector), limit, *passing)
        if space.indexed:
            nearest, local = "nearest_indexed", _WALK
        else:
            nearest, local = "nearest_exact", ""
        proposed = self._statement(nearest, corpus, space, _DEPTH * limit)
        async with self._database.reading() as reader:
            found = await reader.fetch(proposed, *asked, local=local)
            if len(found) < limit:
                narrow = self._statement("nearest_filtered", corpus, space)
                found = await reader.fetch(narrow, *asked)
        return [(row["id"], row["cosine"]) for row in found]

    async def cosines(
        self, corpus: Corpus, space: VectorSpace, vector: Vector, ids: Sequence[int]
    ) -> dict[int, float]:
        """Return the cosine of each of `ids` that has a vector."""
        async with self._database.reading() as reader:
            rows = await reader.fetch(
                self._statement("cosines", corpus, space),
                corpus.id,
                as_text(vector),
                list(ids),
            )
        return {row["id"]: row["cosine"] for row in rows}

    async def alike(
        self, corpus: Corpus, space: VectorSpace, ids: Sequence[int], least: float
    ) -> list[tuple[int, int]]:
        """Return the pairs among `ids` whose vectors have a cosine above `least`."""
        async with self._database.reading() as reader:
            rows = await reader.fetch(
                self._statement("alike", corpus, space), corpus.id, list(ids), least
            )
        return [(row["one"], row["other"]) for row in rows]

    def _statement(self, name: str, corpus: Corpus, space: VectorSpace, depth: int = 0) -> str:
        return self._sql[name].format(
            embedding=embedding_table(space.model_id),
            document=partition(corpus.id),
            corpus=int(corpus.id),
            depth=int(depth),
            passes=passes("$4", "$5", "$6", "$7"),
        )


def _scale(row: asyncpg.Record) -> Scale | None:
    if row["mean"] is None:
        return None
    return Scale(mean=row["mean"], deviation=row["deviation"], same=row["same"])
