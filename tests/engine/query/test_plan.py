"""A query becomes what each language looks for, and the terms that are scored."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from engine.query.find import compute_reference
from engine.query.parser import parse_query
from engine.query.query import (
    Alternative,
    Filter,
    Group,
    Phrase,
    Plan,
    PlannedSearch,
    Query,
    Unit,
    Word,
    list_units,
    plan_query,
)
from engine.ranking import idf
from engine.values import Kind
from tests.engine.candidates import CORPUS as DEMO
from tests.engine.readings import reading

# What two languages make of a few words; "the" is a stop word in English, "de" in Spanish.
LEXEMES = {
    ("wall", "english"): ["wall"],
    ("wall", "spanish"): ["wall"],
    ("walls", "english"): ["wall"],
    ("walls", "spanish"): ["walls"],
    ("the", "spanish"): ["the"],
    ("de", "english"): ["de"],
    ("casas", "english"): ["casa"],
    ("casas", "spanish"): ["cas"],
    ("wall of", "english"): ["wall"],
    ("and/or", "english"): ["and", "or"],
}
FREQUENCIES = {"wall": 30, "walls": 2, "casa": 4, "cas": 6, "the": 1}
LANGUAGES = ("english", "spanish")
CORPUS = replace(
    DEMO, kind=Kind.SOCIAL, language="english", documents=35, tokens=350, languages=("english",)
)


def plan(text: str, languages: tuple[str, ...] = LANGUAGES, aliases: str = "") -> PlannedSearch:
    query = parse_query(text)
    if aliases:
        query = query.expand_aliases(lambda _: [(Word(name), 0.5) for name in aliases.split()])
    return plan_read(query, languages)


def plan_read(query: Query, languages: tuple[str, ...] = LANGUAGES) -> PlannedSearch:
    readings = [
        reading(at, lexeme, FREQUENCIES.get(lexeme, 0), language=language, position=position, tf=2)
        for at, unit in enumerate(list_units(query))
        for language in languages
        for position, lexeme in enumerate(LEXEMES.get((unit.text, language), []), start=1)
    ]
    return plan_query(query, languages, readings, documents=35)


def required(found: PlannedSearch) -> dict[str, list[list[str]]]:
    """Return, for each language, its groups with each chain written in one word."""
    return {
        one.language: [
            [" ".join(lexeme for lexeme, _ in chain) for chain in group] for group in one.required
        ]
        for one in found.by_language
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("wall casas", {"english": [["wall"], ["casa"]], "spanish": [["wall"], ["cas"]]}),
        ("wall OR casas", {"english": [["wall", "casa"]], "spanish": [["wall", "cas"]]}),
        ("the wall", {"english": [["wall"]], "spanish": [["the"], ["wall"]]}),
        ("the OR wall", {"english": [["wall"]], "spanish": [["the", "wall"]]}),
        ("the", {"spanish": [["the"]]}),
        ("wall OR walls", {"english": [["wall"]], "spanish": [["wall", "walls"]]}),
        ("and/or", {"english": [["and or"]]}),
    ],
)
def test_each_language_has_its_own_lexemes(text: str, expected: dict[str, list[list[str]]]) -> None:
    assert required(plan(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("wall", Plan.RANKED),
        ("the from:ana", Plan.NEWEST),
        ("-wall", Plan.NEWEST),
        ("-the", Plan.NOTHING),
        ("the", Plan.NOTHING),
    ],
)
def test_each_query_gets_its_expected_plan(text: str, expected: Plan) -> None:
    assert plan(text, ("english",)).plan is expected


@pytest.mark.parametrize(
    ("text", "ignored", "unseen"),
    [
        ("zzz", [Word("zzz")], []),
        ('"wall of" zzz -yyy', [Word("zzz"), Word("yyy")], []),
        ("and/or", [Word("and/or")], []),  # nobody says it, and Spanish reads nothing in it
    ],
)
def test_ignored_and_unseen_words_are_listed(
    text: str, ignored: list[Unit], unseen: list[Unit]
) -> None:
    assert (list(plan(text).ignored), list(plan(text).unseen)) == (ignored, unseen)
    assert plan("and/or", ("english",)).unseen == (Word("and/or"),)


def test_written_words_are_scored_before_aliases() -> None:
    found = plan("casas wall", aliases="walls")
    assert [(one.term.word, one.term.lexemes, one.term.weight) for one in found.sought] == [
        ("casas", ("casa", "cas"), 1.0),
        ("wall", ("wall",), 1.0),
        ("walls", ("walls",), 0.5),
    ]
    assert found.sought[2].alternative.alias_of == Word("casas")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("wall", idf(35, 30)),
        ("wall OR casas", idf(35, 4)),  # who says the rarer one has said all that is asked
        ("wall casas", idf(35, 30) + idf(35, 4)),
        ("and/or OR wall", 2 * idf(35, 0)),  # what is two words has to be said whole
        ("", 0),
    ],
)
def test_the_reference_is_the_rarest_alternative_of_each_group(text: str, expected: float) -> None:
    found = plan(text, ("english",))
    assert compute_reference(parse_query(text), found, CORPUS) == pytest.approx(expected)


def test_a_multi_word_term_alias_needs_a_language_that_reads_every_word() -> None:
    alias = Alternative(Word("casas"), 0.5, alias_of=Phrase("the wall"))
    group = Group((Alternative(Word("the")), alias))
    found = plan_read(replace(parse_query("the"), groups=(group,)))
    assert required(found) == {"spanish": [["the", "cas"]]}


def test_an_alias_contributes_only_its_weight_to_the_reference_score() -> None:
    query = parse_query("wall").expand_aliases(lambda _: [(Word("casas"), 0.5)])
    found = plan("wall", ("english",), aliases="casas")
    assert compute_reference(query, found, CORPUS) == pytest.approx(0.5 * idf(35, 4))


def test_the_lexemes_of_a_chain_stand_in_the_order_of_the_text() -> None:
    readings = (reading(0, "and", position=2), reading(0, "or"))
    found = plan_query(parse_query("or/and"), ("english",), readings, documents=35)
    assert found.by_language[0].required == (((("or", 1), ("and", 2)),),)


ALIASES: dict[Unit, Sequence[tuple[Unit, float]]] = {
    Word("auth"): [(Word("authentication"), 0.5), (Phrase("log in"), 0.4)],
    Word("authentication"): [(Word("auth"), 0.5)],
    Word("login"): [(Phrase("log in"), 0.4)],
    Phrase("auth"): [(Word("never"), 1.0)],
}


def test_an_alias_keeps_its_weight_and_the_word_it_stands_for() -> None:
    [group] = parse_query("login").expand_aliases(lambda unit: ALIASES.get(unit, ())).groups
    assert group == Group(
        (Alternative(Word("login")), Alternative(Phrase("log in"), 0.4, alias_of=Word("login")))
    )


@pytest.mark.parametrize(
    ("condition", "written"),
    [
        (Filter("before", "2015"), "before:2015"),
        (Filter("from", "ana", negated=True), "-from:ana"),
        (Filter("mention", "ana"), "@ana"),
        (Filter("from", "ana_"), "from:ana_"),
        (Filter("thread", "a."), 'thread:"a."'),
        (Filter("thread", "a b"), 'thread:"a b"'),
    ],
)
def test_a_filter_is_quoted_where_it_would_end_early(condition: Filter, written: str) -> None:
    assert str(condition) == written


QUOTA = Alternative(Word("quota"), 0.5, alias_of=Phrase("rate limit"))


def test_aliases_are_written_after_the_words_they_stand_for() -> None:
    rate, limit = (Group((Alternative(Word(word)), QUOTA)) for word in ("rate", "limit"))
    assert str(Query(groups=(rate, limit))) == "(rate limit | quota)"
    group = Group((Alternative(Word("rate")), Alternative(Word("speed")), QUOTA))
    assert str(Query(groups=(group,))) == "(rate | speed | quota)"
