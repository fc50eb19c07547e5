"""Measures searches with one server and with a standby beside it.

`python -m bench.replicas [--queries N] [--clients N] [--data FOLDER] [--quick]`

Starts a primary and a streaming standby on loopback and fills them with real tweets. Eight clients
of one process search for real headlines, alternately by the primary alone and by both, at rest and
while an archive is stored; then either server is killed while they search.
"""

import argparse
import asyncio
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.store import filled, folder, opened
from bench.timing import Output, milliseconds, progress
from bench.tweets import DATA, headlines, tweets
from db.corpus.documents import Documents
from db.pool import Database, Replication
from db.search.lexical import LexicalIndex
from engine.corpora import Document
from engine.search import Candidate, Filters
from engine.values import Corpus
from tests.fakes.standby import Pair, pair

LIMIT = 150
_ROUNDS = 3
_QUICK = 3_000
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Trial:
    """What is searched for, and by how many at once."""

    output: Output
    corpus: Corpus
    texts: Sequence[str]
    clients: int

    async def searched(self, database: Database, texts: Sequence[str]) -> dict[str, float]:
        """Search for every text; return the durations in seconds by text."""
        index, pending, seconds = LexicalIndex(database), list(texts), dict[str, float]()

        async def client() -> None:
            while pending:
                text, start = pending.pop(), time.perf_counter()
                await top(index, self.corpus, text)
                seconds[text] = time.perf_counter() - start

        await asyncio.gather(*(client() for _ in range(self.clients)))
        return seconds


async def top(index: LexicalIndex, corpus: Corpus, text: str) -> list[Candidate]:
    """Return the best candidates for a headline."""
    return await index.top(corpus, await index.terms(corpus, text), Filters(), LIMIT)


async def compared(trial: Trial, one: Database, two: Database, *, at: str) -> None:
    """Print the searches per second of both, which take turns."""
    durations: dict[int, list[float]] = {1: [], 2: []}
    whole = {1: 0.0, 2: 0.0}
    reads = sum(state.reads for state in two.replicas())
    for _ in range(_ROUNDS):
        for servers, database in ((1, one), (2, two)):
            start = time.perf_counter()
            durations[servers] += (await trial.searched(database, trial.texts)).values()
            whole[servers] += time.perf_counter() - start
    for servers, seconds in whole.items():
        asked = len(durations[servers])
        by_standby = sum(state.reads for state in two.replicas()) - reads
        trial.output.row(
            at=at,
            servers=servers,
            clients=trial.clients,
            searches_per_second=round(asked / seconds, 1),
            **milliseconds(durations[servers]),
            readers_of_standby=by_standby if servers == 2 else None,
        )


async def storing(database: Database, corpus: Corpus, documents: Sequence[Document]) -> None:
    """Store an archive in batches, again and again, until cancelled."""
    store = Documents(database)
    for first in itertools.cycle(range(0, len(documents), _BATCH)):
        await store.upsert(corpus, documents[first : first + _BATCH])


async def killed(trial: Trial, database: Database, name: str, kill: Callable[[], None]) -> None:
    """Kill a server while everybody searches; print the longest wait and what was answered."""
    wanted = await _answers(trial, database)
    killing = asyncio.create_task(_killed_soon(kill))
    seconds: list[float] = []
    while not killing.done():
        seconds += (await trial.searched(database, trial.texts)).values()
    await killing
    right = await _answers(trial, database) == wanted
    trial.output.row(
        at=f"the {name} is killed",
        clients=trial.clients,
        answered=len(seconds),  # an error would have ended the bench
        **milliseconds(seconds),
        worst_ms=round(max(seconds) * 1000, 1),
        right=right,
    )


async def _killed_soon(kill: Callable[[], None]) -> None:
    await asyncio.sleep(0.5)
    await asyncio.to_thread(kill)
    await asyncio.sleep(1)


async def _answers(trial: Trial, database: Database) -> list[list[Candidate]]:
    index = LexicalIndex(database)
    return [await top(index, trial.corpus, text) for text in trial.texts[:20]]


async def caught_up(database: Database) -> None:
    """Return when the standby is in use."""
    while not all(state.used for state in database.replicas()):  # noqa: ASYNC110 - a server tells nobody
        await asyncio.sleep(0.05)


async def run(arguments: argparse.Namespace, both: Pair) -> None:
    """Fill the servers and measure."""
    output = Output("replicas")
    real = tweets(
        arguments.data / "tweets" / "trump_archive.jsonl", _QUICK if arguments.quick else None
    )
    texts = headlines(arguments.data / "headlines" / "en.jsonl", arguments.queries)
    one = await opened(both.primary.url, size=4)
    progress(f"storing {len(real):,}")
    corpus = await filled(one, "english", "english", real)
    other = await filled(one, "other", "english", real[:_BATCH])
    replication = Replication(urls=[both.standby.url], max_lag=10)
    two = await Database.open(both.primary.url, replication=replication)
    try:
        await caught_up(two)
        trial = Trial(output, corpus, [*dict.fromkeys(texts)], arguments.clients)
        for database in (one, two):  # warms caches and prepares statements
            await trial.searched(database, trial.texts)
        progress("measuring")
        await compared(trial, one, two, at="rest")
        ingest = asyncio.create_task(storing(one, other, real))
        await compared(trial, one, two, at="an archive is stored")
        ingest.cancel()
        await asyncio.gather(ingest, return_exceptions=True)
        await caught_up(two)
        await killed(trial, two, "standby", both.standby.kill)
        both.standby.start()
        await caught_up(two)
        await killed(trial, two, "primary", both.primary.kill)
    finally:
        await one.close()
        await two.close()
    output.table()


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments, start the servers, measure, clean up."""
    parser = argparse.ArgumentParser(prog="python -m bench.replicas", description=__doc__)
    parser.add_argument("--queries", type=int, default=200, help="real headlines to ask (200)")
    parser.add_argument("--clients", type=int, default=8, help="searches at once (8)")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of real data")
    parser.add_argument("--quick", action="store_true", help="3,000 documents, 20 headlines")
    arguments = parser.parse_args(argv)
    if arguments.quick:
        arguments.queries = 20
    with folder() as place, pair(place) as both:
        asyncio.run(run(arguments, both))


if __name__ == "__main__":
    main()
