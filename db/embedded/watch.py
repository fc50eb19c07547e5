"""Keeps the embedded server running for a long-lived process."""

import asyncio
import logging
from typing import Never

from db.embedded.server import EmbeddedServer
from engine.errors import StorageError, StorageUnreachable
from engine.messages import Message

_log = logging.getLogger(__name__)

_LOOK_SECONDS = 2.0
_STEADY_SECONDS = 60.0  # after this, earlier deaths no longer count
_ATTEMPTS = 5
_PAUSE_SECONDS = 1.0  # after the first failure; doubles each time


async def keep_running(server: EmbeddedServer) -> Never:
    """Restart the server whenever it has died, until cancelled.

    Raises StorageUnreachable if it cannot be started, or dies again and again.
    """
    clock = asyncio.get_running_loop().time
    troubles, last = 0, clock()
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        begun = clock()
        if begun - last > _STEADY_SECONDS:
            troubles = 0
        error = None
        try:
            if not await asyncio.to_thread(server.revive):
                continue
            _log.warning("The database is back after %.1f s", clock() - begun)
        except StorageError as problem:
            error = problem
            _log.error("The database did not come back: %s", error)
        troubles, last = troubles + 1, clock()
        if troubles >= _ATTEMPTS:
            raise _given_up(error) from error
        if error:
            await asyncio.sleep(_PAUSE_SECONDS * 2 ** (troubles - 1))


def _given_up(error: StorageError | None) -> StorageUnreachable:
    """Return the error that ends the process, so that its supervisor learns of it."""
    gone = Message(
        "The embedded database has ended {number} times, or could not be started again",
        number=_ATTEMPTS,
    )
    return StorageUnreachable(
        Message("{gone}: {message}", gone=gone, message=error.message)
        if error
        else Message("{gone}.", gone=gone),
        fix=(error and error.fix) or Message("postgres/server.log in the data folder tells why."),
    )
