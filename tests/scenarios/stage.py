"""A bot that serves, and everybody around it: platform, model, web, on a database of its own."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bot.app import open_app
from bot.serve import serve
from bot.settings import Settings, load_settings
from db.pool import Database
from tests.db.corpus import document, load
from tests.fakes.model import ModelServer, scoring
from tests.fakes.telegram import TelegramServer
from tests.fakes.web import WebServer

HEADLINE = "Coffee prices hit a record high after a bad harvest"
TWEETS = (
    "Coffee prices will hit a record high, mark my words.",
    "A bad harvest and nobody cares about coffee until the prices rise.",
    "Record coffee harvest, they say. Record prices, say I.",
    "My coffee went cold while I read about prices.",
    "They raise the prices of coffee again.",
    "High tide, bad mood, no coffee.",
    "The harvest moon is high.",
    "Nothing to say today.",
)


def judged_by_words(headline: str, candidate: Mapping[str, Any]) -> int:
    """A judge who counts the words in common."""
    common = set(headline.lower().split()) & set(str(candidate["text"]).lower().split())
    return min(len(common), 6)


@dataclass
class Stage:
    """Stand-ins that run, and a bot that can be started and stopped."""

    database_url: str
    telegram: TelegramServer
    model: ModelServer
    web: WebServer
    environment: dict[str, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)

    def settings(self) -> Settings:
        """What a process with this environment reads."""
        return load_settings(environ=self.environ)

    @property
    def environ(self) -> dict[str, str]:
        return {
            "DATABASE_URL": self.database_url,
            "TELEGRAM_BOT_TOKEN": self.telegram.token,
            "PRESAGIO_TELEGRAM__API_BASE": self.telegram.root,
            "PRESAGIO_LLM__BASE_URL": self.model.base_url,
            "PRESAGIO_LLM__RETRIES": "0",
            "PRESAGIO_FETCH__ALLOW_NETWORKS": '["127.0.0.0/8"]',
        } | self.environment

    async def run(self) -> None:
        """Serve until cancelled."""
        async with open_app(self.settings(), progress=self.said.append) as app:
            await serve(app, now=lambda: datetime.now(UTC), said=self.said.append)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """A bot that listens, until the block ends."""
        task = asyncio.create_task(self.run())
        try:
            polled = asyncio.create_task(self._until_listening())
            await asyncio.wait({task, polled}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                polled.cancel()
                task.result()
                raise AssertionError(f"the bot ended: {self.said}")
            await polled
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _until_listening(self) -> None:
        listening = "setWebhook" if "PRESAGIO_TELEGRAM__WEBHOOK_URL" in self.environ else None
        method = listening or "getUpdates"
        known = len(self.telegram.called(method))
        await self.telegram.until_called(method, known + 1, timeout=10)

    async def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """What the database says."""
        database = await Database.open(self.database_url)
        async with database.connection() as connection:
            found = [tuple(row) for row in await connection.fetch(statement, *values)]
        await database.close()
        return found


@asynccontextmanager
async def staged(database_url: str, **telegram: Any) -> AsyncIterator[Stage]:
    """Stand-ins and a small corpus; the bot does not run yet. No request may have been wrong."""
    async with (
        TelegramServer(**telegram) as server,
        ModelServer([scoring(judged_by_words)]) as model,
        WebServer() as web,
    ):
        await load_tweets(database_url, TWEETS)
        yield Stage(database_url, server, model, web)
        assert server.errors == []


async def load_tweets(database_url: str, tweets: tuple[str, ...]) -> None:
    """Fill the corpus "demo", one tweet a year."""
    database = await Database.open(database_url)
    documents = [
        document(str(number), text, day=300 * number, author="ana")
        for number, text in enumerate(tweets, start=1)
    ]
    await load(database, "demo", documents, "english")
    await database.close()
