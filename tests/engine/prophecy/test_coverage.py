"""How much of a headline a text covers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.prophecy.score import lexical_part, term_weights, weigh_coverage
from tests.engine.prophecy.terms import AVERAGE, DOCUMENTS, TERMS, found, term


def test_a_text_with_every_word_once_has_full_coverage() -> None:
    assert lexical_part(found(1, {0: 1, 1: 1, 2: 1}), TERMS, DOCUMENTS, AVERAGE) == pytest.approx(1)


def test_coverage_without_words_or_terms_is_zero() -> None:
    assert lexical_part(found(1, {}), TERMS, DOCUMENTS, AVERAGE) == 0
    assert lexical_part(found(1, {}), (), DOCUMENTS, AVERAGE) == 0


def test_a_rare_word_covers_more_than_a_common_one() -> None:
    terms = (term("a", 5), term("b", 500))
    rare, common = (lexical_part(found(1, {i: 1}), terms, DOCUMENTS, AVERAGE) for i in (0, 1))
    assert rare > 5 * common


def test_a_word_that_the_corpus_has_never_seen_is_not_covered() -> None:
    known = lexical_part(found(1, {0: 1}), TERMS[:1], DOCUMENTS, AVERAGE)
    with_unknown = lexical_part(
        found(1, {0: 1}), (*TERMS[:1], term("xyzzy", 0)), DOCUMENTS, AVERAGE
    )
    assert known == pytest.approx(1)
    assert with_unknown < 0.5


def test_a_neighbour_covers_a_part_of_the_unknown_word() -> None:
    terms = (term("earthquak", 0), term("earthquake", 10, weight=0.4, of="earthquak"))
    assert 0 < lexical_part(found(1, {1: 1}), terms, DOCUMENTS, AVERAGE) <= 0.4


def test_the_first_word_weighs_half_as_much_again_as_the_last() -> None:
    first, middle, last = term_weights([term("a"), term("b"), term("c")], DOCUMENTS)
    assert first / last == pytest.approx(1.5)
    assert first > middle > last


@pytest.mark.parametrize("documents", [1, 2])
def test_in_a_tiny_corpus_no_word_weighs_less_than_nothing(documents: int) -> None:
    weights = term_weights([term("a", 1), term("b", documents)], documents, rarest=3)
    assert min(weights) > 0


def test_a_neighbour_has_the_position_of_its_word() -> None:
    unknown, neighbour = term("b", 10), term("bb", 10, weight=0.5, of="b")
    weights = term_weights([term("a"), unknown, neighbour, term("c")], DOCUMENTS)
    assert weights[2] == pytest.approx(weights[1] / 2)
    assert weights[3] == term_weights([term("a"), unknown, term("c")], DOCUMENTS)[2]


def test_a_single_word_has_no_position_weight() -> None:
    assert len(set(term_weights([term("a")], DOCUMENTS))) == 1
    assert term_weights([], DOCUMENTS) == []


def test_a_neighbour_adds_nothing_to_what_there_is_to_cover() -> None:
    terms = (term("earthquak", 0), term("earthquake", 10, weight=0.4, of="earthquak"))
    share = lexical_part(found(1, {1: 1}), terms, DOCUMENTS, AVERAGE)
    [unseen], [rare] = (term_weights([term("a", df)], DOCUMENTS) for df in (0, 10))
    assert share == pytest.approx(0.4 * rare / unseen)


@given(st.floats(0, 50), st.floats(0.01, 50))
def test_evidence_strictly_rises_with_coverage(covered: float, more: float) -> None:
    assert 0 <= weigh_coverage(covered) < weigh_coverage(covered + more) < 1
