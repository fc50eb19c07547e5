"""Uses are counted by scope and day."""

import asyncio
from datetime import UTC, datetime, timedelta, timezone

from db.chat.chats import Quotas
from db.pool import Database

NOON = datetime(2024, 6, 1, 12, tzinfo=UTC)


async def test_each_scope_has_its_count(database: Database) -> None:
    quotas = Quotas(database)
    assert [await quotas.use("a", now=NOON) for _ in range(3)] == [1, 2, 3]
    assert await quotas.use("b", now=NOON) == 1


async def test_a_day_begins_at_midnight_utc(database: Database) -> None:
    quotas = Quotas(database)
    last = datetime(2024, 6, 1, 23, 59, 59, tzinfo=UTC)
    assert await quotas.use("a", now=last) == 1
    # The same moment, told where it is tomorrow already.
    assert await quotas.use("a", now=last.astimezone(timezone(timedelta(hours=9)))) == 2
    assert await quotas.use("a", now=last + timedelta(seconds=1)) == 1


async def test_concurrent_uses_are_all_counted(database: Database) -> None:
    quotas = Quotas(database)
    counts = await asyncio.gather(*(quotas.use("a", now=NOON) for _ in range(20)))
    assert sorted(counts) == list(range(1, 21))


async def test_counts_are_kept_for_a_week(database: Database) -> None:
    quotas = Quotas(database)
    for days in (0, 7, 8):
        await quotas.use("a", now=NOON - timedelta(days=days))
    await quotas.forget(now=NOON)
    again = [await quotas.use("a", now=NOON - timedelta(days=days)) for days in (0, 7, 8)]
    assert again == [2, 2, 1]
