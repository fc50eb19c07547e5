"""Features are combined by their weights, over those that are known."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from engine.ranking import best_first, weighted_mean
from tests.engine.candidates import candidate


@pytest.mark.parametrize(
    ("parts", "value"),
    [
        ({"judgment": 1.0, "lexical": 1.0, "age": 1.0}, 1.0),
        ({"judgment": 1.0, "lexical": 0.0, "age": 0.0}, 0.65),
        ({"judgment": None, "lexical": 1.0, "age": 0.0}, 0.25 / 0.35),
        ({"judgment": None, "lexical": None, "age": 0.5}, 0.5),
        ({"judgment": None, "lexical": None, "age": None}, 0.0),
        ({"judgment": 1.0, "lexical": 0.0, "age": 0.0, "semantic": 1.0}, 0.65),
        ({}, 0.0),
    ],
)
def test_weights_are_shared_among_what_is_known(
    parts: Mapping[str, float | None], value: float
) -> None:
    weights = {"judgment": 0.65, "lexical": 0.25, "age": 0.10}
    assert weighted_mean(parts, weights) == pytest.approx(value)


def test_zero_weights_give_no_score() -> None:
    assert weighted_mean({"age": 1.0}, {"age": 0.0}) == 0.0


@pytest.mark.parametrize(("more", "first"), [(4e-10, "older"), (4e-9, "newer")])
def test_scores_that_differ_by_rounding_are_sorted_by_date(more: float, first: str) -> None:
    older = candidate(2, "older", created_at=datetime(2012, 1, 1, tzinfo=UTC))
    newer = candidate(1, "newer", created_at=datetime(2013, 1, 1, tzinfo=UTC))
    found = [(0.5, older), (0.5 + more, newer)]
    assert min(found, key=lambda scored: best_first(*scored))[1].text == first
