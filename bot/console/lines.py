"""Lines of an input stream, without ever holding up the event loop or the end of the program."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator

_READ_AHEAD = 16
_CHUNK = 65_536


async def read_lines(descriptor: int) -> AsyncIterator[str]:
    """Yield the lines of a file descriptor until its end, as UTF-8 with bad bytes replaced.

    A daemon thread reads the descriptor itself: a pool thread that waits for a line would have to
    be waited for after Ctrl-C, and a daemon in sys.stdin would hold its lock at exit.
    """
    loop = asyncio.get_running_loop()
    ready: asyncio.Queue[str | None] = asyncio.Queue()
    room = threading.Semaphore(_READ_AHEAD)

    def deliver(line: str | None) -> None:
        room.acquire()
        loop.call_soon_threadsafe(ready.put_nowait, line)

    threading.Thread(target=_pump, args=(descriptor, deliver), daemon=True).start()
    while (line := await ready.get()) is not None:
        room.release()
        yield line


def _pump(descriptor: int, deliver: Callable[[str | None], None]) -> None:
    try:
        for line in _split(descriptor):
            deliver(line.decode("utf-8", "replace"))
        deliver(None)
    except RuntimeError:
        return  # the loop is closed: nobody listens any more


def _split(descriptor: int) -> Iterator[bytes]:
    pending = b""
    while chunk := _read(descriptor):
        *lines, pending = (pending + chunk).split(b"\n")
        yield from lines
    if pending:
        yield pending


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK)
    except OSError:
        return b""  # a terminal that was closed ends the input
