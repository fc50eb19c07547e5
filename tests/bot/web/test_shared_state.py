"""What is kept for all routes."""

import itertools

from bot.web.shared_state import CachedCounts


async def test_counts_are_cached_for_a_limited_time() -> None:
    now, counted = 0.0, itertools.count(1)
    kept = CachedCounts(lambda: now)

    async def count() -> int:
        return next(counted)

    assert [await kept.get("a", count) for _ in range(2)] == [1, 1]
    assert await kept.get("b", count, seconds=10) == 2
    now = 11.0
    assert [await kept.get("a", count), await kept.get("b", count)] == [1, 3]
    now = 400.0
    assert await kept.get("a", count) == 4


async def test_cached_counts_are_bounded() -> None:
    kept, counted = CachedCounts(lambda: 0.0), itertools.count()

    async def count() -> int:
        return next(counted)

    for number in range(3000):
        await kept.get(number, count)
    assert len(kept._values) <= 1000
