"""Slows all requests to an endpoint when it asks one of them to slow down."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Pressure:
    """Lets requests through, unless the endpoint has asked to slow down.

    Then all wait as long as it said, and go one at a time until one succeeds: all at once would be
    refused again.
    """

    def __init__(self) -> None:
        self._alone = asyncio.Lock()
        self._slowed = False
        self._until = 0.0  # by the clock of the event loop

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until a request may be sent; the block is to send it and to read the answer."""
        if self._slowed:
            async with self._alone:
                await self._pause()
                if self._slowed:
                    yield
                    self._slowed = False
                    return
        yield

    def slow_down(self, seconds: float) -> None:
        """Stop for so long: the endpoint asked for it."""
        self._slowed = True
        self._until = max(self._until, asyncio.get_running_loop().time() + seconds)

    async def _pause(self) -> None:
        clock = asyncio.get_running_loop().time
        while (left := self._until - clock()) > 0:  # noqa: ASYNC110 - it may become longer
            await asyncio.sleep(left)
