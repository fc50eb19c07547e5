"""Standard input on its way to another process."""

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
    """Reads standard input, and gives what was looked at to recognise it a second time."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._looked_at: list[bytes] = []
        self._again: list[bytes] | None = None

    def begin_again(self) -> None:
        """Start from the beginning, for the last time."""
        if self._again is None:
            self._again, self._looked_at = self._looked_at, []

    async def read(self, size: int) -> bytes:
        """Return the next bytes, none at the end. Raises InputError."""
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
    """Return what `read` returns, from a thread that nobody waits for when this is cancelled.

    A pool's thread would be waited for, and one that reads a pipe may never end.
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
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, settled)

    threading.Thread(target=work, daemon=True).start()
    return await result
