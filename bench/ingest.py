"""Measures ingestion in tweets per second, beside plainer loads of the same file.

`python -m bench.ingest [--repeat N] [--data FOLDER] [--quick]`

The file is loaded as by `presagio ingest`: read, normalised and indexed, with exact statistics and
stitched threads, on a server with the shipped settings. All loads take place in the same run.
bench/README.md says more.
"""

import argparse
import asyncio
import sqlite3
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from pathlib import Path

import orjson

from bench.store import folder, opened, server
from bench.timing import Output, progress
from bench.tweets import DATA
from db.corpus.corpora import Corpora
from db.corpus.documents import Documents
from db.pool import Database
from engine.ingest.isolated_reader import SourceReader
from engine.ingest.load import IngestReport, Loader
from engine.values import Kind

_QUICK = 2_000


class Loads:
    """Ways to load one file; each returns how many records were loaded."""

    def __init__(self, database: Database, file: Path, place: Path) -> None:
        self._database, self._file, self._place = database, file, place
        self._count = 0

    async def everything(self) -> int:
        """Load into a new corpus."""
        self._count += 1
        report = await self._ingest()
        return report.inserted

    async def unchanged(self) -> int:
        """Load into a corpus that already holds all records."""
        report = await self._ingest()
        return report.unchanged

    async def copy(self) -> int:
        """COPY the decoded records into a table without any index."""
        rows = [(record["id"], record["text"], record["created_at"]) for record in self._records()]
        async with self._database.transaction() as connection:
            await connection.execute("DROP TABLE IF EXISTS plain")
            await connection.execute("CREATE TABLE plain (id text, text text, created_at text)")
            await connection.copy_records_to_table("plain", records=rows)
        return len(rows)

    async def fts5(self) -> int:
        """Insert the decoded records into SQLite: a table, and its full-text index with stems."""
        file = self._place / "fts5.db"
        file.unlink(missing_ok=True)
        connection = sqlite3.connect(file)
        with connection:
            connection.execute("CREATE TABLE document (id TEXT PRIMARY KEY, text, created_at)")
            connection.execute(
                "CREATE VIRTUAL TABLE words USING fts5"
                " (text, content=document, tokenize='porter unicode61')"
            )
            records = self._records()
            for record in records:
                values = (record["id"], record["text"], record["created_at"])
                connection.execute("INSERT OR REPLACE INTO document VALUES (?, ?, ?)", values)
            connection.execute("INSERT INTO words (words) VALUES ('rebuild')")
        connection.close()
        return len(records)

    async def _ingest(self) -> IngestReport:
        corpora, documents = Corpora(self._database), Documents(self._database)
        corpus = await corpora.ensure(
            f"load-{self._count}",
            kind=Kind.TWEETS,
            language="english",
            author=None,
        )
        loader = Loader(documents, corpus, rejected=lambda _: None, progress=lambda _: None)
        async with SourceReader() as reader:
            [source] = await reader.open_all(str(self._file))
            await loader.load(source)
        report = await loader.finish()
        await documents.settle(corpus)
        return report

    def _records(self) -> list[dict[str, str]]:
        with self._file.open("rb") as lines:
            return [orjson.loads(line) for line in lines]


async def measured(load: Callable[[], Awaitable[int]], repeat: int) -> tuple[int, float]:
    """Return how many records a load stores, and its median seconds."""
    seconds = []
    records = 0
    for _ in range(repeat):
        start = time.perf_counter()
        records = await load()
        seconds.append(time.perf_counter() - start)
    return records, statistics.median(seconds)


async def run(arguments: argparse.Namespace, file: Path, place: Path, url: str) -> None:
    """Measure each load in turn."""
    output = Output("ingest")
    database = await opened(url, size=2)
    loads = Loads(database, file, place)
    systems: dict[str, Callable[[], Awaitable[int]]] = {
        "presagio": loads.everything,
        "presagio, unchanged": loads.unchanged,
        "plain COPY": loads.copy,
        "sqlite fts5": loads.fts5,
    }
    try:
        base = 0.0
        for name, load in systems.items():
            progress(f"{name}, {arguments.repeat} times")
            records, seconds = await measured(load, arguments.repeat)
            base = base or records / seconds
            output.row(
                system=name,
                records=records,
                seconds=round(seconds, 3),
                per_second=round(records / seconds),
                ratio_to_presagio=round(records / seconds / base, 2),
            )
    finally:
        await database.close()
    output.table()


def _first(file: Path, number: int, place: Path) -> Path:
    """Copy the first records of a file."""
    short = place / file.name
    with file.open("rb") as lines, short.open("wb") as copied:
        copied.writelines(islice(lines, number))
    return short


def main(argv: Sequence[str] | None = None) -> None:
    """Read the arguments, start a server, measure, clean up."""
    parser = argparse.ArgumentParser(prog="python -m bench.ingest", description=__doc__)
    parser.add_argument("--repeat", type=int, default=3, help="times each load is done (3)")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of real data")
    parser.add_argument("--quick", action="store_true", help=f"{_QUICK:,} tweets, once")
    arguments = parser.parse_args(argv)
    file = arguments.data / "tweets" / "trump_archive.jsonl"
    with folder() as place, server(place) as url:
        if arguments.quick:
            arguments.repeat, file = 1, _first(file, _QUICK, place)
        asyncio.run(run(arguments, file, place, url))


if __name__ == "__main__":
    main()
