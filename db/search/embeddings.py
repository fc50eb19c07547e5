"""Stores vectors, one row per document and model; implements engine.ports.VectorStore.

Each model has its own table, created when its first vector is stored.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

from db.connection import Connection
from db.lease import Lease, LeaseTimes
from db.pool import Database, Store
from db.search.nearest import ToEmbed, as_text, embedding_table, index_name
from engine.errors import (
    EmbeddedElsewhere,
    NotAnswerable,
    StorageRights,
    UsageError,
    VectorsUnsupported,
)
from engine.messages import Message
from engine.values import Corpus
from engine.vectors import NewVector, RangeClaim, Scale

logger = logging.getLogger("presagio.vectors")

_LEASE = "index of vectors"
_LONGEST = 24 * 3600.0  # seconds
_LOOK = 1.0  # seconds between two looks at a build that nobody waits for any more
_MEMORY = "SET {local} statement_timeout = 0; SET {local} maintenance_work_mem = '512MB'"
_DROP_BESIDE = "DROP INDEX CONCURRENTLY IF EXISTS {name}"
# A corpus with more vectors gets an index: comparing with each takes 52 ms at 100,000.
EXACT_UP_TO = 100_000
_TIMEOUT = 3600  # seconds for pruning and counting
_LONGEST_VECTOR = 4000  # dimensions that pgvector indexes as halfvec


class VectorIndexes(Store, sql="embeddings"):
    """Indexes by name. One is built at a time in a database, by the process that has the lease."""

    def __init__(self, database: Database, times: LeaseTimes | None = None) -> None:
        super().__init__(database)
        self._times = times

    async def build(self, name: str, create: str) -> None:
        """Have a valid index of this name; `create` has a place for {concurrently}.

        Returns once there is one, whoever built it. Raises StorageError.
        """
        if await self._is_valid(name):
            return
        async with self._hold_build_lease():
            if self._database.is_pooled:
                await self._build_at_once(name, create)
            else:
                await self._build_beside(name, create)

    async def drop(self, name: str) -> None:
        """Drop the index if there is one. Raises StorageError."""
        if await self._is_valid(name) is None:
            return
        async with self._hold_build_lease():
            if self._database.is_pooled:
                async with self._database.connection() as connection:
                    await connection.execute(f"DROP INDEX IF EXISTS {name}")
            else:
                async with self._open_session() as connection:
                    await connection.execute(_DROP_BESIDE.format(name=name), timeout=_LONGEST)

    async def _build_beside(self, name: str, create: str) -> None:
        async with self._open_session() as connection:
            while await connection.fetchval(self._sql["is_built"], name):  # noqa: ASYNC110 - only the server knows
                # The server goes on when a process is killed.
                await asyncio.sleep(_LOOK)
            if await self._is_valid(name) is False:
                logger.info("the index %s is incomplete and is built again", name)
                await connection.execute(_DROP_BESIDE.format(name=name), timeout=_LONGEST)
            await connection.execute(create.format(concurrently="CONCURRENTLY"), timeout=_LONGEST)

    async def _build_at_once(self, name: str, create: str) -> None:
        """Build in one transaction, because a pooler's sessions end statements after a while.

        Whoever stores vectors of the model waits.
        """
        async with self._database.transaction() as connection:
            await connection.execute(_MEMORY.format(local="LOCAL"))
            if await self._is_valid(name) is False:
                await connection.execute(f"DROP INDEX IF EXISTS {name}")
            await connection.execute(create.format(concurrently=""), timeout=_LONGEST)

    async def _is_valid(self, name: str) -> bool | None:
        """Return whether the index is complete, or None if there is none."""
        return cast("bool | None", await self._fetch_value("is_valid", name))

    @asynccontextmanager
    async def _hold_build_lease(self) -> AsyncIterator[None]:
        async with Lease(self._database, _LEASE, times=self._times) as lease:
            while not lease.is_held:
                await lease.wait_for_change()
            yield

    @asynccontextmanager
    async def _open_session(self) -> AsyncIterator[Connection]:
        """Yield a connection outside the pool whose statements take as long as they need."""
        async with self._database.own_connection() as connection:
            await connection.execute(_MEMORY.format(local=""))
            yield connection


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptModel:
    """A model that has stored vectors."""

    id: int
    name: str
    dimensions: int


class Embeddings(ToEmbed):
    """Reads documents to embed, and writes vectors."""

    def __init__(
        self, database: Database, *, exact_up_to: int = EXACT_UP_TO, times: LeaseTimes | None = None
    ) -> None:
        super().__init__(database)
        self._exact_up_to = exact_up_to
        self._times = times
        self._indexes = VectorIndexes(database, times)

    async def prepare(self, model: str, dimensions: int) -> int:
        """Return the id of a model's vectors, creating their table if it is missing.

        Raises VectorsUnsupported, and UsageError if vectors of another length are stored under that
        name.
        """
        if not 0 < dimensions <= _LONGEST_VECTOR:
            raise UsageError(
                Message(
                    "Vectors of {dimensions} dimensions cannot be kept.", dimensions=dimensions
                ),
                fix=Message(
                    "Set embeddings.dimensions to {number} or less.", number=_LONGEST_VECTOR
                ),
            )
        async with self._database.connection() as connection:
            stored = await self._find_model(connection, model)
        if stored is None:
            await self._require_extension()
            async with self._database.transaction() as connection:
                await connection.execute(self._sql["lock"])
                stored = await self._find_model(connection, model)
                stored = stored or await self._create_model(connection, model, dimensions)
        if stored.dimensions != dimensions:
            raise UsageError(
                Message(
                    "The vectors of {model} have {dimensions} dimensions, not {dimensions2}.",
                    model=model,
                    dimensions=stored.dimensions,
                    dimensions2=dimensions,
                ),
                fix=Message("Run: presagio embed --clear '{model}'", model=model),
            )
        return stored.id

    async def models(self) -> list[KeptModel]:
        """Return all models with stored vectors, sorted by name."""
        return [KeptModel(**row) for row in await self._fetch_rows("models", None)]

    async def clear(self, model: str) -> None:
        """Remove all vectors of a model. Raises NotAnswerable if there is none."""
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["lock"])
            await connection.execute(self._sql["forget_set_aside"], model)
            model_id = await connection.fetchval(self._sql["remove_model"], model)
            if model_id is not None:
                await connection.execute(f"DROP TABLE {embedding_table(model_id)}")
        if model_id is None:
            names = ", ".join(stored.name for stored in await self.models())
            raise NotAnswerable(
                Message("No vectors of a model {model!r} are kept.", model=model),
                fix=Message("There are: {names}.", names=names) if names else None,
            )

    @asynccontextmanager
    async def claim(
        self, corpus: Corpus, model_id: int, place: int, *, wait: bool = False
    ) -> AsyncIterator[RangeClaim | None]:
        """Hold a lease on a range, or SETTLING, while the block runs; None if another holds it.

        With `wait`, a lease that a killed process left is waited for.
        """
        name = f"{_build_lease_prefix(corpus, model_id)}{place}"
        async with Lease(self._database, name, times=self._times) as lease:
            held = await lease.wait_until_settled() if wait else lease.is_held
            fence = lease.fence
            if held and fence is not None:
                yield RangeClaim(name=name, holder=lease.holder, fence=fence)
            else:
                yield None

    async def store(
        self,
        corpus: Corpus,
        model_id: int,
        embedded: Sequence[NewVector],
        *,
        claim: RangeClaim | None = None,
    ) -> int:
        """Store vectors in one transaction, replacing older ones; return how many ever were stored.

        Raises EmbeddedElsewhere, and stores nothing, if `claim` is given and no longer holds.
        """
        async with self._database.connection() as connection:
            stored = await connection.fetchval(
                self._format_statement("store", corpus, model_id),
                corpus.id,
                [item.id for item in embedded],
                [item.source for item in embedded],
                [None if item.vector is None else as_text(item.vector) for item in embedded],
                model_id,
                *_describe_claim(claim),
            )
        if stored is None:
            raise EmbeddedElsewhere(
                Message("Another process took over texts of {name} meanwhile.", name=corpus.name)
            )
        return int(stored)

    async def settle(self, corpus: Corpus, model_id: int) -> None:
        """Delete vectors of removed documents, and build an index if it is due."""
        table, index = embedding_table(model_id), index_name(corpus, model_id)
        async with self._database.transaction() as connection:
            await connection.execute("SET LOCAL statement_timeout = 0")
            await connection.execute(
                self._format_statement("prune", corpus, model_id), corpus.id, timeout=_TIMEOUT
            )
        if await self.count(corpus, model_id) > self._exact_up_to:
            create = self._format_statement("index", corpus, model_id, index=index)
            await self._indexes.build(index, create)
        else:
            await self._indexes.drop(index)
        async with self._database.transaction() as connection:
            await connection.execute("SET LOCAL statement_timeout = 0")
            await connection.execute(f"ANALYZE {table}", timeout=_TIMEOUT)
            # From here on other processes wait before they store, so that no vector is miscounted.
            await connection.execute(self._sql["lock_state"], corpus.id, model_id, timeout=_TIMEOUT)
            await connection.execute(
                self._format_statement("recount", corpus, model_id),
                corpus.id,
                model_id,
                timeout=_TIMEOUT,
            )
            await connection.execute(
                self._sql["forget_ranges"], _build_lease_prefix(corpus, model_id)
            )

    async def count_measured(self, corpus: Corpus, model_id: int) -> int:
        """Return how many documents had a vector when the scale was measured; 0 = never."""
        measured = await self._fetch_value("measured", corpus.id, model_id)
        return int(measured or 0)

    async def keep_scale(
        self,
        corpus: Corpus,
        model_id: int,
        scale: Scale,
        *,
        documents: int,
        claim: RangeClaim | None = None,
    ) -> None:
        """Store the measured scale, and the number of documents it was measured with.

        Stores nothing if `claim` is given and no longer holds.
        """
        figures = (documents, scale.mean, scale.deviation, scale.same)
        values = (corpus.id, model_id, *figures, *_describe_claim(claim))
        await self._execute("keep_scale", *values)

    async def _find_model(self, connection: Connection, name: str) -> KeptModel | None:
        row = await connection.fetchrow(self._sql["models"], name)
        return KeptModel(**row) if row else None

    async def _require_extension(self) -> None:
        """Install pgvector if it is missing and may be installed."""
        try:
            async with self._database.transaction() as connection:
                await connection.execute(self._sql["lock"])
                await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
                usable = await connection.fetchval("SELECT to_regtype('halfvec') IS NOT NULL")
        except StorageRights as error:
            raise _name_missing_extension() from error
        if not usable:
            raise _name_missing_extension()

    async def _create_model(self, connection: Connection, name: str, dimensions: int) -> KeptModel:
        model_id = int(await connection.fetchval(self._sql["add_model"], name, dimensions))
        table = embedding_table(model_id)
        create = self._sql["create"].format(embedding=table, dimensions=int(dimensions))
        await connection.execute(create)
        return KeptModel(id=model_id, name=name, dimensions=dimensions)


def _build_lease_prefix(corpus: Corpus, model_id: int) -> str:
    """Return the beginning of the names of all leases on one model's vectors of a corpus."""
    return f"embed {corpus.id} {model_id} "


def _describe_claim(claim: RangeClaim | None) -> tuple[str | None, int | None, str | None]:
    return (claim.name, claim.fence, claim.holder) if claim else (None, None, None)


def _name_missing_extension() -> VectorsUnsupported:
    return VectorsUnsupported(
        Message(
            "This database cannot keep vectors: it lacks the extension"
            " pgvector 0.7 or newer. Searches go on by words."
        ),
        fix=Message(
            "Install pgvector on its server and have an administrator run: CREATE EXTENSION vector"
        ),
    )
