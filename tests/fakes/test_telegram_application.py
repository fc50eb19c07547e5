"""python-telegram-bot's Application against the stand-in, as the bot uses it."""

import hmac
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from telegram import Update
from telegram.error import ChatMigrated, Forbidden
from telegram.ext import (
    Application,
    ApplicationBuilder,
    ContextTypes,
    MessageHandler,
    filters,
)

from tests.fakes.telegram import TelegramServer
from tests.patience import PATIENCE

App = Application[Any, Any, Any, Any, Any, Any]


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramServer]:
    async with TelegramServer() as server:
        yield server
        assert server.errors == []


async def echo(update: Update, _: ContextTypes.DEFAULT_TYPE) -> None:
    assert update.effective_message
    await update.effective_message.reply_text(update.effective_message.text or "")


def application(telegram: TelegramServer) -> App:
    """An echo bot, and a list of what its handlers raised."""
    builder = ApplicationBuilder().token(telegram.token).base_url(telegram.base_url)
    builder = builder.base_file_url(telegram.base_file_url)
    app: App = builder.build()
    app.add_handler(MessageHandler(filters.TEXT, echo))
    app.bot_data["errors"] = []

    async def note(_: object, context: ContextTypes.DEFAULT_TYPE) -> None:
        app.bot_data["errors"].append(context.error)

    app.add_error_handler(note)
    return app


@asynccontextmanager
async def polling(app: App) -> AsyncIterator[App]:
    assert app.updater
    async with app:
        await app.start()
        await app.updater.start_polling(allowed_updates=Update.ALL_TYPES)
        try:
            yield app
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
    assert [update.deliveries for update in telegram.updates.values()] == [1] * 10


async def test_a_redelivered_update_is_answered_again_by_a_bot_without_memory(
    telegram: TelegramServer,
) -> None:
    """The stand-in counts it, so that a bot with memory can be shown to be better."""
    alice = telegram.user("Alice")
    async with polling(application(telegram)):
        asked = await alice.says(telegram.private_chat(alice), "x")
        await asked.answer()
        await telegram.until_acknowledged()
        assert asked.update
        telegram.redeliver(asked.update.id)
        await telegram.until_called("sendMessage", times=2)
    assert (len(asked.answers), asked.update.deliveries) == (2, 2)


async def test_stopping_confirms_what_was_fetched_and_ends_its_own_poll(
    telegram: TelegramServer, caplog: pytest.LogCaptureFixture
) -> None:
    alice = telegram.user("Alice")
    async with polling(application(telegram)):
        asked = await alice.says(telegram.private_chat(alice), "x")
        await asked.answer()
        polls = len(telegram.called("getUpdates"))
        await telegram.until_called("getUpdates", times=polls)
    assert telegram.pending == 0
    assert telegram.called("getUpdates")[-1].parameters["timeout"] == 0
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_one_of_two_bots_with_the_same_token_gets_a_conflict(
    telegram: TelegramServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with polling(application(telegram)), polling(application(telegram)):
        await telegram.world.signal.until(
            lambda: [one for one in telegram.called("getUpdates") if one.error], 5
        )
    refused = [one.error or "" for one in telegram.called("getUpdates") if one.error]
    assert "terminated by other getUpdates request" in refused[0]


async def test_a_malformed_update_blocks_python_telegram_bot(
    telegram: TelegramServer, caplog: pytest.LogCaptureFixture
) -> None:
    """The library leaves the offset where it is: whoever uses it has to get past such updates."""
    alice = telegram.user("Alice")
    chat = telegram.private_chat(alice)
    async with polling(application(telegram)):
        broken = telegram.malformed_update("message", {"date": "yesterday"})
        asked = await alice.says(chat, "x")
        await telegram.world.signal.until(lambda: broken.deliveries > 3, PATIENCE)
        assert asked.answers == []
        telegram.world.updates.settle(broken)
        await asked.answer()
    assert "Received data was *not* processed!" in caplog.text


async def test_a_webhook_of_our_own_feeds_the_application(telegram: TelegramServer) -> None:
    """Without tornado: any web server may fill the update queue."""
    alice = telegram.user("Alice")
    app = application(telegram)

    async def receive(request: web.Request) -> web.Response:
        secret = request.headers.get("X-Telegram-Bot-Api-Secret-Token", "")
        if not hmac.compare_digest(secret, "s3cret"):
            return web.Response(status=403)
        await app.update_queue.put(Update.de_json(await request.json(), app.bot))
        return web.Response()

    site = web.Application()
    site.router.add_post("/hook", receive)
    runner = web.AppRunner(site)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    async with app:
        await app.start()
        await app.bot.set_webhook(url, secret_token="wrong")
        asked = await alice.says(telegram.private_chat(alice), "x")
        await telegram.world.signal.until(lambda: telegram.world.webhook.failures, PATIENCE)
        assert asked.answers == []
        await app.bot.set_webhook(url, secret_token="s3cret")
        assert (await asked.answer()).text == "x"
        await telegram.until_acknowledged()
        await app.bot.delete_webhook()
        await app.stop()
    await runner.cleanup()
    assert len(asked.answers) == 1


async def test_handlers_receive_migration_blocked_and_connection_errors(
    telegram: TelegramServer,
) -> None:
    alice, bob, eve = (telegram.user(name) for name in ("Alice", "Bob", "Eve"))
    group = telegram.group("News", admins=[alice], basic=True, privacy_mode=False)
    bobs, eves = telegram.private_chat(bob), telegram.private_chat(eve)
    telegram.fail("sendMessage", error=403, chat=bobs)
    telegram.fail("sendMessage", error="drop_connection_before", chat=eves)
    async with polling(application(telegram)) as app:
        await alice.says(group, "x")
        new = group.migrate(announced=False)
        await bob.says(bobs, "x")
        await eve.says(eves, "x")
        await telegram.until_called("sendMessage", times=3)
        await telegram.until_acknowledged()
    migrated, blocked, cut = app.bot_data["errors"]
    assert isinstance(migrated, ChatMigrated)
    assert migrated.new_chat_id == new.id
    assert isinstance(blocked, Forbidden)
    assert "RemoteProtocolError" in str(cut)
