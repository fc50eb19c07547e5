"""A person in a chat of either platform: does something, and is answered so many times.

Nothing else may be said in the chat meanwhile.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from tests.fakes import slack, telegram
from tests.patience import PATIENCE

Said = TypeVar("Said", telegram.Message, slack.Message)


@dataclass(kw_only=True)
class Passing:
    """What was seen for a moment: a button pressed, and the words that answered it; or a command,
    which Slack shows to nobody."""

    at: float
    chat: str
    who: str
    button: str = ""
    words: str = ""
    command: str = ""


@dataclass(eq=False, kw_only=True)
class Seat(ABC, Generic[Said]):
    """Where a person sits. `seconds` tells the time of the week."""

    seconds: Callable[[], float] = time.time
    passing: list[Passing] = field(default_factory=list)
    asked: Said | None = field(default=None, init=False)  # the person's latest message

    @property
    @abstractmethod
    def said(self) -> Sequence[Said]:
        """What the bot has said in the chat."""

    @abstractmethod
    async def says(self, text: str, *, answers: int = 1) -> str:
        """Write; return the last answer, "" if none is due."""

    @abstractmethod
    async def calls(self, text: str) -> str:
        """Write to the bot by its name."""

    async def commands(self, text: str) -> str:
        """Write a command in the way of the platform."""
        return await self.says(text)

    @property
    def buttons(self) -> list[str]:
        """The labels below the latest message."""
        return self.said[-1].labels

    @abstractmethod
    async def presses(self, button: str) -> str:
        """Press a button on the latest message that has it; return what then stands there."""

    @abstractmethod
    async def edits(self, text: str) -> str:
        """Change the latest message; return the answer as it is now."""

    def _new(self, before: int, answers: int, did: str) -> Sequence[Said]:
        new = self.said[before:]
        assert len(new) == answers, f"{did!r} was answered by {[_text(one) for one in new]}"
        return new


def _text(message: telegram.Message | slack.Message) -> str:
    return message.text if isinstance(message, telegram.Message) else message.visible


@dataclass(eq=False, kw_only=True)
class TelegramSeat(Seat[telegram.Message]):
    """In a chat on Telegram, or in a topic of one."""

    server: telegram.TelegramServer
    user: telegram.User
    chat: telegram.Chat
    topic: telegram.Topic | None = None

    @property
    def said(self) -> list[telegram.Message]:
        return self.chat.bot_messages

    async def says(
        self, text: str, *, answers: int = 1, reply_to: telegram.Message | None = None
    ) -> str:
        before = len(self.said)
        self.asked = await self.user.says(self.chat, text, reply_to=reply_to, thread=self.topic)
        await self.server.until_acknowledged(PATIENCE)
        new = self._new(before, answers, text)
        return new[-1].text if new else ""

    async def calls(self, text: str) -> str:
        return await self.says(f"@{self.server.bot.username} {text}".strip())

    async def presses(self, button: str) -> str:
        before = len(self.said)
        carrying = [one for one in self.said if button in one.labels]
        press = await self.user.presses(carrying[-1], button)
        words = (await press.answered(PATIENCE)).text
        await self.server.until_acknowledged(PATIENCE)
        who, where = self.user.first_name, self.chat.title
        self.passing.append(
            Passing(at=self.seconds(), chat=where, who=who, button=button, words=words)
        )
        new = self._new(before, min(len(self.said) - before, 1), button)
        return (new[-1] if new else carrying[-1]).text

    async def edits(self, text: str) -> str:
        assert self.asked
        before = len(self.said)
        answer = self.said[-1]
        await self.user.edits(self.asked, text)
        await self.server.until_acknowledged(PATIENCE)
        self._new(before, 0, text)
        assert answer.edits == 1
        return answer.text


@dataclass(eq=False, kw_only=True)
class SlackSeat(Seat[slack.Message]):
    """In a channel or a direct message on Slack."""

    server: slack.SlackServer
    user: slack.User
    channel: slack.Channel
    thread: slack.Message | None = None

    @property
    def said(self) -> list[slack.Message]:
        everything = self.channel.messages + self.channel.ephemerals
        own = [one for one in everything if one.author is self.server.bot]
        return sorted(own, key=lambda one: float(one.ts))

    async def says(self, text: str, *, answers: int = 1) -> str:
        before = len(self.said)
        self.asked = await self.user.says(self.channel, text)
        return await self._answered(before, answers, text)

    async def calls(self, text: str) -> str:
        before = len(self.said)
        self.asked = await self.user.mentions_bot(self.channel, text, thread=self.thread)
        return await self._answered(before, 1, text)

    async def commands(self, text: str) -> str:
        name, _, rest = text.removeprefix("/").partition(" ")
        before = len(self.said)
        where = f"#{self.channel.name}"
        self.passing.append(
            Passing(at=self.seconds(), chat=where, who=self.user.name, command=text)
        )
        if name == "prophecy":
            await self.user.commands(self.channel, f"/{name}", rest)
        else:
            await self.user.commands(self.channel, "/presagio", text.removeprefix("/"))
        return await self._answered(before, 1, text)

    async def presses(self, button: str) -> str:
        before = len(self.said)
        carrying = [one for one in self.said if button in one.labels][-1]
        edits = len(carrying.earlier_texts)
        await self.user.clicks(carrying, button)
        await self._until(
            lambda: len(self.said) > before or len(carrying.earlier_texts) > edits, button
        )
        new = self._new(before, min(len(self.said) - before, 1), button)
        return (new[-1] if new else carrying).visible

    async def edits(self, text: str) -> str:
        assert self.asked
        before, answer = len(self.said), self.said[-1]
        edits = len(answer.earlier_texts)
        await self.user.edits(self.asked, text)
        await self._until(lambda: len(answer.earlier_texts) > edits, text)
        self._new(before, 0, text)
        return answer.visible

    async def deletes(self) -> None:
        """Delete the latest message; the answer goes with it."""
        assert self.asked
        before = len(self.said)
        await self.user.deletes(self.asked)
        await self._until(lambda: len(self.said) == before - 1, "deletion")

    async def _answered(self, before: int, answers: int, did: str) -> str:
        await self._until(lambda: len(self.said) >= before + answers, did)
        new = self._new(before, answers, did)
        return new[-1].visible if new else ""

    async def _until(self, seen: Callable[[], bool], did: str) -> None:
        try:
            await self.server.until(seen, PATIENCE)
        except TimeoutError:
            said = [one.visible for one in self.said]
            raise AssertionError(f"{did!r} was not answered; the chat shows {said}") from None
        await self.server.quiet(PATIENCE)
