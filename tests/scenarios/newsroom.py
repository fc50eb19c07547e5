"""Feeds, platforms and a model around the jobs of one process or several, and a clock to wind."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.adapter import Poster
from bot.app import App, open_app
from bot.jobs.wiring import Jobs, open_jobs
from bot.platforms import create_posters
from bot.settings import Settings, load_settings
from bot.settings.model import FeedSettings
from db.chat.chats import Chats
from db.posting.subscriptions import Subscriptions
from engine.chat import Chat
from engine.fetch.client import Fetcher
from engine.posting.delivery import PostingMode, Subscription
from tests.fakes.model import ModelServer, scoring
from tests.fakes.slack import SlackServer
from tests.fakes.telegram import TelegramServer
from tests.fakes.web import WebServer, feed
from tests.scenarios.stage import HEADLINE, judged_by_words

FEED = "/feed.xml"
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


@dataclass
class Clock:
    """Tells the time that the test says, to the jobs and to Slack."""

    time: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __call__(self) -> datetime:
        return self.time

    def wind(self, by: timedelta) -> None:
        self.time += by


@dataclass
class Process:
    """The jobs of one process."""

    app: App
    jobs: Jobs
    posters: Sequence[Poster]


@asynccontextmanager
async def working(settings: Settings, clock: Clock) -> AsyncIterator[Process]:
    """The jobs of a process with these settings, by a clock."""
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(open_app(settings, progress=lambda _: None))
        fetcher = await stack.enter_async_context(Fetcher(settings.fetch))
        posters = create_posters(settings, Chats(app.database))
        for poster in posters:
            stack.push_async_callback(poster.close)
        jobs = await stack.enter_async_context(open_jobs(app, fetcher, posters, now=clock))
        yield Process(app, jobs, posters)


@dataclass
class Newsroom:
    """Stand-ins, and the first process."""

    clock: Clock
    telegram: TelegramServer
    slack: SlackServer
    model: ModelServer
    web: WebServer
    environ: dict[str, str]
    stack: AsyncExitStack
    headlines: list[str] = field(default_factory=list)
    feeds: tuple[str, ...] = (FEED,)  # paths of those in the settings

    def __post_init__(self) -> None:
        self.group = self.telegram.group("Friends", admins=[self.telegram.user("Alice")])
        self.channel = self.slack.channel("general", [self.slack.user("bob")])
        self.publish("Nothing of note has happened in the village today")

    async def process(self) -> Process:
        """Another process on the same database."""
        feeds = tuple(FeedSettings(url=self.web.url(path), category="news") for path in self.feeds)
        settings = load_settings(environ=self.environ).model_copy(update={"feeds": feeds})
        return await self.stack.enter_async_context(working(settings, self.clock))

    def publish(self, *headlines: str) -> None:
        """Put headlines into the feed."""
        self.headlines += headlines
        self.web.pages[FEED] = feed(*self.headlines)

    async def subscribe(self, process: Process, platform: str, **wanted: Any) -> Subscription:
        """Let the chat of a platform be told at once, or as `wanted` says."""
        chat = await self.chat(process, platform)
        subscription = Subscription(chat=chat, **{"mode": PostingMode.INSTANT} | wanted)
        return await Subscriptions(process.app.database).set(subscription, now=self.clock())

    def daily(self, hours: int) -> dict[str, Any]:
        """What is wanted by who is told daily, for the first time in so many hours."""
        at = (self.clock() + hours * HOUR).time().replace(second=0, microsecond=0)
        return {"mode": PostingMode.DAILY, "at": at}

    async def chat(self, process: Process, platform: str) -> Chat:
        external_id = str(self.group.id) if platform == "telegram" else self.channel.id
        return await Chats(process.app.database).meet(
            platform, external_id, private=False, title="Friends"
        )

    async def news(self, process: Process, *headlines: str) -> None:
        """Let the feed bring headlines, and search them."""
        await process.jobs.poll()
        self.clock.wind(HOUR)
        self.publish(*(headlines or (HEADLINE,)))
        await process.jobs.poll()
        await process.jobs.search()

    async def deliver(self, process: Process) -> None:
        """Deliver until nothing more can be sent just now."""
        while await process.jobs.deliver():
            self.clock.wind(timedelta(seconds=2))  # chats are paced

    def said(self, platform: str) -> list[Any]:
        """What the bot has said in the chat of a platform."""
        return self.group.bot_messages if platform == "telegram" else self.slack.bot_messages


@asynccontextmanager
async def newsroom(database_url: str, **environment: str) -> AsyncIterator[Newsroom]:
    """Open everything. No request may have been wrong."""
    clock = Clock()
    async with (
        TelegramServer() as telegram,
        SlackServer(clock=lambda: clock().timestamp()) as slack,
        ModelServer([scoring(judged_by_words)]) as model,
        WebServer() as web,
        AsyncExitStack() as stack,
    ):
        environ = {
            "DATABASE_URL": database_url,
            **telegram.environ,
            **slack.environ,
            "PRESAGIO_CHAT__ACCESS": "open",
            "PRESAGIO_LLM__BASE_URL": model.base_url,
            "PRESAGIO_LLM__RETRIES": "0",
            "PRESAGIO_FETCH__ALLOW_NETWORKS": '["127.0.0.0/8"]',
        }
        yield Newsroom(clock, telegram, slack, model, web, environ | environment, stack)
        await stack.aclose()
        assert telegram.errors == []
        assert slack.host.broken == []
