"""BM25's parts, and the guess at the score that enough documents reach."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.ranking import Bm25, best_first, expected_threshold, idf, scores_of, weighted_mean
from tests.engine.candidates import candidate

_parameters = {"k1": st.floats(0.01, 3), "b": st.floats(0, 1)}


@pytest.mark.parametrize(
    ("tf", "length", "part"),
    [
        (1, 10, 1.0),  # once in a text of average length
        (2, 10, 4.4 / 3.2),
        (1, 20, 2.2 / (1 + 1.2 * 1.75)),
        (1, 0, 2.2 / 1.3),
        (0, 10, 0.0),
    ],
)
def test_a_bm25_part_matches_hand_calculation(tf: int, length: int, part: float) -> None:
    assert Bm25(k1=1.2, b=0.75).part(tf, length, 10) == pytest.approx(part)


@given(tf=st.integers(1, 255), length=st.integers(1, 500), average=st.floats(1, 100), **_parameters)
def test_a_longer_text_never_scores_higher(
    tf: int, length: int, average: float, k1: float, b: float
) -> None:
    bm25 = Bm25(k1=k1, b=b)
    assert bm25.part(tf, length, average) >= bm25.part(tf, length + 1, average)


@pytest.mark.parametrize(
    ("documents", "df", "value"),
    [
        (100, 0, math.log(202)),
        (100, 1, math.log(1 + 99.5 / 1.5)),
        (100, 100, math.log(1 + 0.5 / 100.5)),
        (0, 0, math.log(2)),
    ],
)
def test_idf_matches_hand_calculation(documents: int, df: int, value: float) -> None:
    assert idf(documents, df) == pytest.approx(value)


@pytest.mark.parametrize(
    ("weights", "documents", "wanted", "threshold"),
    [
        ([(5.0, 0.1)], 1000, 50, 5.0),  # a hundred documents hold the word
        ([(5.0, 0.1)], 1000, 150, 0.0),
        ([(5.0, 0.1), (2.0, 0.5)], 1000, 40, 7.0),  # fifty hold both
        ([(5.0, 0.1), (2.0, 0.5)], 1000, 90, 5.0),
        ([(5.0, 0.1), (2.0, 0.5)], 1000, 400, 2.0),
        ([(0.04, 1.0)], 1000, 1, 0.0),  # lighter than a bin
        ([], 1000, 1, 0.0),
        ([(5.0, 1.0)], 0, 1, 0.0),
    ],
)
def test_the_expected_threshold_is_reached_by_enough_documents(
    weights: list[tuple[float, float]], documents: int, wanted: int, threshold: float
) -> None:
    assert expected_threshold(weights, documents, wanted) == pytest.approx(threshold)


_weights = st.lists(st.tuples(st.floats(0.01, 12), st.floats(0, 1)), max_size=12)


@given(weights=_weights, documents=st.integers(0, 10**6), wanted=st.integers(1, 500))
def test_the_expected_threshold_is_reachable_and_falls_with_the_limit(
    weights: list[tuple[float, float]], documents: int, wanted: int
) -> None:
    guess = expected_threshold(weights, documents, wanted)
    assert 0 <= guess <= sum(weight for weight, _ in weights) + 1e-9
    assert expected_threshold(weights, documents, wanted + 50) <= guess


@pytest.mark.parametrize(
    ("parts", "wanted", "threshold"),
    [
        ((0.5, 1.0, 2.0), 10, 10.0),  # a hundred documents hold the word, a third are short
        ((0.5, 1.0, 2.0), 50, 5.0),
        ((0.5, 1.0, 2.0), 90, 2.5),
        ((0.5, 1.0, 2.0), 101, 0.0),
        ((0.8,), 100, 4.0),
    ],
)
def test_the_expected_threshold_follows_document_scores(
    parts: tuple[float, ...], wanted: int, threshold: float
) -> None:
    assert expected_threshold([(5.0, 0.1)], 1000, wanted, parts) == pytest.approx(threshold)


@given(weights=_weights, wanted=st.integers(1, 500), part=st.floats(0.1, 2.2))
def test_the_threshold_lies_between_those_of_longest_and_shortest_documents(
    weights: list[tuple[float, float]], wanted: int, part: float
) -> None:
    low, high = sorted((part, 1.0))
    guesses = [
        expected_threshold(weights, 10_000, wanted, parts)
        for parts in ((low,), (low, high), (high,))
    ]
    assert guesses == sorted(guesses)


@pytest.mark.parametrize("terms", [1, 8, 64])
def test_the_threshold_estimate_neglects_few_documents(terms: int) -> None:
    """Of many terms that all documents may have, most sums are too rare to be kept."""
    weights = [(9.0 - i / 10, 0.02 + i / 100) for i in range(terms)]
    guess = expected_threshold(weights, 50_000, 150)
    exact = [1.0]
    for weight, probability in weights:
        shift = int(weight / 0.1)
        wider = [share * (1 - probability) for share in exact] + [0.0] * shift
        for index, share in enumerate(exact):
            wider[index + shift] += share * probability
        exact = wider
    reaching = 50_000 * math.fsum(exact[round(guess / 0.1) :])
    above = 50_000 * math.fsum(exact[round(guess / 0.1) + 1 :])
    assert reaching >= 150
    assert above < 155


def test_a_few_texts_are_scored_among_themselves() -> None:
    texts = [["a", "b"], ["a", "a"], ["c", "d"], []]
    scores = scores_of(["a", "b", "unknown"], texts)
    assert scores[0] > scores[1] > scores[2] == scores[3] == 0
    assert scores_of(["a"], []) == []
    assert scores_of(["a"], [[], []]) == [0, 0]
    assert scores_of([], [["a"]]) == [0]


def test_scores_of_a_few_texts_match_hand_calculation() -> None:
    """One text of two has "a", both have "b"; k1 is 1.2, b .75, the average length 1.5."""
    rare, frequent = math.log(2), math.log(1.2)
    longer = 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / 1.5))
    shorter = 2.2 / (1 + 1.2 * (0.25 + 0.75 / 1.5))
    maximum = (rare + frequent) * 2.2
    assert scores_of(["a", "b"], [["a", "b"], ["b"]]) == pytest.approx(
        [(rare + frequent) * longer / maximum, frequent * shorter / maximum]
    )


@pytest.mark.parametrize(
    ("parts", "value"),
    [
        ({"judgment": 1.0, "lexical": 1.0, "age": 1.0}, 1.0),
        ({"judgment": 1.0, "lexical": 0.0, "age": 0.0}, 0.65),
        ({"judgment": None, "lexical": 1.0, "age": 0.0}, 0.25 / 0.35),
        ({"judgment": None, "lexical": None, "age": None}, 0.0),
        ({"judgment": 1.0, "lexical": 0.0, "age": 0.0, "semantic": 1.0}, 0.65),
        ({}, 0.0),
    ],
)
def test_what_is_known_shares_the_weights(parts: Mapping[str, float | None], value: float) -> None:
    weights = {"judgment": 0.65, "lexical": 0.25, "age": 0.10}
    assert weighted_mean(parts, weights) == pytest.approx(value)


@pytest.mark.parametrize(("more", "first"), [(4e-10, "older"), (4e-9, "newer")])
def test_scores_that_differ_by_rounding_are_sorted_by_date(more: float, first: str) -> None:
    older = candidate(2, "older", created_at=datetime(2012, 1, 1, tzinfo=UTC))
    newer = candidate(1, "newer", created_at=datetime(2013, 1, 1, tzinfo=UTC))
    found = [(0.5, older), (0.5 + more, newer)]
    assert min(found, key=lambda scored: best_first(*scored))[1].text == first
