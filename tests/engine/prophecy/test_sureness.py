"""How sure an answer is of a hit, in a word."""

import pytest

from engine.prophecy.score import Sureness, rate_sureness
from engine.search import HitKind
from tests.bot.prophecies import make_hit


@pytest.mark.parametrize("judgment", [4, 5, 6])
def test_only_a_prediction_is_called_foretold(judgment: int) -> None:
    parts = {"judgment": judgment / 6, "lexical": 1.0, "semantic": 1.0}
    for kind in (*HitKind, None):
        sureness = Sureness.FORETOLD if kind is HitKind.PREDICTION else Sureness.CLOSE
        assert rate_sureness(make_hit(parts=parts, kind=kind)) is sureness


@pytest.mark.parametrize("semantic", [None, 0.3, 1.0])
def test_an_unjudged_hit_is_always_a_guess(semantic: float | None) -> None:
    parts = {"judgment": None, "lexical": 1.0, "age": 1.0, "semantic": semantic}
    assert rate_sureness(make_hit(parts=parts, matched=("a", "b", "c"))) is Sureness.PERHAPS
