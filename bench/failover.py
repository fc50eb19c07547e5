"""Walks through the loss of a primary: what fails, how long it takes, what comes twice.

`python -m bench.failover [--how kill|freeze|read-only] [--stories N] [--asynchronous] [--quick]
[--log FILE]`

Three processes of `presagio serve` post stories to stand-ins for Telegram and Slack, eight clients
search and one stores, on a primary with a synchronous standby. While posts are under way the
primary is killed (or hangs, or refuses writes), a second later the standby is promoted, and in the
end the old primary returns as a standby of the new one.
"""

import argparse
import asyncio
import logging
import shutil
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.store import filled, folder
from bench.timing import Output, milliseconds, progress
from db.corpus.documents import Documents
from db.pool import Database, Replication
from db.search.lexical import LexicalIndex
from engine.errors import StorageError
from engine.search import Filters
from engine.values import Corpus
from tests.database import execute
from tests.db.loading import document
from tests.fakes.standby import Pair, pair
from tests.scenarios.chaos.stage import Chaos, chaos
from tests.scenarios.chaos.trouble import Known
from tests.scenarios.chaos.world import Size

CLIENTS = 8
HOW = ("kill", "freeze", "read-only")
_ROUND_TRIP = 0.3  # seconds that a platform has shown a post before it says so
_LOOK = 0.02
_OUTAGE = 1.0  # seconds between the loss and the promotion
_PAUSE = 0.1  # seconds between two searches of a client, and between two writes
_NEW = "SELECT external_id FROM document WHERE external_id ~ '^new'"
_UNDER_WAY = "SELECT count(*) FROM delivery WHERE state = 'owed' AND begun_at IS NOT NULL"
_JOBS = "SELECT coalesce(sum(times), 0)::integer FROM job_outcome WHERE job <> 'deliver'"


@dataclass
class Load:
    """Clients that search and store with hardly a pause, and what they met."""

    reading: Database
    writing: Database  # another one: who has just written reads from the primary
    corpus: Corpus
    searched: list[tuple[float, float]] = field(default_factory=list)  # when, and for how long
    failed: int = 0
    stored: list[float] = field(default_factory=list)  # moments
    refused: int = 0

    async def search(self) -> None:
        """Search until cancelled."""
        index = LexicalIndex(self.reading)
        while True:
            begun = time.monotonic()
            try:
                terms = await index.terms(self.corpus, "a storm over three towns")
                await index.top(self.corpus, terms, Filters(), 10)
            except StorageError as error:
                progress(f"a search failed: {error}")
                self.failed += 1
            self.searched.append((begun, time.monotonic() - begun))
            await asyncio.sleep(_PAUSE)

    async def store(self) -> None:
        """Store one document after another until cancelled, as an ingest that is run again."""
        documents = Documents(self.writing)
        while True:
            number = len(self.stored)
            try:
                await documents.upsert(self.corpus, [document(f"new{number}", f"omen {number}")])
            except StorageError:
                self.refused += 1
            else:
                self.stored.append(time.monotonic())
            await asyncio.sleep(_PAUSE)

    async def stored_since(self, moment: float) -> float:
        """Return the first moment after another at which something was stored."""
        while not self.stored or self.stored[-1] <= moment:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.01)
        return next(at for at in self.stored if at > moment)


@asynccontextmanager
async def loaded(both: Pair) -> AsyncIterator[Load]:
    """Search and store in the corpus of the stories while the block runs."""
    replication = Replication(urls=[both.primary.url, both.standby.url])
    reading, writing = [
        await Database.open(both.url, replication=replication) for _ in ("reading", "writing")
    ]
    texts = (f"a storm is coming in {n} days, over {n % 7} towns" for n in range(3_000))
    documents = [document(str(number), text) for number, text in enumerate(texts)]
    load = Load(reading, writing, await filled(writing, "tweets", "english", documents))
    tasks = [asyncio.create_task(load.search()) for _ in range(CLIENTS)]
    tasks.append(asyncio.create_task(load.store()))
    try:
        yield load
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await reading.close()
        await writing.close()


async def lose(both: Pair, how: str) -> None:
    """Lose the primary."""
    if how == "kill":
        await asyncio.to_thread(both.primary.kill)
    elif how == "freeze":
        both.primary.freeze()
    else:
        await execute(
            both.primary.url,
            "ALTER SYSTEM SET default_transaction_read_only = on",
            "SELECT pg_reload_conf()",
        )


async def walk(stage: Chaos, both: Pair, how: str, output: Output) -> bool:
    """Lose the primary in the middle of everything; return whether all is as it should be."""
    third = stage.size.stories // 3
    await stage.open()
    stage.publish(third)
    await stage.settled()
    async with loaded(both) as load:
        progress("posting, searching and storing")
        for trouble in stage.trouble.values():
            trouble.seconds = _ROUND_TRIP
        stage.publish(2 * third)
        while not (under_way := (await stage.rows(_UNDER_WAY))[0][0]):  # noqa: ASYNC110
            await asyncio.sleep(_LOOK)
        progress(f"the primary is lost: {how}")
        await lose(both, how)
        lost = time.monotonic()
        await asyncio.sleep(_OUTAGE)
        await asyncio.to_thread(both.standby.promote)
        promoted = time.monotonic()
        written = await load.stored_since(promoted)
        jobs = (await stage.rows(_JOBS))[0][0]
        stage.publish(stage.size.stories)
        await stage.settled()
        settled = time.monotonic()
        jobs = (await stage.rows(_JOBS))[0][0] - jobs
        if how == "freeze":  # and nobody told it that it is the primary no more
            both.primary.go_on()
            await asyncio.sleep(_OUTAGE)
            await load.stored_since(time.monotonic())
        progress("the old primary returns as a standby")
        await asyncio.to_thread(both.primary.copy_from, both.standby)
        while not load.reading.replicas()[0].used:  # noqa: ASYNC110 - a server tells nobody
            await asyncio.sleep(0.05)
    output.row(figure="posts under way at the loss", number=under_way)
    output.row(figure="seconds from promotion to a write", number=round(written - promoted, 2))
    output.row(figure="seconds to the last post", number=round(settled - promoted, 1))
    output.row(figure="runs of the leader's jobs since", number=jobs)
    return await _figures(stage, load, lost, output)


async def _figures(stage: Chaos, load: Load, lost: float, output: Output) -> bool:
    during = [seconds for at, seconds in load.searched if at >= lost - _OUTAGE]
    output.row(figure="searches", number=len(load.searched), **milliseconds(during))
    output.row(figure="searches that failed", number=load.failed, right=0)
    output.row(figure="longest wait of a search, seconds", number=round(max(during), 2))
    output.row(figure="writes refused", number=load.refused)
    there = {name for (name,) in await stage.rows(_NEW)}
    gone = len({f"new{number}" for number in range(len(load.stored))} - there)
    output.row(figure="writes acknowledged and gone", number=gone, right=0)
    deliveries, shown = await stage.deliveries(), _shown(stage)
    missing = len(deliveries.keys() - shown.keys()) + len(stage.missing())
    twice = shown.total() - len(shown)
    output.row(figure="posts decided", number=len(deliveries))
    output.row(figure="posts never shown", number=missing, right=0)
    output.row(figure="posts shown twice", number=twice, right=0)
    (calls,) = (await stage.rows("SELECT count(*) FROM model_call"))[0]
    output.row(figure="calls of the model", number=stage.model.calls)
    output.row(figure="of them counted in the budget", number=calls)
    dead = stage.processes.ended
    output.row(figure="processes that ended by themselves", number=dead, right=0)
    return not (load.failed or gone or missing or twice or dead)


def _shown(stage: Chaos) -> Counter[Known]:
    return stage.shown("telegram") + stage.shown("slack")


async def run(size: Size, place: Path, how: str, output: Output, *, asynchronous: bool) -> bool:
    """Start the servers and everything on them, and walk."""
    with pair(place) as both:
        if not asynchronous:
            await execute(
                both.primary.url,
                "ALTER SYSTEM SET synchronous_standby_names = '*'",
                "SELECT pg_reload_conf()",
            )
        replicas = [both.primary.url, both.standby.url]
        async with chaos(size, place, url=both.url, replicas=replicas) as stage:
            for trouble in stage.trouble.values():
                trouble.cease()
            return await walk(stage, both, how, output)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments, walk, print the figures; end with 1 if something is not right."""
    parser = argparse.ArgumentParser(prog="python -m bench.failover", description=__doc__)
    parser.add_argument("--how", choices=HOW, default="kill", help="how the primary is lost")
    parser.add_argument("--stories", type=int, default=60, help="stories of the feeds (60)")
    parser.add_argument(
        "--asynchronous", action="store_true", help="the primary does not wait for its standby"
    )
    parser.add_argument("--quick", action="store_true", help="18 stories")
    parser.add_argument("--log", type=Path, help="where the processes' log is kept")
    arguments = parser.parse_args(argv)
    logging.basicConfig(level=logging.ERROR)
    output = Output("failover")
    size = Size(
        stories=18 if arguments.quick else arguments.stories,
        chats=2,
        categories=2,
        kills=0,
        restarts=0,
        pause=0.0,
        rate=10,
    )
    with folder() as place:
        right = asyncio.run(
            run(size, place, arguments.how, output, asynchronous=arguments.asynchronous)
        )
        if arguments.log:
            shutil.copy(place / "processes.log", arguments.log)
    output.table()
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
