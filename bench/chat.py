"""How many headlines at once the Telegram face bears, and what it adds to the model's time.

`python -m bench.chat [--chats N] [--each N] [--waves N] [--model SECONDS] [--data FOLDER]`

The bot runs in a process of its own, which also measures how long its event loop was blocked and
how much memory it holds. Telegram and the model are the stand-ins of the tests. First headlines
come one at a time, then all at once. bench/README.md says more.
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.store import filled, folder, opened, server
from bench.timing import Output, milliseconds, progress
from bench.tweets import DATA, headlines, tweets
from bot.app import open_app
from bot.logs import configure_logging
from bot.serve import serve
from bot.settings import load_settings
from bot.stopping import run as run_until_signal
from tests.fakes.model import ModelServer, scoring, slow
from tests.fakes.telegram import Chat, Message, TelegramServer, User

_TICK = 0.01
_LONE = 15


def judged(_: str, candidate: Mapping[str, Any]) -> int:
    """Some score or other, the same every time."""
    return len(str(candidate["text"])) % 7


# The bot's process


@dataclass
class Pulse:
    """How late the loop was, and how much of that its own thread was at work: the rest the machine
    gave to others."""

    late: list[float] = field(default_factory=list)
    worked: list[float] = field(default_factory=list)

    async def beat(self) -> None:
        """Measure until cancelled."""
        while True:
            start, work = time.perf_counter(), time.thread_time()
            await asyncio.sleep(_TICK)
            self.late.append(time.perf_counter() - start - _TICK)
            self.worked.append(time.thread_time() - work)

    def taken(self) -> dict[str, float]:
        """Return the worst since the last time."""
        worst = {"late_ms": max(self.late, default=0), "worked_ms": max(self.worked, default=0)}
        self.late.clear()
        self.worked.clear()
        return {name: round(seconds * 1000, 1) for name, seconds in worst.items()}


def resident() -> int:
    """Return the MB that this process holds."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) // 1024
    return 0


async def bot() -> None:
    """Serve until a signal comes; print on the way what the pulse was at each SIGUSR1."""
    settings, pulse = load_settings(), Pulse()
    configure_logging(settings.logging)

    def report() -> None:
        print(json.dumps({**pulse.taken(), "memory_mb": resident()}), flush=True)

    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, report)
    async with open_app(settings, progress=progress) as app:
        beating = asyncio.create_task(pulse.beat())
        try:
            await serve(app, now=lambda: datetime.now(UTC), said=progress)
        finally:
            beating.cancel()


# The people's process


@dataclass
class Crowd:
    """People in private chats, and the bot they talk to."""

    telegram: TelegramServer
    model: ModelServer
    process: "asyncio.subprocess.Process"
    people: list[tuple[User, Chat]]
    texts: list[str]

    def next_text(self) -> str:
        return self.texts.pop()

    async def pulse(self) -> dict[str, float]:
        """What the bot says of itself since the last time."""
        assert self.process.stdout
        self.process.send_signal(signal.SIGUSR1)
        found: dict[str, float] = json.loads(await self.process.stdout.readline())
        return found

    async def lone(self) -> list[float]:
        """Seconds from a headline to its answer, one at a time."""
        seconds = []
        for number in range(_LONE):
            person, chat = self.people[number % len(self.people)]
            seconds.append(await self.exchange(person, chat, [self.next_text()]))
            await self.telegram.until_acknowledged()
        return seconds

    async def exchange(self, person: User, chat: Chat, texts: Sequence[str]) -> float:
        """Say everything at once; return the seconds until all of it was answered in order."""
        known, start = len(chat.bot_messages), time.perf_counter()
        said: list[Message] = [await person.says(chat, text) for text in texts]
        await chat.until(lambda _: len(chat.bot_messages) >= known + len(said), timeout=300)
        seconds = time.perf_counter() - start
        shown = [one.text.split("\n")[0][:20] for one in chat.bot_messages[known:]]
        written = [one.text[:20] for one in said]
        assert shown == written, f"out of order: {written} answered by {shown}"
        return seconds

    async def wave(self, each: int) -> list[float]:
        """Everybody at once; seconds until each of the chats was answered."""
        texts = [[self.next_text() for _ in range(each)] for _ in self.people]
        seconds = await asyncio.gather(
            *(self.exchange(*one, some) for one, some in zip(self.people, texts, strict=True))
        )
        await self.telegram.until_acknowledged(timeout=30)
        return seconds


async def measure(arguments: argparse.Namespace, url: str, texts: list[str]) -> None:
    output = Output("chat")
    step = slow(arguments.model, scoring(judged))
    async with TelegramServer() as telegram, ModelServer([step]) as model:
        environment = {
            "DATABASE_URL": url,
            "TELEGRAM_BOT_TOKEN": telegram.token,
            "PRESAGIO_TELEGRAM__API_BASE": telegram.root,
            "PRESAGIO_LLM__BASE_URL": model.base_url,
            "PRESAGIO_CHAT__USER_DAILY": "-1",
            "PRESAGIO_LLM__DAILY_TOKENS": "-1",
            "PRESAGIO_LLM__DAILY_USD": "-1",
        }
        command = [sys.executable, "-m", "bench.chat", "--bot"]
        process = await asyncio.create_subprocess_exec(
            *command, env=os.environ | environment, stdout=subprocess.PIPE
        )
        try:
            await telegram.until_called("getUpdates", timeout=30)
            users = [telegram.user(f"P{number}") for number in range(arguments.chats)]
            people = [(user, telegram.private_chat(user)) for user in users]
            await crowd(Crowd(telegram, model, process, people, texts), arguments, output)
            assert telegram.errors == [], telegram.errors
        finally:
            with suppress(ProcessLookupError):
                process.terminate()
            await process.wait()
    output.table()


async def crowd(crowd: Crowd, arguments: argparse.Namespace, output: Output) -> None:
    await crowd.lone()
    await crowd.pulse()  # the first ones warm everything up
    lone = await crowd.lone()
    output.row(
        system="one at a time: over the model's time",
        headlines=len(lone),
        **milliseconds([seconds - arguments.model for seconds in lone]),
        **await crowd.pulse(),
    )
    for _ in range(arguments.waves):
        start = time.perf_counter()
        seconds = await crowd.wave(arguments.each)
        output.row(
            system="all at once: over the model's time",
            headlines=len(seconds) * arguments.each,
            chats=len(seconds),
            all_seconds=round(time.perf_counter() - start, 2),
            **milliseconds([one - arguments.each * arguments.model for one in seconds]),
            **await crowd.pulse(),
        )
    answers = sum(len(chat.bot_messages) for _, chat in crowd.people)
    asked = 2 * _LONE + arguments.waves * arguments.each * len(crowd.people)
    output.row(system="answers", headlines=asked, answers=answers)
    assert answers == asked


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments, start a server, measure, clean up."""
    parser = argparse.ArgumentParser(prog="python -m bench.chat", description=__doc__)
    parser.add_argument("--chats", type=int, default=50, help="people who write (50)")
    parser.add_argument("--each", type=int, default=4, help="headlines of each at once (4)")
    parser.add_argument("--waves", type=int, default=4, help="times that all write at once (4)")
    parser.add_argument("--model", type=float, default=2.0, help="seconds the model takes (2)")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of real data")
    parser.add_argument("--bot", action="store_true", help="be the bot (the bench starts it so)")
    arguments = parser.parse_args(argv)
    if arguments.bot:
        run_until_signal(bot())
        return
    with folder() as place, server(place) as url:
        asyncio.run(prepared(arguments, url))


async def prepared(arguments: argparse.Namespace, url: str) -> None:
    database = await opened(url, size=4)
    real = tweets(arguments.data / "tweets" / "trump_archive.jsonl")
    progress(f"storing {len(real):,} tweets")
    await filled(database, "english", "english", real)
    await database.close()
    number = 2 * _LONE + arguments.waves * arguments.chats * arguments.each
    texts = headlines(arguments.data / "headlines" / "en.jsonl", number)
    await measure(arguments, url, [" ".join(text.split()) for text in texts])


if __name__ == "__main__":
    main()
