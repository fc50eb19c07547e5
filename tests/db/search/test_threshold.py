"""The threshold's query lets no document through the net that could score enough."""

import random
import re
import string
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.search.statements import (
    CLASSES,
    DocumentClass,
    WeightedLexeme,
    build_class_statement,
    build_threshold_query,
    quote_lexeme,
)
from engine.ranking import Bm25

_LEXEMES = tuple(string.ascii_lowercase)
_bounds = st.dictionaries(st.sampled_from(_LEXEMES), st.floats(0.001, 12), min_size=1, max_size=14)


def matches(query: str, lexemes: set[str]) -> bool:
    """Evaluate a tsquery of quoted letters, "&", "|" and brackets."""
    if not query:
        return False
    words = re.sub(r"'(\w)'", r"('\1' in lexemes)", query)
    return bool(eval(words.replace("&", " and ").replace("|", " or "), {"lexemes": lexemes}))


@given(bounds=_bounds, need=st.floats(0, 80), data=st.data())
def test_every_document_that_can_reach_the_need_matches(
    bounds: Mapping[str, float], need: float, data: st.DataObject
) -> None:
    lexemes = data.draw(st.sets(st.sampled_from(_LEXEMES)))
    reachable = sum(bounds.get(lexeme, 0) for lexeme in lexemes)
    if lexemes & set(bounds) and reachable >= need:
        assert matches(build_threshold_query(list(bounds.items()), need), lexemes)


@given(bounds=_bounds, data=st.data())
def test_a_document_that_reaches_exactly_the_need_matches(
    bounds: Mapping[str, float], data: st.DataObject
) -> None:
    """However the server rounds the sum."""
    lexemes = data.draw(st.sets(st.sampled_from(sorted(bounds)), min_size=1))
    one_way = sum(bounds[lexeme] for lexeme in sorted(lexemes))
    other_way = sum(bounds[lexeme] for lexeme in sorted(lexemes, reverse=True))
    assert matches(build_threshold_query(list(bounds.items()), max(one_way, other_way)), lexemes)


@given(bounds=_bounds, need=st.floats(0.001, 80))
def test_a_lexeme_alone_matches_only_when_its_bound_is_enough(
    bounds: Mapping[str, float], need: float
) -> None:
    for lexeme, bound in bounds.items():
        if bound < need * 0.999:
            assert not matches(build_threshold_query(list(bounds.items()), need), {lexeme})


@given(bounds=_bounds, share=st.floats(0.01, 1), data=st.data())
def test_two_lexemes_that_cannot_reach_the_threshold_do_not_match(
    bounds: Mapping[str, float], share: float, data: st.DataObject
) -> None:
    need = share * sum(bounds.values())
    strong, other = data.draw(st.lists(st.sampled_from(_LEXEMES), min_size=2, max_size=2))
    weaker = sum(bound for bound in bounds.values() if bound <= bounds.get(other, 0))
    if bounds.get(strong, 0) > bounds.get(other, 0) and bounds[strong] + weaker < need * 0.999:
        assert not matches(build_threshold_query(list(bounds.items()), need), {strong, other})


def test_the_query_is_empty_or_plain_at_either_end_of_the_threshold() -> None:
    assert build_threshold_query([("a", 1.0), ("b", 2.0)], 3.5) == ""
    assert build_threshold_query([], 0.0) == ""
    assert build_threshold_query([("a", 1.0), ("b", 2.0)], 0.0) == "'b'|'a'"


def test_the_query_combines_lexemes_that_are_only_sufficient_together() -> None:
    bounds = [("rare", 5.0), ("usual", 2.0), ("common", 1.0)]
    assert build_threshold_query(bounds, 5.0) == "'rare'"
    assert build_threshold_query(bounds, 6.5) == "'rare'&('usual')"
    assert build_threshold_query(bounds, 3.0) == "'rare'|'usual'&('common')"
    assert build_threshold_query(bounds, 5.5) == "'rare'&('usual'|'common')"


@pytest.mark.parametrize("terms", [1, 12, 20, 40, 64])
@pytest.mark.parametrize("share", [0.01, 0.05, 0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("spread", [0.0, 0.01, 1.0])
def test_the_threshold_query_stays_within_its_size_limit(
    terms: int, share: float, spread: float
) -> None:
    bounds = [(f"w{i}", 5.0 + spread * i) for i in range(terms)]
    query = build_threshold_query(bounds, share * sum(bound for _, bound in bounds))
    assert query.count("'") // 2 <= 512


@given(st.lists(st.floats(0.1, 9), min_size=40, max_size=64), st.floats(0, 0.6), st.randoms())
def test_a_shortened_query_of_many_terms_loses_no_match(
    values: Sequence[float], share: float, draw: random.Random
) -> None:
    letters = [chr(0x4E00 + i) for i in range(len(values))]
    bounds = dict(zip(letters, values, strict=True))
    lexemes = {letter for letter in letters if draw.random() < share + 0.1}
    reachable = sum(bounds[lexeme] for lexeme in lexemes)
    if lexemes:
        assert matches(build_threshold_query(list(bounds.items()), reachable), lexemes)


@pytest.mark.parametrize("dates_first", [False, True])
def test_all_classes_are_read_in_one_scan(dates_first: bool) -> None:
    statement = build_class_statement("document_1", 3, dates_first=dates_first)
    assert statement.count("FROM document_1") == 1
    assert all(one.condition in statement for one in CLASSES)


_tf = st.integers(1, 40)


@given(
    frequencies=st.lists(_tf, min_size=1, max_size=9),
    slack=st.integers(0, 20),
    average=st.floats(0.5, 60),
    k1=st.floats(0, 3),
    b=st.floats(0, 1),
    weight=st.floats(0.01, 12),
)
def test_no_score_exceeds_the_bound_of_its_class(
    frequencies: list[int], slack: int, average: float, k1: float, b: float, weight: float
) -> None:
    length, max_tf = sum(frequencies), max(frequencies)
    tf = frequencies[0]
    lexeme = WeightedLexeme("a", weight, min(255, tf + slack), 0.1)
    of_document = class_of(max_tf, length)
    bm25 = Bm25(k1=k1, b=b)
    score = weight * bm25.part(tf, length, average)
    assert of_document.bound(lexeme, bm25, average) >= score * (1 - 1e-12)


@pytest.mark.parametrize("one", CLASSES, ids=lambda one: one.condition)
def test_the_shortest_document_of_a_class_reaches_its_bound(one: DocumentClass) -> None:
    maximum = one.max_tf or 3
    lexeme, bm25 = WeightedLexeme("a", 3.0, maximum, 0.1), Bm25()
    assert class_of(maximum, one.shortest) is one
    assert one.bound(lexeme, bm25, 9.0) == 3.0 * bm25.part(maximum, one.shortest, 9.0)


@given(max_tf=st.integers(1, 255), more=st.integers(0, 60))
def test_every_document_belongs_to_one_class(max_tf: int, more: int) -> None:
    assert class_of(max_tf, max_tf + more)


def class_of(max_tf: int, length: int) -> DocumentClass:
    """The class whose condition, read as Python, holds; there is exactly one."""
    values = {"max_tf": max_tf, "length": length}
    [found] = [
        c
        for c in CLASSES
        if eval(re.sub(r"(?<![<>])=", "==", c.condition).replace("AND", "and"), values)
    ]
    return found


def test_the_classes_are_those_of_the_indexes(migrations: str) -> None:
    for document_class in CLASSES:
        assert f"USING gin (tsv) WHERE {document_class.condition};" in migrations


@pytest.fixture(scope="module")
def migrations() -> str:
    from db.migrate import list_migrations

    return "\n".join(migration.sql for migration in list_migrations())


@pytest.mark.parametrize(
    ("lexeme", "literal"),
    [("storm", "'storm'"), ("o'neil", "'o''neil'"), ("a\\b", "'a\\\\b'"), ("a & b", "'a & b'")],
)
def test_lexemes_are_quoted(lexeme: str, literal: str) -> None:
    assert quote_lexeme(lexeme) == literal
