"""A separate server for one bench, and the corpus in it."""

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
    """Yield a temporary folder that the server's account may traverse."""
    with tempfile.TemporaryDirectory(prefix="presagio-bench-") as name:
        path = Path(name)
        path.chmod(0o711)
        yield path


@contextmanager
def server(parent: Path) -> Iterator[str]:
    """Yield the URL of an embedded server with the shipped settings."""
    with EmbeddedServer(parent / "data") as running:
        yield running.url()


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
    corpus = await corpora.ensure(
        name, kind=kind, language=language, author=None, url_template=None
    )
    stored, rest = 0, iter(documents)
    while batch := list(islice(rest, BATCH)):
        inserted, _ = await store.upsert(corpus, batch)
        stored += inserted
        if stored % (10 * BATCH) == 0:
            progress(f"  {stored:,} stored")
    await store.settle(corpus)
    return await corpora.get(name)
