"""An index is built beside other work, by one process at a time, whoever is killed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from db.lease import LeaseTimes
from db.pool import Database
from db.search.embeddings import Embeddings
from db.search.nearest import embedding_table, index_name
from engine.embed.fill import fill_vectors
from engine.errors import StorageError
from engine.search import Filters
from engine.values import Corpus
from engine.vectors import NewVector
from tests.database import fetch_value
from tests.db.loading import load_texts
from tests.db.vectors import WordModel, require_vectors
from tests.patience import PATIENCE, until

TEXTS = [f"w{n} w{n % 7} w{n % 11}" for n in range(60)]


@pytest.fixture
async def embeddings(database: Database) -> Embeddings:
    await require_vectors(database)
    return indexing(database)


def indexing(database: Database) -> Embeddings:
    """Vectors of which more than ten have an index."""
    return Embeddings(database, exact_up_to=10, times=LeaseTimes(renewal=0.05))


async def embed(embeddings: Embeddings, corpus: Corpus) -> None:
    await fill_vectors(embeddings, WordModel(), corpus, progress=lambda *_: None)


async def is_indexed(embeddings: Embeddings, corpus: Corpus) -> bool:
    space = await embeddings.space(corpus, "words")
    assert space is not None
    return space.indexed


@asynccontextmanager
async def an_old_reader(url: str, model_id: int) -> AsyncIterator[None]:
    """Hold a snapshot, for whose end a concurrent build waits before its index is valid."""
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction(isolation="repeatable_read"):
            await connection.execute(f"SELECT FROM {embedding_table(model_id)} LIMIT 1")
            yield
    finally:
        await connection.close()


async def builds(database: Database) -> list[str]:
    """Return the phases of the builds under way in the database."""
    async with database.connection() as connection:
        rows = await connection.fetch(
            "SELECT phase FROM pg_stat_progress_create_index WHERE datname = current_database()"
        )
    return [row["phase"] for row in rows]


async def waits_for_readers(database: Database) -> bool:
    return "waiting for old snapshots" in await builds(database)


async def prepared(database: Database, embeddings: Embeddings) -> tuple[Corpus, int]:
    """Return a corpus whose vectors are stored and not indexed."""
    corpus = await load_texts(database, "c", TEXTS)
    await embed(Embeddings(database), corpus)
    return corpus, await embeddings.prepare("words", 16)


async def test_writes_and_searches_continue_while_an_index_is_built(
    database: Database, database_url: str, embeddings: Embeddings
) -> None:
    corpus, model_id = await prepared(database, embeddings)
    other = await load_texts(database, "other", ["w1 w2"])
    async with an_old_reader(database_url, model_id):
        building = asyncio.create_task(embeddings.settle(corpus, model_id))
        await until(lambda: waits_for_readers(database))
        async with asyncio.timeout(PATIENCE):
            for where in (other, corpus):
                await Embeddings(database).store(
                    where, model_id, [NewVector(id=10**9, source="0" * 32, vector=[1.0] * 16)]
                )
            assert not await is_indexed(embeddings, corpus)
            space = await embeddings.space(corpus, "words")
            assert space
            asked = WordModel().vector("w1 w2")
            assert len(await embeddings.nearest(corpus, space, asked, Filters(), 5)) == 5
        assert not building.done()
    async with asyncio.timeout(PATIENCE):
        await building
    assert await is_indexed(embeddings, corpus)


async def test_an_interrupted_index_build_is_repeated(
    database: Database, database_url: str, embeddings: Embeddings
) -> None:
    corpus, model_id = await prepared(database, embeddings)
    async with an_old_reader(database_url, model_id):
        building = asyncio.create_task(embeddings.settle(corpus, model_id))
        await until(lambda: waits_for_readers(database))
        async with database.connection() as connection:
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_progress_create_index"
                " WHERE datname = current_database()"
            )
        with pytest.raises(StorageError):
            await building
    assert not await is_indexed(embeddings, corpus)
    async with database.connection() as connection:
        left = await connection.fetchval(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = $1::text::regclass",
            index_name(corpus, model_id),
        )
    assert left is False
    async with asyncio.timeout(PATIENCE):
        await embeddings.settle(corpus, model_id)
    assert await is_indexed(embeddings, corpus)


async def test_the_build_of_a_killed_process_is_waited_for(
    database: Database, database_url: str, embeddings: Embeddings
) -> None:
    """The server does not notice that a client is gone before it has an answer for it."""
    corpus, model_id = await prepared(database, embeddings)
    name = index_name(corpus, model_id)
    orphan = await asyncpg.connect(database_url)
    async with an_old_reader(database_url, model_id):
        create = embeddings._format_statement("index", corpus, model_id, index=name)
        begun = asyncio.create_task(orphan.execute(create.format(concurrently="CONCURRENTLY")))
        await until(lambda: waits_for_readers(database))
        known = await fetch_value(database, "SELECT $1::text::regclass::oid", name)
        settling = asyncio.create_task(embeddings.settle(corpus, model_id))
        await asyncio.sleep(0.1)
        assert not settling.done()
    async with asyncio.timeout(PATIENCE):
        await begun
        await settling
    await orphan.close()
    assert await fetch_value(database, "SELECT $1::text::regclass::oid", name) == known
    assert await is_indexed(embeddings, corpus)


async def test_processes_build_one_after_the_other(
    database: Database, database_url: str, embeddings: Embeddings
) -> None:
    corpora = [await load_texts(database, name, TEXTS) for name in ("a", "b", "c")]
    for corpus in corpora:
        await embed(Embeddings(database), corpus)
    model_id = await embeddings.prepare("words", 16)
    maximum, ended = 0, asyncio.Event()

    async def watched() -> None:
        nonlocal maximum
        while not ended.is_set():
            maximum = max(maximum, len(await builds(database)))
            await asyncio.sleep(0.005)

    watching = asyncio.create_task(watched())
    others = [await Database.open(database_url) for _ in corpora]
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(
            *(
                indexing(one).settle(corpus, model_id)
                for one, corpus in zip(others, corpora, strict=True)
            )
        )
    ended.set()
    await watching
    for one in others:
        await one.close()
    assert maximum <= 1
    assert all([await is_indexed(embeddings, corpus) for corpus in corpora])
