"""Headlines find what they say in other words, behind what they say in their own."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from db.corpus.corpora import Corpora
from db.corpus.glossary import Groups
from db.pool import Database
from db.search.aliases import AliasedSearch, Glossaries
from db.search.lexical import LexicalIndex
from engine.prophecy.prophecy import Prophet
from engine.search import Filters, Headline, Prophecy, SearchRequest
from engine.text.clean import make_searchable
from engine.values import Corpus
from tests.db.loading import load_texts

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TEXTS = [
    "The Federal Reserve raises rates again",
    "Fed raises rates, as I said",
    "Federal prisons are full",
    "Nature reserve opens for visitors",
    "Authentication is broken on every page",
    "My author signed the book",
    *(f"Nothing about money here, number {n}" for n in range(20)),
]


@pytest.fixture
async def corpus(database: Database) -> AsyncIterator[Corpus]:
    await load_texts(database, "c", TEXTS, "english")
    await Groups(database).add(None, ("Fed", "Federal Reserve"), now=NOW)
    await Groups(database).add(None, ("auth", "authentication"), now=NOW)
    yield await Corpora(database).get("c")


def aliased(database: Database, weight: float = 0.4) -> AliasedSearch:
    return AliasedSearch(database, Glossaries(database), weight=weight)


async def prophecy(database: Database, corpus: Corpus, text: str, **options: float) -> Prophecy:
    prophet = Prophet(aliased(database, **options))
    headline = Headline(text=text, original=text)
    request = SearchRequest(headline=headline, limit=5, now=NOW, judged=False)
    return await prophet.prophesy(corpus, request)


def found(answer: Prophecy) -> list[str]:
    return [hit.candidate.external_id for hit in answer.hits]


async def test_an_alias_finds_what_the_words_do_not(database: Database, corpus: Corpus) -> None:
    answer = await prophecy(database, corpus, "auth")
    assert found(answer) == ["4"]
    assert answer.hits[0].matched == ("auth → authentication",)


async def test_the_written_word_ranks_before_its_alias(database: Database, corpus: Corpus) -> None:
    answer = await prophecy(database, corpus, "Fed raises rates")
    assert found(answer)[:2] == ["1", "0"]
    assert {"Fed → Federal", "Fed → Reserve"} <= set(answer.hits[1].matched)
    parts = [hit.parts["lexical"] or 0 for hit in answer.hits[:2]]
    assert parts[0] > parts[1]


async def test_words_side_by_side_are_read_as_one_term(database: Database, corpus: Corpus) -> None:
    answer = await prophecy(database, corpus, 'The "Federal Reserve" waits')
    matched = {hit.candidate.external_id: hit.matched for hit in (*answer.hits, *answer.near)}
    assert matched["1"] == ("Federal Reserve → Fed",)
    apart = await prophecy(database, corpus, "Reserve of the federal kind")
    assert not any(term.alias for term in apart.terms)


@pytest.mark.parametrize("written", ["FED", "iFed", "F.E.D."])
async def test_protected_words_match_exactly(
    database: Database, corpus: Corpus, written: str
) -> None:
    terms = await aliased(database).terms(corpus, make_searchable(written))
    assert not any(term.alias for term in terms)


async def test_an_unknown_word_with_an_alias_has_no_neighbours(
    database: Database, corpus: Corpus
) -> None:
    await Groups(database).add(None, ("authos", "authentication"), now=NOW)
    corpus = await Corpora(database).get("c")
    terms = await aliased(database).terms(corpus, "authos")
    assert [(t.word, t.neighbour_of, t.alias) for t in terms] == [
        ("authos", None, False),
        ("authentication", "authos", True),
    ]


async def test_an_alias_weight_of_zero_disables_aliases(database: Database, corpus: Corpus) -> None:
    assert found(await prophecy(database, corpus, "auth", weight=0)) == []


async def test_a_corpus_without_groups_is_searched_without_aliases(database: Database) -> None:
    plain = await load_texts(database, "plain", TEXTS, "english")
    terms = await LexicalIndex(database).terms(plain, "Fed raises rates")
    assert await aliased(database).terms(plain, "Fed raises rates") == terms
    assert await aliased(database).top(plain, terms, Filters(), 9) == await LexicalIndex(
        database
    ).top(plain, terms, Filters(), 9)
