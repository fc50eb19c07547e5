"""Keeps the garbage collector from holding up the event loop."""

import asyncio
import gc

_SETTLED_SECONDS = 10.0


async def leave_out_what_stays() -> None:
    """Once everything is loaded, have the collector pass over it from then on.

    The libraries of the platforms make some hundred thousand objects that live as long as the
    process. To look at all of them stops every thread for up to a tenth of a second.
    """
    await asyncio.sleep(_SETTLED_SECONDS)
    gc.freeze()
