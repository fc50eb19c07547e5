"""python-telegram-bot's Application against the stand-in."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from telegram import Update
from telegram.error import BadRequest, ChatMigrated, Forbidden
from telegram.ext import (
    AIORateLimiter,
    Application,
    ApplicationBuilder,
    ContextTypes,
    MessageHandler,
    filters,
)

from tests.fakes.telegram import TelegramServer

Callback = Callable[[Update, ContextTypes.DEFAULT_TYPE], Awaitable[Any]]
App = Application[Any, Any, Any, Any, Any, Any]


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramServer]:
    async with TelegramServer() as server:
        yield server
        assert server.errors == []


async def echo(update: Update, _: ContextTypes.DEFAULT_TYPE) -> None:
    assert update.effective_message
    await update.effective_message.reply_text(update.effective_message.text or "")


def application(telegram: TelegramServer, callback: Callback = echo, **options: Any) -> App:
    builder = ApplicationBuilder().token(telegram.token).base_url(telegram.base_url)
    builder = builder.base_file_url(telegram.base_file_url)
    if "rate_limiter" in options:
        builder = builder.rate_limiter(options["rate_limiter"])
    app = builder.build()
    app.add_handler(MessageHandler(filters.TEXT, callback))
    return app


@asynccontextmanager
async def polling(app: App) -> AsyncIterator[None]:
    assert app.updater
    async with app:
        await app.start()
        await app.updater.start_polling(allowed_updates=Update.ALL_TYPES)
        try:
            yield
        finally:
            await app.updater.stop()
            await app.stop()


async def test_every_message_gets_exactly_one_answer(telegram: TelegramServer) -> None:
    alice, bob = telegram.user("Alice"), telegram.user("Bob")
    chats = {alice: telegram.private_chat(alice), bob: telegram.private_chat(bob)}
    async with polling(application(telegram)):
        asked = [await who.says(chats[who], f"headline {n}") for n in range(5) for who in chats]
        for one in asked:
            assert (await one.answer()).text == one.text
        await telegram.until_acknowledged()
    assert [len(one.answers) for one in asked] == [1] * 10
    assert [one.deliveries for one in telegram.updates.values()] == [1] * 10
