"""Waking whoever waits for the state of the stand-in to change."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Signal:
    """Fired after every change; conditions are looked at again each time."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def fire(self) -> None:
        self._event.set()
        self._event = asyncio.Event()

    async def until(self, condition: Callable[[], T | None], timeout: float | None) -> T:
        """The first value of `condition` that is neither None nor empty; TimeoutError else."""
        async with asyncio.timeout(timeout):
            while not (found := condition()):
                await self._event.wait()
            return found
