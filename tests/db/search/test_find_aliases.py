"""Queries of the dialect find aliases, with receipts: `auth` finds `authentication`."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from db.corpus.corpora import Corpora
from db.corpus.documents import Documents
from db.corpus.glossary import Groups
from db.pool import Database
from db.search.aliases import Glossaries
from db.search.find import DialectIndex
from engine.glossary.aliases import widen_query
from engine.query.find import Finder
from engine.query.parser import parse_query
from engine.query.results import QueryAnswer
from engine.values import Corpus
from tests.db.loading import document, load, load_texts

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TEXTS = {
    "reserve": "The Federal Reserve met",
    "fed": "The Fed met",
    "apart": "Reserve seats on a federal train",
    "auth": "auth is down",
    "authentication": "Authentication is down",
    "autos": "Two automobiles met",
}
GROUPS = (("Fed", "Federal Reserve"), ("auth", "authentication", "sign in"), ("car", "automobile"))


@pytest.fixture
async def corpus(database: Database) -> AsyncIterator[Corpus]:
    documents = [document(name, text, day=day) for day, (name, text) in enumerate(TEXTS.items())]
    await load(database, "c", documents, "english")
    for group in GROUPS:
        await Groups(database).add(None, group, now=NOW)
    yield await Corpora(database).get("c")


async def ask(database: Database, corpus: Corpus, text: str) -> QueryAnswer:
    index, query = DialectIndex(database), parse_query(text)
    known = await Glossaries(database).of(corpus)
    expanded = await widen_query(index, corpus, query, known, weight=0.5)
    return await Finder(index).find(corpus, query, expanded=expanded)


@pytest.mark.parametrize(
    ("query", "expanded", "expected"),
    [
        ("Fed", '(Fed | "Federal Reserve")', ["fed", "reserve"]),
        ("auth", '(auth | authentication | "sign in")', ["auth", "authentication"]),
        ("authentications", '(authentications | auth | "sign in")', ["authentication", "auth"]),
        ("cars", "(cars | automobile)", ["autos"]),
        ("train OR cars", "(train | cars | automobile)", ["apart", "autos"]),
        ("met -Fed", "met -Fed", ["autos", "reserve"]),
        ('"Fed"', '"Fed"', ["fed"]),
        ("FED", "FED", ["fed"]),
        ("camelFed OR train", "camelFed OR train", ["apart"]),
        ("auth OR authentication", None, ["auth", "authentication"]),
        ("met", "met", ["fed", "autos", "reserve"]),
    ],
)
async def test_aliases_expand_the_query_and_find_the_expected_documents(
    database: Database, corpus: Corpus, query: str, expanded: str | None, expected: list[str]
) -> None:
    found = await ask(database, corpus, query)
    assert expanded is None or str(found.expanded) == expanded
    assert str(found.query) == query
    assert sorted(hit.document.candidate.external_id for hit in found.hits) == sorted(expected)


async def test_the_receipt_names_the_alias_the_word_and_the_field(
    database: Database, corpus: Corpus
) -> None:
    found = await ask(database, corpus, "auth")
    receipts = {
        hit.document.candidate.external_id: [(m.term, m.alias_of, m.fields) for m in hit.matched]
        for hit in found.hits
    }
    assert receipts == {
        "auth": [("auth", None, ("text",))],
        "authentication": [("authentication", "auth", ("text",))],
    }


async def test_the_receipt_of_an_alias_in_the_context_names_the_context(database: Database) -> None:
    await load(
        database,
        "c",
        [
            document("1", "Authentication failed", author="ana"),
            document("2", "Mended it", author="ana", day=1, reply_to="1"),
        ],
        "english",
    )
    await Documents(database).stitch_threads(await Corpora(database).get("c"))
    await Groups(database).add(None, ("auth", "authentication"), now=NOW)
    corpus = await Corpora(database).get("c")
    found = await ask(database, corpus, "auth mended")
    (hit,) = found.hits
    assert [(m.term, m.alias_of, m.fields) for m in hit.matched] == [
        ("mended", None, ("text",)),
        ("authentication", "auth", ("context",)),
    ]


async def test_an_alias_weighs_less_than_the_word(database: Database, corpus: Corpus) -> None:
    found = await ask(database, corpus, "down auth")
    assert [hit.document.candidate.external_id for hit in found.hits] == ["auth", "authentication"]
    parts = [match.score for hit in found.hits for match in hit.matched if match.term != "down"]
    assert parts[1] == pytest.approx(parts[0] / 2, rel=0.3)


async def test_each_language_reads_an_alias_group_with_its_own_stemmer(database: Database) -> None:
    await load(
        database,
        "c",
        [document("en", "Loans are dear", lang="en"), document("es", "Un crédito", lang="es")],
        "english",
    )
    await Groups(database).add(None, ("loan", "préstamo", "créditos"), now=NOW)
    corpus = await Corpora(database).get("c")
    found = await ask(database, corpus, "prestamos")
    assert {hit.document.candidate.external_id for hit in found.hits} == {"en", "es"}


async def test_a_corpus_without_groups_asks_the_database_nothing_more(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = await load_texts(database, "c", list(TEXTS.values()), "english")

    def nothing() -> None:
        raise AssertionError("a connection was asked for")

    known = Glossaries(database)
    query = parse_query("auth fed")
    monkeypatch.setattr(database, "connection", nothing)
    aliases = await known.of(corpus)
    assert await widen_query(DialectIndex(database), corpus, query, aliases, weight=1) is query


async def test_a_term_of_several_words_is_found_by_its_aliases_and_its_words(
    database: Database,
) -> None:
    texts = {
        "phrase": "The rate limit of auth",
        "apart": "Limit the rate of authentication",
        "alias": "The quota for auth",
        "half": "The limit of auth",
        "other": "The quota for tea",
    }
    await load(database, "c", [document(name, text) for name, text in texts.items()], "english")
    for group in (("auth", "authentication", "sign-in"), ("rate limit", "throttle", "quota")):
        await Groups(database).add(None, group, now=NOW)
    found = await ask(database, await Corpora(database).get("c"), "auth rate limit")
    assert str(found.expanded) == (
        "(auth | authentication | sign-in) (rate limit | throttle | quota)"
    )
    hits = {hit.document.candidate.external_id: hit for hit in found.hits}
    assert set(hits) == {"phrase", "apart", "alias"}
    assert [(m.term, m.alias_of) for m in hits["alias"].matched] == [
        ("auth", None),
        ("quota", '"rate limit"'),
    ]


async def test_a_stop_word_within_a_term_demands_no_alias(database: Database) -> None:
    """Of is a word in Spanish: its group must not ask English texts for the alias."""
    texts = [document("en", "The state of the union", lang="en"), document("es", "Un", lang="es")]
    await load(database, "c", texts, "english")
    await Groups(database).add(None, ("state of the union", "address"), now=NOW)
    found = await ask(database, await Corpora(database).get("c"), "state of the union")
    assert [hit.document.candidate.external_id for hit in found.hits] == ["en"]


async def test_protected_names_are_no_aliases(database: Database, corpus: Corpus) -> None:
    found = await Glossaries(database, ["fed"]).of(corpus)
    assert "fed" in found.protected
    index = DialectIndex(database)
    for query in ("fed", '"Federal Reserve"', "federal reserve"):
        assert str(await widen_query(index, corpus, parse_query(query), found, weight=1)) == query
