"""One person and the bot in private, said and pressed in the same words on every platform.

Each verb returns what the person gets to see for it, which must be exactly one thing. When the
bot has ended, nothing beyond those may have been shown.
"""

import asyncio
import io
import os
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from bot.app import open_app
from bot.cli.chat import converse
from tests.fakes.slack import Message as SlackMessage
from tests.fakes.telegram import Message as TelegramMessage
from tests.fakes.telegram import Press
from tests.patience import PATIENCE, until
from tests.scenarios.slack.stage import SlackStage
from tests.scenarios.stage import Stage, Surroundings

_STOP = frozenset({"Stop", "Parar"})  # buttons of an announcement


@dataclass(frozen=True, slots=True)
class Shown:
    """What a person sees."""

    text: str
    buttons: Sequence[str] = ()
    picture: bytes | None = None


class Talk(ABC):
    """The person's side of a conversation."""

    stage: Surroundings
    _serving: Callable[[], AbstractAsyncContextManager[None]]

    def __init__(self) -> None:
        self._counted = 0

    async def says(self, text: str) -> Shown:
        """Write to the bot."""
        return self._once(await self._say(text))

    async def commands(self, text: str) -> Shown:
        """Write "/why" or the like, in the way of the platform."""
        return self._once(await self._command(text))

    async def presses(self, button: str) -> Shown:
        """Press the button with that label, on the latest message that has it."""
        return self._once(await self._press(button))

    async def edits(self, text: str) -> Shown:
        """Edit the latest message; return the bot's message that changed with it."""
        pytest.skip(f"{type(self).__name__}: nothing is edited there")

    async def replies(self, command: str) -> Shown:
        """Write a command in reply to one's own latest message."""
        pytest.skip(f"{type(self).__name__}: a command replies to nothing there")

    async def replies_to_first(self, command: str) -> Shown:
        """Write a command in reply to the bot's first message."""
        pytest.skip(f"{type(self).__name__}: a message of the bot is not replied to there")

    async def says_slowly(self, text: str) -> tuple[str, Shown]:
        """Write what takes long to answer; return what is shown first, and the answer."""
        pytest.skip(f"{type(self).__name__}: a step is shown on a terminal alone")

    async def composes(self, text: str = "", *, button: str = "") -> tuple[str, Shown]:
        """Ask for a tweet; return what announces it, and what that becomes in the end."""
        announced = (await (self._press(button) if button else self._command(text))).text
        return announced, await self.composed_meanwhile()

    def lets_pass(self) -> None:
        """Ignore how often an announcement was edited so far."""
        self._counted = self._shown()

    async def composed_meanwhile(self) -> Shown:
        """What the latest announcement has become without anybody asking again."""
        shown = await self._composed()
        self.lets_pass()
        return shown

    async def changed(self) -> Shown:
        """What the latest answer has become without anybody doing anything."""
        pytest.skip(f"{type(self).__name__}: nothing is edited there")

    async def deletes(self) -> bool:
        """Delete the latest message; tell whether the answer went with it."""
        pytest.skip(f"{type(self).__name__}: the bot is not told of that there")

    def picture_of(self, shown: Shown) -> bytes:
        """The picture that a message shows."""
        assert shown.picture
        return shown.picture

    def outlives_process(self) -> None:
        """Go on only where buttons and what is being written survive a restart."""
        pytest.skip(f"{type(self).__name__}: what is asked for there ends with the process")

    def _once(self, shown: Shown) -> Shown:
        self._counted += 1
        self.assert_all_is_counted()
        return shown

    def assert_all_is_counted(self) -> None:
        """Nothing was shown that was not asked for."""
        assert self._shown() == self._counted

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """A bot that listens until the block ends, and has then shown nothing more."""
        async with self._serving():
            yield
        self.assert_all_is_counted()

    async def is_told_again(self) -> None:
        """The platform delivers everything once more."""
        pytest.skip(f"{type(self).__name__}: nothing is delivered twice there")

    @abstractmethod
    async def _say(self, text: str) -> Shown: ...

    async def _command(self, text: str) -> Shown:
        return await self._say(text)

    @abstractmethod
    async def _press(self, button: str) -> Shown: ...

    @abstractmethod
    async def _composed(self) -> Shown:
        """What the latest announcement became, which has no button to stop it any more."""

    @abstractmethod
    def _shown(self) -> int:
        """How many things were shown: messages, changed messages, words that pass."""


class TelegramTalk(Talk):
    """A private chat."""

    _WRITING = ("sendMessage", "sendPhoto", "editMessageText", "editMessageReplyMarkup")

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self.stage = stage
        self._telegram = stage.telegram
        self._alice = stage.telegram.user("Alice")
        self._chat = stage.telegram.private_chat(self._alice)
        self._passing = 0  # words on buttons that came with nothing else
        self._serving = stage.serving

    def outlives_process(self) -> None:
        """The database knows what its messages are about."""

    async def is_told_again(self) -> None:
        for number in self._telegram.updates:
            self._telegram.redeliver(number)
        await self._telegram.until_acknowledged()

    async def replies(self, command: str) -> Shown:
        return self._once(await self._say(command, self._asked))

    async def replies_to_first(self, command: str) -> Shown:
        return self._once(await self._say(command, self._chat.bot_messages[0]))

    async def edits(self, text: str) -> Shown:
        answer = self._chat.bot_messages[-1]
        await self._alice.edits(self._asked, text)
        await self._telegram.until_acknowledged()
        assert answer.edits == 1
        return self._once(_on_telegram(answer))

    async def changed(self) -> Shown:
        answer = self._chat.bot_messages[-1]
        await until(lambda: answer.edits)
        return self._once(_on_telegram(answer))

    async def says_slowly(self, text: str) -> tuple[str, Shown]:
        message = await self._alice.says(self._chat, text)
        step = await message.answer()
        first = step.text
        await self._telegram.until_acknowledged()
        self._counted += 1
        return first, self._once(_on_telegram(step))

    async def _say(self, text: str, reply_to: TelegramMessage | None = None) -> Shown:
        self._asked = message = await self._alice.says(self._chat, text, reply_to=reply_to)
        await message.answer()
        await self._telegram.until_acknowledged()
        return _on_telegram(self._chat.bot_messages[-1])

    async def _composed(self) -> Shown:
        message = self._chat.bot_messages[-1]
        await until(lambda: _STOP.isdisjoint(message.labels))
        return _on_telegram(message)

    async def _press(self, button: str) -> Shown:
        carrying = [message for message in self._chat.bot_messages if button in message.labels]
        before = self._writes()
        press: Press = await self._alice.presses(carrying[-1], button)
        await press.answered()
        await self._telegram.until_acknowledged()
        (word,) = press.answers
        if self._writes() == before:
            self._passing += 1
            return Shown(word.text, carrying[-1].labels)
        edited = self._telegram.calls[-1].method.startswith("edit")
        return _on_telegram(carrying[-1] if edited else self._chat.bot_messages[-1])

    @property
    def messages(self) -> int:
        """How many messages of the bot there are."""
        return len(self._chat.bot_messages)

    def _writes(self) -> int:
        return sum(call.method in self._WRITING and not call.error for call in self._telegram.calls)

    def _shown(self) -> int:
        return self._writes() + self._passing


def _on_telegram(message: TelegramMessage) -> Shown:
    return Shown(message.text, message.labels, message.photo.content if message.photo else None)


class SlackTalk(Talk):
    """A direct message, and slash commands in it."""

    def __init__(self, stage: SlackStage) -> None:
        super().__init__()
        self.stage = stage
        self._slack = stage.slack
        self._direct = stage.slack.im(stage.alice)
        self._alice = stage.alice
        self._serving = stage.serving

    def outlives_process(self) -> None:
        """The database knows what its messages are about."""

    async def is_told_again(self) -> None:
        for envelope in [*self._slack.envelopes]:
            assert await self._slack.redeliver(envelope) == ""

    async def replies_to_first(self, command: str) -> Shown:
        await self._alice.says(self._direct, command, thread=self._said()[0])
        return self._once(await self._next())

    async def edits(self, text: str) -> Shown:
        await self._alice.edits(self._asked, text)
        return await self.changed()

    async def changed(self) -> Shown:
        answer = self._said()[-1]
        await self._slack.until(lambda: answer.earlier_texts, PATIENCE)
        await self._slack.quiet()
        return self._once(self._whole(answer))

    async def deletes(self) -> bool:
        before = len(self._said())
        await self._alice.deletes(self._asked)
        await self._slack.until(lambda: len(self._said()) < before, PATIENCE)
        self._counted -= 1
        return True

    async def says_slowly(self, text: str) -> tuple[str, Shown]:
        await self._alice.says(self._direct, text)
        step = await self._next()
        self._counted += 1
        return step.text, await self.changed()

    async def _say(self, text: str) -> Shown:
        self._asked = await self._alice.says(self._direct, text)
        return await self._next()

    async def _command(self, text: str) -> Shown:
        name, _, rest = text.removeprefix("/").partition(" ")
        own = f"/{name}" in (self._slack.api.app.commands or ())
        written = (f"/{name}", rest) if own else ("/presagio", text.removeprefix("/"))
        await self._alice.commands(self._direct, *written)
        return await self._next()

    async def _press(self, button: str) -> Shown:
        carrying = [one for one in self._said() if button in one.labels]
        edits = len(carrying[-1].earlier_texts)
        await self._alice.clicks(carrying[-1], button)
        shown = await self._next()
        edited = len(carrying[-1].earlier_texts) > edits
        return self._whole(carrying[-1]) if edited else shown

    async def _composed(self) -> Shown:
        message = self._said()[-1]
        await self._slack.until(lambda: _STOP.isdisjoint(message.labels), PATIENCE)
        await self._slack.quiet()
        return self._whole(message)

    async def _next(self) -> Shown:
        """What comes after all that was counted."""
        await self._slack.until(lambda: self._shown() > self._counted, PATIENCE)
        await self._slack.quiet()
        return self._whole(self._said()[-1])

    @property
    def messages(self) -> int:
        """How many messages of the bot there are."""
        return len(self._said())

    def _said(self) -> list[SlackMessage]:
        return sorted(self._slack.bot_messages, key=lambda one: one.ts)

    def _shown(self) -> int:
        return sum(1 + len(one.earlier_texts) for one in self._said())

    def _whole(self, message: SlackMessage) -> Shown:
        shown, uploads = _on_slack(message), self._slack.files.uploads
        named = [block["slack_file"] for block in message.blocks if "slack_file" in block]
        files = [uploads[one["id"]].content for one in (*message.files, *named)]
        return Shown(shown.text, shown.buttons, files[0] if files else None)


def _on_slack(message: SlackMessage) -> Shown:
    return Shown(message.visible, message.labels)


class ConsoleTalk(Talk):
    """A terminal: lines into the standard input, and what is written to the standard output."""

    _BUTTON = re.compile(r":(\d+) (\S.*?)(?=   :|$)", re.MULTILINE)

    def __init__(self, stage: Surroundings, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.stage = stage
        self._typed: io.TextIOWrapper | None = None
        self._output = _Output()
        self._numbers: dict[str, str] = {}
        self._monkeypatch = monkeypatch
        self._serving = self._run

    @asynccontextmanager
    async def _run(self) -> AsyncIterator[None]:
        reading, writing = os.pipe()
        with os.fdopen(reading) as stdin, os.fdopen(writing, "w") as self._typed:
            # Not in `sys` itself: pytest puts its own streams there again and again.
            streams = SimpleNamespace(stdin=stdin, stdout=self._output)
            self._monkeypatch.setattr("bot.cli.chat.sys", streams)
            self._monkeypatch.setenv("COLUMNS", "10000")  # a line is never wrapped
            self._monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
            task = asyncio.create_task(self._converse())
            try:
                yield
            finally:
                self._typed.close()
                async with asyncio.timeout(PATIENCE):
                    await task

    async def _converse(self) -> None:
        async with open_app(self.stage.settings(), progress=self.stage.said.append) as app:
            await converse(app, corpus="")

    async def _say(self, text: str) -> Shown:
        assert self._typed
        self._typed.write(f"{text}\n")
        self._typed.flush()
        written = await self._output.after(self._counted)
        buttons = {label: number for number, label in self._BUTTON.findall(written)}
        self._numbers = buttons or self._numbers
        return Shown(written, list(buttons), _picture(written))

    async def _press(self, button: str) -> Shown:
        return await self._say(f":{self._numbers[button]}")

    async def _composed(self) -> Shown:
        written = self._output.written[-1]  # steps pass by on a terminal alone
        return Shown(written, list(self._numbers))

    def _shown(self) -> int:
        return len(self._output.written)


class _Output(io.StringIO):
    """Everything that is flushed at once was shown at once."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[str] = []
        self._more = asyncio.Event()

    def flush(self) -> None:
        if text := self.getvalue():
            self.written.append(text)
            self.seek(0)
            self.truncate()
            self._more.set()

    async def after(self, number: int) -> str:
        """What is shown when so many things were shown before."""
        async with asyncio.timeout(PATIENCE):
            while len(self.written) <= number:
                self._more.clear()
                await self._more.wait()
        return self.written[-1]


def _picture(written: str) -> bytes | None:
    """The file that the console names, which is then removed."""
    if found := re.search(r"\S+presagio-\S+\.png", written):
        place = Path(found[0])
        content = place.read_bytes()
        place.unlink()
        place.parent.rmdir()
        return content
    return None
