"""The whole of it: feeds, a model, two platforms, a database and several processes."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from db.chat.chats import Chats
from db.embedded.server import EmbeddedServer
from db.pool import Database
from db.posting.subscriptions import Subscriptions
from engine.errors import StorageError
from engine.posting.types import PostingMode, Subscription
from tests.db.loading import document, load
from tests.fakes.model import ModelServer, scoring
from tests.fakes.slack import SlackServer
from tests.fakes.telegram import TelegramServer
from tests.fakes.web import WebServer
from tests.scenarios.chaos import omens
from tests.scenarios.chaos.hurried import HurriedClock
from tests.scenarios.chaos.omens import Omen
from tests.scenarios.chaos.processes import Processes, processes
from tests.scenarios.chaos.server import CARELESS, StopMode, restart
from tests.scenarios.chaos.trouble import Known, Trouble, slack_slows_down, telegram_slows_down
from tests.scenarios.stage import judged_by_words

_LOOK_SECONDS = 0.2
_AIM_SECONDS = 60.0
KILLED = "killed between send and settle"
_BEST = 10
# Begun and not settled: what a process that dies now may have shown.
_UNDER_WAY = """
SELECT c.external_id, d.content::text FROM delivery d JOIN chat c ON c.id = d.chat_id
 WHERE d.state = 'owed' AND d.begun_at IS NOT NULL AND d.lease IS NOT NULL
"""
_SERVING = """
SELECT application_name FROM pg_stat_activity WHERE application_name LIKE 'presagio %'
 GROUP BY 1 HAVING count(*) >= 3
"""
_LEADER = """
SELECT split_part(holder, ':', 2)::integer FROM lease
 WHERE name = 'leader' AND lease_holds(expires_at, seconds)
"""
_DELIVERIES = """
SELECT c.external_id, d.content::text, d.state FROM delivery d JOIN chat c ON c.id = d.chat_id
"""


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much of everything. Half of the chats are on Telegram, one in five is told daily."""

    stories: int
    chats: int
    categories: int  # of stories; each chat follows two
    kills: int
    restarts: int
    pause: float  # seconds between two kills, on average
    rate: float  # of the clock
    processes: int = 3
    seed: int = 4


@dataclass(frozen=True)
class Told:
    """A chat with what it wants."""

    platform: str
    external_id: str
    subscription: Subscription


@dataclass
class Chaos:
    """Everything, running, and what was done to it."""

    size: Size
    clock: HurriedClock
    telegram: TelegramServer
    slack: SlackServer
    model: ModelServer
    web: WebServer
    trouble: dict[str, Trouble]
    server: EmbeddedServer
    database: Database
    processes: Processes
    stories: Sequence[Omen]
    chats: list[Told] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)  # kills and restarts, by kind
    _published: int = 0
    _restarts: int = 0

    @property
    def categories(self) -> list[str]:
        return [f"c{number}" for number in range(self.size.categories)]

    # What is there before

    async def people(self) -> None:
        """Let the chats be and subscribe."""
        later = (self.clock() + timedelta(hours=12)).time()  # `_daily_posts` sets it
        for number in range(self.size.chats):
            platform = ("telegram", "slack")[number % 2]
            external_id = self._place(platform, number)
            chat = await Chats(self.database).meet(
                platform, external_id, private=False, title=f"Chat {number}"
            )
            follows = islice(cycle(self.categories), number // 2, number // 2 + 2)
            mode = PostingMode.DAILY if number % 10 in (2, 3) else PostingMode.INSTANT
            subscription = Subscription(
                chat=chat, mode=mode, at=later, best=_BEST, categories=tuple(follows)
            )
            stored = await Subscriptions(self.database).set(subscription, now=self.clock())
            self.chats.append(Told(platform, external_id, stored))

    def _place(self, platform: str, number: int) -> str:
        if platform == "telegram":
            owner = self.telegram.user(f"Owner {number}")
            return str(self.telegram.group(f"Chat {number}", admins=[owner]).id)
        return self.slack.channel(f"chat-{number}", [self.slack.user(f"u{number}")]).id

    async def tweets(self) -> None:
        """Fill the corpus, one tweet a story."""
        documents = [
            document(one.code, one.tweet, day=number, author="ana")
            for number, one in enumerate(self.stories)
        ]
        await load(self.database, "tweets", documents, "english")

    def publish(self, number: int) -> None:
        """Let the feeds hold so many stories."""
        self._published = number
        for category in self.categories:
            page = omens.feed(category, self.stories[:number])
            self.web.pages[omens.path(category)] = page

    # What is done to it

    async def open(self) -> None:
        """Start the processes, and let them read the feeds for the first time."""
        for _ in range(self.size.processes):
            await self.processes.start()
        await self.until(self.all_serve, "all processes serve", 60)
        await self.until(self._primed, "the feeds were read", 60)

    async def play(self, said: Callable[[str], None] = lambda _: None) -> None:
        """Bring the stories while processes are killed and the database restarts."""
        await self.open()
        said("the feeds are being read")
        await self._kills(said)
        for trouble in self.trouble.values():
            trouble.cease()

    async def _kills(self, said: Callable[[str], None]) -> None:
        """Kill at random, and every other time a process whose post has just been shown.

        Before each kill some stories come, so that there always is something to be sent.
        """
        chance, size = random.Random(self.size.seed), self.size
        every = max(1, size.kills // (size.restarts + 1))
        for number in range(1, size.kills + 1):
            self.publish(size.stories * number // size.kills)
            await asyncio.sleep(size.pause * chance.uniform(0.3, 1.7))
            if number % 2:
                await self._kill(chance.choice(self.processes.running), "killed at random")
            else:
                await self._kill_sender(("telegram", "slack")[number // 2 % 2])
            await self.processes.start()
            if number % every == 0 and self._restarts < size.restarts:
                await self._restart()
            said(f"{number} of {size.kills} kills")
            if number == (size.kills + 1) // 2:
                await self._daily_posts()

    async def _daily_posts(self) -> None:
        """Let the daily posts be due soon, once every story so far was judged.

        However slow the machine is, each has more than one story to tell.
        """
        await self.until(self._judged, "the stories so far were judged", 120)
        soon = (self.clock() + timedelta(minutes=2)).time().replace(second=0, microsecond=0)
        subscriptions = Subscriptions(self.database)
        for told in self.chats:
            if told.subscription.mode is PostingMode.DAILY:
                await subscriptions.set(replace(told.subscription, at=soon), now=self.clock())

    async def _kill_sender(self, platform: str) -> None:
        async with asyncio.timeout(_AIM_SECONDS):
            port = await self.trouble[platform].sender()
        process = self.processes.behind(port)
        assert process, "nobody has sent this"
        await self._kill(process, "killed on aim")

    async def _kill(self, process: "asyncio.subprocess.Process", how: str) -> None:
        """Kill, and note which posts were shown and not settled by that process."""
        await self.processes.freeze(process)
        ports = self.processes.ports(process)
        await self.processes.kill(process)
        self.done[how] += 1
        unsettled = {Known(chat, omens.codes(said)) for chat, said in await self.rows(_UNDER_WAY)}
        for platform, trouble in self.trouble.items():
            self.done[f"{platform}: {KILLED}"] += trouble.killed(ports, unsettled)

    async def _restart(self) -> None:
        """Restart the database, as a crash does and as an administrator does, in turn.

        Nobody starts meanwhile: who finds no database then says so and ends.
        """
        await self.until(self.all_serve, "all processes serve", 60)
        mode: StopMode = "fast" if self._restarts % 2 else "immediate"
        await asyncio.to_thread(restart, self.server, mode)
        self.done[f"restarted, {mode}"] += 1
        self._restarts += 1

    # What came of it

    async def settled(self) -> None:
        """Return when every chat was told of all that it is to be told, or too much time went."""
        await self.until(self._all_told, "everything was told", 300)

    async def leader(self) -> "asyncio.subprocess.Process | None":
        """Return the process that leads; None when nobody does just now."""
        for (number,) in await self.rows(_LEADER):
            return self.processes.numbered(number)
        return None

    async def moved(self, what: Callable[["asyncio.subprocess.Process"], Awaitable[None]]) -> float:
        """Do something to the leader; return the seconds until another process leads."""
        leader = await self.leader()
        assert leader, "nobody leads"
        begun = time.monotonic()
        await what(leader)

        async def another_leads() -> bool:
            return await self.leader() not in (leader, None)

        await self.until(another_leads, "another leads", 60)
        return time.monotonic() - begun

    async def all_serve(self) -> bool:
        """Tell whether every process has its sessions: for the pool, event claims, to lead."""
        serving = {name for (name,) in await self.rows(_SERVING)}
        return {f"presagio {one.pid}" for one in self.processes.running} <= serving

    async def _primed(self) -> bool:
        rows = await self.rows("SELECT count(*) FROM feed WHERE succeeded_at IS NOT NULL")
        return rows == [(self.size.categories,)]

    async def _judged(self) -> bool:
        judged = await self.rows("SELECT count(*) FROM find WHERE state = 'judged'")
        return judged == [(self._published,)]

    async def _all_told(self) -> bool:
        rows = await self.rows(
            "SELECT (SELECT count(*) FROM delivery WHERE state = 'owed'),"
            "       (SELECT count(*) FROM digest)"
        )
        daily = sum(one.subscription.mode is PostingMode.DAILY for one in self.chats)
        return rows == [(0, daily)] and not self.missing()

    def shown(self, platform: str) -> Counter[Known]:
        """Count what people see in the chats of a platform."""
        if platform == "slack":
            said = [(one.channel.id, one.visible) for one in self.slack.bot_messages]
        else:
            chats = self.telegram.world.chats.values()
            said = [(str(one.id), post.text) for one in chats for post in one.bot_messages]
        return Counter(Known(chat, omens.codes(text)) for chat, text in said)

    def missing(self) -> set[Known]:
        """Return the published stories that a chat should have been told at once and was not."""
        shown = self.shown("telegram") + self.shown("slack")
        return {
            Known(told.external_id, (story.code,))
            for told in self.chats
            if told.subscription.mode is PostingMode.INSTANT
            for story in self.stories[: self._published]
            if story.category in told.subscription.categories
        } - shown.keys()

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

    # Looking

    async def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """What the database says, as soon as it says anything."""
        while True:
            try:
                async with self.database.connection() as connection:
                    return [tuple(row) for row in await connection.fetch(statement)]
            except StorageError:
                await asyncio.sleep(_LOOK_SECONDS)

    async def until(self, holds: Callable[[], Awaitable[bool]], what: str, seconds: float) -> None:
        """Wait for what other processes bring about. AssertionError when it takes too long."""
        try:
            async with asyncio.timeout(seconds):
                while not await holds():  # noqa: ASYNC110 - they tell nobody here
                    await asyncio.sleep(_LOOK_SECONDS)
        except TimeoutError:
            missing = sorted(self.missing())[:5] if self.chats else ()
            raise AssertionError(f"not within {seconds:g} s: {what}; missing {missing}") from None


@asynccontextmanager
async def chaos(size: Size, folder: Path) -> AsyncIterator[Chaos]:
    """Lend everything, on a server of its own in `folder`; no process runs yet."""
    clock = HurriedClock(time.time(), size.rate)
    trouble = {
        "telegram": Trouble(telegram_slows_down, size.seed),
        "slack": Trouble(slack_slows_down, size.seed + 1),
    }
    server = EmbeddedServer(folder / "data", extra=CARELESS)
    await asyncio.to_thread(server.acquire)
    try:
        async with _surrounded(size, clock, trouble, server, folder) as stage:
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
) -> AsyncIterator[Chaos]:
    """Everything on a server that runs. No request may have been wrong."""
    before = {name: (one.middleware,) for name, one in trouble.items()}
    async with (
        TelegramServer(clock=clock.seconds, middlewares=before["telegram"]) as telegram,
        SlackServer(clock=clock.seconds, middlewares=before["slack"]) as slack,
        ModelServer([scoring(judged_by_words)]) as model,
        WebServer() as web,
    ):
        database = await Database.open(server.url())
        await database.migrate()
        environ = _environ(folder, server.url(), telegram, slack, model)
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
            _configure(folder / "config.toml", [web.url(omens.path(name)) for name in names], names)
            await stage.tweets()
            await stage.people()
            stage.publish(0)
            yield stage
        await database.close()
        assert telegram.errors == []


def _environ(
    folder: Path, url: str, telegram: TelegramServer, slack: SlackServer, model: ModelServer
) -> dict[str, str]:
    return {
        "PRESAGIO_CONFIG": str(folder / "config.toml"),
        "DATABASE_URL": url,
        "TELEGRAM_BOT_TOKEN": telegram.token,
        "PRESAGIO_TELEGRAM__API_BASE": telegram.root,
        "PRESAGIO_CHAT__ACCESS": "open",
        "SLACK_BOT_TOKEN": slack.bot_token,
        "SLACK_APP_TOKEN": slack.app_token,
        "PRESAGIO_SLACK__API_BASE": slack.base_url,
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
