"""Both platforms, a model, two papers, a database, and the process that serves, which dies."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from db.pool import Database
from tests.database import allow_connections, fetch_rows
from tests.fakes.model import ModelServer, scoring
from tests.fakes.slack import App, SlackServer
from tests.fakes.telegram import TelegramServer
from tests.fakes.web import WebServer
from tests.patience import PATIENCE, until
from tests.scenarios.chaos.processes import start_module
from tests.scenarios.seats import Passing
from tests.scenarios.week import news
from tests.scenarios.week.clock import WoundClock

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
DAYS = 7
_LOOK_SECONDS = 0.1
_FEEDS = {"en": "/en.xml", "es": "/es.xml"}
_OWED = "SELECT count(*) FROM delivery WHERE state = 'owed'"


@dataclass
class Aim:
    """Lets one call of a platform hang, before it has done anything or after it has shown it."""

    _hit: "asyncio.Future[None] | None" = None
    _method: str = ""
    _shown: bool = False

    def at(self, method: str, *, shown: bool) -> "asyncio.Future[None]":
        """Take aim; the result is there when the call hangs."""
        self._method, self._shown = method, shown
        self._hit = asyncio.get_running_loop().create_future()
        return self._hit

    @property
    def middleware(self) -> Middleware:
        """What stands before the platform."""

        @web.middleware
        async def hold(request: web.Request, handler: Handler) -> web.StreamResponse:
            hit = self._hit
            if hit is None or hit.done() or not request.path.endswith(f"/{self._method}"):
                return await handler(request)
            if self._shown:
                await handler(request)
            hit.set_result(None)
            await asyncio.Event().wait()  # until the client is dead
            raise AssertionError

        return hold


@dataclass
class Week:
    """Everything, and the time."""

    clock: WoundClock
    telegram: TelegramServer
    slack: SlackServer
    model: ModelServer
    papers: WebServer
    database: Database
    environ: dict[str, str]
    log: Path
    aims: dict[str, Aim]
    passing: list[Passing] = field(default_factory=list)
    kills: int = 0
    _published: int = 0
    _serving: "asyncio.subprocess.Process | None" = None

    # The process

    async def start(self) -> None:
        """Start a process; return when it listens on both platforms."""
        known = len(self.telegram.called("getUpdates"))
        with self.log.open("ab") as log:
            module = "tests.scenarios.week.clock"
            self._serving = await start_module(log, self.environ, module, str(self.clock.file))
        await self.telegram.until_called("getUpdates", known + 1, PATIENCE)
        await self.slack.until_connected(within=PATIENCE)

    async def kill(self) -> None:
        """End it without a word."""
        assert self._serving
        self._serving.kill()
        await self._serving.wait()
        await self.slack.until_connected(0, within=PATIENCE)
        self.kills += 1

    async def stop(self) -> None:
        """Kill what runs, if anything does."""
        if self._serving and self._serving.returncode is None:
            self._serving.kill()
            await self._serving.wait()

    async def code(self, platform: str) -> str:
        """Return the code that makes the owner, as the process has shown it."""
        await until(lambda: re.search(rf"{platform}: .*start", self.log.read_text()))
        found = re.search(rf"{platform}: .*start (\w+)", self.log.read_text())
        assert found
        return found[1]

    @asynccontextmanager
    async def without_database(self) -> AsyncIterator[None]:
        """Let nobody into the database, and throw out who is there, until the block ends."""
        url = self.environ["DATABASE_URL"]
        await self.database.close()
        await allow_connections(url, allowed=False)
        try:
            yield
        finally:
            await allow_connections(url, allowed=True)
            self.database = await Database.open(url)

    # The papers and their time

    def set_time(self, day: int, hour: int, minute: int = 0) -> None:
        """Wind the clock to an hour of a day, 0 for Monday."""
        self.clock.wind_to(datetime.combine(MONDAY + timedelta(days=day), time(hour, minute), UTC))

    def publish(self, stories: int) -> None:
        """Let the papers hold what is of no note, and so many stories each."""
        self._published = stories
        for number, (language, titles) in enumerate(
            {"en": news.ENGLISH, "es": news.SPANISH}.items()
        ):
            page = news.paper(language, [news.DULL[number], *titles[:stories]])
            self.papers.pages[_FEEDS[language]] = page

    async def feeds_were_read(self) -> None:
        """Return when both papers have been read for the first time."""
        read = "SELECT count(*) FROM feed WHERE succeeded_at IS NOT NULL"
        await self.until_rows(read, len(_FEEDS))

    async def stories_were_judged(self, corpora: int) -> None:
        """Return when what was published has been searched in so many archives, and judged."""
        number = len(_FEEDS) * self._published
        await self.until_rows("SELECT count(*) FROM story", number)
        judged = "SELECT count(*) FROM find WHERE state <> 'promising'"
        await self.until_rows(judged, number * corpora)

    async def decided(self, posts: int) -> None:
        """Return when so many posts were decided, of all days."""
        await self.until_rows("SELECT count(*) FROM digest", posts)

    async def delivered(self) -> None:
        """Return when nothing is owed any more."""
        await self.until_rows(_OWED, 0)

    # Looking

    async def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Return what the database says."""
        return [tuple(row) for row in await fetch_rows(self.database, statement)]

    async def until_rows(self, statement: str, number: int) -> None:
        """Return when a count has come to a number."""
        found = None

        async def holds() -> bool:
            nonlocal found
            found = (await self.rows(statement))[0][0]
            return bool(found == number)

        try:
            await until(holds)
        except TimeoutError:
            raise AssertionError(f"{found}, not {number}: {statement}") from None


@asynccontextmanager
async def week(database_url: str, folder: Path, app: App) -> AsyncIterator[Week]:
    """Lend everything on the Monday at five; no process runs yet. No request may be wrong."""
    clock = WoundClock.at(MONDAY + timedelta(hours=5), folder / "clock")
    aims = {"telegram": Aim(), "slack": Aim()}
    async with (
        TelegramServer(clock=clock.seconds, middlewares=(aims["telegram"].middleware,)) as telegram,
        SlackServer(app, clock=clock.seconds, middlewares=(aims["slack"].middleware,)) as slack,
        ModelServer([scoring(news.judged_by_long_words)]) as model,
        WebServer() as papers,
    ):
        database = await Database.open(database_url)
        await news.load_archives(database)
        config = _config(folder, [papers.url(path) for path in _FEEDS.values()])
        environ = {
            "PRESAGIO_CONFIG": str(config),
            "DATABASE_URL": database_url,
            **telegram.environ,
            **slack.environ,
            "PRESAGIO_LLM__BASE_URL": model.base_url,
            "PRESAGIO_LLM__DAILY_TOKENS": "-1",
            "PRESAGIO_LLM__DAILY_USD": "-1",
            "PRESAGIO_FETCH__ALLOW_NETWORKS": '["127.0.0.0/8"]',
        }
        stage = Week(clock, telegram, slack, model, papers, database, environ, folder / "log", aims)
        stage.publish(0)
        try:
            yield stage
        finally:
            await stage.stop()
            await stage.database.close()
        assert telegram.errors == []
        assert slack.host.broken == []


def _config(folder: Path, urls: Sequence[str]) -> Path:
    file = folder / "config.toml"
    file.write_text("".join(f'[[feeds]]\nurl = "{url}"\n' for url in urls))
    return file
