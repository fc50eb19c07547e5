"""Events are taken once, by processes that live, die, freeze and lose their connection."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from db import turns as turns_module
from db.pool import Database, PoolSettings
from db.server import EmbeddedServer
from db.statements import statements
from db.turns import Turns
from engine.errors import StorageError, StorageUnreachable
from tests.database import CARELESS, Clones

ROOT = Path(__file__).resolve().parents[2]
NOW = datetime(2024, 6, 1, tzinfo=UTC)
EVENT = ("test", "1")
# Other tests of the run hold locks on the same server.
HERE = "database = (SELECT oid FROM pg_database WHERE datname = current_database())"
LOCKS = (
    "SELECT count(*) FROM pg_locks"
    f" WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND {HERE}"
)
SECONDS = 20.0

# Takes three events, brings two of them further, and waits to be killed.
OTHER_PROCESS = textwrap.dedent(
    """
    import asyncio, sys
    from datetime import UTC, datetime
    from db.pool import Database
    from db.turns import Turns

    async def main():
        now = datetime(2024, 6, 1, tzinfo=UTC)
        async with Turns(await Database.open(sys.argv[1])) as turns:
            for event in ("taken", "answering", "done"):
                assert await turns.take("test", event, now=now)
            assert await turns.answering("test", "answering")
            assert await turns.answering("test", "done")
            await turns.done("test", "done")
            print("ready", flush=True)
            await asyncio.sleep(600)

    asyncio.run(main())
    """
)


@pytest.fixture
async def turns(database: Database) -> AsyncIterator[Turns]:
    async with Turns(database) as entered:
        yield entered


@pytest.fixture
async def other(database: Database) -> AsyncIterator[Turns]:
    """Another process, as far as the database can tell."""
    async with Turns(database) as entered:
        yield entered


async def eventually(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(SECONDS):
        while not await holds():  # noqa: ASYNC110 - the server makes it true
            await asyncio.sleep(0.02)


async def processes_present(database: Database) -> int:
    async with database.connection() as connection:
        return int(await connection.fetchval(LOCKS))


async def cut_presence(database: Database) -> None:
    """End every session that holds a presence lock."""
    async with database.connection() as connection:
        await connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks"
            f" WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND {HERE}"
        )


async def test_one_of_many_concurrent_deliveries_is_taken(turns: Turns, other: Turns) -> None:
    taken = await asyncio.gather(*(t.take(*EVENT, now=NOW) for t in (turns, other) * 8))
    assert sorted(taken) == [False] * 15 + [True]


async def test_events_of_platforms_are_apart(turns: Turns) -> None:
    assert await turns.take("a", "1", now=NOW)
    assert await turns.take("b", "1", now=NOW)
    assert await turns.take("a", "2", now=NOW)
    assert not await turns.take("b", "1", now=NOW)


async def test_what_is_given_back_may_be_taken_again(turns: Turns, other: Turns) -> None:
    assert await turns.take(*EVENT, now=NOW)
    await turns.release(*EVENT)
    assert await other.take(*EVENT, now=NOW)


async def test_only_the_holder_gives_back_answers_or_ends(turns: Turns, other: Turns) -> None:
    assert await turns.take(*EVENT, now=NOW)
    await other.release(*EVENT)
    await other.done(*EVENT)
    assert not await other.answering(*EVENT)
    assert not await other.take(*EVENT, now=NOW)
    assert await turns.answering(*EVENT)


async def test_an_answer_is_begun_once(turns: Turns) -> None:
    assert not await turns.answering(*EVENT)
    assert await turns.take(*EVENT, now=NOW)
    assert await turns.answering(*EVENT)
    assert not await turns.answering(*EVENT)
    await turns.release(*EVENT)  # too late
    assert not await turns.take(*EVENT, now=NOW)


async def test_of_a_process_that_left_only_the_unanswered_is_taken_over(
    database: Database, other: Turns
) -> None:
    async with Turns(database) as leaving:
        for number in ("taken", "answering", "done"):
            assert await leaving.take("test", number, now=NOW)
        assert await leaving.answering("test", "answering")
        await leaving.done("test", "done")
        assert not await other.take("test", "taken", now=NOW)
    await eventually(lambda: other.take("test", "taken", now=NOW))
    assert not await other.take("test", "answering", now=NOW)
    assert not await other.take("test", "done", now=NOW)


async def test_what_a_dead_process_left_is_taken_over_by_one(database: Database) -> None:
    async with Turns(database) as leaving:
        assert await leaving.take(*EVENT, now=NOW)
    await eventually(lambda: _nobody_present(database))
    async with Turns(database) as one, Turns(database) as two:
        taken = await asyncio.gather(*(t.take(*EVENT, now=NOW) for t in (one, two) * 8))
    assert sorted(taken) == [False] * 15 + [True]


async def _nobody_present(database: Database) -> bool:
    return await processes_present(database) == 0


async def test_a_killed_process_loses_what_it_had_not_answered(
    database: Database, database_url: str, turns: Turns
) -> None:
    process = subprocess.Popen(  # noqa: ASYNC220 - starts at once, and is read in a thread
        [sys.executable, "-c", OTHER_PROCESS, database_url],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    try:
        assert await asyncio.to_thread(process.stdout.readline) == b"ready\n"
        assert not await turns.take("test", "taken", now=NOW)

        process.send_signal(signal.SIGSTOP)  # hangs, and may go on
        assert not await turns.take("test", "taken", now=NOW)

        process.kill()
        await eventually(lambda: turns.take("test", "taken", now=NOW))
        assert not await turns.take("test", "answering", now=NOW)
        assert not await turns.take("test", "done", now=NOW)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


async def test_a_process_that_lost_its_connection_proves_itself_again(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns_module, "_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(turns_module, "_PROOF_SECONDS", 600)  # it is told, and need not ask

    async def both_present() -> bool:
        return await processes_present(database) == 2

    async with Turns(database) as turns, Turns(database) as other:
        assert await turns.take(*EVENT, now=NOW)
        await cut_presence(database)
        await eventually(both_present)
        assert not await other.take(*EVENT, now=NOW)
        assert await turns.answering(*EVENT)


async def test_what_was_taken_over_meanwhile_is_answered_by_the_other_alone(
    database: Database, turns: Turns, other: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns_module, "_RETRY_SECONDS", 600)
    assert await turns.take(*EVENT, now=NOW)
    await cut_presence(database)  # and it is not noticed again in this test
    await eventually(lambda: other.take(*EVENT, now=NOW))
    assert not await turns.answering(*EVENT)
    assert await other.answering(*EVENT)


async def test_it_survives_a_restart_of_the_server(
    server_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns_module, "_RETRY_SECONDS", 0.05)
    server = EmbeddedServer(server_folder, extra=CARELESS)
    await asyncio.to_thread(server.acquire)
    try:
        database = await Database.open(server.url("postgres"))
        await database.migrate()
        async with Turns(database) as turns:
            assert await turns.take(*EVENT, now=NOW)
            await asyncio.to_thread(server.release)  # stops it
            with pytest.raises(StorageError):
                await turns.take("test", "2", now=NOW)
            await asyncio.to_thread(server.acquire)

            async def present() -> bool:
                try:
                    return await processes_present(database) == 1
                except StorageError:
                    return False

            await eventually(present)
            async with Turns(database) as other:
                assert not await other.take(*EVENT, now=NOW)
            assert await turns.answering(*EVENT)
            assert await turns.take("test", "2", now=NOW)
        await database.close()
    finally:
        await asyncio.to_thread(server.release)


async def test_without_a_database_nothing_begins(server_folder: Path) -> None:
    server = EmbeddedServer(server_folder, extra=CARELESS)
    await asyncio.to_thread(server.acquire)
    database = await Database.open(server.url("postgres"))
    await asyncio.to_thread(server.release)
    before = asyncio.all_tasks()
    with pytest.raises(StorageUnreachable):
        await Turns(database).__aenter__()
    assert asyncio.all_tasks() == before
    await database.close()


async def test_presence_takes_no_connection_from_the_pool(database_url: str) -> None:
    database = await Database.open(database_url, PoolSettings(size=1))
    async with asyncio.timeout(SECONDS), Turns(database) as one, Turns(database) as two:
        assert await one.take(*EVENT, now=NOW)
        assert not await two.take(*EVENT, now=NOW)
    await database.close()


async def test_a_cancelled_holder_gives_back(turns: Turns, other: Turns) -> None:
    assert await turns.take(*EVENT, now=NOW)
    holding = asyncio.Event()

    async def hold() -> None:
        async with turns.held(*EVENT):
            holding.set()
            await asyncio.sleep(600)

    task = asyncio.create_task(hold())
    await holding.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await other.take(*EVENT, now=NOW)


async def test_a_holder_that_fails_keeps_the_event(turns: Turns, other: Turns) -> None:
    assert await turns.take(*EVENT, now=NOW)
    with pytest.raises(ZeroDivisionError):
        async with turns.held(*EVENT):
            raise ZeroDivisionError
    assert not await other.take(*EVENT, now=NOW)


async def test_events_are_forgotten_after_a_week(turns: Turns) -> None:
    assert await turns.take("test", "old", now=NOW - timedelta(days=8))
    assert await turns.take("test", "new", now=NOW - timedelta(days=6))
    await turns.forget(now=NOW)
    assert await turns.take("test", "old", now=NOW)
    assert not await turns.take("test", "new", now=NOW)


@pytest.mark.parametrize(
    ("name", "setting"),
    [("take", "off"), ("answering", "on"), ("done", "off"), ("release", "on")],
)
async def test_only_what_allows_to_send_waits_for_the_disk(
    database: Database, name: str, setting: str
) -> None:
    """`answering` must outlive a crash of the server, and takes all before it along."""
    values = {"take": (NOW, 0)}.get(name, ())
    async with database.transaction() as connection:
        await connection.execute(
            "INSERT INTO turn (platform, event_id, process, taken_at)"
            " VALUES ('test', 'other', 1, now())"
        )
        await connection.execute("SET LOCAL synchronous_commit = on")
        event = ("test", "1" if name == "take" else "other")
        await connection.execute(statements("conversation")[name], *event, 1, *values)
        assert await connection.fetchval("SHOW synchronous_commit") == setting


async def test_an_event_that_comes_again_while_presence_is_lost_is_not_taken_again(
    database: Database, turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else proves that this process lives, but it knows that it is at work on it."""
    monkeypatch.setattr(turns_module, "_RETRY_SECONDS", 600)
    assert await turns.take(*EVENT, now=NOW)
    await cut_presence(database)
    await eventually(lambda: _nobody_present(database))
    assert not await turns.take(*EVENT, now=NOW)
    assert await turns.answering(*EVENT)


async def test_a_process_of_another_database_proves_nothing(
    database: Database, _clones: Clones
) -> None:
    """Processes are numbered in each database: the same number there is somebody else."""
    with _clones.clone() as url:
        elsewhere = await Database.open(url)
        async with Turns(elsewhere):
            async with Turns(database) as leaving:
                assert await leaving.take(*EVENT, now=NOW)
            await eventually(lambda: _nobody_present(database))
            async with Turns(database) as other:
                assert await other.take(*EVENT, now=NOW)
        await elsewhere.close()


async def test_a_lock_of_another_kind_proves_nothing(database: Database, other: Turns) -> None:
    async with Turns(database) as leaving:
        assert await leaving.take(*EVENT, now=NOW)
    async with database.connection() as connection:
        number = await connection.fetchval("SELECT process FROM turn")
    await eventually(lambda: _nobody_but_one_present(database))
    async with database.transaction() as connection:
        await connection.execute("SELECT pg_advisory_xact_lock(1, $1)", number)
        assert await other.take(*EVENT, now=NOW)


async def _nobody_but_one_present(database: Database) -> bool:
    return await processes_present(database) == 1


async def test_what_was_taken_over_is_as_young_as_its_taking_over(
    database: Database, turns: Turns, other: Turns
) -> None:
    async with Turns(database) as leaving:
        assert await leaving.take(*EVENT, now=NOW - timedelta(days=8))
    await eventually(lambda: turns.take(*EVENT, now=NOW))
    assert await turns.answering(*EVENT)
    await turns.forget(now=NOW)
    assert not await other.take(*EVENT, now=NOW)


async def test_a_holder_that_is_cancelled_twice_gives_back(turns: Turns, other: Turns) -> None:
    assert await turns.take(*EVENT, now=NOW)
    holding = asyncio.Event()

    async def hold() -> None:
        async with turns.held(*EVENT):
            holding.set()
            await asyncio.sleep(600)

    task = asyncio.create_task(hold())
    await holding.wait()
    task.cancel()
    await asyncio.sleep(0)  # it has begun to give the event back
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await eventually(lambda: other.take(*EVENT, now=NOW))
