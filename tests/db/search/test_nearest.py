"""The nearest vectors: exactly the nearest, under every filter."""

import itertools
import random
from dataclasses import replace
from datetime import timedelta

import pytest

from db.corpus.documents import Documents
from db.pool import Database, PoolSettings
from db.search.embeddings import Embeddings
from engine.corpora import Document
from engine.embed.fill import fill_vectors
from engine.search import Filters
from engine.values import Corpus, Flag
from engine.vectors import VectorSpace
from tests.db.loading import START, document, load, read_back
from tests.db.reference import passes
from tests.db.vectors import WordModel, cosine, require_vectors

NUMBER = 600
MODEL = WordModel()


def documents() -> list[Document]:
    chance = random.Random(7)
    words = [f"w{n}" for n in range(60)]
    made = [
        document(
            str(n),
            " ".join(chance.sample(words, 5)),
            day=n,
            flags=Flag.REPOST if n % 50 == 0 else Flag.NONE,
        )
        for n in range(NUMBER)
    ]
    return [replace(one, created_at=None) if n % 13 == 0 else one for n, one in enumerate(made)]


@pytest.fixture
async def corpus(database: Database) -> Corpus:
    await require_vectors(database)
    return await load(database, "c", documents())


async def embedded(
    database: Database, corpus: Corpus, *, exact_up_to: int = 1000
) -> tuple[Embeddings, VectorSpace]:
    embeddings = Embeddings(database, exact_up_to=exact_up_to)
    await fill_vectors(embeddings, WordModel(), corpus, progress=lambda *_: None)
    space = await embeddings.space(corpus, "words")
    assert space is not None
    return embeddings, space


FILTERS = [
    Filters(),
    Filters(before=START + timedelta(days=300)),
    Filters(before=START + timedelta(days=20)),
    Filters(before=START + timedelta(days=20), undated=True),
    Filters(after=START + timedelta(days=100), before=START + timedelta(days=130)),
    Filters(require=Flag.REPOST),
    Filters(exclude=Flag.REPOST),
    Filters(before=START),
]


async def reference(
    database: Database, corpus: Corpus, asked: list[float], filters: Filters
) -> list[int]:
    """All documents that pass, nearest first, compared one by one."""
    texts = {one.external_id: one.search_text for one in documents()}
    passing = [stored for stored in await read_back(database, corpus) if passes(stored, filters)]
    passing.sort(key=lambda one: -cosine(asked, MODEL.vector(texts[one.external_id])))
    return [one.id for one in passing]


async def test_the_nearest_vectors_are_exact_under_every_filter(
    database: Database, corpus: Corpus
) -> None:
    embeddings, space = await embedded(database, corpus)
    assert not space.indexed
    for filters, question in itertools.product(FILTERS, ("w1 w2 w3", "w7 w8", "w59")):
        asked = MODEL.vector(question)
        expected = await reference(database, corpus, asked, filters)
        found = await embeddings.nearest(corpus, space, asked, filters, 40)
        assert len(found) == min(40, len(expected)), filters
        cosines = [value for _, value in found]
        assert cosines == sorted(cosines, reverse=True)
        # Halves have three digits: neighbours as near as the last one may change places with it.
        assert len({one for one, _ in found} & set(expected[:40])) >= len(found) - 1, filters


async def test_an_index_finds_nearly_all_and_no_filter_empties_the_list(
    database: Database, corpus: Corpus
) -> None:
    embeddings, space = await embedded(database, corpus, exact_up_to=100)
    assert space.indexed
    asked = MODEL.vector("w1 w2 w3")
    for filters in FILTERS:
        expected = await reference(database, corpus, asked, filters)
        found = await embeddings.nearest(corpus, space, asked, filters, 40)
        assert len(found) == min(40, len(expected)), filters
        assert len({one for one, _ in found} & set(expected[:40])) >= 0.95 * len(found), filters


async def test_the_index_is_used_where_there_is_one(
    database: Database, database_url: str, corpus: Corpus
) -> None:
    _, space = await embedded(database, corpus, exact_up_to=100)
    single = await Database.open(database_url, PoolSettings(size=1))  # it tells its own figures
    try:
        await Embeddings(single).nearest(corpus, space, MODEL.vector("w1"), Filters(), 5)
        async with single.connection() as connection:
            await connection.execute("SELECT pg_stat_force_next_flush()")
            scans = await connection.fetchval(
                "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname LIKE '%nearest'"
            )
    finally:
        await single.close()
    assert scans == 1


async def test_a_corpus_that_needs_no_index_any_more_loses_it(
    database: Database, corpus: Corpus
) -> None:
    _, space = await embedded(database, corpus, exact_up_to=100)
    assert space.indexed
    _, space = await embedded(database, corpus)
    assert not space.indexed


async def test_corpora_do_not_see_each_other(database: Database, corpus: Corpus) -> None:
    other = await load(database, "other", [document("x", "w1 w2 w3")])
    await embedded(database, corpus)
    embeddings, space = await embedded(database, other)
    found = await embeddings.nearest(other, space, MODEL.vector("w1 w2 w3"), Filters(), 40)
    assert [round(value, 2) for _, value in found] == [1.0]


async def test_equal_vectors_come_oldest_first(database: Database, corpus: Corpus) -> None:
    twins = [document(f"t{n}", "alpha beta", day=1000 - n) for n in range(5)]
    await Documents(database).upsert(corpus, twins)
    embeddings, space = await embedded(database, corpus)
    found = await embeddings.nearest(corpus, space, MODEL.vector("alpha beta"), Filters(), 5)
    by_id = {one.id: one.external_id for one in await read_back(database, corpus)}
    assert [by_id[one] for one, _ in found] == ["t4", "t3", "t2", "t1", "t0"]


async def test_cosines_are_those_of_the_documents_asked_for(
    database: Database, corpus: Corpus
) -> None:
    embeddings, space = await embedded(database, corpus)
    asked = MODEL.vector("w1 w2")
    nearest = dict(await embeddings.nearest(corpus, space, asked, Filters(), 9))
    assert await embeddings.cosines(corpus, space, asked, [*nearest, -1]) == pytest.approx(nearest)


async def test_pairs_of_near_identical_vectors_are_found(
    database: Database, corpus: Corpus
) -> None:
    embeddings, space = await embedded(database, corpus)
    stored = await read_back(database, corpus)
    texts = {one.external_id: one.search_text for one in documents()}
    some = [one.id for one in stored[:80]]
    expected = {
        frozenset((one.id, other.id))
        for one in stored[:80]
        for other in stored[:80]
        if one.id < other.id
        and cosine(MODEL.vector(texts[one.external_id]), MODEL.vector(texts[other.external_id]))
        > 0.39
    }
    found = await embeddings.alike(corpus, space, some, 0.39)
    assert expected and {frozenset(pair) for pair in found} == expected
    assert await embeddings.alike(corpus, space, [], 0.39) == []
