"""Measures four archives on one server and on two workers of Citus.

`python -m bench.placed [--citus URL] [--texts N] [--queries N] [--data FOLDER] [--quick]`

URL names a database on a coordinator of Citus whose workers are on this machine; it is filled, and
left without corpora. Without it, only the plain server is measured. Eight clients of one process
search for real headlines. All servers share one machine here, so each row tells the
processor time of every server: what a search costs where servers have machines of their own.
"""

import argparse
import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.store import filled, folder, opened, postmaster, processor_seconds
from bench.timing import Output, milliseconds, progress
from bench.tweets import DATA, headlines, tweets
from db.corpus.corpora import Corpora
from db.corpus.placement import Placement
from db.pool import Database
from db.search.lexical import LexicalIndex
from engine.corpora import Document
from engine.search import Filters
from engine.values import Corpus
from tests.database import with_database
from tests.fakes.standby import loopback

CLIENTS = 8
_LIMIT = 150
_SOURCES = (
    ("english", "trump_archive.jsonl", "en.jsonl"),
    ("spanish", "argentina_2019.jsonl", "es.jsonl"),
)
_QUICK = 300


@dataclass(frozen=True, slots=True)
class Archive:
    """A corpus to be: its name, language and texts, and what is searched for in it."""

    name: str
    language: str
    texts: Sequence[Document]
    asked: Sequence[str]


@dataclass(frozen=True, slots=True)
class Servers:
    """The first processes of the servers of a trial, by name."""

    output: Output
    kind: str
    first: Mapping[str, int]
    found: dict[tuple[str, str], list[tuple[str, float]]] = field(default_factory=dict)

    @contextmanager
    def measured(self, what: str, number: int, seconds: list[float]) -> Iterator[None]:
        """Print what each server has worked in the block for each of `number` things."""
        before = {name: processor_seconds(first) for name, first in self.first.items()}
        begun = time.perf_counter()
        yield
        passed = time.perf_counter() - begun
        worked = {
            f"cpu_ms_{name}": round((processor_seconds(first) - before[name]) / number * 1000, 3)
            for name, first in self.first.items()
        }
        self.output.row(
            servers=self.kind,
            measured=what,
            number=number,
            a_second=round(number / passed, 1),
            **(milliseconds(seconds) if seconds else {}),
            **worked,
            cpu_ms=round(sum(worked.values()), 3),
        )


async def searched(
    servers: Servers, database: Database, corpora: Sequence[Corpus], archives: Sequence[Archive]
) -> dict[tuple[str, str], list[tuple[str, float]]]:
    """Search every archive for its headlines, by eight clients; return what was found."""
    index, found = LexicalIndex(database), dict[tuple[str, str], list[tuple[str, float]]]()
    asked = [(corpus, text) for corpus, each in zip(corpora, archives, strict=True)
             for text in each.asked]  # fmt: skip

    async def search(seconds: list[float]) -> None:
        pending = asked[::-1]

        async def client() -> None:
            while pending:
                (corpus, text), begun = pending.pop(), time.perf_counter()
                best = await index.top(corpus, await index.terms(corpus, text), Filters(), _LIMIT)
                seconds.append(time.perf_counter() - begun)
                found[corpus.name, text] = [(one.external_id, round(one.bm25, 9)) for one in best]

        await asyncio.gather(*(client() for _ in range(CLIENTS)))

    await search([])  # warms caches and prepares statements
    seconds: list[float] = []
    with servers.measured("search", len(asked), seconds):
        await search(seconds)
    return found


async def stored(
    servers: Servers, database: Database, archives: Sequence[Archive], *, on_worker: bool
) -> list[Corpus]:
    """Store the archives, after the first texts of each, and return their corpora."""
    corpora = []
    for each in archives:
        corpus = await filled(database, each.name, each.language, each.texts[:100])
        if on_worker:
            await Placement(database).move_to_worker(corpus, lambda _: None)
        corpora.append(corpus)
    texts = sum(len(each.texts) for each in archives) - 100 * len(archives)
    with servers.measured("ingest", texts, []):
        for each in archives:
            await filled(database, each.name, each.language, each.texts[100:])
    return [await Corpora(database).get(corpus.name) for corpus in corpora]


async def plain(output: Output, archives: Sequence[Archive], place: Path) -> object:
    """Measure one server; return what was found."""
    with loopback(place) as server:
        database = await opened(server.url, size=CLIENTS)
        alone = Servers(output, "one server", {"server": await postmaster(database)})
        corpora = await stored(alone, database, archives, on_worker=False)
        found = await searched(alone, database, corpora, archives)
        await database.close()
    return found


async def distributed(output: Output, archives: Sequence[Archive], url: str) -> object:
    """Measure a coordinator that holds everything, then its workers; return what was found."""
    database = await opened(url, size=CLIENTS)
    try:
        first = {"coordinator": await postmaster(database)}
        for number, worker in enumerate(await Placement(database).workers(), 1):
            role = url.removeprefix("postgresql://").partition("@")[0]
            there = with_database(f"postgresql://{role}@{worker.name}/", url.rpartition("/")[2])
            connected = await Database.open(there)
            first[f"worker_{number}"] = await postmaster(connected)
            await connected.close()
        here = Servers(output, "coordinator, all here", first)
        corpora = await stored(here, database, archives, on_worker=False)
        await searched(here, database, corpora, archives)
        for corpus in corpora:
            await Corpora(database).drop(corpus.name)
        placed = Servers(output, "two workers", first)
        corpora = await stored(placed, database, archives, on_worker=True)
        found = await searched(placed, database, corpora, archives)
        for corpus in corpora:
            await Corpora(database).drop(corpus.name)
    finally:
        await database.close()
    return found


def read_archives(arguments: argparse.Namespace) -> list[Archive]:
    """Return two archives of each language, a half of the real one each."""
    found = []
    for language, file, asked in _SOURCES:
        real = tweets(arguments.data / "tweets" / file, arguments.texts * 2)
        texts = headlines(arguments.data / "headlines" / asked, arguments.queries)
        texts = [*dict.fromkeys(texts)]
        for number in range(2):
            found.append(Archive(f"{language}-{number + 1}", language, real[number::2], texts))
    return found


async def run(arguments: argparse.Namespace, place: Path) -> None:
    """Measure each set of servers."""
    output, archives = Output("placed"), read_archives(arguments)
    progress(f"{sum(len(each.texts) for each in archives):,} texts")
    found = await plain(output, archives, place)
    if arguments.citus:
        same = await distributed(output, archives, arguments.citus) == found
        output.row(measured="the same candidates in the same order", right=same)
    output.table()


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments, start the servers, measure, clean up."""
    parser = argparse.ArgumentParser(prog="python -m bench.placed", description=__doc__)
    parser.add_argument("--citus", metavar="URL", help="a database on a coordinator")
    parser.add_argument("--texts", type=int, default=30_000, help="in each archive (30,000)")
    parser.add_argument("--queries", type=int, default=100, help="real headlines an archive (100)")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of real data")
    parser.add_argument("--quick", action="store_true", help=f"{_QUICK} texts, 10 headlines")
    arguments = parser.parse_args(argv)
    if arguments.quick:
        arguments.texts, arguments.queries = _QUICK, 10
    with folder() as place:
        asyncio.run(run(arguments, place))


if __name__ == "__main__":
    main()
