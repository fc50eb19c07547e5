"""What is there: feeds, a model, two platforms, a database and several processes."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import cycle, islice
from typing import Any

from db.chat.chats import Chats
from db.embedded.server import EmbeddedServer
from db.pool import Database
from db.posting.subscriptions import Subscriptions
from engine.errors import StorageError
from engine.posting.delivery import PostingMode, Subscription
from tests.database import fetch_rows
from tests.db.loading import document, load
from tests.fakes.model import ModelServer
from tests.fakes.slack import SlackServer
from tests.fakes.telegram import TelegramServer
from tests.fakes.web import WebServer
from tests.patience import PATIENCE, until
from tests.scenarios.chaos import omens
from tests.scenarios.chaos.hurried import HurriedClock
from tests.scenarios.chaos.omens import Omen
from tests.scenarios.chaos.processes import Processes
from tests.scenarios.chaos.trouble import Known, Trouble

_LOOK_SECONDS = 0.2
_BEST = 10


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
    refused_minutes: float = 0  # of the hurried clock, for which the platforms take no post


@dataclass(frozen=True)
class Told:
    """A chat with what it wants."""

    platform: str
    external_id: str
    subscription: Subscription


@dataclass
class World:
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
    def refused_seconds(self) -> float:
        """For how long the platforms refuse, in seconds of the machine's own clock."""
        return self.size.refused_minutes * 60 / self.size.rate

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

    # What people see

    def shown(self, platform: str) -> Counter[Known]:
        """Count what people see in the chats of a platform."""
        if platform == "slack":
            said = [(message.channel.id, message.visible) for message in self.slack.bot_messages]
        else:
            chats = self.telegram.world.chats.values()
            said = [(str(one.id), post.text) for one in chats for post in one.bot_messages]
        return Counter(Known(chat, omens.codes(text)) for chat, text in said)

    def missing(self) -> set[Known]:
        """Return the published stories that a chat should have been told at once and was not."""
        shown = self.shown("telegram") + self.shown("slack")
        return {
            Known(known.external_id, (story.code,))
            for known in self.chats
            if known.subscription.mode is PostingMode.INSTANT
            for story in self.stories[: self._published]
            if story.category in known.subscription.categories
        } - shown.keys()

    # Looking

    async def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """What the database says, as soon as it says anything."""
        while True:
            try:
                return [tuple(row) for row in await fetch_rows(self.database, statement)]
            except StorageError:
                await asyncio.sleep(_LOOK_SECONDS)

    async def until(
        self, holds: Callable[[], Awaitable[bool]], what: str, seconds: float = PATIENCE
    ) -> None:
        """Wait for what other processes bring about. AssertionError when it takes too long."""
        try:
            await until(holds, within=seconds)
        except TimeoutError:
            missing = sorted(self.missing())[:5] if self.chats else ()
            raise AssertionError(f"not within {seconds:g} s: {what}; missing {missing}") from None
