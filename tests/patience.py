"""How long tests wait for what must happen, and how they do not wait for what takes long."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

# Nothing takes this long, on a machine with better things to do either: what has not happened by
# then never will. A test that passes waits for the event, not for this.
PATIENCE = 120.0


async def until(holds: Callable[[], object]) -> None:
    """Return when something holds that others bring about, who tell nobody."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.005)


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
