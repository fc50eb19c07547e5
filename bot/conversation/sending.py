"""Delivers a reply once, in place of the step that was shown while it was made."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial

from bot.adapter import Adapter, ChatGone, DeliveryError, DeliveryRefused
from bot.conversation.writing import Writing
from bot.reply import Reply
from bot.request import Request
from db.chat.chats import Chats
from engine.errors import StorageError, reason

logger = logging.getLogger("presagio.conversation")


class Sender:
    """Delivers replies, and begins what is written after it is announced. Nothing is sent twice."""

    def __init__(self, chats: Chats, writing: Writing | None) -> None:
        self._chats = chats
        self._writing = writing

    async def deliver(
        self, request: Request, reply: Reply, adapter: Adapter, step: str | None = None
    ) -> str | None:
        """Send the reply once, in place of the message of a `step`; return its message's id."""
        if reply.writes is not None and self._writing:
            announce = partial(self._writing.announce, request, reply, adapter, step)
            return await self.send(request, announce)
        if step is None:
            return await self.send(request, partial(adapter.deliver, request, reply))
        if reply.picture or (reply.ephemeral and not request.place.private):
            await self.send(request, partial(adapter.withdraw, request, step))
            return await self.send(request, partial(adapter.deliver, request, reply))
        return await self.send(request, partial(_replace, request, reply, adapter, step))

    async def send(self, request: Request, send: Callable[[], Awaitable[str | None]]) -> str | None:
        """Return what `send` returns, or None; a failed delivery is logged, not repeated."""
        try:
            return await send()
        except ChatGone as error:
            logger.info("%s %s: the chat is gone: %s", *request.event, error)
            await self._deactivate(request)
        except DeliveryError as error:
            logger.warning("%s %s was not delivered: %s", *request.event, error)
        except Exception as error:
            logger.error("%s %s was not delivered: %s", *request.event, reason(error))  # noqa: TRY400 - a traceback may quote a message
        return None

    async def _deactivate(self, request: Request) -> None:
        try:
            place = request.place
            await self._chats.set_active(place.platform, place.chat_id, active=False)
        except StorageError as error:
            logger.warning("%s %s stays active: %s", *request.event, reason(error))


async def _replace(request: Request, reply: Reply, adapter: Adapter, step: str) -> str | None:
    """Put a reply in place of a step; send it if somebody has deleted the step's message."""
    try:
        return await adapter.change(request, step, reply)
    except DeliveryRefused as error:
        logger.info("%s %s: the step was not replaced: %s", *request.event, error)
        return await adapter.deliver(request, reply)
