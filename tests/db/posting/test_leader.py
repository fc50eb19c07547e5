"""One process leads; another does when its session, its process or its connection ends."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from db.posting.leader import Leader

from db.embedded.server import EmbeddedServer
from db.pool import Database, PoolSettings
from db.posting import leader as leader_module
from tests.database import CARELESS

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 30.0  # in which another must lead
HOLDERS = (
    "FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)

# Leads, and says so each time it does anew.
OTHER_PROCESS = textwrap.dedent(
    """
    import asyncio, sys
    from db.posting.leader import Leader
    from db.pool import Database

    async def main():
        async with Leader(await Database.open(sys.argv[1])) as leader:
            while True:
                print("leads" if leader.leads else "waits", flush=True)
                await leader.changed()

    asyncio.run(main())
    """
)


@pytest.fixture
async def leader(database: Database) -> AsyncIterator[Leader]:
    async with Leader(database) as entered:
        yield entered


async def holders(database: Database) -> int:
    async with database.connection() as connection:
        return int(await connection.fetchval(f"SELECT count(*) {HOLDERS}"))


async def until(leader: Leader, *, leads: bool) -> None:
    async with asyncio.timeout(SECONDS):
        while leader.leads is not leads:
            await leader.changed()


async def end_session(database: Database) -> None:
    async with database.connection() as connection:
        await connection.execute(f"SELECT pg_terminate_backend(pid, 5000) {HOLDERS}")


@contextmanager
def other_process(url: str) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(
        [sys.executable, "-c", OTHER_PROCESS, url],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


async def said(process: "subprocess.Popen[bytes]") -> bytes:
    assert process.stdout is not None
    return await asyncio.to_thread(process.stdout.readline)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leader_module, "_PROOF_SECONDS", 0.05)
    monkeypatch.setattr(leader_module, "_RETRY_SECONDS", 0.05)


async def test_one_of_many_leads(database: Database, hasty: None) -> None:
    leaders = [Leader(database) for _ in range(6)]
    await asyncio.gather(*(leader.__aenter__() for leader in leaders))
    assert sorted(leader.leads for leader in leaders) == [False] * 5 + [True]
    assert await holders(database) == 1
    for left in range(5, 0, -1):  # each that leaves is followed by one
        (leading,) = [leader for leader in leaders if leader.leads]
        leaders.remove(leading)
        waits = {asyncio.create_task(leader.changed()) for leader in leaders}
        await asyncio.sleep(0)  # all of them wait before there is anything to see
        await leading.__aexit__(None, None, None)
        assert not leading.leads
        done, pending = await asyncio.wait(
            waits, timeout=SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        assert [task.result() for task in done] == [True]
        for task in pending:
            task.cancel()
        assert [leader.leads for leader in leaders].count(True) == 1
        assert len(leaders) == left
    await leaders[0].__aexit__(None, None, None)
    assert not leaders[0].leads


async def test_who_loses_the_session_knows_and_another_leads(
    database: Database, hasty: None
) -> None:
    async with Leader(database) as first, Leader(database) as second:
        assert (first.leads, second.leads) == (True, False)
        told = asyncio.create_task(first.changed())
        await end_session(database)
        assert await told is False
        async with asyncio.timeout(SECONDS):
            while not (first.leads or second.leads):  # noqa: ASYNC110 - either may be next
                await asyncio.sleep(0.01)
        assert [first.leads, second.leads].count(True) == 1
        assert await holders(database) == 1


async def test_a_killed_leader_is_replaced(
    database: Database, database_url: str, hasty: None
) -> None:
    with other_process(database_url) as process:
        assert await said(process) == b"leads\n"
        async with Leader(database) as leader:
            assert not leader.leads
            process.send_signal(signal.SIGKILL)
            await until(leader, leads=True)


async def test_a_leader_that_hangs_is_replaced_and_follows_when_it_goes_on(
    database: Database, database_url: str
) -> None:
    """With the real times: nothing but the server's clock ends the session."""
    with other_process(database_url) as process:
        assert await said(process) == b"leads\n"
        async with Leader(database) as leader:
            process.send_signal(signal.SIGSTOP)
            await until(leader, leads=True)
            process.send_signal(signal.SIGCONT)
            assert await said(process) == b"waits\n"
            assert leader.leads


async def test_an_old_proof_is_relied_on_for_less_long_than_the_server_waits(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert leader_module._SURE_SECONDS < leader_module._SILENCE_SECONDS
    async with Leader(database) as leader:
        assert leader.leads
        monkeypatch.setattr(leader_module, "_SURE_SECONDS", 0.0)
        assert not leader.leads
        assert await holders(database) == 1


async def test_the_server_ends_a_silent_session(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leader_module, "_SILENCE_SECONDS", 1)
    monkeypatch.setattr(leader_module, "_PROOF_SECONDS", 600)
    monkeypatch.setattr(leader_module, "_RETRY_SECONDS", 600)
    async with Leader(database) as leader:
        assert leader.leads
        async with asyncio.timeout(SECONDS):
            assert await leader.changed() is False
        assert await holders(database) == 0


async def test_a_proof_keeps_the_session_and_leads_on(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leader_module, "_SILENCE_SECONDS", 2)
    monkeypatch.setattr(leader_module, "_PROOF_SECONDS", 0.1)
    async with Leader(database) as leader:
        change = asyncio.create_task(leader.changed())
        await asyncio.sleep(3.0)
        assert leader.leads
        assert not change.done()
        change.cancel()


async def test_it_survives_a_restart_of_the_server(server_folder: Path, hasty: None) -> None:
    server = EmbeddedServer(server_folder, extra=CARELESS)
    await asyncio.to_thread(server.acquire)
    try:
        database = await Database.open(server.url("postgres"))
        async with Leader(database) as leader:
            assert leader.leads
            await asyncio.to_thread(server.release)  # stops it
            await until(leader, leads=False)
            await asyncio.to_thread(server.acquire)
            await until(leader, leads=True)
        await database.close()
    finally:
        await asyncio.to_thread(server.release)


async def test_without_a_database_nobody_leads(server_folder: Path, hasty: None) -> None:
    server = EmbeddedServer(server_folder, extra=CARELESS)
    await asyncio.to_thread(server.acquire)
    database = await Database.open(server.url("postgres"))
    await asyncio.to_thread(server.release)
    before = asyncio.all_tasks()
    async with asyncio.timeout(SECONDS), Leader(database) as leader:
        assert not leader.leads
    assert asyncio.all_tasks() == before
    await database.close()


async def test_leading_takes_no_connection_from_the_pool(database_url: str) -> None:
    database = await Database.open(database_url, PoolSettings(size=1))
    async with asyncio.timeout(SECONDS), Leader(database) as leader:
        assert leader.leads
        assert await holders(database) == 1
    await database.close()
