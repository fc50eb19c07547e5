"""Concurrent equal requests share one piece of work."""

import asyncio

import pytest

from engine.llm.asking import LastingFlight, SingleFlight
from tests.patience import PATIENCE


class Work:
    """Counts its runs and ends when it is let go."""

    def __init__(self) -> None:
        self.runs = 0
        self.cancelled = 0
        self.gate = asyncio.Event()
        self.fault: Exception | None = None

    async def __call__(self) -> int:
        self.runs += 1
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.fault:
            raise self.fault
        return self.runs


async def start(flights: SingleFlight[int], work: Work, *keys: str) -> list[asyncio.Task[int]]:
    tasks = [asyncio.create_task(flights.run(key, work)) for key in keys]
    await asyncio.sleep(0.01)
    return tasks


async def test_only_equal_requests_share_work() -> None:
    flights, work = SingleFlight[int](), Work()
    tasks = await start(flights, work, "a", "a", "b")
    work.gate.set()
    assert await asyncio.gather(*tasks) == [2, 2, 2]
    assert work.runs == 2
    await flights.run("a", work)
    assert work.runs == 3


async def test_a_cancelled_first_caller_leaves_the_others_their_answer() -> None:
    flights, work = SingleFlight[int](), Work()
    first, second = await start(flights, work, "a", "a")
    first.cancel()
    await asyncio.wait([first])
    work.gate.set()
    assert await second == 1
    assert first.cancelled()
    assert work.cancelled == 0


async def test_work_without_callers_is_cancelled_and_a_newcomer_starts_afresh() -> None:
    flights, work = SingleFlight[int](), Work()
    (only,) = await start(flights, work, "a")
    only.cancel()
    await asyncio.wait([only])
    assert work.cancelled == 1
    work.gate.set()
    assert await flights.run("a", work) == 2


async def test_a_failure_reaches_every_caller_and_is_not_kept() -> None:
    flights, work = SingleFlight[int](), Work()
    work.fault = ValueError("no")
    tasks = await start(flights, work, "a", "a")
    work.gate.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results] == [ValueError, ValueError]
    with pytest.raises(ValueError, match="no"):
        await flights.run("a", work)
    assert work.runs == 2


async def test_background_work_finishes_after_its_callers_time_out() -> None:
    flights, work = LastingFlight[int](), Work()
    assert await flights.run("a", work, seconds=0.01) is None
    assert "a" in flights
    waiting = asyncio.create_task(flights.run("a", work, seconds=PATIENCE))
    await asyncio.sleep(0.01)
    work.gate.set()
    assert await waiting == 1
    assert "a" not in flights
    assert (work.runs, work.cancelled) == (1, 0)


async def test_an_error_of_background_work_is_raised_to_a_waiter_or_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    flights, work = LastingFlight[int](), Work()
    work.fault = ValueError("secret")
    assert await flights.run("a", work, seconds=0.01) is None
    work.gate.set()
    await asyncio.sleep(0.01)
    assert "a" not in flights
    assert [record.getMessage() for record in caplog.records] == [
        "work that nobody waited for any more failed: ValueError"
    ]
    with pytest.raises(ValueError, match="secret"):
        await flights.run("a", work, seconds=PATIENCE)
    assert len(caplog.records) == 1


async def test_closing_cancels_background_work_and_releases_its_callers() -> None:
    flights, work = LastingFlight[int](), Work()
    waiting = asyncio.create_task(flights.run("a", work, seconds=PATIENCE))
    await asyncio.sleep(0.01)
    await flights.aclose()
    assert await waiting is None
    assert work.cancelled == 1
