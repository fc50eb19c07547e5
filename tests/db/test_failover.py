"""A primary dies, hangs or takes no writes any more, and its standby is promoted."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from db.corpus.corpora import Corpora
from db.lease import Lease, LeaseTimes
from db.pool import Database, PoolSettings
from engine.errors import StorageError, StorageInterrupted, StorageUnreachable
from tests.database import execute, fetch, pool_on
from tests.db.loading import load_texts
from tests.fakes.standby import Pair, pair
from tests.patience import PATIENCE, until

TEXTS = ["a storm is coming", "rain over three towns"]
TIMES = LeaseTimes(holds=3.0, sure=2.0, renewal=0.2, answer=2.0, retry=0.1)


@pytest.fixture
def both(run_folder: Path) -> Iterator[Pair]:
    with pair(run_folder) as both:
        yield both


@pytest.fixture
async def database(both: Pair) -> AsyncIterator[Database]:
    async with pool_on(both.url, PoolSettings(connect_timeout=4.0)) as database:
        await database.migrate()
        await load_texts(database, "before", TEXTS)
        yield database


async def store(database: Database, name: str) -> None:
    """Store until it succeeds, as jobs do, which come again."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await load_texts(database, name, TEXTS)
            except StorageError:
                await asyncio.sleep(0.05)
            else:
                return


async def fetch_names(url: str) -> set[str]:
    return {row["name"] for row in await fetch(url, "SELECT name FROM corpus")}


async def wait_until_replayed(both: Pair) -> None:
    """Return when the standby has what the primary has: a promotion loses the rest."""
    await until(lambda: _has_corpus(both.standby.url))


async def _has_corpus(url: str) -> bool:
    try:
        return "before" in await fetch_names(url)
    except asyncpg.UndefinedTableError:
        return False


async def promote(both: Pair) -> None:
    await asyncio.to_thread(both.standby.promote)


async def test_a_promoted_standby_is_used_and_the_old_primary_returns_as_a_standby(
    both: Pair, database: Database
) -> None:
    await wait_until_replayed(both)
    async with Lease(database, "leader", times=TIMES) as lease:
        fence = lease.fence
        await asyncio.to_thread(both.primary.kill)
        await promote(both)
        await store(database, "after")
        await until(lambda: lease.is_held)
        assert lease.fence == fence, "nobody else took it"
    assert await fetch_names(both.standby.url) == {"before", "after"}
    await asyncio.to_thread(both.primary.copy_from, both.standby)
    later = await Database.open(both.url)  # which names the old primary first
    try:
        await load_texts(later, "later", TEXTS)
    finally:
        await later.close()
    assert await fetch_names(both.standby.url) == {"before", "after", "later"}


async def test_sessions_that_may_write_no_more_are_given_up(both: Pair, database: Database) -> None:
    """They stay open where the old primary is told to take no writes."""
    await wait_until_replayed(both)
    await execute(
        both.primary.url,
        "ALTER SYSTEM SET default_transaction_read_only = on",
        "SELECT pg_reload_conf()",
    )
    with pytest.raises(StorageInterrupted, match="read-only"):
        for number in range(100):  # the server reads its settings in its own time
            await load_texts(database, f"between{number}", TEXTS)
    with pytest.raises(StorageUnreachable, match="No server of the database takes writes"):
        await load_texts(database, "nowhere", TEXTS)
    await promote(both)
    await store(database, "after")
    assert "after" in await fetch_names(both.standby.url)


async def test_who_gives_up_on_a_server_that_hangs_is_free_at_once(
    both: Pair, database: Database
) -> None:
    both.primary.freeze()
    begun = time.monotonic()
    with pytest.raises((StorageError, TimeoutError)):
        async with asyncio.timeout(0.5), database.connection() as connection:
            await connection.fetchval("SELECT 1")
    # Not what a connection in the pool may take to be free of the statement: half a minute.
    assert time.monotonic() - begun < 15
    both.primary.go_on()
    async with asyncio.timeout(PATIENCE):
        assert [corpus.name for corpus in await Corpora(database).list()] == ["before"]
