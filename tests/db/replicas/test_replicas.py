"""A primary and a standby on loopback: what is read where, and what no reader notices."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from db.corpus.corpora import Corpora
from db.pool import Database, Replication
from db.replicas import ReplicaState
from db.search.embeddings import Embeddings
from db.search.find import DialectIndex
from db.search.lexical import LexicalIndex
from db.search.nearest import SetAside
from db.search.shown import DocumentLookup
from engine.embed.fill import fill_vectors
from engine.errors import StorageError
from engine.query.find import Finder
from engine.query.parser import parse_query
from engine.search import Candidate, Filters
from engine.values import Corpus
from tests.database import execute, with_database
from tests.db.loading import load_texts
from tests.db.vectors import WordModel, can_keep_vectors
from tests.fakes.standby import Pair, pair
from tests.patience import PATIENCE

TEXTS = [f"a storm is coming in {n} days, over {n % 7} towns and rain" for n in range(200)]
READERS, BUSY_READERS = 50, 8


@pytest.fixture(scope="module")
def _pair(run_folder: Path) -> Iterator[Pair]:
    with pair(run_folder, _filled) as both:
        yield both


async def _filled(url: str) -> None:
    database = await Database.open(url)
    await database.migrate()
    await load_texts(database, "c", TEXTS)
    await database.close()


@pytest.fixture
def both(_pair: Pair) -> Iterator[Pair]:
    """Both servers, running and replaying."""
    yield _pair.restored()
    _pair.restored()


@asynccontextmanager
async def opened(both: Pair, **changed: float) -> AsyncIterator[Database]:
    times = {"max_lag": 30.0, "pause": 0.05, "long_pause": 0.1} | changed
    replication = Replication(urls=[both.standby.url], **times)
    database = await Database.open(both.primary.url, replication=replication)
    try:
        yield database
    finally:
        await database.close()


@pytest.fixture
async def database(both: Pair) -> AsyncIterator[Database]:
    """A database whose standby is in use."""
    async with opened(both) as database:
        await until(database, lambda state: state.used)
        yield database


@pytest.fixture
async def primary(both: Pair) -> AsyncIterator[Database]:
    """The primary as another process sees it."""
    database = await Database.open(both.primary.url)
    yield database
    await database.close()


def state_of(database: Database) -> ReplicaState:
    [state] = database.replicas()
    return state


async def until(database: Database, reached: Callable[[ReplicaState], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not reached(state_of(database)):  # noqa: ASYNC110 - a server tells nobody
            await asyncio.sleep(0.02)


async def storms(database: Database, corpus: Corpus | None = None) -> list[Candidate]:
    corpus = corpus or await Corpora(database).get("c")
    index = LexicalIndex(database)
    terms = await index.terms(corpus, "storms over 3 towns")
    return await index.top(corpus, terms, Filters(), 10)


async def paused(both: Pair) -> None:
    await execute(both.standby.url, "SELECT pg_wal_replay_pause()")


async def test_a_standby_answers_as_the_primary_does(database: Database, primary: Database) -> None:
    corpus = await Corpora(primary).get("c")
    assert await Corpora(database).get("c") == corpus
    assert await storms(database) == await storms(primary)
    for query in ("storm rain", "-town", "storm before:2030"):
        found = [
            await Finder(DialectIndex(one)).find(corpus, parse_query(query), limit=20)
            for one in (database, primary)
        ]
        assert found[0] == found[1]
    assert await DocumentLookup(database).document(corpus, "7") == await DocumentLookup(
        primary
    ).document(corpus, "7")
    state = state_of(database)
    assert state.reads > 10
    assert state.passed_on == 0


async def test_vectors_are_compared_on_a_standby_as_on_the_primary(
    database: Database, primary: Database
) -> None:
    if not await can_keep_vectors(database):
        pytest.skip("this server has no pgvector 0.7 or newer")
    corpus, model = await load_texts(database, "vectors", TEXTS), WordModel()
    await fill_vectors(Embeddings(database), model, corpus, progress=lambda *_: None)
    await until(database, lambda state: state.used)
    reads, vector = state_of(database).reads, model.vector("rain over 3 towns")
    found = []
    for one in (database, primary):
        vectors = Embeddings(one)
        space = await vectors.space(corpus, model.name)
        assert space
        near = await vectors.nearest(corpus, space, vector, Filters(), 10)
        cosines = await vectors.cosines(corpus, space, vector, [id_ for id_, _ in near])
        assert cosines == dict(near)
        found.append((space, near))
    assert found[0] == found[1]
    assert state_of(database).reads == reads + 3


async def test_without_the_primary_a_search_reads_which_texts_have_vectors(
    both: Pair, database: Database
) -> None:
    if not await can_keep_vectors(database):
        pytest.skip("this server has no pgvector 0.7 or newer")
    corpus, model = await load_texts(database, "embedded", TEXTS[:5]), WordModel()
    await fill_vectors(Embeddings(database), model, corpus, progress=lambda *_: None)
    await until(database, lambda state: state.used)
    both.primary.kill()
    vectors = Embeddings(database)
    model_id = await vectors.prepare(model.name, len(model.vector("rain")))
    assert await vectors.find_unembedded(corpus, model_id, [1, 2, 3]) == []
    assert await vectors.count(corpus, model_id) == 5
    assert await SetAside(database).sources(model.name) == set()
    with pytest.raises(StorageError):
        await vectors.prepare("another", 3)


async def test_sessions_on_a_standby_only_read(database: Database) -> None:
    async with database.read_anywhere() as reader:
        assert await reader.fetchval("SELECT pg_is_in_recovery()")
        assert await reader.fetchval("SHOW default_transaction_read_only") == "on"


async def test_a_process_reads_its_own_writes_at_once(both: Pair, database: Database) -> None:
    await paused(both)
    corpus = await load_texts(database, "own", TEXTS[:20])
    assert len(await storms(database)) == 10
    assert len(await storms(database, corpus)) == 10
    await until(database, lambda state: state.fault == "its replay is paused")


async def test_the_primary_answers_for_a_standby_that_lags(both: Pair, primary: Database) -> None:
    async with opened(both, max_lag=0.5) as database:
        await until(database, lambda state: state.used)
        await paused(both)
        await load_texts(primary, "late", TEXTS[:20])
        await until(database, lambda state: not state.used)
        assert len(await storms(database, await Corpora(database).get("late"))) == 10
        await execute(both.standby.url, "SELECT pg_wal_replay_resume()")
        await until(database, lambda state: state.used)
        assert len(await storms(database, await Corpora(database).get("late"))) == 10


async def test_tables_that_a_standby_lacks_are_read_from_the_primary(
    both: Pair, database: Database, primary: Database
) -> None:
    await paused(both)
    corpus = await load_texts(primary, "new", TEXTS[:20])
    shown = await DocumentLookup(database).document(corpus, "7")
    assert shown == await DocumentLookup(primary).document(corpus, "7") is not None
    assert state_of(database).passed_on == 1


async def test_a_read_cancelled_by_recovery_is_repeated_elsewhere(
    both: Pair, database: Database, primary: Database
) -> None:
    corpus = await load_texts(primary, "vacuumed", TEXTS)
    table = f"document_{corpus.id}"
    await until(database, lambda state: state.used)
    await _caught_up(both)

    async def read() -> int:
        async with database.read_anywhere() as reader:
            waits = "CASE WHEN pg_is_in_recovery() THEN pg_sleep(600) IS NULL END"
            row = await reader.fetchrow(f"SELECT count(*) AS documents, {waits} FROM {table}")
        return int(row["documents"]) if row else -1

    reading = asyncio.create_task(read())
    await _holds(both, "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
    await execute(
        both.primary.url, f"DELETE FROM {table} WHERE external_id < '5'", f"VACUUM {table}"
    )
    async with asyncio.timeout(PATIENCE):
        assert 0 < await reading < len(TEXTS)
    assert state_of(database).passed_on == 1


async def _caught_up(both: Pair) -> None:
    """Wait until the standby has replayed all that is written now."""
    written = await _value(both.primary.url, "SELECT pg_current_wal_lsn()::text")
    await _holds(both, f"SELECT pg_last_wal_replay_lsn() >= '{written}'")


async def _holds(both: Pair, condition: str) -> None:
    """Wait until a condition holds on the standby."""
    async with asyncio.timeout(PATIENCE):
        while not await _value(both.standby.url, condition):  # noqa: ASYNC110 - a server tells nobody
            await asyncio.sleep(0.02)


async def _value(url: str, statement: str) -> Any:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


@pytest.mark.slow
async def test_a_standby_that_dies_while_many_ask_costs_no_answer(
    both: Pair, database: Database
) -> None:
    wanted = await storms(database)
    answers = await _asked_while(database, both.standby.kill)
    assert all(answer == wanted for answer in answers)
    assert state_of(database).passed_on
    await until(database, lambda state: not state.used)
    assert await storms(database) == wanted
    both.standby.start()
    await until(database, lambda state: state.used)


@pytest.mark.slow
async def test_a_primary_that_dies_while_many_ask_costs_no_answer(
    both: Pair, database: Database
) -> None:
    wanted = await storms(database)
    answers = await _asked_while(database, both.primary.kill)
    assert all(answer == wanted for answer in answers)
    with pytest.raises(StorageError):
        await load_texts(database, "c", ["a storm"])
    async with opened(both) as second:  # a process that starts now
        await second.require_current()
        assert await storms(second) == wanted
    both.primary.start()
    await load_texts(database, "after", ["a storm"])
    assert await storms(database) == wanted


async def _asked_while(database: Database, kill: Callable[[], None]) -> list[list[Candidate]]:
    """Return the answers of readers, all of whom ask before and after a kill, some meanwhile."""
    killed, asked = asyncio.Event(), asyncio.Semaphore(0)

    async def ask(number: int) -> list[list[Candidate]]:
        answers = [await storms(database)]
        asked.release()
        while number < BUSY_READERS and not killed.is_set():
            answers.append(await storms(database))
        await killed.wait()
        return [*answers, await storms(database)]

    asking = [asyncio.create_task(ask(number)) for number in range(READERS)]
    for _ in asking:
        await asked.acquire()
    await asyncio.to_thread(kill)
    killed.set()
    async with asyncio.timeout(PATIENCE):
        return [answer for answers in await asyncio.gather(*asking) for answer in answers]


@pytest.mark.slow
async def test_a_frozen_standby_is_abandoned(both: Pair, database: Database) -> None:
    wanted = await storms(database)
    both.standby.freeze()
    async with asyncio.timeout(PATIENCE):
        answers = await asyncio.gather(*(storms(database) for _ in range(READERS)))
    assert all(answer == wanted for answer in answers)
    assert not state_of(database).used
    both.standby.go_on()
    await until(database, lambda state: state.used)


async def test_who_gives_up_on_a_server_that_hangs_is_free_at_once(
    both: Pair, primary: Database
) -> None:
    both.primary.freeze()
    begun = time.monotonic()
    with pytest.raises((StorageError, TimeoutError)):
        async with asyncio.timeout(0.5), primary.connection() as connection:
            await connection.fetchval("SELECT 1")
    # Not what a connection in the pool may take to be free of the statement: half a minute.
    assert time.monotonic() - begun < 15
    both.primary.go_on()
    async with asyncio.timeout(PATIENCE), primary.connection() as connection:
        assert await connection.fetchval("SELECT 1") == 1


async def test_a_server_that_is_no_copy_of_the_primary_is_never_read(both: Pair) -> None:
    replication = Replication(urls=[with_database(both.standby.url, "postgres")], pause=0.05)
    database = await Database.open(both.primary.url, replication=replication)
    try:
        await until(database, lambda state: "no copy" in state.fault)
        assert len(await storms(database)) == 10
        assert state_of(database).reads == 0
    finally:
        await database.close()


async def test_a_primary_among_its_standbys_is_read_as_the_primary(both: Pair) -> None:
    replication = Replication(urls=[both.primary.url], pause=0.05)
    database = await Database.open(both.primary.url, replication=replication)
    try:
        await until(database, lambda state: state.primary)
        assert len(await storms(database)) == 10
        state = state_of(database)
        assert (state.used, state.fault, state.behind_seconds, state.reads) == (True, "", 0.0, 0)
    finally:
        await database.close()
