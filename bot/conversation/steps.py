"""Shows what a slow answer waits for: one message in the chat, which the answer replaces."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from bot.adapter import Adapter, DeliveryError
from bot.request import Request, Trigger

SHOWN_FOR = (Trigger.ADDRESSED, Trigger.REPLY, Trigger.COMMAND)


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
        self._after = after
        self._text = ""
        self._changed = asyncio.Event()
        self._message = message
        self._keep = keep
        self._showing: asyncio.Task[None] | None = None
        self._sending = asyncio.Lock()

    def show(self, text: str) -> None:
        """Note the current step; it is shown if it takes long."""
        if self._request.trigger not in SHOWN_FOR or not self._request.place.kept:
            return
        self._text = text
        self._changed.set()
        self._showing = self._showing or asyncio.create_task(self._show())

    async def end(self) -> None:
        """Show no further steps."""
        if self._showing:
            async with self._sending:  # a message that is being sent is waited for
                self._showing.cancel()
            await asyncio.gather(self._showing, return_exceptions=True)

    def take(self) -> str | None:
        """Return the id of the message of the last step, which the caller then replaces."""
        message, self._message = self._message, None
        return message

    async def withdraw(self) -> None:
        """Delete the message of the last step, unless it was taken."""
        if message := self.take():
            with suppress(DeliveryError):  # the step stays where it is
                await self._adapter.withdraw(self._request, message)

    async def _show(self) -> None:
        await asyncio.sleep(self._after)
        while True:
            self._changed.clear()
            async with self._sending:
                before = self._message
                self._message = await self._adapter.show_step(self._request, self._text, before)
                if self._message and self._message != before:
                    await self._keep(self._message)
            await self._changed.wait()


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
        await steps.withdraw()
