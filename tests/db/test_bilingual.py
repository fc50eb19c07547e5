"""A corpus in two languages: each document and each headline is read in its own."""

import random
from collections.abc import AsyncIterator, Iterator

import pytest

from db.corpus.corpora import Corpora
from db.pool import Database
from db.search.find import DialectIndex
from db.search.lexical import LexicalIndex
from engine.prophecy.retrieve import Retriever
from engine.query.find import Finder
from engine.query.parser import parse_query
from engine.ranking import Bm25
from engine.search import Filters, Term
from engine.text.clean import make_searchable
from engine.values import Corpus
from tests.database import Clones, fetch_rows, pool_on, wait_for
from tests.db.loading import document, load, read_back
from tests.db.reference import Counted, assert_same, ranked, scores

ENGLISH = {
    "inflation": "Inflation is rising again, believe me",
    "walls": "Walls work and we are building them",
    "more": "The more jobs the better",
    "casa": "We had dinner at Casa Bonita",
}
SPANISH = {
    "inflación": "La inflación sube más que los salarios",
    "inflacion": "Otra vez la inflacion, hoy sin acentos",
    "casas": "Faltan casas para los jóvenes",
    "también": "También llueve, dijo ella",
}


@pytest.fixture(scope="module")
def mixed_url(_clones: Clones) -> Iterator[str]:
    """A database with the same mixed corpus thrice, named after the language it was given."""

    async def fill(url: str) -> None:
        async with pool_on(url) as database:
            documents = [document(i, t, lang="en", day=1) for i, t in ENGLISH.items()]
            documents += [document(i, t, lang="es", day=2) for i, t in SPANISH.items()]
            for language in ("english", "spanish", "simple"):
                await load(database, language, documents, language)

    with _clones.clone() as url:
        wait_for(fill(url))
        yield url


@pytest.fixture
async def mixed(mixed_url: str) -> AsyncIterator[Database]:
    async with pool_on(mixed_url) as database:
        yield database


async def ask(database: Database, corpus: Corpus, headline: str) -> tuple[list[Term], set[str]]:
    search = LexicalIndex(database)
    terms = await search.terms(corpus, make_searchable(headline))
    found = await search.top(corpus, terms, Filters(), 50)
    return list(terms), {candidate.external_id for candidate in found}


@pytest.mark.parametrize("language", ["english", "spanish", "simple"])
@pytest.mark.parametrize(
    ("headline", "expected"),
    [
        ("La inflación de este año", {"inflación", "inflacion"}),
        ("la INFLACION de este ano", {"inflación", "inflacion"}),
        ("Inflaciones", {"inflación", "inflacion"}),
        ("Inflation rises to new high", {"inflation"}),
        ("A wall is built", {"walls"}),
        ("Compran una casa", {"casas", "casa"}),
        ("más", set()),
        ("mas", set()),
        ("también", set()),
        ("the", set()),
    ],
)
async def test_a_headline_is_read_in_each_language_of_the_corpus(
    mixed: Database, language: str, headline: str, expected: set[str]
) -> None:
    corpus = await Corpora(mixed).get(language)
    assert (await ask(mixed, corpus, headline))[1] == expected


async def test_a_stem_of_the_headline_language_does_not_match_another_language(
    database: Database,
) -> None:
    texts = {"hall": ("Town hall is closed", "en"), "hallaron": ("La hallaron ayer", "es")}
    documents = [document(i, text, lang=lang) for i, (text, lang) in texts.items()]
    corpus = await load(database, "c", documents, "english")
    retriever = Retriever(LexicalIndex(database), None, limit=9, limit_with_phrases=9)
    found = await retriever.retrieve(corpus, "Hallan los huesos", Filters(), None)
    assert [(candidate.external_id, bool(candidate.matched)) for candidate in found.candidates] == [
        ("hallaron", True),
        ("hall", False),
    ]


async def test_accented_stop_words_do_not_stand_in_the_index(database: Database) -> None:
    text = "MÁS más también él está según el sol"
    corpus = await load(database, "c", [document("1", text, lang="es")], "spanish")
    [stored] = await read_back(database, corpus)
    assert set(stored.frequencies) == {"segun", "sol"}  # PostgreSQL's list does not hold "según"


async def test_a_stop_word_without_its_accent_is_a_word(database: Database) -> None:
    """PostgreSQL's lists hold them accented only; one tweet in two hundred writes "mas"."""
    corpus = await load(database, "c", [document("1", "mas sol", lang="es")], "spanish")
    [stored] = await read_back(database, corpus)
    assert set(stored.frequencies) == {"mas", "sol"}


@pytest.mark.parametrize(
    ("lang", "text", "lexemes"),
    [
        ("en", "The cafés were naïve", {"cafe", "naiv"}),
        ("es", "Los cafés eran ingenuos", {"caf", "ingenu"}),
        ("de", "Die Häuser", {"haus"}),
        ("und", "The storms", {"the", "storms"}),
        (None, "The storms", {"the", "storms"}),
        ("EN-gb", "The storms", {"storm"}),
        ("en", "see example.com/a/b/c now", {"see", "example.com"}),  # no path of an address
    ],
)
async def test_a_document_is_read_in_its_own_language_else_in_that_of_the_corpus(
    database: Database, lang: str | None, text: str, lexemes: set[str]
) -> None:
    corpus = await load(database, "c", [document("1", text, lang=lang)], "simple")
    [stored] = await read_back(database, corpus)
    assert set(stored.frequencies) == lexemes


async def test_a_simple_corpus_only_folds_case_and_accents(database: Database) -> None:
    corpus = await load(database, "c", [document("1", "The Running MÁS Ñandú")], "simple")
    terms, found = await ask(database, corpus, "the mas nandu run")
    assert found == {"1"}
    assert [(t.word, t.document_frequency) for t in terms if not t.neighbour_of] == [
        ("the", 1),
        ("mas", 1),
        ("nandu", 1),
        ("run", 0),
    ]


async def test_the_rarity_of_a_word_is_over_both_languages(mixed: Database) -> None:
    terms, _ = await ask(mixed, await Corpora(mixed).get("spanish"), "casa")
    # "Casa Bonita" in English and "casas" in Spanish.
    assert [t.document_frequency for t in terms] == [2]


async def test_retrieval_is_exact_over_two_languages(database: Database) -> None:
    draw = random.Random(4)
    words = " ".join([*ENGLISH.values(), *SPANISH.values()]).split()
    documents = [
        document(
            str(number),
            " ".join(draw.choices(words, k=draw.randint(0, 25))),
            day=draw.randint(0, 99),
            lang=draw.choice(["en", "es", None]),
        )
        for number in range(400)
    ]
    corpus = await load(database, "c", documents, "english")
    search, counted = LexicalIndex(database), Counted.of(await read_back(database, corpus))
    for _ in range(15):
        headline = make_searchable(" ".join(draw.sample(words, draw.randint(1, 9))))
        terms = await search.terms(corpus, headline)
        found = await search.top(corpus, terms, Filters(), 60)
        expected = ranked(scores(counted, terms, Bm25()), Filters(), 60)
        assert_same(found, expected)


async def test_the_configurations_cover_every_language_of_the_server(database: Database) -> None:
    rows = await fetch_rows(
        database, "SELECT cfgname FROM pg_ts_config WHERE cfgnamespace = 'pg_catalog'::regnamespace"
    )
    corpora = Corpora(database)
    for row in rows:
        corpus = await load(database, row["cfgname"], [document("1", "42")], row["cfgname"])
        assert corpus.languages == (row["cfgname"],)
    assert len(await corpora.list()) == len(rows) > 20


@pytest.mark.parametrize("language", ["english", "spanish", "simple"])
async def test_a_stop_word_of_one_language_is_said_to_be_none_to_look_for(
    mixed: Database, language: str
) -> None:
    corpus, finder = await Corpora(mixed).get(language), Finder(DialectIndex(mixed))
    for text in ("the", "también", "la"):
        found = await finder.find(corpus, parse_query(text), limit=9)
        assert not found.hits
        assert list(map(str, found.notices)) == [f'Too common to look for, or no word: "{text}".']
    found = await finder.find(corpus, parse_query("the inflation"), limit=9)
    assert found.hits
    assert found.notices == ()
