"""Passes standard input on to another process."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import IO, TypeVar

from engine.ingest.files import STANDARD_INPUT
from engine.ingest.streams import refused_by_system

_Result = TypeVar("_Result")


class StandardInput:
    """Reads standard input, and replays once the bytes that were read for detecting the format."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._looked_at: list[bytes] = []
        self._again: list[bytes] | None = None

    def begin_again(self) -> None:
        """Start from the beginning, for the last time."""
        if self._again is None:
            self._again, self._looked_at = self._looked_at, []

    async def read(self, size: int) -> bytes:
        """Return the next bytes, or none at the end. Raises InputError."""
        if self._again:
            return self._again.pop(0)
        try:
            chunk = await in_thread(lambda: self._stream.read(size))
        except OSError as exc:
            raise refused_by_system(STANDARD_INPUT, exc) from exc
        if self._again is None:
            self._looked_at.append(chunk)
        return chunk


async def in_thread(read: Callable[[], _Result]) -> _Result:
    """Return the result of `read`, run in a thread that is abandoned if this is cancelled.

    A pool would wait for its thread, and one that reads a pipe may never end.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[_Result] = loop.create_future()

    def settle(settled: Callable[[], None]) -> None:
        if not result.done():
            settled()

    def work() -> None:
        try:
            value = read()
        except Exception as exc:
            settled = partial(result.set_exception, exc)
        else:
            settled = partial(result.set_result, value)
        with suppress(RuntimeError):  # the loop is closed: nobody is waiting
            loop.call_soon_threadsafe(settle, settled)

    threading.Thread(target=work, daemon=True).start()
    return await result
