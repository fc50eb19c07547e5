"""Measures how many headlines at once a chat adapter handles, and what it adds to the model's time.

`python -m bench.chat [--platforms telegram,slack] [--chats N] [--each N] [--waves N]
[--model SECONDS] [--data FOLDER] [--quick]`

The bot runs in a process of its own, which also measures how long its event loop was blocked and
how much memory it holds. Platforms, model and web are the stand-ins of the tests. Headlines
come first one at a time, then all at once; then links come all at once. bench/README.md says more.
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any

from bench.store import filled, folder, opened, server
from bench.timing import Output, milliseconds, progress
from bench.tweets import DATA, headlines, tweets
from tests.fakes.model import ModelServer, scoring, slow
from tests.fakes.web import WebServer, page
from tests.scenarios.crowd import PLATFORMS, Crowd, crowd_on

_LONE, _WARMING = 15, 5
_SECONDS = 300.0  # after this, something hangs
# A news page has some 100 kB, most of it irrelevant.
_FILLER = "<div class='teaser'><p>More <a href='/x'>about this</a> and that.</p></div>" * 1500
_QUICK_TWEETS = 2_000


def judged(_: str, candidate: Mapping[str, Any]) -> int:
    """Return an arbitrary but repeatable score."""
    return len(str(candidate["text"])) % 7


@dataclass
class Bench:
    """The people, the bot they talk to, and their messages."""

    crowd: Crowd
    web: WebServer
    process: "asyncio.subprocess.Process"
    arguments: argparse.Namespace
    texts: list[str]
    output: Output
    platform: str
    asked: int = 0

    async def run(self) -> None:
        """Measure everything, and check that each message was answered exactly once."""
        arguments = self.arguments
        await self.lone(_WARMING)
        await self.pulse()
        await self.row("one at a time", await self.lone(arguments.lone))
        for _ in range(arguments.waves):
            await self.row("all at once", await self.wave(link=False), each=arguments.each)
        await self.row("all at once, links", await self.wave(link=True), each=arguments.each)
        answers = sum(len(self.crowd.answers(who)) for who in range(arguments.chats))
        self.output.row(
            platform=self.platform, system="answers", headlines=self.asked, answers=answers
        )
        assert answers == self.asked

    async def row(self, system: str, seconds: Sequence[float], *, each: int = 1) -> None:
        """Print each person's time less the model's."""
        pulse = await self.pulse()
        count = len(seconds) * each
        self.output.row(
            platform=self.platform,
            system=f"{system}: over the model's time",
            headlines=count,
            all_seconds=round(max(seconds), 2) if each > 1 else None,
            **milliseconds([second - each * self.arguments.model for second in seconds]),
            **pulse | {"cpu_ms": round(pulse["cpu_ms"] / count, 1)},
            load=round(os.getloadavg()[0], 1),
        )

    async def pulse(self) -> dict[str, float]:
        """Return what the bot reports about itself since the last call."""
        assert self.process.stdout
        self.process.send_signal(signal.SIGUSR1)
        found: dict[str, float] = json.loads(await self.process.stdout.readline())
        return found

    async def lone(self, number: int) -> list[float]:
        """Return the seconds from each headline to its answer, one at a time."""
        seconds = []
        for turn in range(number):
            seconds.append(await self.exchange(turn % self.arguments.chats, 1, link=False))
            await self.crowd.settled()
        return seconds

    async def wave(self, *, link: bool) -> list[float]:
        """Let everybody write at once; return the seconds until each chat was answered."""
        people, each = range(self.arguments.chats), self.arguments.each
        seconds = await asyncio.gather(*(self.exchange(who, each, link=link) for who in people))
        await self.crowd.settled()
        return seconds

    async def exchange(self, who: int, number: int, *, link: bool) -> float:
        """Send messages at once; return the seconds until all were answered in order."""
        texts = [self.texts.pop() for _ in range(number)]
        self.asked += number
        said = [self._page(text) for text in texts] if link else texts
        start = time.perf_counter()
        shown = await self.crowd.exchange(who, said, _SECONDS)
        seconds = time.perf_counter() - start
        order = [one[:20] for one in shown] == [one[:20] for one in texts]
        assert order, f"out of order: {texts} answered by {shown}"
        return seconds

    def _page(self, title: str) -> str:
        path = f"/{len(self.web.pages)}"
        body = f"<html><head><title>{escape(title)}</title></head><body>{_FILLER}</body></html>"
        self.web.pages[path] = page(body)
        return self.web.url(path)


@asynccontextmanager
async def served(environment: Mapping[str, str]) -> "AsyncIterator[asyncio.subprocess.Process]":
    """Run the bot as a separate process."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bench.served",
        env=os.environ | environment,
        stdout=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def measure(
    arguments: argparse.Namespace, url: str, platform: str, texts: list[str], output: Output
) -> None:
    """Measure one platform."""
    step = slow(arguments.model, scoring(judged))
    async with (
        crowd_on(platform, arguments.chats) as crowd,
        ModelServer([step]) as model,
        WebServer() as web,
    ):
        environment = {
            "DATABASE_URL": url,
            "PRESAGIO_LLM__BASE_URL": model.base_url,
            "PRESAGIO_CHAT__ACCESS": "open",
            "PRESAGIO_CHAT__USER_DAILY": "-1",
            "PRESAGIO_LLM__DAILY_TOKENS": "-1",
            "PRESAGIO_LLM__DAILY_USD": "-1",
            "PRESAGIO_FETCH__ALLOW_NETWORKS": '["127.0.0.0/8"]',
            **crowd.environ,
        }
        async with served(environment) as process:
            await crowd.listening(_SECONDS)
            await Bench(crowd, web, process, arguments, texts, output, platform).run()


async def prepared(arguments: argparse.Namespace, url: str) -> None:
    """Fill a database, then measure each platform with separate headlines."""
    database = await opened(url, size=4)
    real = tweets(arguments.data / "tweets" / "trump_archive.jsonl")
    progress("storing tweets")
    await filled(database, "english", "english", islice(real, arguments.tweets))
    async with database.connection() as connection:  # short answers do not repeat the headline
        await connection.execute("ALTER TABLE chat ALTER full_answers SET DEFAULT true")
    await database.close()
    platforms = arguments.platforms.split(",")
    waves = (arguments.waves + 1) * arguments.chats * arguments.each
    number = _WARMING + arguments.lone + waves
    found = headlines(arguments.data / "headlines" / "en.jsonl", number * len(platforms))
    texts, output = [" ".join(text.split()) for text in found], Output("chat")
    for turn, platform in enumerate(platforms):
        progress(platform)
        own = texts[turn * number : (turn + 1) * number]
        await measure(arguments, url, platform, own, output)
    output.table()


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments, start a server, measure, clean up."""
    parser = argparse.ArgumentParser(prog="python -m bench.chat", description=__doc__)
    parser.add_argument("--platforms", default=",".join(PLATFORMS), help="which (both)")
    parser.add_argument("--chats", type=int, default=50, help="people who write (50)")
    parser.add_argument("--each", type=int, default=4, help="headlines of each at once (4)")
    parser.add_argument("--waves", type=int, default=2, help="times that all write at once (2)")
    parser.add_argument("--model", type=float, default=2.0, help="seconds the model takes (2)")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of real data")
    parser.add_argument("--quick", action="store_true", help="a few people, 2,000 tweets: seconds")
    parser.set_defaults(lone=_LONE, tweets=None)
    arguments = parser.parse_args(argv)
    if arguments.quick:
        vars(arguments).update(chats=4, each=2, waves=1, model=0.1, lone=2, tweets=_QUICK_TWEETS)
    with folder() as place, server(place) as url:
        asyncio.run(prepared(arguments, url))


if __name__ == "__main__":
    main()
