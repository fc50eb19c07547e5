"""Postings say what the documents say, whatever happens to these, and whoever does it."""

import asyncio
from collections.abc import Sequence

import pytest

from db.corpus import corpora as module
from db.corpus.corpora import LONG, Corpora, Postings, has_postings
from db.corpus.documents import Documents
from db.corpus.health import Reindexing, statistics_differ
from db.pool import Database
from db.search.lexical import LexicalIndex
from engine.search import Filters
from engine.values import Corpus, Kind
from tests.database import fetch_value, run_sql
from tests.db.loading import START, assert_exact, document, load, load_texts

TEXTS = ("a ship and a canal", "the canal is shut", "ship ship ship", "", "canal")
LONG_TEXTS = tuple(" ".join(f"w{(n + i) % 90}" for i in range(LONG)) for n in range(10))


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 3)


async def library(database: Database, name: str = "lib", texts: Sequence[str] = TEXTS) -> Corpus:
    documents = [document(str(i), text, day=i) for i, text in enumerate(texts)]
    return await load(database, name, documents, kind=Kind.LIBRARY)


async def assert_postings_agree(database: Database, corpus: Corpus) -> int:
    """Check that the postings are those of the documents, and return their number."""
    assert not await Postings(database).count_differences(corpus)
    return int(await fetch_value(database, f"SELECT count(*) FROM postings_{corpus.id}"))


async def has_table(database: Database, corpus: Corpus) -> bool:
    async with database.connection() as connection:
        name = f"postings_{corpus.id}"
        return bool(await connection.fetchval("SELECT to_regclass($1) IS NOT NULL", name))


async def fill(database: Database, corpus: Corpus) -> list[int]:
    return [page async for page in Postings(database).pages(corpus)]


async def found(database: Database, corpus: Corpus, word: str) -> list[str]:
    search = LexicalIndex(database)
    top = await search.top(corpus, await search.terms(corpus, word), Filters(), 9)
    return [one.external_id for one in top]


def test_libraries_and_long_texts_have_postings() -> None:
    assert has_postings(Kind.LIBRARY, average_length=1)
    assert has_postings(Kind.PUBLISHED, average_length=LONG)
    assert not has_postings(Kind.PUBLISHED, average_length=LONG - 1)
    assert not has_postings(Kind.TWEETS, average_length=20)


async def test_a_library_has_postings_as_long_as_it_is_there(database: Database) -> None:
    corpus = await library(database)
    assert corpus.postings
    assert await assert_postings_agree(database, corpus) == 4 + 4 + 1 + 1
    assert await found(database, corpus, "canal") == ["4", "1", "0"]
    assert await Corpora(database).drop("lib") == len(TEXTS)
    assert not await has_table(database, corpus)
    assert await fill(database, corpus) == []
    assert await Postings(database).count_differences(corpus) == 0


async def test_tweets_have_no_postings(database: Database) -> None:
    corpus = await load_texts(database, "c", TEXTS)
    assert await fill(database, corpus) == []
    assert not (await Corpora(database).get("c")).postings
    assert not await has_table(database, corpus)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE document SET search_text = search_text || ' canal ship' WHERE corpus_id = {}",
        "UPDATE document SET search_text = 'other' WHERE external_id = '0'",
        "UPDATE document SET search_text = '' WHERE corpus_id = {}",
        "UPDATE document SET engagement = 7, flags = 1",
        "UPDATE document SET tsv = tsv || 'extra:9'::tsvector, length = 44 WHERE corpus_id = {}",
        "DELETE FROM document WHERE external_id IN ('0', '2')",
        "DELETE FROM document",
        "INSERT INTO document (corpus_id, external_id, text, search_text, created_at, digest,"
        " language) SELECT {}, 'new' || n, '', 'canal ship ' || n, now(), 1, 'simple'"
        " FROM generate_series(1, 9) n",
    ],
)
async def test_postings_follow_every_statement(database: Database, statement: str) -> None:
    corpus = await library(database)
    other = await library(database, "other", ["canal of another corpus"])
    await load_texts(database, "tweets", ["canal of a third"])
    await run_sql(database, statement.format(corpus.id))
    for one in (corpus, other):
        await assert_postings_agree(database, one)


async def test_a_text_that_stays_is_not_written_again(database: Database) -> None:
    corpus = await library(database)
    written = f"SELECT max(xmin::text::bigint) FROM postings_{corpus.id}"
    async with database.connection() as connection:
        before = await connection.fetchval(written)
        await connection.execute("UPDATE document SET engagement = 7, search_text = search_text")
        assert await connection.fetchval(written) == before


async def test_ingest_stitching_and_forgetting_keep_postings_exact(database: Database) -> None:
    corpus, documents = await library(database), Documents(database)
    await documents.upsert(corpus, [document("0", "a new canal", day=0), document("9", "ship")])
    replies = [document("r", "yes indeed", reply_to="9"), document("s", "no", reply_to="0")]
    await documents.upsert(corpus, replies)
    assert await documents.stitch_threads(corpus) == 2
    await documents.settle(corpus)
    await assert_exact(database, corpus)
    assert await Documents(database).forget(corpus, before=START.replace(day=3))
    await assert_exact(database, corpus)


async def test_existing_long_texts_get_postings_page_by_page(database: Database) -> None:
    corpus = await load_texts(database, "c", LONG_TEXTS)
    assert not corpus.postings
    before = await found(database, corpus, "w1 w2 w3")
    assert await fill(database, corpus) == [3, 3, 3, 1]
    posted = await Corpora(database).get("c")
    assert posted.postings
    assert await assert_postings_agree(database, posted) == len(LONG_TEXTS) * LONG
    assert await found(database, posted, "w1 w2 w3") == before
    assert await fill(database, posted) == []
    assert await fill(database, corpus) == []  # as another process knows it


async def test_a_corpus_placed_since_this_process_read_it_gets_none_here(
    database: Database,
) -> None:
    corpus = await load_texts(database, "c", LONG_TEXTS)
    await run_sql(database, "UPDATE corpus SET placed_postings = false")
    assert await fill(database, corpus) == []
    assert not await has_table(database, corpus)


async def test_an_interrupted_fill_resumes_where_it_stopped(database: Database) -> None:
    corpus = await load_texts(database, "c", LONG_TEXTS)
    pages = Postings(database).pages(corpus)
    assert await anext(pages) == 3
    await pages.aclose()
    # Documents before and after this place change meanwhile.
    await run_sql(
        database,
        "UPDATE document SET search_text = 'short' WHERE external_id IN ('1', '8');"
        "DELETE FROM document WHERE external_id IN ('0', '9')",
    )
    await load(database, "c", [document("new", LONG_TEXTS[0])])
    partial = await Corpora(database).get("c")
    assert not partial.postings
    await assert_exact(database, partial)
    assert await fill(database, corpus) == [3, 3, 1]
    await assert_exact(database, corpus)
    assert (await Corpora(database).get("c")).postings


async def test_concurrent_fills_and_writes_keep_postings_exact(database: Database) -> None:
    corpus = await load_texts(database, "c", LONG_TEXTS)
    more = [document(f"m{n}", LONG_TEXTS[n % 10]) for n in range(12)]

    async def write() -> None:
        for one in more:
            await Documents(database).upsert(corpus, [one])

    await asyncio.gather(fill(database, corpus), fill(database, corpus), write())
    assert (await Corpora(database).get("c")).postings
    await assert_exact(database, corpus)


async def test_catching_up_fills_missing_postings(database: Database) -> None:
    corpus = await load_texts(database, "c", LONG_TEXTS)
    await load_texts(database, "tweets", TEXTS)
    assert await Reindexing(database).catch_up(pause=0) == len(LONG_TEXTS)
    assert await Reindexing(database).catch_up(pause=0) == 0
    await assert_exact(database, corpus)


async def test_a_library_without_postings_gets_them(database: Database) -> None:
    """As one from before there were postings."""
    corpus = await library(database)
    await run_sql(
        database, f"UPDATE corpus SET postings_to = NULL; DROP TABLE postings_{corpus.id}"
    )
    old = await Corpora(database).get("lib")
    assert not old.postings
    assert await found(database, old, "canal") == ["4", "1", "0"]
    assert await fill(database, old) == [3, 2]
    assert await assert_postings_agree(database, old) == 10


async def test_an_empty_corpus_without_postings_gets_its_table(database: Database) -> None:
    corpus = await library(database, texts=[])
    await run_sql(
        database, f"UPDATE corpus SET postings_to = NULL; DROP TABLE postings_{corpus.id}"
    )
    assert await fill(database, await Corpora(database).get("lib")) == []
    assert (await library(database)).postings
    assert await assert_postings_agree(database, corpus) == 10


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM postings_{} WHERE lexeme = 'ship' AND tf = 3",
        "UPDATE postings_{} SET tf = 2 WHERE lexeme = 'ship' AND tf = 3",
        "UPDATE postings_{} SET length = 2 WHERE lexeme = 'ship' AND tf = 3",
        "INSERT INTO postings_{} VALUES (1, 4, 1, 'ghost')",
    ],
)
async def test_any_damage_is_found(database: Database, damage: str) -> None:
    corpus = await library(database)
    assert await statistics_differ(database, corpus) is None
    await run_sql(database, damage.format(corpus.id))
    assert await statistics_differ(database, corpus) == "1 postings missing or wrong"
