"""Corpora on workers of Citus; PRESAGIO_TEST_CITUS_URL names a coordinator with two workers."""

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import product
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest

from db.connection import name_partition
from db.corpus.corpora import Corpora
from db.corpus.documents import Documents
from db.corpus.health import Reindexing, statistics_differ
from db.corpus.placement import Placement
from db.pool import Database
from db.search.embeddings import Embeddings
from db.search.find import DialectIndex
from db.search.lexical import LexicalIndex
from engine.corpora import Document, Part
from engine.embed.fill import fill_vectors
from engine.errors import StorageInterrupted, UsageError
from engine.query.filters import Conditions
from engine.search import Filters
from engine.values import Corpus, Flag, Kind
from tests.database import (
    execute,
    fetch,
    fetch_rows,
    fetch_value,
    pool_on,
    run_sql,
    wait_for,
    with_database,
)
from tests.db.loading import START, document, load
from tests.db.vectors import WordModel, require_vectors
from tests.fakes.database_line import DatabaseLine

_URL = os.environ.get("PRESAGIO_TEST_CITUS_URL")
needs_citus = pytest.mark.skipif(not _URL, reason="needs PRESAGIO_TEST_CITUS_URL")
_LONGEST = 6.0  # seconds that a worker may keep a search waiting
HEADLINES = ("rust rain seven", "a bridge of rust", "rain 13", "nothing of this")


async def _worker_urls(url: str) -> list[str]:
    rows = await fetch(
        url, "SELECT nodename, nodeport FROM pg_dist_node WHERE groupid > 0 ORDER BY nodeid"
    )
    role, _, _ = url.removeprefix("postgresql://").partition("@")
    return [f"postgresql://{role}@{row['nodename']}:{row['nodeport']}/postgres" for row in rows]


async def _create(url: str, name: str) -> str:
    """Create a database of this name on all nodes, and have them know each other."""
    workers = await _worker_urls(url)
    for node in (url, *workers):
        await execute(node, f"CREATE DATABASE {name}")
        await execute(with_database(node, name), "CREATE EXTENSION citus")
    made = with_database(url, name)
    for node in workers:
        host, _, port = node.rpartition("@")[2].partition("/")[0].partition(":")
        await execute(made, f"SELECT citus_add_node('{host}', {port})")
    async with pool_on(made) as database:
        await database.migrate()
    return made


async def _drop(url: str, name: str) -> None:
    for node in (url, *await _worker_urls(url)):
        await execute(node, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def citus_url() -> Iterator[str]:
    """URL of a database on a coordinator, with all tables."""
    assert _URL
    name = f"presagio_test_placed_{uuid4().hex[:8]}"
    yield wait_for(_create(_URL, name))
    wait_for(_drop(_URL, name))


@pytest.fixture
async def citus(citus_url: str) -> AsyncIterator[Database]:
    """The database without corpora."""
    async with pool_on(citus_url) as opened:
        yield opened
        for corpus in await Corpora(opened).list():
            await Corpora(opened).drop(corpus.name)


def _texts(count: int) -> list[Document]:
    return [
        document(str(n), f"rust rain bridge {n} {n % 7}", day=n, author="ana", lang="es")
        for n in range(count)
    ]


def _item(name: str, *texts: str, digest: int = 1) -> Document:
    return Document(
        external_id=name,
        text="",
        search_text="",
        created_at=START,
        digest=digest,
        title=name,
        parts=tuple(Part(text=text, search_text=text) for text in texts),
        pages=1,
    )


async def _find(database: Database, corpus: Corpus) -> list[list[tuple[str, float]]]:
    """What searches find, in its order."""
    index, found = LexicalIndex(database), []
    corpus = await Corpora(database).get(corpus.name)
    for headline in HEADLINES:
        terms = await index.terms(corpus, headline)
        best = await index.top(corpus, terms, Filters(exclude=Flag.REPOST), 10)
        found.append([(each.external_id, round(each.bm25, 9)) for each in best])
    return found


async def _all_texts(database: Database, corpus: Corpus) -> list[tuple[str, str, int]]:
    stored = [page async for page in Documents(database).pages(corpus)]
    return [(each.external_id, each.text, len(each.parts)) for page in stored for each in page]


async def _change(database: Database, corpus: Corpus) -> None:
    """Change a corpus in all ways in which corpora change."""
    documents = Documents(database)
    changed = [document(str(n), f"rust bridge changed {n}", day=n) for n in range(0, 20, 3)]
    replies = [
        document(f"r{n}", f"reply {n}", day=90 + n, author="ana", reply_to=str(n))
        for n in range(0, 40, 5)
    ]
    batch = {each.external_id: each for each in [*_texts(60), *changed, *replies]}
    assert await documents.upsert(corpus, [*batch.values()]) == (8 + 10, 7)
    await documents.stitch_threads(corpus)
    assert await documents.stitch_threads(corpus) == 0
    assert await Documents(database).forget(corpus, before=START.replace(day=9)) == 8
    await run_sql(database, "UPDATE corpus SET index_version = 1 WHERE id = $1", corpus.id)
    old = await Corpora(database).get(corpus.name)
    assert sum([page.seen async for page in Reindexing(database).pages(old)]) == await _count(
        database, corpus
    )
    await documents.settle(await Corpora(database).get(corpus.name))


async def _count(database: Database, corpus: Corpus) -> int:
    return (await Corpora(database).get(corpus.name)).documents


@needs_citus
@pytest.mark.slow
async def test_a_placed_corpus_behaves_like_a_local_one(
    citus: Database, database: Database
) -> None:
    for opened in (citus, database):
        await load(opened, "c", _texts(50))
    counts: list[int] = []
    corpus = await Corpora(citus).get("c")
    worker = await Placement(citus).move_to_worker(corpus, counts.append)
    assert (counts, await Placement(citus).places()) == ([50], {"c": worker})
    placed, here = await Corpora(citus).get("c"), await Corpora(database).get("c")
    assert placed.placed
    assert await _find(citus, placed) == await _find(database, here)
    for opened, own in ((citus, placed), (database, here)):
        await _change(opened, own)
        assert await statistics_differ(opened, own) is None
    assert await _find(citus, placed) == await _find(database, here)
    assert await _all_texts(citus, placed) == await _all_texts(database, here)
    await Placement(citus).move_here(placed, counts.append)
    back = await Corpora(citus).get("c")
    assert not back.placed
    assert await statistics_differ(citus, back) is None
    assert await _find(citus, back) == await _find(database, here)


@needs_citus
@pytest.mark.slow
async def test_items_and_postings_of_a_placed_corpus_stay_exact(
    citus: Database, database: Database
) -> None:
    items = [_item("a", "rust rain", "rain bridge"), _item("b", "rust")]
    renewed = [_item("a", "rain alone", digest=2), _item("c", "bridge bridge")]
    for opened in (citus, database):
        corpus = await load(opened, "lib", items, "english", Kind.LIBRARY)
        if opened is citus:
            await Placement(citus).move_to_worker(corpus, lambda _: None)
        assert await Documents(opened).upsert(corpus, renewed) == (1, 1)
        assert await statistics_differ(opened, corpus) is None
    placed, here = await Corpora(citus).get("lib"), await Corpora(database).get("lib")
    assert placed.postings
    assert await _find(citus, placed) == await _find(database, here)
    assert await _all_texts(citus, placed) == await _all_texts(database, here)
    assert await Corpora(citus).drop("lib") == here.documents


@needs_citus
@pytest.mark.slow
async def test_sessions_plan_for_workers_where_citus_is(
    citus: Database, database: Database
) -> None:
    for opened, mode in ((citus, "force_custom_plan"), (database, "force_generic_plan")):
        async with opened.connection() as first, opened.connection() as second:
            for connection in (first, second):
                assert await connection.fetchval("SHOW plan_cache_mode") == mode


async def _embed(database: Database, corpus: Corpus, *, exact_up_to: int = 1000) -> None:
    corpus = await Corpora(database).get(corpus.name)
    await fill_vectors(
        Embeddings(database, exact_up_to=exact_up_to), WordModel(), corpus, progress=lambda *_: None
    )


async def _nearest(database: Database, corpus: Corpus) -> list[object]:
    """What searches by meaning find, in their order, with everything known of the vectors."""
    index, found, model = Embeddings(database), [], WordModel()
    rows = await fetch_rows(database, f"SELECT id, external_id FROM {name_partition(corpus.id)}")
    names = {row["id"]: row["external_id"] for row in rows}
    space = await index.space(corpus, model.name)
    assert space is not None
    for asked, filters in product(HEADLINES, (Filters(), Filters(before=START.replace(day=12)))):
        vector = model.vector(asked)
        near = await index.nearest(corpus, space, vector, filters, 10)
        ids = sorted(names)[:20]
        found += [
            [(names[each], round(cosine, 3)) for each, cosine in near],
            [
                (names[one], names[other])
                for one, other in await index.alike(corpus, space, ids, 0.9)
            ],
            len(await index.cosines(corpus, space, vector, ids)),
        ]
        dialect = await DialectIndex(database).nearest(
            corpus, [], Conditions(), 10, space=space, vector=vector
        )
        found.append([each.candidate.external_id for each in dialect.documents])
    sample = await index.sample(corpus, space.model_id, 5)
    return [
        *found,
        space.share,
        await index.count(corpus, space.model_id),
        await index.count_missing(corpus, space.model_id),
        len(sample),
    ]


@needs_citus
@pytest.mark.slow
@pytest.mark.parametrize("exact_up_to", [1000, 10], ids=["compared", "indexed"])
async def test_vectors_of_a_placed_corpus_find_the_same_and_follow_its_texts(
    citus: Database, database: Database, exact_up_to: int
) -> None:
    await require_vectors(citus)
    corpora = {each: await load(each, "c", _texts(50)) for each in (citus, database)}
    for opened, corpus in corpora.items():
        await _embed(opened, corpus, exact_up_to=exact_up_to)
    await Placement(citus).move_to_worker(corpora[citus], lambda _: None)
    corpora[citus] = await Corpora(citus).get("c")  # which knows that it is placed
    corpus, here = corpora[citus], corpora[database]
    assert await _nearest(citus, corpus) == await _nearest(database, here)
    for opened, own in corpora.items():
        await _change(opened, own)
    assert await _nearest(citus, corpus) == await _nearest(database, here)
    for opened, own in corpora.items():
        await _embed(opened, own, exact_up_to=exact_up_to)
        missing = [part async for part in Embeddings(opened).find_missing(own, 1, new=True)]
        assert missing == []
    assert await _nearest(citus, corpus) == await _nearest(database, here)
    await Placement(citus).move_here(corpus, lambda _: None)
    assert await _nearest(citus, corpus) == await _nearest(database, here)


async def test_a_plain_server_has_no_workers(database: Database) -> None:
    corpus = await load(database, "c", _texts(3))
    with pytest.raises(UsageError, match="plain PostgreSQL"):
        await Placement(database).move_to_worker(corpus, lambda _: None)
    assert await Placement(database).places() == {}


_PREPARED = "SELECT count(*) FROM pg_dist_transaction"
_RECOVER = "SELECT recover_prepared_transactions()"


@needs_citus
@pytest.mark.slow
async def test_every_change_of_a_placed_corpus_uses_two_phase_commit(citus: Database) -> None:
    """Citus leaves that out, and may lose rows, where a transaction reads before it writes."""
    corpus, documents = await load(citus, "c", _texts(9)), Documents(citus)
    await Placement(citus).move_to_worker(corpus, lambda _: None)

    async def reindex() -> None:
        await run_sql(citus, "UPDATE corpus SET index_version = 1")
        async for _ in Reindexing(citus).pages(await Corpora(citus).get("c")):
            pass

    ways: dict[str, Callable[[], Awaitable[object]]] = {
        "insert": lambda: documents.upsert(corpus, [document("n", "new", reply_to="3")]),
        "update": lambda: documents.upsert(corpus, [document("3", "other", day=3)]),
        "nothing new": lambda: documents.upsert(corpus, [document("3", "other", day=3)]),
        "stitch": lambda: documents.stitch_threads(corpus),
        "reindex": reindex,
        "retention": lambda: Documents(citus).forget(corpus, before=START.replace(day=4)),
    }
    for name, change in ways.items():
        await run_sql(citus, _RECOVER)
        await change()
        assert await fetch_value(citus, _PREPARED), name
        assert await statistics_differ(citus, corpus) is None, name


@needs_citus
@pytest.mark.slow
async def test_a_worker_that_hangs_or_dies_is_named_and_needs_no_restart(citus: Database) -> None:
    corpora = [await load(citus, name, _texts(20)) for name in ("c", "other")]
    workers = {await Placement(citus).move_to_worker(each, lambda _: None) for each in corpora}
    assert len(workers) == len(corpora)
    placed, other = corpora
    found = await _find(citus, placed)
    assert await _find(citus, other) == found
    name = (await Placement(citus).places())["c"]
    async with DatabaseLine.to(f"postgresql://postgres@{name}/postgres") as line:
        [port] = parse_qs(urlsplit(line.url).query)["port"]
        through = await _reach(citus, name, f"127.0.0.1:{port}")
        try:
            assert await _find(citus, placed) == found
            for fail in (line.stop_carrying, lambda: line.lead_to("postgresql://127.0.0.1:1")):
                fail()
                began = time.monotonic()
                with pytest.raises(StorageInterrupted, match=f"{through}, which holds c,"):
                    await _find(citus, placed)
                assert time.monotonic() - began < _LONGEST
                assert await _find(citus, other) == found
                silent = [each.name for each in await Placement(citus).workers() if not each.citus]
                assert silent == [through]
        finally:
            await _reach(citus, through, name)
            await run_sql(citus, "SELECT start_metadata_sync_to_all_nodes()")
    assert await _find(citus, placed) == found
    assert all(each.citus for each in await Placement(citus).workers())


async def _reach(database: Database, worker: str, address: str) -> str:
    """Have the coordinator reach a worker at another address; return that."""
    host, _, port = worker.partition(":")
    new_host, _, new_port = address.partition(":")
    async with database.connection() as connection:
        await connection.execute(
            "SELECT citus_update_node(nodeid, $3, $4) FROM pg_dist_node"
            " WHERE nodename = $1 AND nodeport = $2",
            host,
            int(port),
            new_host,
            int(new_port),
        )
    return address
