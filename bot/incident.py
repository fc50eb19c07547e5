"""Describes unexpected errors for the log without quoting what people wrote.

The message or the traceback of a foreign exception may contain a chat message or a token.
"""

import traceback
from collections.abc import Iterator

from engine.errors import StorageError


def reason(error: BaseException) -> str:
    """Return the types and code locations of an error and its causes, in one line.

    Subclasses of StorageError are given with their message, which comes from the server and not
    from the value of a parameter.
    """
    if isinstance(error, StorageError) and type(error) is not StorageError:
        came_from = [type(cause).__name__ for cause in _chain(error)][1:]
        return ", from ".join([f"{type(error).__name__}: {error}", *came_from])
    return ", from ".join(f"{type(cause).__name__} ({_places(cause)})" for cause in _chain(error))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and its causes, each once."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        hidden = current.__suppress_context__
        current = current.__cause__ or (None if hidden else current.__context__)


def _places(error: BaseException) -> str:
    """Return the calls that led to the error, outermost first: "module:line function"."""
    return " > ".join(
        f"{frame.f_globals.get('__name__', '?')}:{line} {frame.f_code.co_name}"
        for frame, line in traceback.walk_tb(error.__traceback__)
    )
