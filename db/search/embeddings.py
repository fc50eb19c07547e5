"""The vectors of documents, one row a document and model; implements engine.embed.fill.VectorStore.

Each model has a table of its own, made when its first vector is stored.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg

from db.connection import Connection
from db.corpus.partitions import partition
from db.pool import Database
from db.search.nearest import Nearest, as_text, embedding_table, index_name
from engine.errors import PresagioError, StorageRights, UsageError, VectorsUnsupported
from engine.messages import Message
from engine.types import Corpus
from engine.vectors import Embedded, Scale, Unembedded, embeddable, source_of

# Beyond so many vectors of a corpus an index is built: comparing with each takes 52 ms at 100,000.
EXACT_UP_TO = 100_000
_PAGE = 2000  # documents that are read at once
_TIMEOUT = 3600  # seconds for an index build
_LONGEST_VECTOR = 4000  # dimensions that pgvector indexes as halfvec
_RUNNING = 7_426_190_514  # any constant will do; the second half of the lock is the model's id


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptModel:
    """A model whose vectors are kept."""

    id: int
    name: str
    dimensions: int


class Embeddings(Nearest):
    """Reads what is to embed, and writes vectors."""

    def __init__(self, database: Database, *, exact_up_to: int = EXACT_UP_TO) -> None:
        super().__init__(database)
        self._exact_up_to = exact_up_to

    async def prepare(self, model: str, dimensions: int) -> int:
        """Return the id of a model's vectors, making room for them.

        Raises VectorsUnsupported, UsageError when vectors of another length are kept under that
        name.
        """
        if not 0 < dimensions <= _LONGEST_VECTOR:
            raise UsageError(
                Message(
                    "Vectors of {dimensions} dimensions cannot be kept.", dimensions=dimensions
                ),
                fix=Message(
                    "Set embeddings.dimensions to {number} or less.",
                    number=_LONGEST_VECTOR,
                ),
            )
        async with self._database.connection() as connection:
            known = await self._model(connection, model)
        if known is None:
            await self._require_extension()
            async with self._database.transaction() as connection:
                await connection.execute(self._sql["lock"])
                known = await self._model(connection, model)
                known = known or await self._create(connection, model, dimensions)
        if known.dimensions != dimensions:
            raise UsageError(
                Message(
                    "The vectors of {model} have {dimensions} dimensions, not {dimensions2}.",
                    model=model,
                    dimensions=known.dimensions,
                    dimensions2=dimensions,
                ),
                fix=Message("Run: presagio embed --clear '{model}'", model=model),
            )
        return known.id

    async def models(self) -> list[KeptModel]:
        """Return all models whose vectors are kept, by name."""
        async with self._database.connection() as connection:
            return [KeptModel(**row) for row in await connection.fetch(self._sql["models"], None)]

    async def clear(self, model: str) -> None:
        """Remove all vectors of a model. Raises UsageError when there is none of that name."""
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["lock"])
            model_id = await connection.fetchval(self._sql["remove_model"], model)
            if model_id is not None:
                await connection.execute(f"DROP TABLE {embedding_table(model_id)}")
        if model_id is None:
            names = ", ".join(kept.name for kept in await self.models())
            raise UsageError(
                Message("No vectors of a model {model!r} are kept.", model=model),
                fix=Message("There are: {names}.", names=names) if names else None,
            )

    @asynccontextmanager
    async def alone(self, corpus: Corpus, model_id: int) -> AsyncIterator[None]:
        """Keep other processes from embedding the same. Raises PresagioError when one does."""
        async with self._database.own_connection() as connection:
            key = (_RUNNING + model_id) * 100_003 + corpus.id
            if not await connection.fetchval("SELECT pg_try_advisory_lock($1)", key):
                raise PresagioError(
                    Message("Another process embeds {name} already.", name=corpus.name),
                    fix=Message("Wait for its end."),
                )
            yield

    async def count(self, corpus: Corpus, model_id: int) -> int:
        """Return how many documents have a vector."""
        return int((await self._rows("count", corpus, model_id))[0]["count"])

    async def count_missing(self, corpus: Corpus, model_id: int) -> int:
        """Return how many documents have no vector of their present text."""
        return sum([len(part) async for part in self.missing(corpus, model_id)])

    async def missing(self, corpus: Corpus, model_id: int) -> AsyncIterator[list[Unembedded]]:
        """Yield them in parts, by id. No connection is held between the parts."""
        after = 0
        while rows := await self._rows("documents", corpus, model_id, after, _PAGE):
            after = rows[-1]["id"]
            found = [(row, _unembedded(row)) for row in rows]
            yield [one for row, one in found if row["source"] != one.source]

    async def sample(self, corpus: Corpus, model_id: int, limit: int) -> list[Unembedded]:
        """Return some documents that have a vector: the same ones each time."""
        return [_unembedded(row) for row in await self._rows("sample", corpus, model_id, limit)]

    async def store(self, corpus: Corpus, model_id: int, embedded: Sequence[Embedded]) -> None:
        """Store vectors in one transaction, in place of older ones."""
        async with self._database.connection() as connection:
            await connection.execute(
                self._formatted("store", corpus, model_id),
                corpus.id,
                [one.id for one in embedded],
                [one.source for one in embedded],
                [None if one.vector is None else as_text(one.vector) for one in embedded],
            )

    async def settle(self, corpus: Corpus, model_id: int) -> None:
        """Drop vectors of documents that are gone, and build an index where it is due."""
        table, index = embedding_table(model_id), index_name(corpus, model_id)
        documents = await self.count(corpus, model_id)
        async with self._database.own_connection() as connection:
            await connection.execute(
                "SET statement_timeout = 0; SET maintenance_work_mem = '512MB'"
            )
            await connection.execute(
                self._formatted("prune", corpus, model_id), corpus.id, timeout=_TIMEOUT
            )
            if documents > self._exact_up_to:
                await connection.execute(
                    self._formatted("index", corpus, model_id, index=index), timeout=_TIMEOUT
                )
            else:
                await connection.execute(f"DROP INDEX IF EXISTS {index}")
            await connection.execute(f"ANALYZE {table}", timeout=_TIMEOUT)

    async def measured(self, corpus: Corpus, model_id: int) -> int:
        """Return how many had one when the scale was measured; 0 = it never was."""
        async with self._database.connection() as connection:
            measured = await connection.fetchval(self._sql["measured"], corpus.id, model_id)
        return int(measured or 0)

    async def keep_scale(
        self, corpus: Corpus, model_id: int, scale: Scale, *, documents: int
    ) -> None:
        """Store what was measured, and with how many documents."""
        figures = (scale.mean, scale.deviation, scale.same)
        async with self._database.connection() as connection:
            await connection.execute(
                self._sql["keep_scale"], corpus.id, model_id, documents, *figures
            )

    async def _model(self, connection: Connection, name: str) -> KeptModel | None:
        row = await connection.fetchrow(self._sql["models"], name)
        return KeptModel(**row) if row else None

    async def _require_extension(self) -> None:
        """Install pgvector where it is missing and may be installed."""
        try:
            async with self._database.transaction() as connection:
                await connection.execute(self._sql["lock"])
                await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
                usable = await connection.fetchval("SELECT to_regtype('halfvec') IS NOT NULL")
        except StorageRights as error:
            raise _unsupported() from error
        if not usable:
            raise _unsupported()

    async def _create(self, connection: Connection, name: str, dimensions: int) -> KeptModel:
        model_id = int(await connection.fetchval(self._sql["add_model"], name, dimensions))
        table = embedding_table(model_id)
        create = self._sql["create"].format(embedding=table, dimensions=int(dimensions))
        await connection.execute(create)
        return KeptModel(id=model_id, name=name, dimensions=dimensions)

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


def _unembedded(row: asyncpg.Record) -> Unembedded:
    text = embeddable(row["title"], row["text"], row["context"])
    return Unembedded(id=row["id"], text=text, source=source_of(text))


def _unsupported() -> VectorsUnsupported:
    return VectorsUnsupported(
        Message(
            "This database cannot keep vectors: it lacks the extension"
            " pgvector 0.7 or newer. Searches go on by words."
        ),
        fix=Message(
            "Install pgvector on its server and have an administrator run: CREATE EXTENSION vector"
        ),
    )
