"""Many people, each alone with the bot, on any platform that has other people."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager

from tests.fakes.slack import App, Message, SlackServer
from tests.fakes.telegram import TelegramServer

PLATFORMS = ("telegram", "slack")
_TRIES = 3


class Crowd(ABC):
    """The people, by number, and what they get to see."""

    environ: Mapping[str, str]  # how a bot reaches the platform

    @abstractmethod
    async def listening(self, seconds: float) -> None:
        """Return when a bot listens."""

    @abstractmethod
    async def say(self, who: int, text: str) -> None:
        """One of them writes."""

    @abstractmethod
    def answers(self, who: int) -> list[str]:
        """The first lines of what one was answered, in order: the headlines."""

    @abstractmethod
    async def until_answered(self, who: int, number: int, seconds: float) -> None:
        """Return when one has so many answers."""

    @abstractmethod
    async def told_again(self) -> None:
        """Return when the bot was told once more of everything, and has taken note of it."""

    @abstractmethod
    async def settled(self) -> None:
        """Return when the platform has nothing more to tell."""

    async def exchange(self, who: int, texts: Sequence[str], seconds: float) -> list[str]:
        """Say everything at once; return the first lines of as many answers."""
        known = len(self.answers(who))
        for text in texts:
            await self.say(who, text)
        await self.until_answered(who, known + len(texts), seconds)
        return self.answers(who)[known:]


def _answers(texts: Iterable[str]) -> list[str]:
    """The first lines of texts that are answers, and not the step which a slow one waits for."""
    return [line for text in texts if not (line := text.split("\n")[0]).endswith("…")]


class TelegramCrowd(Crowd):
    """Private chats."""

    def __init__(self, server: TelegramServer, people: int) -> None:
        self._server = server
        self.environ = server.environ | {"PRESAGIO_CHAT__ACCESS": "open"}
        self._users = [server.user(f"P{number}") for number in range(people)]
        self._chats = [server.private_chat(user) for user in self._users]

    async def listening(self, seconds: float) -> None:
        known = len(self._server.called("getUpdates"))
        await self._server.until_called("getUpdates", known + 1, timeout=seconds)

    async def say(self, who: int, text: str) -> None:
        await self._users[who].says(self._chats[who], text)

    def answers(self, who: int) -> list[str]:
        return _answers(message.text for message in self._chats[who].bot_messages)

    async def until_answered(self, who: int, number: int, seconds: float) -> None:
        await self._chats[who].until(lambda _: len(self.answers(who)) >= number, timeout=seconds)

    async def told_again(self) -> None:
        for number in self._server.updates:
            self._server.redeliver(number)
        await self.settled()

    async def settled(self) -> None:
        await self._server.until_acknowledged()
        assert self._server.errors == []


class SlackCrowd(Crowd):
    """Direct messages."""

    def __init__(self, server: SlackServer, people: int) -> None:
        self._server, self.environ = server, server.environ
        self._users = [server.user(f"p{number}") for number in range(people)]
        self._channels = [server.im(user) for user in self._users]

    async def listening(self, seconds: float) -> None:
        await self._server.until(lambda: self._server.connections, seconds)

    async def say(self, who: int, text: str) -> None:
        await self._users[who].says(self._channels[who], text)

    def answers(self, who: int) -> list[str]:
        return _answers(one.visible for one in self._said(who))

    async def until_answered(self, who: int, number: int, seconds: float) -> None:
        await self._server.until(lambda: len(self.answers(who)) >= number, seconds)

    def _said(self, who: int) -> list[Message]:
        return [
            message
            for message in self._channels[who].messages
            if message.author is self._server.bot
        ]

    async def told_again(self) -> None:
        for envelope in [*self._server.envelopes]:
            # Slack tries three times, as an app on a busy machine may be late.
            failures = [await self._server.redeliver(envelope)]
            while failures[-1] and len(failures) < _TRIES:
                failures.append(await self._server.redeliver(envelope))
            assert not failures[-1], failures

    async def settled(self) -> None:
        await self._server.quiet(within=30)
        assert self._server.host.broken == []


@asynccontextmanager
async def crowd_on(platform: str, people: int, app: App | None = None) -> AsyncIterator[Crowd]:
    """A stand-in for the platform, with so many people; `app` is how Slack has installed it."""
    if platform == "telegram":
        async with TelegramServer() as telegram:
            yield TelegramCrowd(telegram, people)
    else:
        async with SlackServer(app) as slack:
            yield SlackCrowd(slack, people)
