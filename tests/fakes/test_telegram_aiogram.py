"""The stand-in as aiogram sees it: its models read what is sent, its client what is answered.

aiogram wants an older pydantic than ours, so it is no dependency: `.ci/telegram-strangers` brings
it along in a folder of its own. Elsewhere these tests are skipped.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.fakes.every_update import every_update
from tests.fakes.telegram import TelegramServer

aiogram = pytest.importorskip("aiogram", reason="aiogram is absent; see .ci/telegram-strangers")
clients = pytest.importorskip("aiogram.client.telegram")
sessions = pytest.importorskip("aiogram.client.session.aiohttp")
refusals = pytest.importorskip("aiogram.exceptions")
types = pytest.importorskip("aiogram.types")


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramServer]:
    async with TelegramServer(username="presagio_bot") as server:
        yield server
        assert server.errors == []


@asynccontextmanager
async def client(telegram: TelegramServer) -> AsyncIterator[Any]:
    api = clients.TelegramAPIServer.from_base(telegram.root)
    async with aiogram.Bot(telegram.token, session=sessions.AiohttpSession(api=api)) as bot:
        yield bot


def models(value: Any) -> Iterator[Any]:
    """A model and all that hang below it."""
    if isinstance(value, types.TelegramObject):
        yield value
        for name in type(value).model_fields:
            yield from models(getattr(value, name))
    elif isinstance(value, list):
        for one in value:
            yield from models(one)


async def test_aiogram_models_know_every_field_of_every_update(telegram: TelegramServer) -> None:
    for payload in await every_update(telegram):
        for model in models(types.Update.model_validate(payload)):
            assert not model.model_extra, model


async def test_aiogram_reads_every_response(telegram: TelegramServer) -> None:
    alice = telegram.user("Alice")
    group = telegram.group("News", admins=[alice], forum=True)
    async with client(telegram) as bot:
        updates = [
            await bot.get_me(),
            await bot.get_chat(group.id),
            await bot.get_chat_member(group.id, alice.id),
            await bot.get_chat_member(group.id, telegram.user("Eve").id),
            await bot.get_webhook_info(),
            await bot.send_message(group.id, "x"),
        ]
        assert not [model for model in models(updates) if model.model_extra]
        commands = [types.BotCommand(command="p", description="Find")]
        await bot.set_my_commands(commands, scope=types.BotCommandScopeChat(chat_id=group.id))
        assert telegram.menu(alice, group) == {"p": "Find"}


@pytest.mark.parametrize(
    ("trouble", "refusal"),
    [
        ({"error": 429, "retry_after": 7}, "TelegramRetryAfter"),
        ({"error": 400, "migrate_to_chat_id": -1005}, "TelegramMigrateToChat"),
        ({"error": 403}, "TelegramForbiddenError"),
        ({"error": 500}, "TelegramServerError"),
        ({"error": 400}, "TelegramBadRequest"),
        ({"error": 409}, "TelegramConflictError"),
        ({"error": "drop_connection_before"}, "TelegramNetworkError"),
    ],
)
async def test_aiogram_maps_every_refusal_to_its_exception(
    telegram: TelegramServer, trouble: dict[str, Any], refusal: str
) -> None:
    chat = telegram.private_chat(telegram.user("Alice"))
    telegram.fail("sendMessage", **trouble)
    async with client(telegram) as bot:
        with pytest.raises(getattr(refusals, refusal)):
            await bot.send_message(chat.id, "x")
