"""Measures how long a polling round takes, what slow feeds delay, and an unchanged round's cost.

`python -m bench.feeds [--feeds N] [--slow SECONDS] [--at-once N] [--quick]`

A tenth of the feeds is slow, and a tenth fails: half of these with a 500, half with nonsense. A
separate process serves the feeds, each under its own host name. bench/README.md says more.
"""

import argparse
import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime

import httpx

from bench.feed_server import kind_of
from bench.store import folder, server
from bench.timing import Output
from bot.app import App, open_app
from bot.jobs.wiring import Jobs, open_jobs
from bot.settings import load_settings
from engine.feeds.feed import ConfiguredFeed
from engine.fetch.client import Fetcher
from engine.settings.fetching import PollingSettings

_FEEDS, _SLOW_SECONDS = 1_000, 10.0
_AT_ONCE = PollingSettings().at_once
_QUICK_FEEDS, _QUICK_SLOW = 60, 1.0
_LOOP_LOOK = 0.005  # seconds between two checks for a blocked event loop


def resolve(_: str, port: int, *__: object) -> list[tuple[int, int, int, str, tuple[str, int]]]:
    """Stand in for socket.getaddrinfo: every name is this machine's."""
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]


class Bench:
    """The jobs of one process, and the feeds that they poll."""

    def __init__(self, app: App, jobs: Jobs, port: int, feeds: int, output: Output) -> None:
        self._app = app
        self._jobs = jobs
        self._port = port
        self._feeds = feeds
        self._output = output
        self._held_up = 0.0

    async def run(self, slow: float) -> None:
        """Poll all feeds: without slow ones, with them, and once more unchanged."""
        urls = [f"http://f{number}.test:{self._port}/" for number in range(self._feeds)]
        configured = [ConfiguredFeed(url=url) for url in urls]
        await self._jobs.poller.feeds.configure_feeds(configured, now=datetime.now(UTC))
        await self._ask("/slow/0")
        await self._round("first, all of it stored")
        await self._forget_tags()
        again = await self._round("again, nobody slow")
        await self._forget_tags()
        await self._ask(f"/slow/{slow}")
        await self._round(f"a tenth takes {slow:g} s")
        await self._ask("/slow/0")
        unchanged = await self._round("unchanged")
        self._output.row(case="bytes, unchanged to again", share=round(unchanged / again, 4))

    async def _round(self, case: str) -> int:
        """Poll every feed once and return the bytes that were served."""
        await self._execute("UPDATE feed SET next_poll_at = now(), leased_until = NULL")
        sent, began, moment = await self._sent(), time.perf_counter(), datetime.now(UTC)
        watch = asyncio.create_task(self._watch())
        polled = await self._jobs.poller.run(clock=self._jobs.now)
        watch.cancel()
        seconds, served = time.perf_counter() - began, await self._sent() - sent
        assert polled == self._feeds, polled
        after = await self._seconds_after(moment)
        self._output.row(
            case=case,
            seconds=round(seconds, 1),
            megabytes=round(served / 1e6, 2),
            ordinary_last_s=round(max(after["ordinary"]), 1),
            slow_last_s=round(max(after["slow"]), 1),
            loop_held_up_ms=round(self._held_up * 1000),
        )
        return served

    async def _seconds_after(self, moment: datetime) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {"ordinary": [], "slow": [], "failing": []}
        for health in await self._jobs.poller.feeds.health(now=moment):
            number = int(health.feed.url.partition(".")[0].removeprefix("http://f"))
            assert health.feed.polled_at is not None
            found[kind_of(number)].append((health.feed.polled_at - moment).total_seconds())
            assert (health.feed.failures > 0) == (kind_of(number) == "failing"), health.feed
        return found

    async def _watch(self) -> None:
        self._held_up = 0.0
        while True:
            before = time.perf_counter()
            await asyncio.sleep(_LOOP_LOOK)
            self._held_up = max(self._held_up, time.perf_counter() - before - _LOOP_LOOK)

    async def _forget_tags(self) -> None:
        await self._execute("UPDATE feed SET etag = NULL")

    async def _execute(self, statement: str) -> None:
        async with self._app.database.connection() as connection:
            await connection.execute(statement)

    async def _sent(self) -> int:
        return int(await self._ask("/sent"))

    async def _ask(self, path: str) -> str:
        async with httpx.AsyncClient(trust_env=False) as client:
            return (await client.get(f"http://127.0.0.1:{self._port}{path}")).text


@asynccontextmanager
async def _served() -> AsyncIterator[int]:
    """Yield the port of the process that serves the feeds."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.feed_server", "0", stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        yield int(await process.stdout.readline())
    finally:
        process.kill()
        await process.communicate()


async def _measured(url: str, arguments: argparse.Namespace, output: Output) -> None:
    environ = {
        "DATABASE_URL": url,
        "PRESAGIO_POLLING__AT_ONCE": str(arguments.at_once),
        "PRESAGIO_FETCH__ALLOW_NETWORKS": '["127.0.0.0/8"]',
    }
    settings = load_settings(environ=environ)
    async with AsyncExitStack() as stack:
        port = await stack.enter_async_context(_served())
        app = await stack.enter_async_context(
            open_app(settings, progress=lambda _: None, migrate=True)
        )
        fetcher = await stack.enter_async_context(
            Fetcher(settings.fetch, resolver=resolve, at_once=settings.polling.at_once)
        )
        jobs = await stack.enter_async_context(
            open_jobs(app, fetcher, [], now=lambda: datetime.now(UTC))
        )
        await Bench(app, jobs, port, arguments.feeds, output).run(arguments.slow)


def main(words: Sequence[str] | None = None) -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(prog="python -m bench.feeds")
    parser.add_argument("--feeds", type=int, default=_FEEDS)
    parser.add_argument("--slow", type=float, default=_SLOW_SECONDS, help="seconds")
    parser.add_argument("--at-once", type=int, default=_AT_ONCE, help="connections")
    parser.add_argument("--quick", action="store_true", help="few feeds, hardly slow")
    arguments = parser.parse_args(words)
    if arguments.quick:
        arguments.feeds, arguments.slow = _QUICK_FEEDS, _QUICK_SLOW
    output = Output("feeds")
    with folder() as parent, server(parent) as url:
        asyncio.run(_measured(url, arguments, output))
    output.table()


if __name__ == "__main__":
    main()
