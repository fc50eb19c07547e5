"""Connections: what cannot be reached is said in a line, what comes back is used again."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

import pytest

from db import pool
from db.corpus.corpora import Corpora
from db.embedded.server import EmbeddedServer
from db.pool import Database, PoolSettings
from engine.errors import StorageInterrupted, StorageUnreachable
from tests.database import CARELESS, execute, fetch_value, pool_on, with_database
from tests.db.loading import load_texts
from tests.patience import PATIENCE, until


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port of this machine at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


async def test_a_closed_port_cannot_be_reached(closed_port: int) -> None:
    with pytest.raises(StorageUnreachable, match=r"cannot be reached.*DATABASE_URL"):
        await Database.open(f"postgresql://ana@127.0.0.1:{closed_port}/x")


async def test_a_missing_socket_cannot_be_reached(tmp_path: Path) -> None:
    with pytest.raises(StorageUnreachable, match="cannot be reached"):
        await Database.open(f"postgresql:///x?host={quote(str(tmp_path), safe='')}")


async def test_a_host_that_never_answers_is_given_up() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"postgresql://ana@127.0.0.1:{silent.getsockname()[1]}/x"
        with pytest.raises(StorageUnreachable, match="cannot be reached"):
            await Database.open(url, PoolSettings(connect_timeout=0.2))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ana@127.0.0.1:notaport/x",
        "mysql://ana@127.0.0.1/x",
        "postgresql://ana@127.0.0.1:1/x?sslmode=nonsense",
        "nonsense",
    ],
)
async def test_an_invalid_url_is_rejected_with_a_one_line_error(url: str) -> None:
    with pytest.raises(StorageUnreachable, match="DATABASE_URL") as caught:
        await Database.open(url)
    assert "\n" not in str(caught.value)


async def test_a_password_in_the_url_is_not_repeated(closed_port: int) -> None:
    with pytest.raises(StorageUnreachable) as caught:
        await Database.open(f"postgresql://ana:s3cret@127.0.0.1:{closed_port}/x")
    assert "s3cret" not in str(caught.value)


async def test_a_database_that_does_not_exist_is_named(server_url: str) -> None:
    with pytest.raises(StorageUnreachable, match='"presagio_test_nowhere" does not exist'):
        await Database.open(with_database(server_url, "presagio_test_nowhere"))


@pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets")
async def test_a_wrong_password_is_refused(server_folder: Path) -> None:
    rules = server_folder / "rules"
    rules.write_text("local all ana scram-sha-256\nlocal all all trust\n")
    rules.chmod(0o644)  # the server may run under another account
    settings = {**CARELESS, "hba_file": str(rules)}
    with EmbeddedServer(server_folder, extra=settings) as server:
        url = server.url("postgres")
        await execute(url, "CREATE ROLE ana LOGIN PASSWORD 'right'")
        start, _, host = url.partition("@")
        assert start
        right, wrong = (f"postgresql://ana:{word}@{host}" for word in ("right", "wr0ng"))
        await (await Database.open(right)).close()
        with pytest.raises(StorageUnreachable, match="refused the connection") as caught:
            await Database.open(wrong)
        assert "wr0ng" not in str(caught.value)


class TestFewConnections:
    @pytest.fixture
    async def limited(self, direct_url: str, worker_id: str) -> AsyncIterator[str]:
        """URL of a role that may have three connections."""
        role, place = f"presagio_test_three_{worker_id}", urlsplit(direct_url)
        create = f"CREATE ROLE {role} LOGIN PASSWORD 'three' CONNECTION LIMIT 3"
        await execute(direct_url, create)
        host = place.netloc.rpartition("@")[2]
        yield urlunsplit(place._replace(netloc=f"{role}:three@{host}"))
        await execute(direct_url, f"DROP ROLE {role}")

    async def test_who_finds_none_free_waits_for_one(self, limited: str) -> None:
        async with pool_on(limited, PoolSettings(size=20)) as database:

            async def ask(number: int) -> int:
                return int(await fetch_value(database, "SELECT $1::int FROM pg_sleep(.01)", number))

            assert await asyncio.gather(*map(ask, range(200))) == list(range(200))

    async def test_who_waits_for_too_long_is_told_why(
        self, limited: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("db.pool._QUEUE_SECONDS", 0.5)
        holder, database = [await Database.open(limited, PoolSettings(size=3)) for _ in range(2)]
        async with AsyncExitStack() as held:
            with suppress(StorageUnreachable):
                for _ in range(3):
                    await held.enter_async_context(holder.connection())
            with pytest.raises(StorageUnreachable, match="no free connection"):
                async with AsyncExitStack() as more:
                    for _ in range(3):
                        await more.enter_async_context(database.connection())
        assert await fetch_value(database, "SELECT 1") == 1
        await database.close()
        await holder.close()


@pytest.fixture
async def server(server_folder: Path) -> AsyncIterator[EmbeddedServer]:
    """A server of the test's own, to stop and start."""
    server = EmbeddedServer(server_folder, extra=CARELESS)
    await asyncio.to_thread(server.acquire)
    yield server
    await asyncio.to_thread(server.release)


@pytest.mark.slow
async def test_a_server_that_restarts_is_used_again(server: EmbeddedServer) -> None:
    async with pool_on(server.url("postgres")) as database:
        await database.migrate()
        await load_texts(database, "c", ["storm"])
        running = asyncio.create_task(sleep_on_the_server(database))
        await is_sleeping(database)

        await asyncio.to_thread(server.release)
        with pytest.raises(StorageInterrupted, match="connection to the database was lost"):
            await running
        with pytest.raises(StorageUnreachable, match="cannot be reached"):
            await Corpora(database).get("c")

        await asyncio.to_thread(server.acquire)
        assert (await Corpora(database).get("c")).documents == 1


async def sleep_on_the_server(database: Database) -> None:
    async with database.transaction() as connection:
        await connection.execute("DELETE FROM document")
        await connection.execute("SELECT pg_sleep(600)", timeout=600)


async def is_sleeping(database: Database) -> None:
    query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    query += " AND datname = current_database()"
    await until(lambda: fetch_value(database, query))


async def test_connections_that_died_while_idle_are_replaced(
    database: Database, server_url: str
) -> None:
    async with database.connection() as connection:
        name = await connection.fetchval("SELECT current_database()")
        process = await connection.fetchval("SELECT pg_backend_pid()")
    await execute(
        server_url,
        f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{name}'",
    )
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                assert await fetch_value(database, "SELECT pg_backend_pid()") != process
                break
            except StorageInterrupted:  # the news had not arrived yet
                continue


async def test_connections_are_set_up_alike(database_url: str) -> None:
    async with (
        pool_on(database_url, PoolSettings(size=2, statement_timeout=7)) as database,
        database.connection() as one,
        database.connection() as two,
    ):
        for connection in (one, two):
            assert await connection.fetchval("SHOW statement_timeout") == "7s"
            assert await connection.fetchval("SHOW plan_cache_mode") == "force_generic_plan"
            assert await connection.fetchval("SELECT $1::tsquery", "'a' | 'b'") == "'a' | 'b'"


async def test_closing_does_not_wait_for_ever(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_CLOSING", 0.1)
    database = await Database.open(database_url)
    running = asyncio.create_task(sleep_on_the_server(database))
    await is_sleeping(database)
    async with asyncio.timeout(PATIENCE):
        await database.close()
        with pytest.raises(StorageInterrupted):
            await running
