"""Several hundred corpora: a statement locks its own one alone, and ingests run side by side."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from db.connection import Connection
from db.corpus.corpora import Corpora
from db.corpus.documents import Documents
from db.corpus.glossary import Groups
from db.corpus.health import statistics_differ
from db.pool import Database, PoolSettings
from db.search.embeddings import Embeddings
from db.search.find import DialectIndex
from db.search.lexical import CandidateReader, LexicalIndex
from db.search.nearest import CorpusVocabulary
from db.search.shown import Comments, DocumentLookup, Threads
from engine.embed.fill import fill_vectors
from engine.errors import StorageError
from engine.query.find import Finder
from engine.query.parser import parse_query
from engine.search import Filters
from engine.values import Corpus
from tests.database import Clones, fetch_value, pool_on, wait_for
from tests.db.loading import START, document, load, load_texts, new_corpus
from tests.db.vectors import WordModel, can_keep_vectors, require_vectors
from tests.patience import PATIENCE

MANY, FEW = 300, 3
TEXTS = [document(str(n), f"rust rain {n}", day=n, reply_to="0", author="ana") for n in range(20)]


@pytest.fixture(scope="module")
def many_url(_clones: Clones) -> Iterator[str]:
    """A database with many corpora, one of them with documents."""
    with _clones.clone() as url:
        wait_for(_filled(url, MANY))
        yield url


@pytest.fixture(scope="module")
def few_url(_clones: Clones) -> Iterator[str]:
    """The same with few corpora."""
    with _clones.clone() as url:
        wait_for(_filled(url, FEW))
        yield url


async def _filled(url: str, corpora: int) -> None:
    async with pool_on(url) as database:
        for number in range(corpora - 2):
            await new_corpus(database, f"c{number}")
        await load(
            database, "large", [document(str(n), f"rust rain {n}", day=n) for n in range(900)]
        )
        corpus = await load(database, "full", TEXTS)
        if await can_keep_vectors(database):
            await fill_vectors(Embeddings(database), WordModel(), corpus, progress=lambda *_: None)


class Watched(Database):
    """Lends one connection, in one transaction, so that its locks can be counted at the end."""

    @classmethod
    @asynccontextmanager
    async def on(cls, url: str) -> AsyncIterator["Watched"]:
        """Open, and take back all that was written."""
        opened = await cls.open(url)
        try:
            async with Database.connection(opened) as connection:
                opened.held = connection
                async with opened.undone():
                    yield opened
        finally:
            await opened.close()

    held: Connection

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Lend the one connection."""
        yield self.held

    own_connection = connection

    @asynccontextmanager
    async def undone(self) -> AsyncIterator[None]:
        """Take back what the block writes, with the locks of it."""
        changes = self.held.transaction()
        await changes.start()
        yield
        await changes.rollback()

    async def locked(self) -> list[str]:
        """Return the names of the tables and indexes that the transaction has locked."""
        rows = await self.held.fetch(
            "SELECT DISTINCT relation::regclass::text AS name FROM pg_locks"
            " WHERE pid = pg_backend_pid() AND locktype = 'relation' AND relation >= 16384"
        )
        return sorted(row["name"] for row in rows)


Work = Callable[[Database], Awaitable[object]]
FILTERS = Filters(before=START + timedelta(days=9000))
NOW = datetime(2030, 1, 1, tzinfo=UTC)


async def _full(database: Database) -> Corpus:
    return await Corpora(database).get("full")


async def _described(database: Database) -> None:
    search, corpus = LexicalIndex(database), await Corpora(database).get("large")
    terms = await search.terms(corpus, "rust rain rainn")
    found = await search.top(corpus, terms, FILTERS, 5)
    assert found
    assert await CandidateReader(database).describe_documents(
        corpus, terms, [one.id for one in found]
    )


async def _found(database: Database) -> None:
    corpus = await _full(database)
    index = DialectIndex(database)
    for query in ("rust -snow", "-snow", "from:ana rust"):
        found = await Finder(index).find(corpus, parse_query(query))
        assert found.hits


async def _commented(database: Database) -> None:
    corpus = await _full(database)
    found = await Finder(DialectIndex(database)).find(corpus, parse_query("0 OR 1"))
    commented = await Comments(database).add_comments(corpus, found, 3)
    assert any(hit.comments for hit in commented.hits)


async def _written(database: Database) -> None:
    corpus = await _full(database)
    documents = Documents(database)
    changed = [document(text.external_id, "snow", author="ana") for text in TEXTS[:9]]
    new = [document(f"new{number}", "rust", day=1) for number in range(5)]
    assert await documents.find_outdated(corpus, {one.external_id: 0 for one in changed})
    assert await documents.upsert(corpus, [*changed, *new]) == (5, 9)
    assert await documents.stitch_threads(corpus)


async def _forgotten(database: Database) -> None:
    corpus = await _full(database)
    assert await Documents(database).forget(corpus, before=START + timedelta(days=5)) == 5


async def _shown(database: Database) -> None:
    corpus = await _full(database)
    shown = DocumentLookup(database)
    found = await shown.document(corpus, "1")
    assert found
    ids = [found.candidate.id]
    assert await shown.mark_words(corpus, ids, {"rust"})
    assert await shown.find_tagged(corpus, ids, "tag") == set()
    assert await shown.count(corpus, FILTERS) == len(TEXTS)


async def _told(database: Database) -> None:
    corpus = await _full(database)
    assert await Corpora(database).span(corpus) != (None, None)
    assert await statistics_differ(database, corpus) is None
    assert await Groups(database).sample(corpus, 5)
    assert await CorpusVocabulary(database).lexemes(corpus, ["rust"])
    threads = Threads(database)
    assert await threads.list(corpus, limit=5) == []
    assert await threads.read(corpus, "t", limit=5) == []


async def _compared(database: Database) -> None:
    corpus = await _full(database)
    await require_vectors(database)
    embeddings, model = Embeddings(database), WordModel()
    await fill_vectors(embeddings, model, corpus, progress=lambda *_: None)
    space = await embeddings.space(corpus, "words")
    assert space
    vector = model.vector("rust rain")
    near = await embeddings.nearest(corpus, space, vector, FILTERS, 50)
    assert len(near) == len(TEXTS)
    assert await embeddings.cosines(corpus, space, vector, [near[0][0]])


async def _made_and_dropped(database: Database) -> None:
    corpora = Corpora(database)
    await new_corpus(database, "new")
    await corpora.drop("new")


WORKS: list[Work] = [
    _described, _found, _commented, _written, _forgotten, _shown, _told, _compared,
    _made_and_dropped,
]  # fmt: skip


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.__name__.strip("_"))
@pytest.mark.slow  # a database with many corpora
async def test_locks_do_not_grow_with_the_number_of_corpora(
    work: Work, few_url: str, many_url: str
) -> None:
    few, many = await _locked(work, few_url), await _locked(work, many_url)
    assert list(map(len, few)) == list(map(len, many)), many
    assert all(len(names) < 80 for names in many)


async def _locked(work: Work, url: str) -> list[list[str]]:
    """Return what some work locks, first when it is planned, then as it was planned."""
    locked = []
    async with Watched.on(url) as database:
        for _ in range(2):
            async with database.undone():
                await work(database)
                locked.append(await database.locked())
    return locked


@pytest.mark.slow  # a database with many corpora
async def test_four_concurrent_ingests_stay_within_the_lock_limit(many_url: str) -> None:
    """On a server that allows as many locks as servers do by default."""
    ready = asyncio.Barrier(4)

    async def ingest(number: int) -> None:
        async with Watched.on(many_url) as database:
            corpus = await Corpora(database).get(f"c{number}")
            documents = Documents(database)
            await documents.find_outdated(corpus, {"0": 0})
            assert await documents.upsert(corpus, TEXTS) == (len(TEXTS), 0)
            await database.held.execute("DROP TABLE staging")  # as the end of a transaction does
            assert await documents.upsert(corpus, [document("0", "snow", author="ana")]) == (0, 1)
            assert await documents.stitch_threads(corpus)
            async with asyncio.timeout(PATIENCE):
                await ready.wait()  # nobody lets go of a lock before all have theirs

    await asyncio.gather(*map(ingest, range(4)))


async def test_a_session_that_touched_many_corpora_is_replaced(database_url: str) -> None:
    async with pool_on(database_url) as loader:
        corpora = [await load_texts(loader, f"c{n}", ["rain and boats"]) for n in range(5)]
    database = await Database.open(database_url, PoolSettings(size=1, corpora=3))

    async def process() -> int:
        return int(await fetch_value(database, "SELECT pg_backend_pid()"))

    try:
        index, begun = LexicalIndex(database), await process()
        for corpus in (*corpora[:2], *corpora[:2], corpora[0]):
            terms = await index.terms(corpus, "rain")
            assert len(await index.top(corpus, terms, Filters(), 5)) == 1
            assert await process() == begun
        found = {begun}
        for corpus in corpora:
            terms = await index.terms(corpus, "rain")
            assert len(await index.top(corpus, terms, Filters(), 5)) == 1
            found.add(await process())
        assert len(found) == 2
    finally:
        await database.close()


async def test_an_error_in_a_session_due_for_replacement_is_still_raised(database_url: str) -> None:
    async with pool_on(database_url, PoolSettings(size=1, corpora=1)) as database:
        with pytest.raises(StorageError, match="no_table"):
            async with database.transaction() as connection:
                await connection.execute("SELECT 1 /* document_1 document_2 */")
                await connection.execute("SELECT FROM no_table")
        async with database.transaction() as connection:
            assert await connection.fetchval("SELECT 1") == 1
