"""The whole of it: what is there, what is done to it, and what comes of it."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from db.embedded.server import EmbeddedServer
from engine.posting.delivery import PostingMode
from tests.database import pool_on
from tests.fakes.model import ModelServer, scoring
from tests.fakes.slack import SlackServer
from tests.fakes.telegram import TelegramServer
from tests.fakes.web import WebServer
from tests.patience import PATIENCE
from tests.scenarios.chaos import omens
from tests.scenarios.chaos.deeds import Deeds
from tests.scenarios.chaos.hurried import HurriedClock
from tests.scenarios.chaos.processes import processes
from tests.scenarios.chaos.server import CARELESS
from tests.scenarios.chaos.trouble import (
    Known,
    Trouble,
    slack_refuses,
    slack_slows_down,
    telegram_refuses,
    telegram_slows_down,
)
from tests.scenarios.chaos.world import Size
from tests.scenarios.stage import judged_by_words

_DELIVERIES = """
SELECT c.external_id, d.content::text, d.state FROM delivery d JOIN chat c ON c.id = d.chat_id
"""


class Chaos(Deeds):
    """Everything, with what came of it."""

    async def settled(self) -> None:
        """Return when every chat was told of all that it is to be told, or too much time went."""
        longest = 5 * PATIENCE + 2 * self.refused_seconds  # pauses grow with the attempts
        await self.until(self._all_told, "everything was told", longest)

    async def _all_told(self) -> bool:
        rows = await self.rows(
            "SELECT (SELECT count(*) FROM delivery WHERE state = 'owed'),"
            "       (SELECT count(*) FROM digest)"
        )
        daily = sum(chat.subscription.mode is PostingMode.DAILY for chat in self.chats)
        return rows == [(0, daily)] and not self.missing()

    async def deliveries(self) -> dict[Known, str]:
        """Return the state of every post that was ever decided."""
        rows = await self.rows(_DELIVERIES)
        found = {Known(chat, omens.codes(content)): state for chat, content, state in rows}
        assert len(found) == len(rows), "a story was decided twice for a chat"
        return found

    def unexcused(self) -> dict[Known, int]:
        """Return the posts that were shown more often than lost replies and kills excuse.

        Slack can be asked what arrived: nothing excuses it.
        """
        excuses = self.trouble["telegram"].unknown
        telegram = {
            post: times - 1 - excuses[post] for post, times in self.shown("telegram").items()
        }
        slack = {post: times - 1 for post, times in self.shown("slack").items()}
        return {post: times for post, times in (telegram | slack).items() if times > 0}


@asynccontextmanager
async def chaos(size: Size, folder: Path, *, url: str = "") -> AsyncIterator[Chaos]:
    """Lend everything, on the server of a URL or on one of its own in `folder`; no process runs
    yet."""
    clock = HurriedClock(time.time(), size.rate)
    trouble = {
        "telegram": Trouble(telegram_slows_down, telegram_refuses, size.seed),
        "slack": Trouble(slack_slows_down, slack_refuses, size.seed + 1),
    }
    server = EmbeddedServer(folder / "data", extra=CARELESS)
    if url:
        async with _surrounded(size, clock, trouble, server, folder, url) as stage:
            yield stage
        return
    await asyncio.to_thread(server.acquire)
    try:
        async with _surrounded(size, clock, trouble, server, folder, server.url()) as stage:
            yield stage
    finally:
        await asyncio.to_thread(server.release)


@asynccontextmanager
async def _surrounded(
    size: Size,
    clock: HurriedClock,
    trouble: dict[str, Trouble],
    server: EmbeddedServer,
    folder: Path,
    url: str,
) -> AsyncIterator[Chaos]:
    """Everything on a server that runs. No request may have been wrong."""
    before = {name: (one.middleware,) for name, one in trouble.items()}
    async with (
        TelegramServer(clock=clock.seconds, middlewares=before["telegram"]) as telegram,
        SlackServer(clock=clock.seconds, middlewares=before["slack"]) as slack,
        ModelServer([scoring(judged_by_words)]) as model,
        WebServer() as web,
    ):
        async with pool_on(url) as database:
            await database.migrate()
            environ = _environ(folder, url, telegram, slack, model)
            names = [f"c{number}" for number in range(size.categories)]
            async with processes(clock, environ, folder / "processes.log") as running:
                stage = Chaos(
                    size=size,
                    clock=clock,
                    telegram=telegram,
                    slack=slack,
                    model=model,
                    web=web,
                    trouble=trouble,
                    server=server,
                    database=database,
                    processes=running,
                    stories=omens.omens(size.stories, names, size.seed),
                )
                _configure(
                    folder / "config.toml", [web.url(omens.path(name)) for name in names], names
                )
                await stage.tweets()
                await stage.people()
                stage.publish(0)
                yield stage
        assert telegram.errors == []


def _environ(
    folder: Path,
    url: str,
    telegram: TelegramServer,
    slack: SlackServer,
    model: ModelServer,
) -> dict[str, str]:
    return {
        "PRESAGIO_CONFIG": str(folder / "config.toml"),
        "DATABASE_URL": url,
        **telegram.environ,
        **slack.environ,
        "PRESAGIO_CHAT__ACCESS": "open",
        "PRESAGIO_LLM__BASE_URL": model.base_url,
        "PRESAGIO_LLM__DAILY_TOKENS": "-1",
        "PRESAGIO_LLM__DAILY_USD": "-1",
        "PRESAGIO_EMBEDDINGS__BACKEND": "null",
        "PRESAGIO_FETCH__ALLOW_NETWORKS": '["127.0.0.0/8"]',
        "PRESAGIO_POLLING__INTERVAL_MINUTES": "0.5",
    }


def _configure(file: Path, urls: Sequence[str], categories: Sequence[str]) -> None:
    tables = (
        f'[[feeds]]\nurl = "{url}"\ncategory = "{category}"\n'
        for url, category in zip(urls, categories, strict=True)
    )
    file.write_text("\n".join(tables))
