"""How long tests wait for what must happen, and how they do not wait for what takes long."""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

# Nothing takes this long, on a machine with better things to do either: what has not happened by
# then never will. A test that passes waits for the event, not for this.
PATIENCE = 120.0


@contextmanager
def movable_time() -> Iterator[Callable[[float], None]]:
    """Lend a function that moves the clock of the running event loop, and so ends its timeouts."""
    loop, moved = asyncio.get_running_loop(), 0.0
    usual = loop.time

    def move(seconds: float) -> None:
        nonlocal moved
        moved += seconds

    with patch.object(loop, "time", lambda: usual() + moved):
        yield move


async def until(holds: Callable[[], object], *, within: float = PATIENCE) -> Any:
    """Return what `holds` gives, or what that gives when awaited, as soon as it is true.

    For what a server, a thread or another process brings about, which tells nobody here.
    """
    async with asyncio.timeout(within):
        while True:
            value = holds()
            if inspect.isawaitable(value):
                value = await value
            if value:
                return value
            await asyncio.sleep(0.02)
