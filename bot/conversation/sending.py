"""Shows what a slow answer waits for, and delivers the answer once in its place."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from bot.adapter import Adapter, ChatGone, DeliveryError, DeliveryRefused, PlatformFailed
from bot.reply import Reply
from bot.request import Request, Trigger
from db.chat.chats import Chats
from engine.errors import StorageError, explain_error
from engine.values import Closable

if TYPE_CHECKING:
    from bot.conversation.writing import Writing

logger = logging.getLogger("presagio.conversation")
_AGAIN_SECONDS = 0.5
SHOWN_FOR = (Trigger.ADDRESSED, Trigger.REPLY, Trigger.COMMAND)


class LatestShown(Closable):
    """Shows the latest of what is noted: the first after `delay` seconds, others `pause` apart.

    What stands there already is not shown again: `shown`, or what was shown last.
    """

    def __init__(
        self,
        show: Callable[[str], Awaitable[None]],
        *,
        delay: float = 0.0,
        pause: float = 0.0,
        shown: str = "",
    ) -> None:
        self._show = show
        self._delay, self._pause = delay, pause
        self._shown = shown
        self._latest = ""
        self._changed = asyncio.Event()
        self._showing = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def note(self, latest: str) -> None:
        """Note what is to be shown."""
        self._latest = latest
        self._changed.set()
        self._task = self._task or asyncio.create_task(self._run())

    async def aclose(self) -> None:
        """Show nothing further; what is being shown is waited for, as it would come afterwards."""
        if self._task:
            async with self._showing:
                self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        await asyncio.sleep(self._delay)
        while True:
            await self._changed.wait()
            self._changed.clear()
            if self._latest == self._shown:
                continue
            async with self._showing:
                self._shown = self._latest
                await self._show(self._latest)
            await asyncio.sleep(self._pause)


class Steps:
    """The steps of one answer. Nothing is shown in the first `after` seconds.

    `message` is that of a step from before, which is replaced; `keep` is told of a new one.
    """

    def __init__(
        self,
        adapter: Adapter,
        request: Request,
        *,
        after: float,
        message: str | None,
        keep: Callable[[str], Awaitable[None]],
    ) -> None:
        self._adapter = adapter
        self._request = request
        self._message = message
        self._keep = keep
        self._shown = LatestShown(self._show, delay=after)

    def show(self, text: str) -> None:
        """Note the current step; it is shown if it takes long."""
        if self._request.trigger in SHOWN_FOR and self._request.place.kept:
            self._shown.note(text)

    async def end(self) -> None:
        """Show no further steps."""
        await self._shown.aclose()

    def take(self) -> str | None:
        """Return the id of the message of the last step, which the caller then replaces."""
        message, self._message = self._message, None
        return message or None

    async def delete(self) -> None:
        """Delete the message of the last step, unless it was taken."""
        if message := self.take():
            with suppress(DeliveryError):  # the step stays where it is
                await self._adapter.delete(self._request, message)

    async def _show(self, text: str) -> None:
        before = self._message
        self._message = await self._adapter.show_step(self._request, text, before)
        if self._message and self._message != before:
            await self._keep(self._message)


async def _kept_nowhere(message: str) -> None:
    """Forget the message of a step with the process that showed it."""


@asynccontextmanager
async def steps_shown(
    adapter: Adapter,
    request: Request,
    *,
    after: float,
    message: str | None = None,
    keep: Callable[[str], Awaitable[None]] = _kept_nowhere,
) -> AsyncIterator[Steps]:
    """Yield the steps of an answer; a message that no answer has replaced is deleted.

    Only somebody who waits for the answer is shown steps, and only in a chat.
    """
    steps = Steps(adapter, request, after=after, message=message, keep=keep)
    try:
        yield steps
    finally:
        await steps.end()
        await steps.delete()


class Sender:
    """Delivers replies, and begins what is written after it is announced."""

    def __init__(self, chats: Chats, writing: "Writing | None") -> None:
        self._chats = chats
        self._writing = writing

    async def deliver(
        self, request: Request, reply: Reply, adapter: Adapter, step: str | None = None
    ) -> str | None:
        """Send the reply once, in place of the message of a `step`; return its message's id."""
        if reply.stops is not None and self._writing:
            await self._writing.stop(reply.stops)
        if reply.writes is not None and self._writing:
            announce = partial(self._writing.announce, request, reply, adapter, step)
            return await self.send(request, announce)
        if step is None:
            return await self.send(request, partial(adapter.deliver, request, reply))
        if reply.picture or (reply.ephemeral and not request.place.private):
            await self.send(request, partial(adapter.delete, request, step))
            return await self.send(request, partial(adapter.deliver, request, reply))
        return await self.send(request, partial(_replace_step, request, reply, adapter, step))

    async def send(self, request: Request, send: Callable[[], Awaitable[str | None]]) -> str | None:
        """Return what `send` returns, or None; a failed delivery is logged.

        It is repeated once if the platform answered that it failed: somebody waits, and hardly any
        such message was shown.
        """
        try:
            try:
                return await send()
            except PlatformFailed as error:
                logger.info("%s %s is sent again: %s", *request.event, error)
                await asyncio.sleep(_AGAIN_SECONDS)
                return await send()
        except ChatGone as error:
            logger.info("%s %s: the chat is gone: %s", *request.event, error)
            await self._deactivate_chat(request)
        except DeliveryError as error:
            logger.warning("%s %s was not delivered: %s", *request.event, error)
        except Exception as error:
            logger.error("%s %s was not delivered: %s", *request.event, explain_error(error))  # noqa: TRY400 - a traceback may quote a message
        return None

    async def _deactivate_chat(self, request: Request) -> None:
        try:
            place = request.place
            await self._chats.set_active(place.platform, place.chat_id, active=False)
        except StorageError as error:
            logger.warning("%s %s stays active: %s", *request.event, explain_error(error))


async def _replace_step(request: Request, reply: Reply, adapter: Adapter, step: str) -> str | None:
    """Put a reply in place of a step; send it if somebody has deleted the step's message."""
    try:
        return await adapter.change(request, step, reply)
    except DeliveryRefused as error:
        logger.info("%s %s: the step was not replaced: %s", *request.event, error)
        return await adapter.deliver(request, reply)
