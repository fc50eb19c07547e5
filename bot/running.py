"""Runs the faces: logs whether they listen, reports those that fail, and stops all in order."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Never

from bot.conversation.conversation import Conversation
from bot.face.face import Poster
from bot.incident import reason
from bot.jobs.scheduler import Scheduler
from bot.platforms import Service
from engine.errors import PresagioError

if TYPE_CHECKING:
    from bot.web.service import WebService

logger = logging.getLogger("presagio.serve")

# A stop may take ten seconds; most of them are for people who wait for an answer.
_FINISH_SECONDS = 5.0
_CLOSE_SECONDS = 2.0
_LOOK_SECONDS = 1.0


async def until_deaf(
    listening: Sequence[asyncio.Task[None]], watching: Sequence[asyncio.Task[Never]]
) -> None:
    """Wait until all faces have stopped. Raises the error of a `watching` task that fails."""
    while not all(task.done() for task in listening):
        left = [task for task in (*listening, *watching) if not task.done()]
        await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
        for task in watching:
            if task.done():
                task.result()


async def heard(service: Service, port: "WebService | None") -> None:
    """Run a face. A webhook is registered with its platform only once the port is open."""
    if port and service.webhook:
        await port.opened()
    await service.run()


async def reported(name: str, listening: Awaitable[None], said: Callable[[str], None]) -> None:
    """Await `listening`; an error is told to `said` and ends this face alone."""
    try:
        await listening
    except PresagioError as error:
        said(f"{name}: {error}")
    except Exception as error:
        logger.error("%s stopped: %s", name, reason(error))  # noqa: TRY400 - a traceback may quote a message
        said(f"{name}: stopped by an error that the log describes.")


async def tell_status(services: Mapping[str, Service]) -> None:
    """Log each change in whether a face receives events, until cancelled."""
    known = {name: service.status() for name, service in services.items()}
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        for name, service in services.items():
            status = service.status()
            if status != known[name]:
                logger.log(
                    logging.INFO if status.listening else logging.WARNING, "%s: %s", name, status
                )
            known[name] = status


async def stop_all(
    tasks: Sequence[asyncio.Task[Any]],
    everybody: Collection[Service | Poster],
    conversation: Conversation,
    jobs: Scheduler,
    said: Callable[[str], None],
) -> None:
    """Accept nothing new, finish what is under way, and close everything."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks, timeout=_CLOSE_SECONDS)
    drained, _ = await asyncio.gather(
        conversation.drain(_FINISH_SECONDS), jobs.stop(_FINISH_SECONDS - 1)
    )
    if not drained:
        said("Some answers were not finished; their events may be delivered again.")
    for closed in await asyncio.gather(*map(_closed, everybody), return_exceptions=True):
        if isinstance(closed, Exception):
            logger.warning("a face was not closed: %s", reason(closed))


async def _closed(one: Service | Poster) -> None:
    async with asyncio.timeout(_CLOSE_SECONDS + 1):
        await (one.close() if isinstance(one, Poster) else one.stop(_CLOSE_SECONDS))
