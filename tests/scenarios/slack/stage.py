"""A bot that serves a Slack workspace, and everybody around it, on a database of its own."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bot.app import open_app
from bot.serve import serve
from bot.settings import load_settings
from db.pool import Database
from tests.fakes.model import ModelServer, scoring
from tests.fakes.slack import Channel, Message, SlackServer, User
from tests.scenarios.stage import TWEETS, judged_by_words, load_tweets


@dataclass
class SlackStage:
    """Stand-ins that run, and a bot that can be started and stopped, several times if need be."""

    database_url: str
    slack: SlackServer
    model: ModelServer
    environment: dict[str, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    counted: int | None = None  # messages that the test knows of
    alice: User = field(init=False)
    bob: User = field(init=False)
    general: Channel = field(init=False)

    def __post_init__(self) -> None:
        self.alice = self.slack.user("alice")
        self.bob = self.slack.user("bob", locale="es-ES", tz="Europe/Madrid")
        self.general = self.slack.channel("general", [self.alice, self.bob])

    @property
    def environ(self) -> dict[str, str]:
        """What a process is told."""
        return {
            "DATABASE_URL": self.database_url,
            "SLACK_BOT_TOKEN": self.slack.bot_token,
            "SLACK_APP_TOKEN": self.slack.app_token,
            "PRESAGIO_SLACK__API_BASE": self.slack.base_url,
            "PRESAGIO_LLM__BASE_URL": self.model.base_url,
            "PRESAGIO_LLM__RETRIES": "0",
        } | self.environment

    async def run(self) -> None:
        """Serve until cancelled."""
        settings = load_settings(environ=self.environ)
        async with open_app(settings, progress=self.said.append) as app:
            await serve(app, now=lambda: datetime.now(UTC), said=self.said.append)

    @asynccontextmanager
    async def serving(
        self, listening: Callable[[], object] | None = None, *, processes: int = 1
    ) -> AsyncIterator[None]:
        """Bots that listen, until the block ends. By then nothing may have been said that
        `replies` did not count."""
        tasks = [asyncio.create_task(self.run()) for _ in range(processes)]
        try:
            ready = listening or (lambda: len(self.slack.connections) == processes)
            waiting = asyncio.create_task(self.slack.until(ready, within=10))
            await asyncio.wait({*tasks, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                waiting.cancel()
                raise AssertionError(f"the bot ended: {self.said}")
            await waiting
            yield
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError):
                    await task
        if self.counted is not None:  # what was under way has been finished
            assert len(self.slack.bot_messages) == self.counted

    async def reply(self, channel: Channel) -> Message:
        """The bot's first message in a channel."""
        return await channel.until(lambda message: message.author is self.slack.bot)

    async def replies(self, number: int) -> list[Message]:
        """All that the bot has said, which must be so many messages, now and at the end."""
        self.counted = number
        await self.slack.until(lambda: len(self.slack.bot_messages) >= number, within=10)
        await self.slack.quiet()
        said = self.slack.bot_messages
        assert len(said) == number, [message.text for message in said]
        return said

    async def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """What the database says."""
        database = await Database.open(self.database_url)
        async with database.connection() as connection:
            found = [tuple(row) for row in await connection.fetch(statement, *values)]
        await database.close()
        return found


@asynccontextmanager
async def slack_staged(
    database_url: str, slack: SlackServer, tweets: tuple[str, ...] = TWEETS
) -> AsyncIterator[SlackStage]:
    """Stand-ins and a small corpus; the bot does not run yet. No request may break the stand-in."""
    async with slack, ModelServer([scoring(judged_by_words)]) as model:
        if tweets:
            await load_tweets(database_url, tweets)
        yield SlackStage(database_url, slack, model)
        assert slack.host.broken == []
