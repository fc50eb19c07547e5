"""Korean, Japanese and Chinese: words are found within others, exactly as they stand."""

from collections.abc import Mapping

import pytest

from db.corpus.corpora import Corpora
from db.corpus.health import Reindexing
from db.pool import Database
from db.search.find import DialectIndex
from db.search.lexical import LexicalIndex
from engine.query.find import Finder
from engine.query.parser import parse_query
from engine.query.results import QueryAnswer, present_hits
from engine.search import Filters
from engine.text.clean import make_searchable
from engine.values import INDEX_VERSION, Corpus
from tests.db.loading import document, load

TEXTS = {
    "woman": "여자는 바다에 갔다",
    "both": "남자와 여자",
    "fifties": "50대 여자",
    "five-hundred": "여자 500명",
    "apart": "여행하는 자매",
    "tokyo": "東京都に住んでいます。黒猫がいる",
    "kyoto": "京都へ行きました",
    "coffee": "コーヒーを飲む",
    "beijing": "我在北京大学学习中文",
    "mixed": "BTS콘서트 coffee",
    "english": "The woman went to the sea",
}

QUERIES: Mapping[str, set[str]] = {
    "여자 -남자 -50": {"woman", "five-hundred"},  # the design's own
    "여자": {"woman", "both", "fifties", "five-hundred"},
    "여자는": {"woman"},
    "여자 바다": {"woman"},
    "여": {"woman", "both", "fifties", "five-hundred", "apart"},
    "여자 OR 자매": {"woman", "both", "fifties", "five-hundred", "apart"},
    '"남자와 여자"': {"both"},
    "50대": {"fifties"},
    "京都": {"tokyo", "kyoto"},  # 東京都 holds it, too: nobody tells words apart
    "東京": {"tokyo"},
    "猫": {"tokyo"},
    "コーヒー": {"coffee"},
    "ｺｰﾋｰ": {"coffee"},  # half width
    "北京": {"beijing"},
    "大学 -北京": set(),
    "BTS 콘서트": {"mixed"},
    "bts": {"mixed"},
    "woman -여자": {"english"},
}


async def korean(database: Database, language: str = "simple") -> Corpus:
    return await load(
        database,
        "c",
        [document(name, make_searchable(text)) for name, text in TEXTS.items()],
        language,
    )


async def ask(database: Database, corpus: Corpus, text: str) -> QueryAnswer:
    return await Finder(DialectIndex(database)).find(corpus, parse_query(text))


@pytest.mark.parametrize("language", ["simple", "english", "spanish"])
async def test_words_are_found_inside_unspaced_text(database: Database, language: str) -> None:
    corpus = await korean(database, language)
    for query, expected in QUERIES.items():
        found = await ask(database, corpus, query)
        assert {hit.document.candidate.external_id for hit in found.hits} == expected, query


async def test_the_receipt_counts_pairs_alone(database: Database) -> None:
    found = await ask(database, await korean(database), "여자는")
    [hit] = found.hits
    assert [(match.term, match.lexemes) for match in hit.matched] == [
        ("여자는", ("여자",)),
        ("여자는", ("자는",)),
    ]
    assert sum(match.score for match in hit.matched) == pytest.approx(hit.score)


async def test_a_headline_names_the_pairs_that_it_found(database: Database) -> None:
    corpus, index = await korean(database), LexicalIndex(database)
    terms = await index.terms(corpus, make_searchable("여자는 猫"))
    assert [term.word for term in terms] == ["여자", "자는", "猫"]
    found = await index.top(corpus, terms, Filters(), 10)
    assert found[0].external_id == "woman"


async def test_a_long_text_is_shown_around_its_match(database: Database) -> None:
    filler = "아무 말 없이 걸었다. " * 60
    texts = [document("long", f"{filler} 여자는 울었다. {filler}")]
    corpus = await load(database, "c", texts, "simple")
    found = await present_hits(
        DialectIndex(database), corpus, await ask(database, corpus, "여자"), voice=True
    )
    [hit] = found.hits
    assert hit.excerpt
    assert hit.excerpt.match
    assert hit.excerpt.match.word == "여자는"


async def test_texts_stored_by_an_older_version_are_reindexed(database: Database) -> None:
    corpus = await korean(database)
    async with database.connection() as connection:
        await connection.execute("ALTER TABLE document DISABLE TRIGGER document_index")
        await connection.execute(
            "UPDATE document SET tsv = to_tsvector('presagio_simple', search_text)"
        )
        await connection.execute("ALTER TABLE document ENABLE TRIGGER document_index")
        await connection.execute("UPDATE corpus SET index_version = 2")
    old = await Corpora(database).get("c")
    assert old.is_outdated
    assert not (await ask(database, old, "京都")).hits
    changed = [page.changed async for page in Reindexing(database).pages(corpus)]
    assert changed == [len(TEXTS) - 1]
    new = await Corpora(database).get("c")
    assert new.index_version == INDEX_VERSION
    assert len((await ask(database, new, "京都")).hits) == 2
