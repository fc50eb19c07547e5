"""A bot that serves, and everybody around it: platform, model, web, on a database of its own."""

import asyncio
import os
import re
import subprocess
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from bot.app import open_app
from bot.cli.serve import OfferedFiles
from bot.serve import serve
from bot.settings import Settings, load_settings
from tests.bot.command_line import PROGRAM
from tests.database import fetch_rows, pool_on
from tests.db.loading import document, load_at
from tests.fakes.model import ModelServer, scoring
from tests.fakes.telegram import Chat, Message, TelegramServer, User
from tests.fakes.web import WebServer
from tests.patience import until

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
    """A judge who counts the words in common, one of which is enough for a hit."""
    common = set(headline.lower().split()) & set(str(candidate["text"]).lower().split())
    return min(max(len(common), 4), 6) if common else 0


@dataclass(kw_only=True)
class Surroundings:
    """What a bot needs whatever the platform, and a bot that can be started and stopped."""

    database_url: str
    model: ModelServer
    web: WebServer
    environment: dict[str, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)

    @property
    def platform_environ(self) -> Mapping[str, str]:
        """How the platform is reached."""
        return {}

    @property
    def environ(self) -> dict[str, str]:
        """What a process is told."""
        return {
            "DATABASE_URL": self.database_url,
            "PRESAGIO_LLM__BASE_URL": self.model.base_url,
            "PRESAGIO_LLM__RETRIES": "0",
            "PRESAGIO_CHAT__ACCESS": "open",
            "PRESAGIO_FETCH__ALLOW_NETWORKS": '["127.0.0.0/8"]',
            **self.platform_environ,
            **self.environment,
        }

    def settings(self) -> Settings:
        """What a process with this environment reads."""
        return load_settings(environ=self.environ)

    async def run(self) -> None:
        """Serve until cancelled."""
        async with open_app(self.settings(), progress=self.said.append) as app:
            with_loader = replace(app, loader=OfferedFiles(app))
            await serve(with_loader, now=lambda: datetime.now(UTC), tell=self.said.append)

    @asynccontextmanager
    async def running(
        self, listening: Awaitable[object], *, processes: int = 1
    ) -> AsyncIterator[None]:
        """Bots that run until the block ends, which begins when they are `listening`."""
        tasks = [asyncio.create_task(self.run()) for _ in range(processes)]
        waiting = asyncio.ensure_future(listening)
        try:
            await asyncio.wait({*tasks, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if ended := [task for task in tasks if task.done()]:
                ended[0].result()
                raise AssertionError(f"the bot ended: {self.said}")
            await waiting
            yield
        finally:
            for task in (*tasks, waiting):
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError):
                    await task

    @contextmanager
    def process(self) -> "Iterator[subprocess.Popen[bytes]]":
        """`presagio serve` as a process of its own."""
        with subprocess.Popen([PROGRAM, "serve"], env=os.environ | self.environ) as serving:
            try:
                yield serving
            finally:
                serving.kill()

    async def until_said(self, beginning: str) -> None:
        """Wait for a line of `said`."""
        await until(lambda: any(line.startswith(beginning) for line in self.said))

    async def code(self, platform: str) -> str:
        """The code for the owner that serve has shown."""
        shown = re.compile(rf"{platform}: .*start (\w+)")
        match = await until(lambda: shown.search("\n".join(self.said)))
        return str(match[1])

    async def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """What the database says."""
        async with pool_on(self.database_url) as database:
            return [tuple(row) for row in await fetch_rows(database, statement, *values)]


@dataclass(kw_only=True)
class Stage(Surroundings):
    """The same on Telegram."""

    telegram: TelegramServer

    @property
    def platform_environ(self) -> Mapping[str, str]:
        return self.telegram.environ

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """A bot that listens, until the block ends."""
        async with self.running(self._until_listening()):
            yield

    async def _until_listening(self) -> None:
        listening = "setWebhook" if "PRESAGIO_TELEGRAM__WEBHOOK_URL" in self.environ else None
        method = listening or "getUpdates"
        known = len(self.telegram.called(method))
        await self.telegram.until_called(method, known + 1)


@asynccontextmanager
async def surroundings() -> AsyncIterator[tuple[ModelServer, WebServer]]:
    """A model that judges by words, and a web without pages."""
    async with ModelServer([scoring(judged_by_words)]) as model, WebServer() as web:
        yield model, web


@asynccontextmanager
async def staged(database_url: str, **telegram: Any) -> AsyncIterator[Stage]:
    """Stand-ins on a database; the bot does not run yet. No request may have been wrong."""
    async with TelegramServer(**telegram) as server, surroundings() as (model, web):
        yield Stage(database_url=database_url, telegram=server, model=model, web=web)
        assert server.errors == []


async def asks_for_full_answers(person: User, chat: Chat) -> Message:
    """Have answers repeat their headline; return the bot's reply to that."""
    return await (await person.says(chat, "/settings answers full")).answer()


async def own(stage: Stage, person: User) -> Chat:
    """Let somebody own the bot; return where they talk with it."""
    home = stage.telegram.private_chat(person)
    await (await person.says(home, f"/start {await stage.code('telegram')}")).answer()
    return home


async def load_tweets(
    database_url: str, tweets: tuple[str, ...], language: str = "english", name: str = "demo"
) -> None:
    """Fill a corpus, one tweet a year."""
    documents = [
        document(str(number), text, day=300 * number, author="ana" if name == "demo" else None)
        for number, text in enumerate(tweets, start=1)
    ]
    await load_at(database_url, name, documents, language)
