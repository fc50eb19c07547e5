"""Events are taken once, by processes that live, die, freeze and lose their connection."""

import asyncio
import signal
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from db.chat.events import EventClaim, EventClaims
from db.connection import load_statements
from db.embedded.server import EmbeddedServer
from db.lease import LeaseTimes
from db.pool import Database
from engine.errors import StorageInterrupted, StorageUnreachable
from tests.database import CARELESS, Clones, fetch_value, pool_on, run_sql
from tests.patience import PATIENCE, until
from tests.programs import python, read_line

NOW = datetime(2024, 6, 1, tzinfo=UTC)
EVENT = ("test", "1")
PRESENT = "SELECT count(*) FROM lease WHERE lease_holds(expires_at, seconds)"

# Takes three events, brings two of them further, and waits to be killed.
OTHER_PROCESS = """
import asyncio, sys
from datetime import UTC, datetime
from db.pool import Database
from db.chat.events import EventClaims
from db.lease import LeaseTimes

async def main():
    now = datetime(2024, 6, 1, tzinfo=UTC)
    database = await Database.open(sys.argv[1])
    times = LeaseTimes(holds=4.0, sure=3.0, renewal=0.1)
    async with EventClaims(database, times=times, patience=0) as claims:
        async with claims.claim("test", "done", now=now) as claim:
            assert await claim.begin_answer()
        async with (
            claims.claim("test", "answering", now=now) as claim,
            claims.claim("test", "taken", now=now),
        ):
            assert await claim.begin_answer()
            print("ready", flush=True)
            await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.fixture
async def claims(database: Database) -> AsyncIterator[EventClaims]:
    async with EventClaims(database, patience=0) as entered:
        yield entered


@pytest.fixture
async def other(database: Database) -> AsyncIterator[EventClaims]:
    """Another process, as far as the database can tell."""
    async with EventClaims(database, patience=0) as entered:
        yield entered


async def held(claims: EventClaims, *event: str, now: datetime = NOW) -> EventClaim | None:
    """Claim an event like a process that never comes to an end with it."""
    return await claims.claim(*(event or EVENT), now=now).__aenter__()


async def taken(claims: EventClaims, *event: str, now: datetime = NOW) -> bool:
    return await held(claims, *event, now=now) is not None


async def answered(claims: EventClaims, *event: str) -> None:
    async with claims.claim(*event, now=NOW) as claim:
        assert claim
        assert await claim.begin_answer()


async def processes_present(database: Database) -> int:
    return int(await fetch_value(database, PRESENT))


async def cut_presence(database: Database, claims: EventClaims, until: str = "now()") -> None:
    """Let a process be taken for dead, as one that was frozen or cut off for long is."""
    async with database.connection() as connection:
        await connection.execute(
            f"UPDATE lease SET expires_at = {until}, fence = fence + 1 WHERE name = $1",
            f"process {claims.process}",
        )


async def test_the_progress_message_of_a_dead_process_is_handed_on(
    database: Database, claims: EventClaims, other: EventClaims
) -> None:
    claim = await held(claims)
    assert claim
    assert claim.step is None
    await claim.shows_step("m7")
    assert await claims.answer_to(*EVENT, since=NOW) is None, "a step is no answer"
    await cut_presence(database, claims)
    successor = await held(other)
    assert successor
    assert successor.step == "m7"
    await claim.shows_step("m8")  # too late: it is no longer its own
    assert await fetch_value(database, "SELECT answered_by FROM turn") == "m7"
    assert await successor.begin_answer()
    successor.message = "m7"
    await other._settle(*EVENT, successor)
    assert await other.answer_to(*EVENT, since=NOW) == "m7"


async def test_a_late_progress_message_does_not_replace_an_answer(claims: EventClaims) -> None:
    async with claims.claim(*EVENT, now=NOW) as claim:
        assert claim
        assert await claim.begin_answer()
        claim.message = "m1"
    await claim.shows_step("m2")
    assert await claims.answer_to(*EVENT, since=NOW) == "m1"


async def test_only_one_of_many_concurrent_deliveries_claims_the_event(
    claims: EventClaims, other: EventClaims
) -> None:
    won = await asyncio.gather(*(taken(t) for t in (claims, other) * 8))
    assert sorted(won) == [False] * 15 + [True]


async def test_events_of_different_platforms_are_independent(claims: EventClaims) -> None:
    assert await taken(claims, "a", "1")
    assert await taken(claims, "b", "1")
    assert await taken(claims, "a", "2")
    assert not await taken(claims, "b", "1")


async def test_a_finished_event_cannot_be_claimed_again(
    database: Database, claims: EventClaims, other: EventClaims
) -> None:
    async with claims.claim(*EVENT, now=NOW) as claim:
        assert claim
        assert await state(database) == "taken"
        assert await claim.begin_answer()
        assert await state(database) == "answering"
    async with claims.claim("test", "silence", now=NOW) as claim:
        assert claim
    assert await state(database) == await state(database, "silence") == "done"
    async with other.claim(*EVENT, now=NOW) as again:
        assert again is None
    assert not await taken(other, "test", "silence")


async def test_an_answer_begins_only_once(claims: EventClaims) -> None:
    async with claims.claim(*EVENT, now=NOW) as claim:
        assert claim
        assert await claim.begin_answer()
        assert not await claim.begin_answer()
        assert claim.sending


async def test_a_begun_answer_cannot_be_released(claims: EventClaims, other: EventClaims) -> None:
    claim = await held(claims)
    assert claim
    assert await claim.begin_answer()
    await claims.give_back(*EVENT)
    assert not await taken(other)


async def test_a_duplicate_of_what_this_process_answers_waits_for_nobody(
    database: Database,
) -> None:
    async with EventClaims(database, patience=PATIENCE) as claims:
        assert await taken(claims)
        async with asyncio.timeout(PATIENCE / 2):
            assert not await taken(claims)


async def test_a_process_that_a_clock_left_in_the_future_holds_nothing(
    database: Database, claims: EventClaims, other: EventClaims
) -> None:
    """The server's clock has been set back since the process died."""
    assert await taken(claims)
    await cut_presence(database, claims, until="now() + interval '1 year'")
    assert await taken(other)


async def test_an_event_cancelled_before_sending_is_released(
    claims: EventClaims, other: EventClaims
) -> None:
    await cut_off(await begun(claims))
    assert await taken(other)


async def test_an_event_cancelled_while_sending_is_not_released(
    database: Database, claims: EventClaims, other: EventClaims
) -> None:
    await cut_off(await begun(claims, sending=True))
    assert await state(database) == "answering"
    assert not await taken(other)


async def test_a_duplicate_that_is_cancelled_gives_nothing_back(
    database: Database, claims: EventClaims, other: EventClaims
) -> None:
    assert await taken(claims)
    for one in (claims, other):
        await cut_off(await begun(one))
        assert await state(database) == "taken"


async def test_a_failed_event_stays_claimed_by_its_process(
    database: Database, claims: EventClaims, other: EventClaims
) -> None:
    with pytest.raises(ZeroDivisionError):
        async with claims.claim(*EVENT, now=NOW):
            raise ZeroDivisionError
    assert await state(database) == "taken"
    assert not await taken(other)


async def test_an_event_that_cannot_be_settled_was_answered_all_the_same(
    database: Database, claims: EventClaims, caplog: pytest.LogCaptureFixture
) -> None:
    async with claims.claim(*EVENT, now=NOW) as claim:
        assert claim
        assert await claim.begin_answer()
        await run_sql(database, "ALTER TABLE turn RENAME TO elsewhere")
    assert "test 1 was not settled" in caplog.text


async def begun(claims: EventClaims, *, sending: bool = False) -> "asyncio.Task[None]":
    """Claim the event, begin to send if asked to, and stay there."""
    there = asyncio.Event()

    async def work() -> None:
        async with claims.claim(*EVENT, now=NOW) as claim:
            if claim and sending:
                assert await claim.begin_answer()
            there.set()
            await asyncio.sleep(600)

    task = asyncio.create_task(work())
    async with asyncio.timeout(PATIENCE):
        await there.wait()
    return task


async def cut_off(task: "asyncio.Task[None]") -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def state(database: Database, event_id: str = "1") -> str | None:
    row = await fetch_value(database, "SELECT state FROM turn WHERE event_id = $1", event_id)
    return None if row is None else str(row)


async def test_only_unanswered_events_of_a_departed_process_are_taken_over(
    database: Database, other: EventClaims
) -> None:
    async with EventClaims(database, patience=0) as leaving:
        assert await taken(leaving, "test", "taken")
        claim = await held(leaving, "test", "answering")
        assert claim
        assert await claim.begin_answer()
        await answered(leaving, "test", "done")
        assert not await taken(other, "test", "taken")
    await until(lambda: taken(other, "test", "taken"))
    assert not await taken(other, "test", "answering")
    assert not await taken(other, "test", "done")


async def test_only_one_process_takes_over_an_event_of_a_dead_process(database: Database) -> None:
    async with EventClaims(database, patience=0) as leaving:
        assert await taken(leaving)
    await until(lambda: _nobody_present(database))
    async with EventClaims(database, patience=0) as one, EventClaims(database, patience=0) as two:
        won = await asyncio.gather(*(taken(t) for t in (one, two) * 8))
    assert sorted(won) == [False] * 15 + [True]


async def _nobody_present(database: Database) -> bool:
    return await processes_present(database) == 0


@pytest.mark.parametrize("trouble", [signal.SIGKILL, signal.SIGSTOP])
async def test_a_killed_or_frozen_process_loses_its_unanswered_events(
    database: Database, database_url: str, claims: EventClaims, trouble: signal.Signals
) -> None:
    with python(OTHER_PROCESS, database_url) as process:
        assert await read_line(process) == b"ready\n"
        assert not await taken(claims, "test", "taken")

        process.send_signal(trouble)
        await until(lambda: taken(claims, "test", "taken"))
        assert not await taken(claims, "test", "answering")
        assert not await taken(claims, "test", "done")


async def test_a_process_that_lost_its_connection_keeps_its_events(database: Database) -> None:
    times = LeaseTimes(renewal=0.05, retry=0.05)
    async with (
        EventClaims(database, times=times, patience=0) as claims,
        EventClaims(database, patience=0) as other,
    ):
        claim = await held(claims)
        assert claim
        async with database.connection() as connection:
            await connection.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE datname = current_database() AND query ~ ' lease'"
                " AND pid <> pg_backend_pid()"
            )
        assert not await taken(other)
        assert await claim.begin_answer()


async def test_an_event_taken_over_by_another_process_is_answered_only_there(
    database: Database, claims: EventClaims, other: EventClaims
) -> None:
    async with claims.claim(*EVENT, now=NOW) as claim:
        assert claim
        await cut_presence(database, claims)  # and it is not noticed again in this test
        mine = await until(lambda: held(other))
        assert not await claim.begin_answer()
    assert await state(database) == "taken", "its end is the other's"
    assert await mine.begin_answer()


async def test_the_former_holder_cannot_release_an_event_taken_over(
    database: Database, claims: EventClaims, other: EventClaims
) -> None:
    task = await begun(claims)
    await cut_presence(database, claims)
    await until(lambda: taken(other))
    await cut_off(task)
    assert await state(database) == "taken"


@pytest.mark.slow
async def test_claims_cannot_be_opened_without_a_database(server_folder: Path) -> None:
    server = EmbeddedServer(server_folder, extra=CARELESS)
    await asyncio.to_thread(server.acquire)
    async with pool_on(server.url("postgres")) as database:
        await asyncio.to_thread(server.release)
        before = asyncio.all_tasks()
        # Which one depends on whether the driver has read yet that its connection ended.
        with pytest.raises((StorageUnreachable, StorageInterrupted)):
            await EventClaims(database, patience=0).__aenter__()
        assert asyncio.all_tasks() == before


async def test_events_are_forgotten_after_a_week(claims: EventClaims) -> None:
    assert await taken(claims, "test", "old", now=NOW - timedelta(days=8))
    assert await taken(claims, "test", "new", now=NOW - timedelta(days=6))
    await claims.forget(now=NOW)
    assert await taken(claims, "test", "old")
    assert not await taken(claims, "test", "new")


@pytest.mark.parametrize(
    ("name", "setting"),
    [("take", "off"), ("answering", "on"), ("done", "off"), ("release", "on")],
)
async def test_only_the_permission_to_send_waits_for_the_disk(
    database: Database, name: str, setting: str
) -> None:
    """`answering` must outlive a crash of the server, and takes all before it along."""
    values = {"take": (NOW,), "done": (None,) * 4}.get(name, ())
    async with database.transaction() as connection:
        await connection.execute(
            "INSERT INTO turn (platform, event_id, process, taken_at)"
            " VALUES ('test', 'other', 1, now())"
        )
        await connection.execute("SET LOCAL synchronous_commit = on")
        event = ("test", "1" if name == "take" else "other")
        await connection.execute(load_statements("conversation")[name], *event, 1, *values)
        assert await connection.fetchval("SHOW synchronous_commit") == setting


async def test_an_event_redelivered_while_presence_is_lost_is_not_claimed_again(
    database: Database, claims: EventClaims
) -> None:
    """Nobody else proves that this process lives, but it knows that it is at work on it."""
    claim = await held(claims)
    assert claim
    await cut_presence(database, claims)
    await until(lambda: _nobody_present(database))
    assert not await taken(claims)
    assert await claim.begin_answer()


async def test_a_process_number_of_another_database_is_not_this_process(
    database: Database, _clones: Clones
) -> None:
    """Processes are numbered in each database: the same number there is somebody else."""
    with _clones.clone() as url:
        async with pool_on(url) as elsewhere, EventClaims(elsewhere, patience=0):
            async with EventClaims(database, patience=0) as leaving:
                assert await taken(leaving)
            await until(lambda: _nobody_present(database))
            async with EventClaims(database, patience=0) as other:
                assert await taken(other)


async def test_taking_over_an_event_renews_its_age(
    database: Database, claims: EventClaims, other: EventClaims
) -> None:
    async with EventClaims(database, patience=0) as leaving:
        assert await taken(leaving, now=NOW - timedelta(days=8))
    claim = await until(lambda: held(claims))
    assert await claim.begin_answer()
    await claims.forget(now=NOW)
    assert not await taken(other)


async def test_an_event_cancelled_twice_is_released(
    claims: EventClaims, other: EventClaims
) -> None:
    task = await begun(claims)
    task.cancel()
    await asyncio.sleep(0)  # it has begun to give the event back
    await cut_off(task)
    await until(lambda: taken(other))


async def test_a_delivery_after_a_kill_waits_until_the_dead_are_known(
    database: Database, claims: EventClaims
) -> None:
    """It is confirmed to the platform when this returns, and does not come a third time."""
    assert await taken(claims)
    async with EventClaims(database) as other:
        waiting = asyncio.create_task(held(other))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        await cut_presence(database, claims)
        async with asyncio.timeout(PATIENCE):
            assert await waiting


async def test_a_duplicate_waits_for_the_answer_of_another_process(
    database: Database, claims: EventClaims
) -> None:
    claim = await held(claims)
    assert claim
    async with EventClaims(database) as other:
        waiting = asyncio.create_task(held(other))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        assert await claim.begin_answer()
        async with asyncio.timeout(PATIENCE):
            assert await waiting is None
