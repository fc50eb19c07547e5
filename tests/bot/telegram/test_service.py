"""The service as Telegram sees it: what is left over, who comes back, what is not kept."""

from typing import Any

import pytest
from starlette.requests import Request

from bot.adapter import AdapterFailed
from db.chat.events import Inbox
from db.pool import Database
from engine.errors import StorageError, StorageUnreachable
from tests.bot.conversing import Bot
from tests.bot.telegram.serving import Start, running
from tests.fakes.telegram import Chat, TelegramServer, User
from tests.patience import until


def webhook() -> dict[str, object]:
    return {"webhook_url": "http://127.0.0.1:1/hook", "webhook_secret": "s"}


async def active(storage: Database) -> list[bool]:
    async with storage.connection() as connection:
        return [row["active"] for row in await connection.fetch("SELECT active FROM chat")]


@pytest.mark.parametrize("settings", [{}, webhook()], ids=["polling", "webhook"])
async def test_what_an_earlier_process_left_is_answered_and_forgotten(
    start: Start, storage: Database, chat: Chat, alice: User, settings: dict[str, object]
) -> None:
    inbox = Inbox(storage, "telegram")
    message = {
        "message_id": 99,
        "date": 1_700_000_000,
        "chat": {"id": chat.id, "type": "private"},
        "from": alice.payload(),
        "text": "Coffee prices",
    }
    await inbox.keep({7: {"update_id": 7, "message": message}})
    async with running(start(**settings)):
        await chat.until(lambda one: one.from_bot)
    assert len(chat.bot_messages) == 1
    assert await inbox.left() == {}


@pytest.mark.parametrize("settings", [{}, webhook()], ids=["polling", "webhook"])
async def test_a_database_that_is_away_at_the_start_is_waited_for(
    start: Start, monkeypatch: pytest.MonkeyPatch, settings: dict[str, object]
) -> None:
    monkeypatch.setattr("bot.telegram.service.pause_after", lambda error, failures: 0.01)
    read, failures = Inbox.left, iter([StorageUnreachable("It is away."), StorageError("Still.")])

    async def read_in_the_end(inbox: Inbox) -> dict[int, dict[str, Any]]:
        if error := next(failures, None):
            raise error
        return await read(inbox)

    monkeypatch.setattr(Inbox, "left", read_in_the_end)
    async with running(start(**settings)):
        assert next(failures, None) is None


async def test_unblocking_the_bot_reactivates_the_chat(
    start: Start, telegram: TelegramServer, storage: Database, chat: Chat, alice: User
) -> None:
    async with running(start()):
        await (await alice.says(chat, "Coffee")).answer()
        await alice.blocks_bot()
        await telegram.until_acknowledged()
        assert await active(storage) == [False]
        await alice.unblocks_bot()
        await telegram.until_acknowledged()
        assert await active(storage) == [True]


async def test_last_block_or_unblock_wins(
    start: Start, telegram: TelegramServer, storage: Database, bot: Bot, chat: Chat, alice: User
) -> None:
    await bot.app.chats.meet("telegram", str(chat.id), private=True, title=None)
    for _ in range(10):
        await alice.blocks_bot()
        await alice.unblocks_bot()
    await alice.blocks_bot()
    async with running(start()):
        await telegram.until_acknowledged()
    assert await active(storage) == [False]


async def test_an_inline_query_is_answered_and_remembered_nowhere(
    start: Start, storage: Database, alice: User
) -> None:
    async with running(start()):
        found = await (await alice.asks_inline("Coffee prices")).answered()
    assert len(found.results) == 3
    async with storage.connection() as connection:
        for table in ("chat", "answer"):
            assert await connection.fetchval(f"SELECT count(*) FROM {table}") == 0
        assert await connection.fetchval("SELECT string_agg(scope, ' ') FROM quota") == (
            f"user:telegram:{alice.id}"
        )


async def test_the_status_follows_what_telegram_answers(
    start: Start, telegram: TelegramServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.telegram.receiving._LONGEST_PAUSE", 0.3)
    service = start()
    assert str(service.status()) == "not listening (polling)"
    async with running(service):
        assert str(service.status()) == "listening (polling)"
        telegram.fail("getUpdates", error="drop_connection_before", times=2)
        await telegram.user("Bob").says(telegram.private_chat(telegram.user("Bob")), "Hi")
        await until(lambda: not service.status().listening)
        await until(lambda: service.status().listening)
    assert not service.status().listening


async def test_the_status_of_a_webhook_names_it(start: Start) -> None:
    service = start(**webhook())
    async with running(service):
        assert str(service.status()) == "listening (webhook)"
    assert str(service.status()) == "not listening (webhook)"


async def test_webhook_answers_503_before_the_start_and_after_the_end(start: Start) -> None:
    service = start(**webhook())
    assert service.webhook

    async def pushed(secret: bytes) -> int:
        headers = [(b"x-telegram-bot-api-secret-token", secret)]
        request = Request({"type": "http", "headers": headers})
        assert service.webhook
        return (await service.webhook.receive(request)).status_code

    assert service.webhook.path == "/hook"
    assert (await pushed(b"s"), await pushed(b"")) == (503, 403)
    async with running(service):
        pass
    assert await pushed(b"s") == 503


@pytest.mark.parametrize(
    ("method", "settings"), [("deleteWebhook", {}), ("setWebhook", webhook()), ("getMe", {})]
)
async def test_start_retries_failing_telegram_methods(
    start: Start,
    telegram: TelegramServer,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    settings: dict[str, object],
) -> None:
    monkeypatch.setattr("bot.telegram.receiving._LONGEST_PAUSE", 0.1)
    telegram.fail(method, error=500)
    async with running(start(**settings)):
        assert len(telegram.called(method)) >= 2


async def test_a_webhook_that_telegram_refuses_ends_the_adapter(
    start: Start, telegram: TelegramServer
) -> None:
    telegram.fail("setWebhook", error=400, description="Bad Request: bad webhook: no HTTPS")
    with pytest.raises(AdapterFailed, match="Bad webhook"):
        async with running(start(**webhook())):
            pass
