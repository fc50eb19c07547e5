"""Everything works through PgBouncer in transaction mode, or says what is missing."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from db.corpus.corpora import Corpora
from db.lease import Lease, LeaseTimes
from db.pool import Database, examine_pooler
from db.search.embeddings import Embeddings
from db.search.lexical import LexicalIndex
from engine.embed.fill import fill_vectors
from engine.errors import StorageOutdated, StorageUnreachable
from engine.search import Filters
from tests.database import execute, fetch_value, pool_on, with_database
from tests.db.loading import load_texts
from tests.db.vectors import WordModel, require_vectors
from tests.fakes.pooler import keeps_statements, pooler
from tests.patience import PATIENCE

TEXTS = ["a storm is coming", "no storm, only rain", "the wall of rain", "storm after storm"]


@pytest.fixture
def pooled_url(direct_url: str, server_folder: Path) -> Iterator[str]:
    """URL through a pooler whose sessions have the settings of `presagio init`."""
    with pooler(direct_url, server_folder) as url:
        asyncio.run(_init(url))
        yield url


async def _init(url: str) -> None:
    async with pool_on(url) as database:
        await database.migrate()


@pytest.fixture
async def pooled(pooled_url: str) -> AsyncIterator[Database]:
    async with pool_on(pooled_url) as database:
        yield database


@pytest.fixture
async def direct(direct_url: str) -> AsyncIterator[Database]:
    async with pool_on(direct_url) as database:
        yield database


async def test_a_pooler_is_recognised(direct: Database, pooled: Database) -> None:
    assert pooled.is_pooled
    assert not direct.is_pooled


async def test_a_pooler_that_drops_settings_silently_is_recognised(
    direct_url: str, server_folder: Path
) -> None:
    ignored = (
        "ignore_startup_parameters = statement_timeout,plan_cache_mode,jit,"
        "max_parallel_workers_per_gather,pg_trgm.similarity_threshold"
    )
    with pooler(direct_url, server_folder, ignored) as url:
        async with pool_on(url) as database:
            assert database.is_pooled


async def test_startup_fails_without_the_required_pooler_settings(
    direct_url: str, server_folder: Path
) -> None:
    """The threshold of similar words decides what is found."""
    with pooler(direct_url, server_folder) as url:
        async with pool_on(url) as database:
            with pytest.raises(StorageOutdated, match=r"similarity_threshold.*presagio init"):
                await database.require_current()


async def test_settings_written_by_init_give_the_same_results_through_a_pooler(
    direct: Database, pooled: Database
) -> None:
    await pooled.require_current()
    await load_texts(pooled, "c", TEXTS)
    found = []
    for each in (direct, pooled):
        corpus, index = await Corpora(each).get("c"), LexicalIndex(each)
        terms = await index.terms(corpus, "storms")
        found.append((terms, await index.top(corpus, terms, Filters(), 10)))
    assert found[0] == found[1]
    assert len(found[0][1]) == 3  # by the word next to "storms"


async def test_statements_are_prepared_by_name_only_if_the_pooler_keeps_them(
    direct_url: str, server_folder: Path
) -> None:
    for number in (0, 50) if keeps_statements() else (None,):
        kept = f"max_prepared_statements = {number}" if number is not None else ""
        with pooler(direct_url, server_folder, kept) as url:
            async with pool_on(url) as database:
                assert database.keeps_statements is bool(number)
                await database.migrate()
                # In each of four sessions, whichever connection prepared them.
                for _ in range(3):
                    await asyncio.gather(*(Corpora(database).list() for _ in range(20)))
                async with database.transaction() as connection:
                    count = "SELECT count(*) FROM pg_prepared_statements"
                    assert bool(await connection.fetchval(count)) is bool(number)


async def test_a_statement_that_is_not_kept_leaves_nothing_behind(direct: Database) -> None:
    async with direct.connection() as connection:
        count = "SELECT count(*) FROM pg_prepared_statements"
        before = await connection.fetchval(count)
        assert not await examine_pooler(connection)
        names = await connection.fetch("SELECT name FROM pg_prepared_statements")
        assert not [row for row in names if row["name"].startswith("presagio")], before


async def test_sessions_that_pg_dump_has_used_are_refused_and_renewed(
    pooled_url: str, direct_url: str, server_folder: Path
) -> None:
    with pooler(direct_url, server_folder, "default_pool_size = 1") as url:
        async with pool_on(url) as database:
            await database.require_current()
            await execute(url, "SELECT set_config('search_path', 'nowhere', false)")
            lost = await fetch_value(database, "SELECT current_schema() IS NULL")
            if lost:  # newer ones keep a search path for each client
                with pytest.raises(StorageOutdated, match=r"search_path.*presagio init"):
                    await database.require_current()
            assert await database.migrate() == []
            await database.require_current()


async def test_an_error_of_the_pooler_is_reported(pooled_url: str) -> None:
    with pytest.raises(StorageUnreachable, match='"presagio_test_nowhere" does not exist'):
        await Database.open(with_database(pooled_url, "presagio_test_nowhere"))


async def test_many_tasks_share_few_sessions(pooled: Database) -> None:
    await load_texts(pooled, "c", TEXTS)
    corpus, index = await Corpora(pooled).get("c"), LexicalIndex(pooled)
    terms = await index.terms(corpus, "storm")
    answers = await asyncio.gather(*(index.top(corpus, terms, Filters(), 2) for _ in range(40)))
    assert all(answer == answers[0] for answer in answers)


async def test_two_processes_behind_a_pooler_have_one_leader(pooled_url: str) -> None:
    databases = [await Database.open(pooled_url) for _ in range(3)]
    leases = [Lease(one, "leader", times=LeaseTimes(renewal=0.05)) for one in databases]
    await asyncio.gather(*(lease.__aenter__() for lease in leases))
    for left in (2, 1, 0):
        (leading,) = [lease for lease in leases if lease.is_held]
        leases.remove(leading)
        waits = [asyncio.create_task(lease.wait_for_change()) for lease in leases]
        await asyncio.sleep(0)
        await leading.__aexit__(None, None, None)
        if left:
            async with asyncio.timeout(PATIENCE):
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            assert [lease.is_held for lease in leases].count(True) == 1
        for wait in waits:
            wait.cancel()
    for database in databases:
        await database.close()


async def test_an_index_of_vectors_is_built_in_a_transaction(pooled: Database) -> None:
    await require_vectors(pooled)
    corpus = await load_texts(pooled, "c", [f"w{n} w{n % 7}" for n in range(60)])
    for limit, indexed in ((10, True), (100, False)):
        embeddings = Embeddings(pooled, exact_up_to=limit, times=LeaseTimes(renewal=0.05))
        await fill_vectors(embeddings, WordModel(), corpus, progress=lambda *_: None)
        space = await embeddings.space(corpus, "words")
        assert space
        assert space.indexed is indexed
