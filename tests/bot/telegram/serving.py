"""A service that listens to the stand-in for Telegram."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from bot.adapter import AdapterFailed
from bot.telegram.service import TelegramService
from tests.patience import until

Start = Callable[..., TelegramService]


@asynccontextmanager
async def running(service: TelegramService) -> AsyncIterator[None]:
    """The service listens until the block ends."""
    task = asyncio.create_task(service.run())
    try:
        await until(lambda: service.status().listening or task.done())
        if task.done():
            task.result()
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, AdapterFailed):
            await task
        await service.stop(2)
