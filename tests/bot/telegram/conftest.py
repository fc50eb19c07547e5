"""The stand-in for Telegram, a person who uses it, and a service for it."""

from collections.abc import AsyncIterator

import pytest

from bot.commands import standard_commands
from bot.settings.model import TelegramSettings
from bot.telegram.service import TelegramService
from db.chat.events import Inbox
from db.pool import Database
from tests.bot.conversing import Bot, bot_on
from tests.bot.prophecies import NOW
from tests.bot.telegram.serving import Start
from tests.fakes.telegram import Chat, TelegramServer, User


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramServer]:
    async with TelegramServer() as server:
        yield server


@pytest.fixture
async def bot(storage: Database) -> AsyncIterator[Bot]:
    async with bot_on(storage) as ready:
        yield ready


@pytest.fixture
def alice(telegram: TelegramServer) -> User:
    return telegram.user("Alice")


@pytest.fixture
def chat(telegram: TelegramServer, alice: User) -> Chat:
    return telegram.private_chat(alice)


@pytest.fixture
def start(telegram: TelegramServer, bot: Bot, storage: Database) -> Start:
    def make(**settings: object) -> TelegramService:
        values = {"api_base": telegram.root, **settings}
        token = str(values.pop("token", telegram.token))
        secret = str(values.pop("webhook_secret", ""))
        return TelegramService(
            TelegramSettings(**values),
            token=token,
            webhook_secret=secret,
            conversation=bot.conversation,
            chats=bot.app.chats,
            inbox=Inbox(storage, "telegram"),
            commands=standard_commands().commands,
            now=lambda: NOW,
        )

    return make
