"""Texts that an older version indexed are found by today's words, without a moment's silence."""

import asyncio
from collections.abc import Mapping

import pytest

from db.corpus import health as reindexing
from db.corpus.corpora import Corpora
from db.corpus.documents import Documents
from db.corpus.health import Reindexing
from db.pool import Database
from db.search.lexical import LexicalIndex
from engine.corpora import Document
from engine.ranking import Bm25
from engine.search import Filters
from engine.text.clean import clean_for_display, make_searchable
from engine.values import Corpus
from tests.db.loading import assert_exact, document, kept, load, read_back
from tests.db.reference import Counted, assert_same, ranked, scores

# What each text was searched by once.
TEXTS = {
    "Otra manifestación en la plaza": "Otra manifestación en la plaza",
    "Las manifestaciones de ayer, @Rosie": "Las manifestaciones de ayer,",
    "U.S. troops and us": "US troops and us",
    '"""Great ""deal"" today"': '"Great ""deal"" today"',
    "RT @nytimes: borders &amp, walls": ": borders &amp, walls",
    "plain words stay": "plain words stay",
    "a picture <img.jpg>": "a picture",
    "@joe": "",
}


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reindexing, "PAGE", 3)


def documents(texts: Mapping[str, str]) -> list[Document]:
    return [
        document(str(place), searched, shown=text, day=place, author="me")
        for place, (text, searched) in enumerate(texts.items())
    ]


def anew() -> list[Document]:
    """The same as they would be stored today."""
    made = {clean_for_display(text): make_searchable(clean_for_display(text)) for text in TEXTS}
    made["a picture <img.jpg>"] = "a picture"  # nobody knows what else was left out
    return documents(made)


async def old(database: Database, name: str = "old") -> Corpus:
    """Store TEXTS as the version before did."""
    corpus = await load(database, name, documents(TEXTS), "spanish")
    async with database.connection() as connection:
        await connection.execute(
            "UPDATE document d SET tsv = o.tsv,"
            " length = (SELECT coalesce(sum(cardinality(positions)), 0) FROM unnest(o.tsv)),"
            " max_tf = (SELECT coalesce(max(cardinality(positions)), 0) FROM unnest(o.tsv))"
            " FROM (SELECT id, to_tsvector('presagio_spanish', search_text) AS tsv FROM document"
            "        WHERE corpus_id = $1) o"
            " WHERE d.corpus_id = $1 AND d.id = o.id",
            corpus.id,
        )
        await connection.execute("UPDATE corpus SET index_version = 1 WHERE id = $1", corpus.id)
    return await Corpora(database).get(name)


async def everything(database: Database, corpus: Corpus) -> tuple[int, int]:
    pages = [page async for page in Reindexing(database).pages(corpus)]
    return sum(page.seen for page in pages), sum(page.changed for page in pages)


async def assert_as_new(database: Database, corpus: Corpus) -> None:
    new = await load(database, "new", anew(), "spanish")
    expected = [(one.external_id, one.frequencies) for one in await read_back(database, new)]
    found = [(one.external_id, one.frequencies) for one in await read_back(database, corpus)]
    assert found == expected
    assert await kept(database, corpus) == await kept(database, new)
    await assert_exact(database, corpus)
    assert not (await Corpora(database).get(corpus.name)).is_outdated


async def test_reindexed_texts_equal_newly_stored_ones(database: Database) -> None:
    corpus = await old(database)
    assert corpus.is_outdated
    assert await Reindexing(database).rest(corpus) == len(TEXTS)
    assert await everything(database, corpus) == (len(TEXTS), 6)
    assert await everything(database, corpus) == (0, 0)
    await assert_as_new(database, corpus)
    assert await Reindexing(database).rest(await Corpora(database).get("old")) == 0


async def test_an_interrupted_reindexing_resumes_where_it_stopped(database: Database) -> None:
    corpus, work = await old(database), Reindexing(database)
    pages = work.pages(corpus)
    assert (await anext(pages)).seen == 3
    await pages.aclose()
    assert await work.rest(corpus) == len(TEXTS) - 3
    assert (await Corpora(database).get("old")).is_outdated
    await assert_exact(database, corpus)
    assert (await everything(database, corpus))[0] == len(TEXTS) - 3
    await assert_as_new(database, corpus)


async def test_concurrent_reindexings_share_the_work(database: Database) -> None:
    corpus = await old(database)
    one, two = await asyncio.gather(everything(database, corpus), everything(database, corpus))
    assert one[0] + two[0] == len(TEXTS)
    await assert_as_new(database, corpus)


async def test_searches_meanwhile_are_exact_for_what_is_indexed(database: Database) -> None:
    corpus = await old(database)
    search = LexicalIndex(database)
    async for _ in Reindexing(database).pages(corpus):
        now = await Corpora(database).get("old")
        terms = await search.terms(
            now, make_searchable("manifestaciones deal US plaza words Rosie")
        )
        found = await search.top(now, terms, Filters(), 50)
        stored = await read_back(database, now)
        assert_same(found, ranked(scores(Counted.of(stored), terms, Bm25()), Filters(), 50))


async def test_texts_stored_during_reindexing_use_the_current_rules(database: Database) -> None:
    corpus, store = await old(database), Documents(database)
    pages = Reindexing(database).pages(corpus)
    await anext(pages)
    answer = document("9", "una manifestacion", day=9, author="me", reply_to="7")
    await store.upsert(corpus, [answer, anew()[0], anew()[7]])
    await store.stitch_threads(corpus)
    assert [page.seen async for page in pages] == [3, 3]
    await assert_exact(database, corpus)
    stored = await read_back(database, await Corpora(database).get("old"))
    assert stored[-1].frequencies == {"manifest": 1, "joe": 1}


async def test_an_answer_gets_todays_words_of_what_it_answers(database: Database) -> None:
    corpus = await old(database)
    async with database.connection() as connection:
        # As a version before stitched it.
        await connection.execute(
            "UPDATE document d SET reply_to = '1', context = p.text,"
            " context_search_text = p.search_text FROM document p"
            " WHERE d.external_id = '5' AND p.external_id = '1'"
        )
    await everything(database, corpus)
    stored = {one.external_id: one for one in await read_back(database, corpus)}
    assert {"rosi", "manifest", "plain"} <= stored["5"].frequencies.keys()
    await assert_exact(database, corpus)


async def test_dropping_the_corpus_ends_its_reindexing(database: Database) -> None:
    corpus = await old(database)
    pages = Reindexing(database).pages(corpus)
    await anext(pages)
    await Corpora(database).drop("old")
    assert [page async for page in pages] == []
    assert await Reindexing(database).catch_up(pause=0) == 0


async def test_all_corpora_catch_up(database: Database) -> None:
    for name in ("one", "two"):
        await old(database, name)
    assert await Reindexing(database).catch_up(pause=0) == 2 * len(TEXTS)
    assert not any(corpus.is_outdated for corpus in await Corpora(database).list())
