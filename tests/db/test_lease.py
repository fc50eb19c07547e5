"""One process holds a lease; another does when it is released, killed, frozen or cut off."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from db.connection import Connection
from db.embedded.server import EmbeddedServer
from db.lease import Lease, LeaseTimes, elapsed_seconds
from db.pool import Database, PoolSettings
from engine.errors import StorageError, StorageUnreachable
from tests.database import CARELESS, fetch_rows, fetch_value, run_sql
from tests.fakes.database_line import DatabaseLine
from tests.fakes.standby import pair
from tests.patience import PATIENCE, until
from tests.programs import python, read_line

NAME = "leader"
# A holder that is late by less than `holds` keeps the lease: tests wait for events, not for these.
HASTY = LeaseTimes(renewal=0.05, retry=0.05)
SHORT = LeaseTimes(holds=2.0, sure=1.5, renewal=0.1, retry=0.1)

# Says whether it holds the lease each time that changes.
OTHER_PROCESS = """
import asyncio, sys
from db.lease import Lease, LeaseTimes
from db.pool import Database

async def main():
    times = LeaseTimes(holds=2.0, sure=1.5, renewal=0.1, retry=0.1)
    async with Lease(await Database.open(sys.argv[1]), "leader", times=times) as lease:
        while True:
            print("holds" if lease.is_held else "waits", flush=True)
            await lease.wait_for_change()

asyncio.run(main())
"""


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self.asked = 0

    def __call__(self) -> float:
        self.asked += 1
        return self.seconds


async def holders(database: Database) -> list[str]:
    rows = await fetch_rows(database, "SELECT holder FROM lease WHERE expires_at > '-infinity'")
    return [row["holder"] for row in rows]


async def leave_row(
    database: Database,
    holder: str,
    expires: str = "now()",
    *,
    name: str = NAME,
    renewals: int = 3,
    seconds: int = 15,
) -> None:
    """Leave the row of a lease that another process has held."""
    row = f"INSERT INTO lease VALUES ($1, $2, 7, $3, $4, {expires})"
    await run_sql(database, row, name, holder, renewals, seconds)


async def until_changed(lease: Lease, *, held: bool) -> None:
    async with asyncio.timeout(PATIENCE):
        while lease.is_held is not held:
            await lease.wait_for_change()


async def end_sessions(database: Database) -> None:
    """End the sessions of all leases."""
    async with database.connection() as connection:
        await connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND query ~ 'UPDATE lease|FROM lease|INTO lease'"
            " AND pid <> pg_backend_pid()"
        )


@pytest.fixture
async def lease(database: Database) -> AsyncIterator[Lease]:
    async with Lease(database, NAME, times=HASTY) as entered:
        yield entered


async def test_exactly_one_process_holds_the_lease_and_another_follows(database: Database) -> None:
    leases = [Lease(database, NAME, times=HASTY) for _ in range(6)]
    await asyncio.gather(*(lease.__aenter__() for lease in leases))
    assert sorted(lease.is_held for lease in leases) == [False] * 5 + [True]
    for _ in range(5):
        (holding,) = [lease for lease in leases if lease.is_held]
        leases.remove(holding)
        waits = {asyncio.create_task(lease.wait_for_change()) for lease in leases}
        await asyncio.sleep(0)  # all of them wait before there is anything to see
        await holding.__aexit__(None, None, None)
        assert not holding.is_held
        done, pending = await asyncio.wait(
            waits, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED
        )
        assert [task.result() for task in done] == [True]
        for task in pending:
            task.cancel()
        assert [lease.is_held for lease in leases].count(True) == 1
    await leases[0].__aexit__(None, None, None)
    assert await holders(database) == []


async def test_each_acquisition_gets_a_higher_fence(database: Database) -> None:
    numbers = []
    for _ in range(3):
        async with Lease(database, NAME, times=HASTY) as lease:
            numbers.append(lease.fence)
    assert numbers == [1, 2, 3]


async def test_leases_with_different_names_are_independent(
    database: Database, lease: Lease
) -> None:
    async with Lease(database, "other", times=HASTY) as other:
        assert lease.is_held
        assert other.is_held


async def test_a_holder_that_loses_its_connection_keeps_the_lease(
    database: Database, lease: Lease
) -> None:
    """A new connection renews it: neither a pooler nor a failover takes it away."""
    async with Lease(database, NAME, times=HASTY) as other:
        fence = lease.fence
        await end_sessions(database)
        await renewals(database, at_least=await renewals(database, at_least=0) + 3)
        assert lease.is_held
        assert lease.fence == fence
        assert not other.is_held


async def test_a_killed_holder_is_replaced(database: Database, database_url: str) -> None:
    with python(OTHER_PROCESS, database_url) as process:
        assert await read_line(process) == b"holds\n"
        async with Lease(database, NAME, times=SHORT) as lease:
            assert not lease.is_held
            process.send_signal(signal.SIGKILL)
            await until_changed(lease, held=True)
            assert lease.fence == 2


async def test_a_frozen_holder_is_replaced_and_finds_out_when_it_goes_on(
    database: Database, database_url: str
) -> None:
    with python(OTHER_PROCESS, database_url) as process:
        assert await read_line(process) == b"holds\n"
        async with Lease(database, NAME, times=SHORT) as lease:
            process.send_signal(signal.SIGSTOP)
            await until_changed(lease, held=True)
            process.send_signal(signal.SIGCONT)
            assert await read_line(process) == b"waits\n"
            assert lease.is_held


@pytest.mark.parametrize("step", ["-10 years", "-1 hour", "1 hour", "10 years"])
async def test_clock_changes_of_the_database_never_make_two_holders(
    database: Database, lease: Lease, step: str
) -> None:
    """A later clock sees the lease as over, an earlier one as never over; renewals decide."""
    clock = Clock()
    async with Lease(database, NAME, times=HASTY, clock=clock) as other:
        async with database.connection() as connection:
            for _ in range(10):  # it renews, and each time the step is made anew
                before = await connection.fetchval(
                    "UPDATE lease SET expires_at = expires_at - $1::text::interval"
                    " RETURNING renewals",
                    step,
                )
                clock.seconds += 5.0  # less than it holds
                await renewals(database, at_least=before + 1)
                await looks(clock, 2)  # so that it has looked since
                assert not other.is_held
        assert lease.is_held
        assert lease.fence == 1


async def looks(clock: Clock, times: int) -> None:
    """Return when processes by this clock have looked again so often."""
    end = clock.asked + 3 * times
    await until(lambda: clock.asked >= end)


async def test_a_lease_is_taken_after_it_stayed_the_same_for_its_time(database: Database) -> None:
    clock = Clock()
    await leave_row(database, "dead", "now() + interval '1 year'")
    async with Lease(database, NAME, times=HASTY, clock=clock) as lease:
        assert not lease.is_held
        clock.seconds += 15.0
        await looks(clock, 3)
        assert not lease.is_held
        clock.seconds += 0.1
        await until_changed(lease, held=True)
        assert lease.fence == 8


async def test_a_longer_term_of_another_holder_is_respected(database: Database) -> None:
    """Another version of the program may have other ones."""
    clock = Clock()
    await leave_row(database, "newer", "now() + interval '60 s'", seconds=60)
    async with Lease(database, NAME, times=HASTY, clock=clock) as lease:
        clock.seconds += 59.9
        await looks(clock, 3)
        assert not lease.is_held
        clock.seconds += 0.2
        await until_changed(lease, held=True)


@pytest.mark.parametrize("backup", ["empty", "free", "older"])
async def test_a_restored_database_makes_no_second_holder(database: Database, backup: str) -> None:
    """Neither by a lease that was free then, nor by one that seems to have stayed the same."""
    clock = Clock()
    await leave_row(database, "another", "now() + interval '15 s'")
    async with Lease(database, NAME, times=HASTY, clock=clock) as lease:
        outcome = asyncio.create_task(lease.wait_until_settled())
        await looks(clock, 1)
        clock.seconds += 14.0
        async with database.transaction() as connection:
            await connection.execute("SET LOCAL session_replication_role = replica")
            await connection.execute("CREATE TEMP TABLE kept ON COMMIT DROP AS TABLE lease")
            await connection.execute("TRUNCATE lease")
            if backup == "free":
                await connection.execute("UPDATE kept SET fence = 0, expires_at = '-infinity'")
            if backup != "empty":
                await connection.execute("INSERT INTO lease TABLE kept")
        await looks(clock, 2)
        clock.seconds += 14.0
        await looks(clock, 3)
        assert not lease.is_held, "the other relies on what was restored away"
        assert not outcome.done(), "nobody was seen to renew it"
        clock.seconds += 1.1
        await until_changed(lease, held=True)
        assert await outcome


async def test_a_lease_that_is_held_cannot_be_deleted(database: Database) -> None:
    async with Lease(database, NAME, times=HASTY):
        for statement in ("DELETE FROM lease", "TRUNCATE lease"):
            with pytest.raises(StorageError, match='lease "leader" is held by'):
                await run_sql(database, statement)
    await run_sql(database, "DELETE FROM lease")
    async with Lease(database, NAME, times=HASTY) as again:
        assert again.fence == 2


async def one_waits(database: Database) -> None:
    """Return when a statement on the lease waits for a transaction that has locked its row."""
    waiting = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND wait_event_type = 'Lock' AND query ~ 'lease'"
    )
    await until(lambda: fetch_value(database, waiting))


async def test_a_term_counts_from_before_the_request(database: Database) -> None:
    """Others count from when they see the row, which may be long before the holder's answer."""
    clock, times = Clock(), LeaseTimes(renewal=9.0)  # one question within this test
    lease = Lease(database, NAME, times=times, clock=clock)
    await leave_row(database, "former", "'-infinity'")
    async with database.transaction() as connection:
        await connection.execute("SELECT FROM lease FOR UPDATE")
        entering = asyncio.create_task(lease.__aenter__())
        await one_waits(database)
        clock.seconds += times.sure - 1.0
    await entering
    assert lease.is_held
    clock.seconds += 1.0
    assert not lease.is_held
    await lease.__aexit__(None, None, None)


@pytest.mark.parametrize("since", ["renewals = renewals + 1", "fence = fence + 1"])
async def test_a_lease_renewed_or_taken_since_it_was_read_is_not_taken(
    database: Database, since: str
) -> None:
    clock = Clock()
    await leave_row(database, "late")
    async with Lease(database, NAME, times=HASTY, clock=clock) as lease:
        async with database.transaction() as connection:
            await connection.execute(f"UPDATE lease SET {since}")
            clock.seconds += 16.0  # it sees the row of before, and has waited for long enough
            await one_waits(database)
        await looks(clock, 3)
        assert not lease.is_held
    assert await holders(database) == ["late"]


async def test_a_former_holder_does_not_release_the_lease_of_another(database: Database) -> None:
    async with Lease(database, NAME, times=LeaseTimes(renewal=9.0), clock=Clock()) as lease:
        assert lease.is_held
        await run_sql(database, "UPDATE lease SET holder = 'another', fence = fence + 1")
    assert await holders(database) == ["another"]


async def test_a_released_lease_is_taken_anew_and_never_renewed(database: Database) -> None:
    """Another process may have seen that it was free."""
    async with Lease(database, NAME, times=HASTY, clock=Clock()):
        await run_sql(database, "UPDATE lease SET expires_at = '-infinity'")
        await until(lambda: holders(database))
        assert await fetch_value(database, "SELECT fence FROM lease") == 2


async def test_a_taking_whose_answer_was_lost_is_recognised(database: Database) -> None:
    lease = Lease(database, NAME, times=HASTY, clock=Clock())
    await leave_row(database, lease.holder, "now() + interval '15 s'", renewals=0)
    async with lease:
        assert lease.is_held
        assert lease.fence == 7


async def test_a_holder_continues_with_the_fence_of_a_restored_lease(database: Database) -> None:
    """What it writes under the number of before would not be stored."""
    async with Lease(database, NAME, times=HASTY, clock=Clock()) as lease:
        await run_sql(database, "UPDATE lease SET fence = 9")
        await until(lambda: lease.fence == 9)
        await until_changed(lease, held=True)


async def test_a_lapsed_holder_still_releases_its_lease(database: Database) -> None:
    clock = Clock()
    async with Lease(database, NAME, times=LeaseTimes(renewal=9.0), clock=clock) as lease:
        clock.seconds += 11.0
        assert not lease.is_held
    assert await holders(database) == []


async def test_a_lapse_is_told_although_the_database_does_not_answer(database_url: str) -> None:
    times = LeaseTimes(holds=1.5, sure=1.0, renewal=0.1, answer=3600.0)
    async with DatabaseLine.to(database_url) as line, asyncio.timeout(PATIENCE):
        database = await Database.open(line.url)
        async with Lease(database, NAME, times=times) as lease:
            await until_changed(lease, held=True)
            line.stop_carrying()
            await until_changed(lease, held=False)
            assert lease.fence == 1
            line.cut()
        await database.close()


async def test_a_holder_relies_on_a_renewal_for_less_long_than_others_wait(
    database: Database,
) -> None:
    clock = Clock()
    times = LeaseTimes(renewal=9.0)
    async with Lease(database, NAME, times=times, clock=clock) as lease:
        assert lease.is_held
        clock.seconds += times.sure
        assert not lease.is_held


def test_the_usual_times_are_those_of_the_guide() -> None:
    assert LeaseTimes() == LeaseTimes(holds=15.0, sure=10.0, renewal=3.0, answer=5.0, retry=1.0)


def test_the_clock_counts_the_sleep_of_the_machine_where_one_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clocks = SimpleNamespace(clock_gettime={7: 123.0}.__getitem__, monotonic=lambda: 45.0)
    monkeypatch.setattr("db.lease.time", clocks)
    for known, seconds in ((7, 123.0), (None, 45.0)):
        monkeypatch.setattr("db.lease._CLOCK", known)
        assert elapsed_seconds() == seconds


@pytest.mark.parametrize(
    "times",
    [{"holds": 5.0, "sure": 5.0}, {"sure": 3.0, "renewal": 3.0}, {"holds": 1.0}],
    ids=str,
)
def test_a_term_that_could_make_two_holders_is_refused(times: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="before others take it"):
        LeaseTimes(**times)


async def test_two_waiters_do_not_both_take_an_expired_lease(database: Database) -> None:
    clock = Clock()
    await leave_row(database, "dead")
    leases = [Lease(database, NAME, times=HASTY, clock=clock) for _ in range(8)]
    await asyncio.gather(*(lease.__aenter__() for lease in leases))
    clock.seconds += 16.0
    await until(lambda: any(lease.is_held for lease in leases))
    clock.seconds += 1.0
    assert [lease.is_held for lease in leases].count(True) == 1
    await asyncio.gather(*(lease.__aexit__(None, None, None) for lease in leases))


@pytest.mark.slow
async def test_a_crash_of_the_server_undoes_no_renewal_and_restarts_the_wait(
    server_folder: Path,
) -> None:
    server = EmbeddedServer(server_folder, extra={**CARELESS, "wal_writer_delay": "10s"})
    await asyncio.to_thread(server.acquire)
    try:
        database = await Database.open(server.url("postgres"))
        await database.migrate()
        clock = Clock()
        await leave_row(database, "dead", "now() + interval '1 h'", name="left")
        await run_sql(database, "CHECKPOINT")
        async with (
            Lease(database, NAME, times=HASTY),
            Lease(database, "left", times=HASTY, clock=clock) as heir,
        ):
            before = await renewals(database, at_least=3)
            clock.seconds += 14.0
            await looks(clock, 2)
            pid = int((server.folder / "postmaster.pid").read_text().split()[0])
            os.kill(pid, signal.SIGQUIT)  # as a crash
            await until(lambda: asyncio.to_thread(server.revive))  # once it has died
            assert await renewals(database, at_least=0) >= before
            await renewals(database, at_least=before + 1)
            await looks(clock, 3)
            clock.seconds += 2.0
            await looks(clock, 3)
            assert not heir.is_held, "it might have been renewed before the crash"
            clock.seconds += 15.0
            await until_changed(heir, held=True)
        await database.close()
    finally:
        await asyncio.to_thread(server.release)


@pytest.mark.slow
@pytest.mark.parametrize("lacks", ["renewals", "the taking"])
async def test_a_promoted_standby_makes_no_second_holder(server_folder: Path, lacks: str) -> None:
    """It knows the holder and old renewals, or shows as free what somebody has taken."""
    clock = Clock()
    with pair(server_folder) as both:
        async with DatabaseLine.to(both.primary.url) as line:
            database = await Database.open(line.url)
            await database.migrate()
            await caught_up(database)
            first = Lease(database, NAME, times=HASTY)
            if lacks == "the taking":
                await asyncio.to_thread(both.standby.kill)
            async with first, Lease(database, NAME, times=HASTY, clock=clock) as second:
                await renewals(database, at_least=1)
                if lacks == "renewals":
                    await caught_up(database)
                    await asyncio.to_thread(both.standby.kill)
                await renewals(database, at_least=await renewals(database, at_least=0) + 2)
                await looks(clock, 2)
                await asyncio.to_thread(both.primary.kill)
                clock.seconds += 14.0
                await asyncio.to_thread(both.standby.start)
                await asyncio.to_thread(both.standby.promote)
                line.lead_to(both.standby.url)
                await looks(clock, 3)
                clock.seconds += 2.0
                await looks(clock, 3)
                assert not second.is_held
                if lacks == "renewals":
                    await until_changed(first, held=True)
                    assert first.fence == 1
                else:
                    await until_changed(first, held=False)
                    clock.seconds += 14.0
                    await until_changed(second, held=True)
            await database.close()


async def caught_up(database: Database) -> None:
    """Return when the standby has received everything."""
    replayed = "SELECT bool_and(replay_lsn >= pg_current_wal_lsn()) FROM pg_stat_replication"
    await until(lambda: fetch_value(database, replayed))


async def renewals(database: Database, *, at_least: int) -> int:
    """Return how often the holder has renewed its lease, once it has so often."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                found: int = await fetch_value(
                    database, "SELECT renewals FROM lease WHERE name = $1", NAME
                )
                if found >= at_least:
                    return found
            except StorageError:  # the pool replaces its connections after a crash
                pass
            await asyncio.sleep(0.02)


@pytest.mark.slow
async def test_nobody_holds_a_lease_without_a_database(server_folder: Path) -> None:
    server = EmbeddedServer(server_folder, extra=CARELESS)
    await asyncio.to_thread(server.acquire)
    database = await Database.open(server.url("postgres"))
    await asyncio.to_thread(server.release)
    before = asyncio.all_tasks()
    async with asyncio.timeout(PATIENCE), Lease(database, NAME, times=HASTY) as lease:
        assert not lease.is_held
    assert asyncio.all_tasks() == before
    await database.close()


@pytest.mark.parametrize("turns", range(6))
async def test_a_release_during_connection_loss_does_not_wait_for_the_database(
    database: Database, monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    """Whichever of the two the event loop tells it of first."""
    opened: list[Connection] = []
    own_connection = database.own_connection

    @asynccontextmanager
    async def open_once() -> AsyncIterator[Connection]:
        if opened:
            raise StorageUnreachable("There is no server any more.")
        async with own_connection() as connection:
            opened.append(connection)
            yield connection

    monkeypatch.setattr(database, "own_connection", open_once)
    lease = Lease(database, NAME, times=LeaseTimes(renewal=9.0, retry=0.05), clock=Clock())
    await lease.__aenter__()
    assert lease.is_held
    opened[0].terminate()
    for _ in range(turns):
        await asyncio.sleep(0)
    async with asyncio.timeout(5.0):
        await lease.__aexit__(None, None, None)
    assert not lease.is_held


async def test_a_lease_takes_no_connection_from_the_pool(database_url: str) -> None:
    database = await Database.open(database_url, PoolSettings(size=1))
    async with asyncio.timeout(PATIENCE), database.connection(), Lease(database, NAME) as lease:
        assert lease.is_held
    await database.close()


async def test_outcome_waits_for_a_dead_holder_to_expire(database: Database, lease: Lease) -> None:
    clock = Clock()
    await leave_row(database, "dead", name="left")
    async with (
        asyncio.timeout(PATIENCE),
        Lease(database, NAME, times=HASTY) as other,
        Lease(database, "left", times=HASTY, clock=clock) as heir,
    ):
        assert await other.wait_until_settled() is False
        outcome = asyncio.create_task(heir.wait_until_settled())
        await asyncio.sleep(0.2)
        assert not outcome.done()
        clock.seconds += 16.0
        assert await outcome is True
