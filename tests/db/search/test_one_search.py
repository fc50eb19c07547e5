"""A headline is one group of ORs: both searches read, weigh and filter it alike."""

import pytest

from db.pool import Database
from db.search.aliases import AliasedSearch, Glossaries
from db.search.find import DialectIndex
from db.search.lexical import LexicalIndex
from engine.query.find import Finder
from engine.query.parser import parse_query
from engine.search import Candidate, Filters
from engine.values import Corpus, Flag
from tests.db.loading import START, document, load

TEXTS = (
    ("rust and rain and rust", "en"),
    ("rain over the harbour", "en"),
    ("nothing in common", "en"),
    ("rust never sleeps says the rain", "en"),
    ("la lluvia y el harbour", "es"),
    ("rains in the harbour town", "en"),
)


async def both(database: Database) -> Corpus:
    documents = [
        document(
            str(number),
            text,
            day=number,
            lang=lang,
            flags=Flag.QUOTE if number == 1 else Flag.NONE,
        )
        for number, (text, lang) in enumerate(TEXTS)
    ]
    return await load(database, "both", documents, "english")


def scored(found: list[Candidate]) -> list[tuple[str, float]]:
    return [(one.external_id, one.bm25) for one in found]


@pytest.mark.parametrize(
    ("filters", "written"),
    [
        (Filters(), ""),
        (Filters(before=START.replace(day=5)), "before:2010-01-05"),
        (Filters(after=START.replace(day=2)), "after:2010-01-02"),
        (Filters(require=Flag.QUOTE), "is:quote"),
        (Filters(exclude=Flag.QUOTE), "-is:quote"),
    ],
)
async def test_headline_and_query_give_a_text_the_same_score(
    database: Database, filters: Filters, written: str
) -> None:
    corpus = await both(database)
    index = LexicalIndex(database)
    ranked = await index.top(corpus, await index.terms(corpus, "rust rain harbour"), filters, 9)
    query = parse_query(f"rust OR rain OR harbour {written}")
    found = await Finder(DialectIndex(database)).find(corpus, query)
    assert ranked
    assert scored(ranked) == scored([hit.document.candidate for hit in found.hits])


async def test_the_words_of_a_headline_are_read_once(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus, asked = await both(database), []
    read = AliasedSearch.read_headline

    async def noting(self: AliasedSearch, where: Corpus, texts: list[str]) -> object:
        asked.append(texts)
        return await read(self, where, texts)

    monkeypatch.setattr(AliasedSearch, "read_headline", noting)
    search = AliasedSearch(database, Glossaries(database), weight=0.4)
    assert await search.terms(corpus, "rust rain")
    assert asked == [["rust", "rain"]]
