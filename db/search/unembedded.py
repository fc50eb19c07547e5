"""Finds documents without vectors, and reports how much of a corpus a model has embedded."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence

import asyncpg
import orjson

from db.corpus.partitions import partition
from db.search.nearest import Nearest, embedding_table
from engine.embed.store import VectorTally, range_of
from engine.types import Corpus
from engine.vectors import CorpusWords, Unembedded, embeddable, source_of

_PAGE = 500  # documents to read at once; other tasks run in between


class ToEmbed(Nearest):
    """Reads documents to embed."""

    async def count(self, corpus: Corpus, model_id: int) -> int:
        """Return how many documents have a vector."""
        return int((await self._rows("count", corpus, model_id))[0]["count"])

    async def count_missing(self, corpus: Corpus, model_id: int) -> int:
        """Return how many documents have no vector of their current text."""
        return sum((await self.missing_by_range(corpus, model_id)).values())

    async def missing_by_range(self, corpus: Corpus, model_id: int) -> Counter[int]:
        """Return the same for each range of ids (`engine.embed.store.range_of`) that has any."""
        found = Counter[int]()
        async for part in self.missing(corpus, model_id):
            found.update(range_of(one.id) for one in part)
        return found

    async def missing(
        self,
        corpus: Corpus,
        model_id: int,
        *,
        after: int = 0,
        to: int | None = None,
        new: bool = False,
    ) -> AsyncIterator[list[Unembedded]]:
        """Yield those documents in parts, by id, above `after`, up to `to`; a part may be empty.

        With `new`, yields only documents that never had a vector, without reading the texts of
        others. No connection is held between the parts.
        """
        generation = await self._generation(corpus, model_id)
        statement = "new_documents" if new else "documents"
        while rows := await self._rows(statement, corpus, model_id, after, to, _PAGE):
            after = rows[-1]["id"]
            yield _outdated(rows, generation)

    async def unembedded(
        self, corpus: Corpus, model_id: int, ids: Sequence[int]
    ) -> list[Unembedded]:
        """Return those of `ids` that have no vector of their current text, in any order."""
        generation = await self._generation(corpus, model_id)
        rows = await self._rows("chosen_documents", corpus, model_id, list(ids))
        return _outdated(rows, generation)

    async def sample(self, corpus: Corpus, model_id: int, limit: int) -> list[Unembedded]:
        """Return some documents that have a vector: the same ones each time."""
        rows = await self._rows("sample", corpus, model_id, limit)
        return [_unembedded(row, 0) for row in rows]

    async def words(self, corpus: Corpus, model_id: int) -> CorpusWords:
        """Return what was stored about the corpus' words with this generation."""
        state = await self._state(corpus, model_id)
        if state is None:
            return CorpusWords(shares={}, index_version=corpus.index_version)
        return CorpusWords(
            shares=orjson.loads(state["shares"]),
            index_version=state["index_version"],
            generation=state["generation"],
        )

    async def tally(self, corpus: Corpus, model_id: int) -> VectorTally:
        """Return what all processes together have stored and settled."""
        state = await self._state(corpus, model_id)
        return (
            VectorTally(stored=state["stored"], settled=state["settled"])
            if state
            else VectorTally()
        )

    async def renew(self, corpus: Corpus, model_id: int, words: CorpusWords, *, anew: bool) -> bool:
        """Store them; with `anew`, begin a generation, so that all vectors count as missing.

        Existing vectors are still compared until others replace them. Returns False, and stores
        nothing, if the generation is no longer that of `words`.
        """
        shares = orjson.dumps(dict(words.shares)).decode()
        values = (shares, words.index_version, int(anew), words.generation)
        async with self._database.connection() as connection:
            return bool(await connection.fetchval(self._sql["renew"], corpus.id, model_id, *values))

    async def coverage(self) -> dict[str, dict[str, float]]:
        """Return, by corpus and model, the share of documents that have been embedded, if any."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["coverage"])
        shares: dict[str, dict[str, float]] = {}
        for row in rows:
            shares.setdefault(row["corpus"], {})[row["model"]] = row["share"]
        return shares

    async def _generation(self, corpus: Corpus, model_id: int) -> int:
        state = await self._state(corpus, model_id)
        return int(state["generation"]) if state else 0

    async def _state(self, corpus: Corpus, model_id: int) -> asyncpg.Record | None:
        async with self._database.connection() as connection:
            return await connection.fetchrow(self._sql["state"], corpus.id, model_id)

    async def _rows(
        self, name: str, corpus: Corpus, model_id: int, *arguments: object
    ) -> list[asyncpg.Record]:
        async with self._database.connection() as connection:
            statement = self._formatted(name, corpus, model_id)
            return await connection.fetch(statement, corpus.id, *arguments)

    def _formatted(self, name: str, corpus: Corpus, model_id: int, *, index: str = "") -> str:
        return self._sql[name].format(
            embedding=embedding_table(model_id),
            document=partition(corpus.id),
            corpus=int(corpus.id),
            index=index,
        )


def _outdated(rows: Sequence[asyncpg.Record], generation: int) -> list[Unembedded]:
    found = [(row, _unembedded(row, generation)) for row in rows]
    return [one for row, one in found if row["source"] != one.source]


def _unembedded(row: asyncpg.Record, generation: int) -> Unembedded:
    text = embeddable(row["title"], row["text"], row["context"])
    return Unembedded(id=row["id"], text=text, source=source_of(text, generation))
