"""Who asks just now: set where an event or a task begins, read where it is logged or paid for."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from engine.budget import Source
from engine.search_log import Asker, Origin

# Whoever runs the program, unless somebody else asks; one task a run.
_CONSOLE = Asker(origin=Origin.CONSOLE, task=uuid.uuid4().hex, source=Source.CONSOLE)
_asker: ContextVar[Asker | None] = ContextVar("asker", default=None)


def asker() -> Asker:
    """Return who asks."""
    return _asker.get() or _CONSOLE


def source() -> Source:
    """Return for whom a model is asked."""
    return asker().source


@contextmanager
def asked_by(one: Asker) -> Iterator[None]:
    """Let everything in the block, and what it starts, be asked by `one`."""
    token = _asker.set(one)
    try:
        yield
    finally:
        _asker.reset(token)
