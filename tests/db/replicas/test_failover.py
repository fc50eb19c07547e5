"""The primary dies, hangs or is put to rest, and its standby is promoted."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from db.connection import hosts_of
from db.corpus.corpora import Corpora
from db.lease import Lease, LeaseTimes
from db.pool import Database, PoolSettings, Replication
from db.search.lexical import LexicalIndex
from engine.errors import StorageError, StorageInterrupted, StorageUnreachable
from engine.search import Candidate, Filters
from tests.database import execute
from tests.db.loading import load_texts
from tests.fakes.pooler import pooler
from tests.fakes.standby import LoopbackServer, Pair, pair
from tests.patience import PATIENCE

TEXTS = [f"a storm is coming in {n} days, over {n % 7} towns and rain" for n in range(50)]
READERS = 8
TIMES = LeaseTimes(holds=3.0, sure=2.0, renewal=0.2, answer=2.0, retry=0.1)


@pytest.fixture
def both(run_folder: Path) -> Iterator[Pair]:
    with pair(run_folder, _filled) as both:
        yield both


async def _filled(url: str) -> None:
    database = await Database.open(url)
    await database.migrate()
    await load_texts(database, "c", TEXTS)
    await database.close()


@asynccontextmanager
async def opened(url: str, *replicas: LoopbackServer) -> AsyncIterator[Database]:
    replication = Replication(
        urls=[replica.url for replica in replicas], max_lag=30.0, pause=0.05, long_pause=0.1
    )
    database = await Database.open(url, PoolSettings(connect_timeout=4.0), replication)
    try:
        yield database
    finally:
        await database.close()


@pytest.fixture
async def database(both: Pair) -> AsyncIterator[Database]:
    """A database that knows both servers as what each may become."""
    async with opened(both.url, both.primary, both.standby) as database:
        await until(lambda: [state.used for state in database.replicas()] == [True, True])
        yield database


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - a server tells nobody
            await asyncio.sleep(0.02)


async def storms(database: Database) -> list[Candidate]:
    corpus, index = await Corpora(database).get("c"), LexicalIndex(database)
    terms = await index.terms(corpus, "storms over 3 towns")
    return await index.top(corpus, terms, Filters(), 10)


async def stored(database: Database, name: str) -> None:
    """Store until it succeeds, as jobs do, which come again."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await load_texts(database, name, TEXTS[:5])
            except StorageError:
                await asyncio.sleep(0.05)
            else:
                return


async def names(url: str) -> set[str]:
    connection = await asyncpg.connect(url)
    try:
        return {row["name"] for row in await connection.fetch("SELECT name FROM corpus")}
    finally:
        await connection.close()


async def asked_during(
    database: Database, happens: Callable[[], Awaitable[None]]
) -> Sequence[list[Candidate]]:
    """Return the answers of all who ask while something happens. An error of one is raised."""
    over = asyncio.Event()

    async def ask() -> list[list[Candidate]]:
        answers = []
        while not over.is_set():
            answers.append(await storms(database))
        return [*answers, await storms(database)]

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as asking:
        tasks = [asking.create_task(ask()) for _ in range(READERS)]
        await asyncio.sleep(0.2)
        await happens()
        over.set()
    return [answer for task in tasks for answer in task.result()]


async def promote(both: Pair) -> None:
    await asyncio.to_thread(both.standby.promote)


@pytest.mark.slow
async def test_the_service_continues_after_failover_and_the_old_primary_can_return(
    both: Pair, database: Database
) -> None:
    wanted = await storms(database)
    async with Lease(database, "leader", times=TIMES) as lease:
        assert lease.is_held
        fence = lease.fence

        async def lost_and_promoted() -> None:
            await asyncio.to_thread(both.primary.kill)
            await promote(both)
            await stored(database, "after")

        answers = await asked_during(database, lost_and_promoted)
        assert all(answer == wanted for answer in answers)
        await until(lambda: lease.is_held)
        assert lease.fence == fence, "nobody else took it"
    assert "after" in await names(both.standby.url)
    await until(lambda: [state.primary for state in database.replicas()] == [False, True])
    promoted = database.replicas()[1]
    assert (promoted.used, promoted.fault, promoted.behind_seconds) == (True, "", 0.0)

    await asyncio.to_thread(both.primary.copy_from, both.standby)
    await until(lambda: database.replicas()[0].used)
    reads = database.replicas()[0].reads
    assert await storms(database) == wanted
    assert database.replicas()[0].reads > reads


@pytest.mark.slow
async def test_a_primary_that_hangs_is_left_and_never_written_to_again(
    both: Pair, database: Database
) -> None:
    wanted = await storms(database)

    async def frozen_and_promoted() -> None:
        both.primary.freeze()
        await promote(both)
        await stored(database, "after")

    begun = time.monotonic()
    answers = await asked_during(database, frozen_and_promoted)
    assert all(answer == wanted for answer in answers)
    assert time.monotonic() - begun < 20, "well below the time that a statement has"
    both.primary.go_on()  # and takes writes, as nobody told it
    for number in range(5):
        await stored(database, f"later{number}")
    async with database.own_connection() as connection:
        assert await connection.fetchval("SELECT count(*) FROM corpus") == 7
    assert await names(both.primary.url) == {"c"}
    async with opened(
        both.url, both.primary, both.standby
    ) as later:  # which names the old one first
        await load_texts(later, "last", TEXTS[:5])
        await until(lambda: [state.primary for state in later.replicas()] == [False, True])
        assert "its own" in later.replicas()[0].fault
    assert await names(both.primary.url) == {"c"}
    assert "last" in await names(both.standby.url)


async def test_a_primary_that_is_made_read_only_hands_over(both: Pair, database: Database) -> None:
    """Its connections stay, so each has to be given up when it refuses a write."""
    await execute(
        both.primary.url,
        "ALTER SYSTEM SET default_transaction_read_only = on",
        "SELECT pg_reload_conf()",
    )
    with pytest.raises(StorageInterrupted, match="read-only"):
        for number in range(100):  # the server reads its settings in its own time
            await load_texts(database, f"before{number}", TEXTS[:5])
    with pytest.raises(StorageUnreachable, match=f"{both.standby.port}: it takes no writes"):
        await load_texts(database, "between", TEXTS[:5])
    assert len(await storms(database)) == 10
    await promote(both)
    await stored(database, "after")
    assert "after" in await names(both.standby.url)


async def test_reads_succeed_with_a_url_that_names_only_the_dead_primary(both: Pair) -> None:
    async with opened(both.primary.url, both.standby) as database:
        wanted = await storms(database)
        await asyncio.to_thread(both.primary.kill)
        await promote(both)
        await until(lambda: not database.replicas()[0].primary)
        assert await storms(database) == wanted
        assert database.replicas()[0].answers
        with pytest.raises(StorageError):
            await load_texts(database, "after", TEXTS[:5])
    async with opened(both.primary.url, both.standby) as later:
        assert await storms(later) == wanted


async def test_an_error_quotes_every_server_if_none_is_writable(both: Pair) -> None:
    await asyncio.to_thread(both.primary.kill)
    with pytest.raises(StorageUnreachable) as caught:
        await Database.open(both.url)
    said = str(caught.value)
    assert f"127.0.0.1:{both.primary.port}: " in said
    assert f"127.0.0.1:{both.standby.port}: it takes no writes" in said


@pytest.mark.slow
async def test_failover_works_between_two_poolers(both: Pair, run_folder: Path) -> None:
    """What a pooler says of its server was true when it first connected to it."""
    waits = "query_wait_timeout = 2\nserver_login_retry = 1"
    with (
        pooler(both.primary.url, run_folder, waits) as one,
        pooler(both.standby.url, run_folder, waits) as two,
    ):
        hosts = ",".join(str(hosts_of(url)[0]) for url in (one, two))
        url = f"postgresql://presagio@{hosts}/presagio?target_session_attrs=read-write"
        database = await Database.open(url, PoolSettings(connect_timeout=4.0))
        try:
            assert database.is_pooled
            await database.migrate()
            await stored(database, "before")
            await asyncio.to_thread(both.primary.kill)
            await promote(both)
            await stored(database, "after")
        finally:
            await database.close()
        assert "after" in await names(both.standby.url)
