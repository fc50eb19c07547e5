"""Sharing one piece of work among concurrent equal requests."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

logger = logging.getLogger("presagio.llm")

T = TypeVar("T")


@dataclass(slots=True)
class _Flight(Generic[T]):
    task: asyncio.Task[T]
    waiters: int = 0


class SingleFlight(Generic[T]):
    """Runs the work for a key once, however many callers request it at the same time.

    The work is a separate task, so cancelling one caller does not affect the others. When the last
    caller is cancelled, so is the work: it never outlives its callers.
    """

    def __init__(self) -> None:
        self._flights: dict[str, _Flight[T]] = {}

    async def run(self, key: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what `work` returns, or raise what it raises."""
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = _Flight(asyncio.create_task(work()))
        flight.waiters += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiters -= 1
            if not flight.waiters:
                await self._land(key, flight)

    async def _land(self, key: str, flight: _Flight[T]) -> None:
        # Removed first: a caller that arrives now must not join work that is being cancelled.
        del self._flights[key]
        if not flight.task.done():
            flight.task.cancel()
            await asyncio.wait([flight.task])


class LastingFlight(Generic[T]):
    """Runs the work for a key once, and to its end even if its callers stop waiting.

    It suits work that is paid for once it has begun. `aclose` cancels what is still under way.
    """

    def __init__(self) -> None:
        self._flights: dict[str, _Flight[T]] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._flights

    async def run(
        self, key: str, work: Callable[[], Coroutine[Any, Any, T]], *, seconds: float
    ) -> T | None:
        """Return what `work` returns, or None if it does not end within `seconds`.

        Raises what `work` raises in that time; later errors are logged.
        """
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = _Flight(asyncio.create_task(work()))
            flight.task.add_done_callback(lambda _: self._end_flight(key))
        flight.waiters += 1
        try:
            await asyncio.wait([flight.task], timeout=seconds)
        finally:
            flight.waiters -= 1
        ended = flight.task.done() and not flight.task.cancelled()
        return flight.task.result() if ended else None

    async def aclose(self) -> None:
        """Cancel the work that is still under way, and wait until it has ended."""
        tasks = [flight.task for flight in self._flights.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _end_flight(self, key: str) -> None:
        flight = self._flights.pop(key)
        error = None if flight.task.cancelled() else flight.task.exception()
        if error and not flight.waiters:
            logger.warning("work that nobody waited for any more failed: %s", type(error).__name__)
