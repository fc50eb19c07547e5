"""A separate server for one bench, the corpus in it, and what the server has worked."""

import os
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from bench.timing import progress
from db.corpus.corpora import Corpora
from db.corpus.documents import Documents
from db.embedded.server import EmbeddedServer
from db.pool import Database, PoolSettings
from engine.corpora import Document
from engine.values import Corpus, Kind

BATCH = 10_000


@contextmanager
def folder() -> Iterator[Path]:
    """Yield a temporary folder that the server's account may traverse.

    SIGTERM ends the block as Ctrl-C does, so that the servers in the folder stop with the bench.
    """
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        with tempfile.TemporaryDirectory(prefix="presagio-bench-") as name:
            path = Path(name)
            path.chmod(0o711)
            yield path
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def server(parent: Path) -> Iterator[str]:
    """Yield the URL of an embedded server with the shipped settings."""
    with EmbeddedServer(parent / "data") as running:
        yield running.url()


_TICKS = os.sysconf("SC_CLK_TCK")


async def postmaster(database: Database) -> int:
    """Return the number of the first process of a server, which must be on this machine."""
    async with database.connection() as connection:
        file = await connection.fetchval("SELECT pg_read_file('postmaster.pid')")
    return int(str(file).split(maxsplit=1)[0])


def processor_seconds(first: int) -> float:
    """Return what a server has worked so far, by its first process.

    A busy machine changes this much less than what the clock says.
    """
    ticks = 0
    for process in Path("/proc").glob("[0-9]*/stat"):
        try:
            name_and_rest = process.read_text()
        except OSError:  # it has ended
            continue
        parent, *rest = name_and_rest.rpartition(")")[2].split()[1:]
        if process.parent.name == str(first):
            ticks += sum(map(int, rest[9:13]))  # its own, and of those that have ended
        elif parent == str(first):
            ticks += sum(map(int, rest[9:11]))
    return ticks / _TICKS


async def opened(url: str, *, size: int) -> Database:
    """Return the database with all tables, and a pool of `size` connections."""
    database = await Database.open(url, PoolSettings(size=size, command_timeout=600))
    await database.migrate()
    return database


async def filled(
    database: Database,
    name: str,
    language: str,
    documents: Iterable[Document],
    *,
    kind: Kind = Kind.TWEETS,
) -> Corpus:
    """Store documents and return their corpus with its statistics."""
    corpora, store = Corpora(database), Documents(database)
    corpus = await corpora.ensure(name, kind=kind, language=language, author=None)
    stored, rest = 0, iter(documents)
    while batch := list(islice(rest, BATCH)):
        inserted, _ = await store.upsert(corpus, batch)
        stored += inserted
        if stored % (10 * BATCH) == 0:
            progress(f"  {stored:,} stored")
    await store.settle(corpus)
    return await corpora.get(name)
