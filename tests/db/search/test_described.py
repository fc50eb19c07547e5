"""Documents by id: as the ranking would have given them."""

import pytest

from db.pool import Database
from db.search.lexical import CandidateReader, LexicalIndex
from engine.search import Filters
from tests.db.loading import load_texts

pytestmark = pytest.mark.usefixtures("strategy")

TEXTS = [
    "rust and rain and rust",
    "rain over the harbour",
    "nothing in common",
    "rust never sleeps says the rain",
]


async def test_a_document_is_described_as_the_ranking_gives_it(database: Database) -> None:
    corpus = await load_texts(database, "c", TEXTS)
    search = LexicalIndex(database)
    terms = await search.terms(corpus, "rust rain snow")
    ranked = await search.top(corpus, terms, Filters(), 10)
    described = await CandidateReader(database).describe_documents(
        corpus, terms, [one.id for one in ranked]
    )
    assert len(ranked) == 3
    by_id = {one.id: one for one in described}
    for one in ranked:
        assert abs(by_id[one.id].bm25 - one.bm25) < 1e-9
        assert by_id[one.id].matched == one.matched
        assert by_id[one.id].text == one.text


async def test_a_document_without_a_word_in_common_is_described_too(database: Database) -> None:
    corpus = await load_texts(database, "c", TEXTS)
    search = LexicalIndex(database)
    [nothing] = await search.top(corpus, await search.terms(corpus, "common"), Filters(), 1)
    for text in ("rust rain", "zebra", ""):
        terms = await search.terms(corpus, text)
        [found] = await CandidateReader(database).describe_documents(
            corpus, terms, [nothing.id, -1]
        )
        assert (found.id, found.bm25, found.matched) == (nothing.id, 0.0, {})


async def test_describing_no_ids_returns_nothing(database: Database) -> None:
    corpus = await load_texts(database, "c", TEXTS)
    assert await CandidateReader(database).describe_documents(corpus, [], []) == []
