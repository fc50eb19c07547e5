"""Shows the step of a composition in the message that announced it, and then its outcome."""

import asyncio
import logging
from dataclasses import replace
from typing import Self

from bot.face.face import ChatGone, DeliveryError, Face, Refused, SlowDown
from bot.face.reply import Reply
from bot.face.request import Request
from bot.i18n.words import Words
from bot.replies.composition import step_reply
from db.chat.compositions import KeptTask
from engine.closing import Closable
from engine.compose.types import StepName

logger = logging.getLogger("presagio.conversation")

_PAUSE = 2.0  # seconds between two edits: platforms allow few in a minute
_TRIES = 3
_AGAIN_SECONDS = 2.0
_LONGEST_WAIT = 30.0


class Progress(Closable):
    """The steps of one composition, in the block that writes it. Nothing is edited after it."""

    def __init__(self, face: Face, request: Request, kept: KeptTask, words: Words) -> None:
        self._face = face
        self._request = request
        self._kept = kept
        self._words = words
        self._step: StepName | None = None
        self._changed = asyncio.Event()
        self._editing = asyncio.Lock()
        self._showing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Begin to show steps."""
        self._showing = asyncio.create_task(self._show())
        return self

    async def aclose(self) -> None:
        """Show no further steps."""
        if self._showing:
            async with self._editing:  # an edit under way would otherwise come after the outcome
                self._showing.cancel()
            await asyncio.gather(self._showing, return_exceptions=True)

    def show(self, step: StepName) -> None:
        """Note the step that begins; it is shown if it takes long."""
        self._step = step
        self._changed.set()

    async def _show(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            if self._step is None:
                continue
            async with self._editing:
                await self._edit(self._step)
            await asyncio.sleep(_PAUSE)

    async def _edit(self, step: StepName) -> None:
        reply = replace(step_reply(self._kept.id, step, self._words), writes=None)
        message = self._kept.message
        if message is None:
            await self._face.show_step(self._request, reply.text or "", None)
            return
        try:
            await self._face.change(self._request, message, reply)
        except DeliveryError as error:
            logger.debug("composition %d: no step was shown: %s", self._kept.id, error)


async def show_outcome(face: Face, request: Request, message: str | None, reply: Reply) -> bool:
    """Edit the announcement, or without one send the reply; a failed edit is tried again.

    Return False if the outcome may still be shown later.
    """
    for _ in range(_TRIES):
        try:
            if message is None:
                await face.deliver(request, reply)
            else:
                await face.change(request, message, reply)
        except (ChatGone, Refused) as error:
            logger.info("%s %s has no message to edit: %s", *request.event, error)
        except DeliveryError as error:
            logger.warning("%s %s was not delivered: %s", *request.event, error)
            if message is not None:  # sent twice would be worse than not at all
                await asyncio.sleep(_wait(error))
                continue
        return True
    return False


def _wait(error: DeliveryError) -> float:
    return min(error.seconds, _LONGEST_WAIT) if isinstance(error, SlowDown) else _AGAIN_SECONDS
