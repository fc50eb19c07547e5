"""Finds the nearest vectors of a question, and the texts that have none yet or break a model."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter

import asyncpg
import orjson

from db.connection import Connection, about_corpus, name_partition, read_row
from db.corpus.corpora import Corpora
from db.pool import Store
from db.search.statements import build_condition
from engine.errors import StorageError
from engine.search import Filters
from engine.text.clean import make_searchable
from engine.values import Corpus
from engine.vectors import (
    CorpusWords,
    Scale,
    UnembeddedText,
    Vector,
    VectorSpace,
    VectorTally,
    join_embeddable,
    range_of,
    source_of,
)

# Neighbours to examine for each that is wanted, before applying the filters first instead.
_DEPTH = 4
# How an index is walked, for one transaction. 1000 candidates at once is the maximum: with fewer it
# loses neighbours, because the vectors of many models lie close together. The planner does not know
# how many neighbours are wanted and would rather sort them all.
_WALK = (
    "SET LOCAL hnsw.ef_search = 1000; SET LOCAL hnsw.iterative_scan = strict_order;"
    "SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off"
)
_PAGE = 500  # documents to read at once; other tasks run in between


class CorpusVocabulary(Store, sql="embeddings"):
    """Reads texts with the corpus' text-search configuration and its document frequencies."""

    async def lexemes(
        self, corpus: Corpus, texts: Sequence[str]
    ) -> list[dict[str, tuple[int, int]]]:
        """Return for each text its lexemes with (occurrences in the text, document frequency)."""
        read: list[dict[str, tuple[int, int]]] = [{} for _ in texts]
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                self._sql["lexemes"],
                corpus.id,
                [make_searchable(text) for text in texts],
                corpus.language,
            )
        for row in rows:
            read[row["place"] - 1][row["lexeme"]] = (row["frequency"], row["document_frequency"])
        return read

    async def shares(self, corpus: Corpus, limit: int) -> dict[str, float]:
        """Return the share of documents that contain each of the `limit` most frequent lexemes."""
        rows = await self._fetch_rows("shares", corpus.id, limit)
        return {row["lexeme"]: row["share"] for row in rows}


def embedding_table(model_id: int) -> str:
    """Return the name of the table that holds one model's vectors."""
    return f"embedding_{int(model_id)}"


def index_name(corpus: Corpus, model_id: int) -> str:
    """Return the name of the index of one model's vectors in one corpus."""
    return f"{embedding_table(model_id)}_{int(corpus.id)}_nearest"


def as_text(vector: Vector) -> str:
    """Return a vector in pgvector's text form."""
    return orjson.dumps(list(vector)).decode()


class Nearest(Store, sql="embeddings"):
    """Compares a question with all vectors of a corpus, or with those that an index proposes."""

    async def space(self, corpus: Corpus, model: str) -> VectorSpace | None:
        """Return what is known about the vectors, or None if there are none."""
        async with self._database.connection() as connection:
            row = await connection.fetchrow(self._sql["space"], corpus.id, model)
            if row is None:
                return None
            filled = self._sql["filled"].format(embedding=embedding_table(row["id"]))
            state = await connection.fetchrow(filled, corpus.id, index_name(corpus, row["id"]))
        if state is None or not state["filled"]:
            return None
        return VectorSpace(
            model_id=row["id"],
            model=model,
            dimensions=row["dimensions"],
            indexed=state["indexed"],
            scale=None if row["mean"] is None else read_row(Scale, row),
            share=row["share"] or 0.0,
        )

    async def nearest(
        self, corpus: Corpus, space: VectorSpace, vector: Vector, filters: Filters, limit: int
    ) -> list[tuple[int, float]]:
        """Return (id, cosine) of the nearest documents that pass, ties by date then id.

        Exact, unless there is an index and enough of its proposals pass the filters.
        """
        passing = (filters.before, filters.since, int(filters.require), int(filters.exclude))
        values = (as_text(vector), limit, *passing)
        name = "nearest_indexed" if space.indexed else "nearest_exact"
        depth = str(int(_DEPTH * limit))
        proposed = self._format_statement(name, corpus, space.model_id, depth=depth)
        async with self._database.transaction(_WALK if space.indexed else "") as connection:
            rows = await connection.fetch(proposed, corpus.id, *values)
        if len(rows) < limit:
            name = "nearest_filtered"
            rows = await self._fetch_vector_rows(name, corpus, space.model_id, *values)
        return [(row["id"], row["cosine"]) for row in rows]

    async def cosines(
        self, corpus: Corpus, space: VectorSpace, vector: Vector, ids: Sequence[int]
    ) -> dict[int, float]:
        """Return the cosine of each of `ids` that has a vector."""
        values = as_text(vector), list(ids)
        rows = await self._fetch_vector_rows("cosines", corpus, space.model_id, *values)
        return {row["id"]: row["cosine"] for row in rows}

    async def alike(
        self, corpus: Corpus, space: VectorSpace, ids: Sequence[int], minimum: float
    ) -> list[tuple[int, int]]:
        """Return the pairs among `ids` whose vectors have a cosine above `minimum`."""
        values = list(ids), minimum
        rows = await self._fetch_vector_rows("alike", corpus, space.model_id, *values)
        return [(row["one"], row["other"]) for row in rows]

    async def _fetch_vector_rows(
        self, name: str, corpus: Corpus, model_id: int, *arguments: object
    ) -> list[asyncpg.Record]:
        async with self._database.connection() as connection:
            statement = self._format_statement(name, corpus, model_id)
            return await connection.fetch(statement, corpus.id, *arguments)

    def _format_statement(self, name: str, corpus: Corpus, model_id: int, **parts: str) -> str:
        """Return a statement about one model's vectors of a corpus."""
        table, passes = embedding_table(model_id), build_condition("$4", "$5", "$6", "$7")
        return about_corpus(self._file, name, corpus.id, embedding=table, passes=passes, **parts)


class ToEmbed(Nearest):
    """Reads documents to embed."""

    async def count(self, corpus: Corpus, model_id: int) -> int:
        """Return how many documents have a vector."""
        return int((await self._fetch_vector_rows("count", corpus, model_id))[0]["count"])

    async def count_missing(self, corpus: Corpus, model_id: int) -> int:
        """Return how many documents have no vector of their current text."""
        return sum((await self.missing_by_range(corpus, model_id)).values())

    async def missing_by_range(self, corpus: Corpus, model_id: int) -> Counter[int]:
        """Return the same for each range of ids (`engine.vectors.range_of`) that has any."""
        counts = Counter[int]()
        async for part in self.find_missing(corpus, model_id):
            counts.update(range_of(text.id) for text in part)
        return counts

    async def find_missing(
        self,
        corpus: Corpus,
        model_id: int,
        *,
        after: int = 0,
        to: int | None = None,
        new: bool = False,
    ) -> AsyncIterator[list[UnembeddedText]]:
        """Yield those documents in parts, by id, above `after`, up to `to`; a part may be empty.

        With `new`, yields only documents that never had a vector, without reading the texts of
        others. No connection is held between the parts.
        """
        generation = await self._read_generation(corpus, model_id)
        read = self._new_rows if new else partial(self._fetch_vector_rows, "documents")
        while rows := await read(corpus, model_id, after, to, _PAGE):
            after = rows[-1]["id"]
            yield _select_outdated(rows, generation)

    async def find_unembedded(
        self, corpus: Corpus, model_id: int, ids: Sequence[int]
    ) -> list[UnembeddedText]:
        """Return those of `ids` that have no vector of their current text, in any order."""
        generation = await self._read_generation(corpus, model_id)
        rows = await self._fetch_vector_rows("chosen_documents", corpus, model_id, list(ids))
        return _select_outdated(rows, generation)

    async def sample(self, corpus: Corpus, model_id: int, limit: int) -> list[UnembeddedText]:
        """Return some documents that have a vector: the same ones each time."""
        rows = await self._fetch_vector_rows("sample", corpus, model_id, limit)
        return [_read_unembedded(row, 0) for row in rows]

    async def words(self, corpus: Corpus, model_id: int) -> CorpusWords:
        """Return what was stored about the corpus' words with this generation."""
        state = await self._fetch_state(corpus, model_id)
        if state is None:
            return CorpusWords(shares={}, index_version=corpus.index_version)
        return CorpusWords(
            shares=orjson.loads(state["shares"]),
            index_version=state["index_version"],
            generation=state["generation"],
        )

    async def count_vectors(self, corpus: Corpus, model_id: int) -> VectorTally:
        """Return what all processes together have stored and settled."""
        state = await self._fetch_state(corpus, model_id)
        return read_row(VectorTally, state) if state else VectorTally()

    async def renew(self, corpus: Corpus, model_id: int, words: CorpusWords, *, anew: bool) -> bool:
        """Store them; with `anew`, begin a generation, so that all vectors count as missing.

        Existing vectors are still compared until others replace them. Returns False, and stores
        nothing, if the generation is no longer that of `words`.
        """
        shares = orjson.dumps(dict(words.shares)).decode()
        values = (shares, words.index_version, int(anew), words.generation)
        return bool(await self._fetch_value("renew", corpus.id, model_id, *values))

    async def coverage(self) -> dict[str, dict[str, float]]:
        """Return, by corpus and model, the share of documents that have been embedded, if any."""
        rows = await self._fetch_rows("coverage")
        shares: dict[str, dict[str, float]] = {}
        for row in rows:
            shares.setdefault(row["corpus"], {})[row["model"]] = row["share"]
        return shares

    async def _read_generation(self, corpus: Corpus, model_id: int) -> int:
        state = await self._fetch_state(corpus, model_id)
        return int(state["generation"]) if state else 0

    async def _fetch_state(self, corpus: Corpus, model_id: int) -> asyncpg.Record | None:
        return await self._fetch_row("state", corpus.id, model_id)

    async def _new_rows(
        self, corpus: Corpus, model_id: int, *arguments: object
    ) -> list[asyncpg.Record]:
        if not corpus.placed:
            try:
                return await self._fetch_vector_rows("new_documents", corpus, model_id, *arguments)
            except StorageError:  # Citus joins no vectors that are here with texts that are not
                if not (await Corpora(self._database).get(corpus.name)).placed:
                    raise
        return await self._fetch_vector_rows("new_placed_documents", corpus, model_id, *arguments)


def _select_outdated(rows: Sequence[asyncpg.Record], generation: int) -> list[UnembeddedText]:
    candidates = [(row, _read_unembedded(row, generation)) for row in rows]
    return [neighbour for row, neighbour in candidates if row["source"] != neighbour.source]


def _read_unembedded(row: asyncpg.Record, generation: int) -> UnembeddedText:
    text = join_embeddable(row["title"], row["text"], row["context"])
    return UnembeddedText(id=row["id"], text=text, source=source_of(text, generation))


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAsideOfModel:
    """The texts that a model breaks down over; what is no document was a question."""

    model: str
    documents: tuple[tuple[str, str], ...]  # corpus and external id
    questions: int


class SetAside(Store, sql="embeddings"):
    """Keeps the texts that models on this machine break down over."""

    async def sources(self, model: str) -> set[str]:
        """Return the texts of a model, as engine.vectors.source_of names them."""
        rows = await self._fetch_rows("set_aside", model)
        return {row["source"] for row in rows}

    async def add(self, model: str, source: str, *, characters: int) -> None:
        """Keep one more text, of so many characters."""
        await self._execute("add_set_aside", model, source, characters)

    async def by_model(self) -> list[SetAsideOfModel]:
        """Return all of them, by model."""
        models = list[SetAsideOfModel]()
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["set_aside_texts"])
            for (model, model_id), some in groupby(rows, itemgetter("model", "model_id")):
                sources = [row["source"] for row in some]
                rows_without = await self._without_vector(connection, model_id, sources)
                models.append(
                    SetAsideOfModel(
                        model=model,
                        documents=await self._name_documents(connection, rows_without),
                        questions=len(sources) - len({row["source"] for row in rows_without}),
                    )
                )
        return models

    async def _without_vector(
        self, connection: Connection, model_id: int | None, sources: Sequence[str]
    ) -> Sequence[asyncpg.Record]:
        """Return the rows of a model's vectors that stand for one of `sources`, by corpus."""
        if model_id is None:
            return []
        statement = self._sql["set_aside_vectors"].format(embedding=embedding_table(model_id))
        return await connection.fetch(statement, sources)

    async def _name_documents(
        self, connection: Connection, rows: Sequence[asyncpg.Record]
    ) -> tuple[tuple[str, str], ...]:
        """Return (corpus, id at the source) of the documents of some rows, by corpus."""
        named: list[tuple[str, str]] = []
        for (corpus_id, corpus), some in groupby(rows, itemgetter("corpus_id", "corpus")):
            statement = self._sql["set_aside_documents"].format(document=name_partition(corpus_id))
            ids = [row["document_id"] for row in some]
            named += [
                (corpus, row["external_id"]) for row in await connection.fetch(statement, ids)
            ]
        return tuple(named)
