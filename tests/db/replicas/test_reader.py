"""A reader asks one server after another, and only where that is right."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import pytest

from db.pool import FallbackReader, PoolSettings
from db.replicas import Primary, Replica
from db.sessions import Sessions

CANCELLED = asyncpg.SerializationError("canceling statement due to conflict with recovery")
GONE = asyncpg.ConnectionDoesNotExistError("connection was closed")


@dataclass
class StandIn:
    """A server, and the connection that it lends, which fails with some errors in turn."""

    answer: str
    errors: list[Exception | None] = field(default_factory=list)
    refuses: Exception | None = None
    final: bool = False  # whether its errors are passed on to whoever reads
    asked: int = 0
    lent: int = 0

    async def lend(self, *, last: bool = False) -> Any:
        if self.refuses:
            raise self.refuses
        self.lent += 1
        return self

    async def take_back(self, connection: object) -> None:
        assert connection is self
        self.lent -= 1

    def passes_on(self, error: BaseException, *, connected: bool) -> bool:
        assert connected is (self.refuses is None)
        return not self.final

    async def fetchval(self, statement: str, *values: object) -> str:
        self.asked += 1
        error = self.errors.pop(0) if self.errors else None
        if error:
            raise error
        return self.answer


async def read(servers: Sequence[StandIn], times: int = 1) -> list[str]:
    reader = FallbackReader(servers)
    try:
        return [await reader.fetchval("SELECT 1") for _ in range(times)]
    finally:
        await reader.close()
        assert [server.lent for server in servers] == [0] * len(servers)


async def test_the_first_server_answers_everything() -> None:
    servers = [StandIn("standby"), StandIn("primary")]
    assert await read(servers, 3) == ["standby"] * 3
    assert [server.asked for server in servers] == [3, 0]


@pytest.mark.parametrize("error", [CANCELLED, GONE])
async def test_a_reader_stays_with_the_server_that_answered(error: Exception) -> None:
    servers = [StandIn("standby", [None, error]), StandIn("primary")]
    assert await read(servers, 4) == ["standby", "primary", "primary", "primary"]
    assert [server.asked for server in servers] == [2, 3]


async def test_a_server_that_refuses_a_connection_is_skipped() -> None:
    assert await read([StandIn("", refuses=OSError()), StandIn("primary")]) == ["primary"]


async def test_each_server_is_asked_once_and_the_last_error_is_raised() -> None:
    last = asyncpg.UndefinedTableError("no such table")
    servers = [StandIn("", [CANCELLED]), StandIn("", [GONE]), StandIn("", [last])]
    with pytest.raises(asyncpg.UndefinedTableError):
        await read(servers)
    assert [server.asked for server in servers] == [1, 1, 1]


async def test_an_error_that_is_final_is_raised_at_once() -> None:
    servers = [StandIn("", [CANCELLED], final=True), StandIn("primary")]
    with pytest.raises(asyncpg.SerializationError):
        await read(servers)
    assert servers[1].asked == 0


@pytest.mark.parametrize(
    ("error", "by_standby", "by_primary"),
    [
        (CANCELLED, True, False),
        (GONE, True, True),
        (ConnectionRefusedError(), True, True),
        (asyncpg.AdminShutdownError(), True, True),
        (asyncpg.CannotConnectNowError(), True, True),
        (asyncpg.UndefinedTableError(), True, False),
        (asyncpg.QueryCanceledError(), False, False),
        (TimeoutError(), False, False),
    ],
)
async def test_errors_are_classified_by_whether_another_server_can_help(
    error: Exception, *, by_standby: bool, by_primary: bool
) -> None:
    standby = Replica("postgresql://h/x", PoolSettings())
    sessions = await Sessions.later("postgresql://h/x", PoolSettings())
    assert standby.passes_on(error, connected=True) is by_standby
    assert Primary(sessions).passes_on(error, connected=True) is by_primary


async def test_a_server_that_gives_no_connection_in_time_is_skipped() -> None:
    sessions = await Sessions.later("postgresql://h/x", PoolSettings())
    assert Primary(sessions).passes_on(TimeoutError(), connected=False)
    assert Replica("postgresql://h/x", PoolSettings()).passes_on(TimeoutError(), connected=False)
