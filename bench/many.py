"""Measures one server with many archives and chats: `python -m bench.many [--quick]`.

A separate server gets thousands of small corpora, written by several connections at once, and as
many subscribed chats as asked. Measured are the writing, the first search of a new connection, what
a connection that has searched all corpora holds, opening the database, a backup, an idle round of
the jobs, and deciding the posts of all chats that are due in one moment.
"""

import argparse
import asyncio
import logging
import random
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from bench.store import folder, opened, postmaster, processor_seconds, server
from bench.timing import Output, milliseconds, progress
from bot.app import App
from bot.jobs.digest import decide_due_posts
from bot.jobs.search import StorySearch
from db.backup import back_up_database
from db.corpus.corpora import Corpora
from db.corpus.documents import Documents
from db.pool import Database, PoolSettings
from db.search.lexical import LexicalIndex
from engine.corpora import Document
from engine.feeds.feed import Story
from engine.search import Filters
from engine.values import Corpus, Kind
from tests.bot.apps import app_on
from tests.db.loading import document
from tests.db.news import brought, configured, found, make_headline, tweet

_NOW = datetime(2026, 11, 22, 9, tzinfo=UTC)
_WORDS = [
    "rain",
    "boat",
    "tax",
    "wind",
    "sugar",
    "glass",
    "river",
    "market",
    "paint",
    "tower",
    "train",
    "bread",
]
_CONNECTIONS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much of everything."""

    corpora: int
    documents: int  # in each corpus
    chats: int
    due: int  # chats whose post is due in one moment
    stories: int  # that were judged for the corpus of the chats


_WHOLE = Size(corpora=2000, documents=20, chats=100_000, due=20_000, stories=5)
_QUICK = Size(corpora=20, documents=5, chats=500, due=100, stories=2)


class _Rows(Output):
    """Rows that tell how long the server has worked since the row before."""

    _before = 0.0
    worked: Callable[[], float] = staticmethod(lambda: 0.0)

    def row(self, **figures: object) -> None:
        worked = self.worked()
        super().row(**figures, server_cpu_seconds=round(worked - self._before, 2))
        self._before = worked


async def measure(size: Size, place: Path) -> None:
    """Print a row for each measurement."""
    output = _Rows("many")
    with server(place) as url:
        database = await opened(url, size=_CONNECTIONS)
        try:
            output.worked = partial(processor_seconds, await postmaster(database))
            corpora = await _written(database, size, output)
            await _first_searches(url, corpora, output)
            for maximum in (len(corpora), PoolSettings().corpora):
                await _one_connection(url, corpora, maximum, output)
            await _opening_and_backup(url, place / "many.dump", output)
            if size.chats:
                await _chats(database, size)
                await _rounds(database, output)
        finally:
            await database.close()
    output.table()


async def _written(database: Database, size: Size, output: Output) -> list[Corpus]:
    """Create and fill the corpora on several connections at once."""
    names = iter(range(size.corpora))
    corpora: list[Corpus] = []
    seconds: list[float] = []
    failed: list[str] = []

    async def write() -> None:
        for number in names:
            begun = time.perf_counter()
            try:
                corpora.append(await _corpus(database, f"c{number}", size.documents))
            except Exception as error:
                failed.append(f"{type(error).__name__}: {error}")
            seconds.append(time.perf_counter() - begun)
            if len(corpora) % 200 == 0:
                progress(
                    f"  {len(corpora):,} corpora, {sum(seconds[-50:]) / 50 * 1000:.0f} ms each"
                )

    begun = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(write())
    output.row(
        measured="corpora written",
        number=len(corpora),
        failed=len(failed),
        error=failed[0] if failed else None,
        seconds=round(time.perf_counter() - begun, 1),
        **milliseconds(seconds[-200:]),
    )
    return corpora


async def _corpus(database: Database, name: str, number: int) -> Corpus:
    corpora, documents = Corpora(database), Documents(database)
    corpus = await corpora.ensure(name, kind=Kind.TWEETS, language="english", author=None)
    chance = random.Random(name)
    await documents.upsert(corpus, _texts(number, chance))
    return await corpora.get(name)


def _texts(number: int, chance: random.Random) -> list[Document]:
    texts = (" ".join(chance.choices(_WORDS, k=12)) for _ in range(number))
    return [document(str(one), text, day=one) for one, text in enumerate(texts)]


async def _first_searches(url: str, corpora: Sequence[Corpus], output: Output) -> None:
    """Search on connections that have never searched."""
    seconds = []
    for corpus in corpora[:: max(len(corpora) // 40, 1)]:
        async with _single(url) as database:
            begun = time.perf_counter()
            await _search(database, corpus)
            seconds.append(time.perf_counter() - begun)
    output.row(
        measured="first search of a connection", number=len(seconds), **milliseconds(seconds)
    )


async def _one_connection(
    url: str, corpora: Sequence[Corpus], maximum: int, output: Output
) -> None:
    """Search every corpus on one connection at a time, which may touch so many, and tell what its
    process holds at most."""
    async with _single(url, maximum) as database:
        seconds, held, steps = [], [0], max(min(maximum, len(corpora)) // 2, 1)
        for number, corpus in enumerate(corpora, 1):
            begun = time.perf_counter()
            await _search(database, corpus)
            seconds.append(time.perf_counter() - begun)
            if number % steps == 0:
                async with database.connection() as connection:
                    process = await connection.fetchval("SELECT pg_backend_pid()")
                held.append(_own_megabytes(process) or 0)
        output.row(
            measured=f"a search in each corpus, {maximum:,} a connection",
            number=len(seconds),
            **milliseconds(seconds),
            megabytes=max(held),
        )


async def _search(database: Database, corpus: Corpus) -> None:
    index = LexicalIndex(database)
    await index.top(corpus, await index.terms(corpus, "rain boat tax"), Filters(), limit=150)


def _own_megabytes(process: int) -> int | None:
    """Return the memory of a process alone, without the buffers that all sessions share, or None
    where that cannot be read."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return None
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("Anonymous:"))


async def _opening_and_backup(url: str, file: Path, output: Output) -> None:
    """Do what `presagio init` does where all tables are there, and take a backup."""
    begun = time.perf_counter()
    async with _single(url) as database:
        await database.migrate()
        seconds = round(time.perf_counter() - begun, 2)
        output.row(measured="init of a full database", seconds=seconds)
        begun = time.perf_counter()
        await back_up_database(database, file, progress=lambda _: None)
    output.row(measured="backup", seconds=round(time.perf_counter() - begun, 1))


@asynccontextmanager
async def _single(url: str, corpora: int = PoolSettings().corpora) -> AsyncIterator[Database]:
    database = await Database.open(url, PoolSettings(size=1, corpora=corpora))
    try:
        yield database
    finally:
        await database.close()


async def _chats(database: Database, size: Size) -> None:
    """Store chats that are subscribed; so many of them are due now, the others hours later."""
    async with database.connection() as connection:
        await connection.execute(
            "INSERT INTO chat (platform, external_id, private, corpus)"
            " SELECT 'test', n::text, true, 'c' || n % $2 FROM generate_series(1, $1::integer) n",
            size.chats,
            size.corpora,
        )
        await connection.execute(
            "INSERT INTO subscription (chat_id, mode, at, since)"
            " SELECT id, 'daily', CASE WHEN row_number() OVER (ORDER BY id) <= $1 THEN time '08:59'"
            "        ELSE time '14:00' END, $2 FROM chat",
            size.due,
            _NOW - timedelta(days=2),
        )
        await connection.execute("ANALYZE chat, subscription")
    for number, story in enumerate(await _stories(database, size.stories)):
        for corpus in range(size.corpora):
            await found(database, story, [tweet(number)], corpus=f"c{corpus}", now=_NOW)


async def _stories(database: Database, number: int) -> list[Story]:
    (feed,) = await configured(database, "https://news.test/feed", now=_NOW)
    headlines = [make_headline(f"town{one} floods city{one}") for one in range(number)]
    return (await brought(database, feed, *headlines, now=_NOW))[1]


async def _rounds(database: Database, output: Output) -> None:
    """Decide what is due, again when nothing is, and look for what there is to search."""
    app = app_on(database, await Corpora(database).list())
    begun, worked = time.perf_counter(), time.process_time()
    posts = await decide_due_posts(app, now=_NOW)
    output.row(
        measured="posts decided",
        number=posts,
        seconds=round(time.perf_counter() - begun, 2),
        cpu_seconds=round(time.process_time() - worked, 2),
    )
    seconds = []
    for second in range(5):
        begun = time.perf_counter()
        await decide_due_posts(app, now=_NOW + timedelta(seconds=15 * second))
        seconds.append(time.perf_counter() - begun)
    output.row(measured="idle round of deciding", **milliseconds(seconds))
    await _idle_search(app, output)


async def _idle_search(app: App, output: Output) -> None:
    """Look for stories to search in the corpora of all chats, when all are searched."""
    search = StorySearch(app)
    seconds = []
    for second in range(7):
        begun = time.perf_counter()
        await search.run(now=_NOW + timedelta(seconds=15 * second))
        seconds.append(time.perf_counter() - begun)
    output.row(measured="round through all corpora", **milliseconds(seconds[:2]))
    output.row(measured="idle round of searching", **milliseconds(seconds[2:]))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=int, default=_WHOLE.corpora)
    parser.add_argument("--documents", type=int, default=_WHOLE.documents, help="in each corpus")
    parser.add_argument("--chats", type=int, default=_WHOLE.chats, help="0 leaves them out")
    parser.add_argument("--due", type=int, default=_WHOLE.due)
    parser.add_argument("--quick", action="store_true", help="seconds, for a test")
    chosen = parser.parse_args(argv)
    logging.getLogger("presagio").setLevel(logging.ERROR)
    whole = replace(
        _WHOLE,
        corpora=chosen.corpora,
        documents=chosen.documents,
        chats=chosen.chats,
        due=chosen.due,
    )
    with folder() as place:
        asyncio.run(measure(_QUICK if chosen.quick else whole, place))
    return 0


if __name__ == "__main__":
    sys.exit(main())
