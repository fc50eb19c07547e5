"""A copy ends with an error when the server is lost in the middle, whatever the driver does."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from db.connection import Connection
from db.corpus.documents import copy_records
from db.pool import Database, PoolSettings
from engine.errors import StorageInterrupted
from tests.database import fetch_value, pool_on
from tests.fakes.database_line import DatabaseLine
from tests.patience import PATIENCE

# More than any socket holds: the driver has to wait until the server reads.
_ROWS = 2_000
_TEXT = "x" * 20_000
_HELD_BACK = 20  # rows that go through before


class Rows:
    """Rows of which the line holds back what comes after the first ones."""

    def __init__(self, line: DatabaseLine) -> None:
        self._line = line
        self.sent = asyncio.Event()

    def __iter__(self) -> Iterator[tuple[str]]:
        for number in range(_ROWS):
            if number == _HELD_BACK:
                self._line.stop_carrying()
            yield (_TEXT,)
        self.sent.set()


@pytest.fixture
async def line(database_url: str) -> AsyncIterator[DatabaseLine]:
    async with DatabaseLine.to(database_url) as opened:
        yield opened


@pytest.fixture
async def far(line: DatabaseLine) -> AsyncIterator[Database]:
    """A pool whose connections go over the line."""
    # Undoing what a silent line carries may take as long as any command.
    async with pool_on(line.url, PoolSettings(command_timeout=2)) as opened:
        yield opened


async def copied(connection: Connection, rows: Rows, *, seconds: float = 60) -> None:
    await connection.execute("CREATE TEMP TABLE IF NOT EXISTS far (text text)")
    await copy_records(connection, "far", columns=["text"], records=rows, timeout=seconds)


async def stored(database: Database, rows: Rows, *, seconds: float = 60) -> None:
    async with database.transaction() as connection:
        await copied(connection, rows, seconds=seconds)


async def test_a_copy_fails_if_the_server_is_lost_while_it_waits(
    far: Database, line: DatabaseLine
) -> None:
    rows = Rows(line)
    async with asyncio.timeout(PATIENCE):
        working = asyncio.create_task(stored(far, rows))
        await rows.sent.wait()
        line.cut()
        with pytest.raises(StorageInterrupted, match="connection to the database was lost"):
            await working
    assert await fetch_value(far, "SELECT 1") == 1


async def test_a_copy_that_takes_too_long_fails(far: Database, line: DatabaseLine) -> None:
    with pytest.raises(StorageInterrupted, match="did not answer in time"):
        async with asyncio.timeout(PATIENCE):
            await stored(far, Rows(line), seconds=0.5)
