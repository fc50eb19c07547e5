"""How sure an answer is of a hit, in a word."""

import pytest

from engine.prophecy.score import Sureness, rate_sureness
from tests.bot.prophecies import make_hit


@pytest.mark.parametrize(
    ("judgment", "said"),
    [
        (6, Sureness.FORETOLD),
        (5, Sureness.FORETOLD),
        (4, Sureness.CLOSE),
        (3, Sureness.PERHAPS),
        (1, Sureness.PERHAPS),
    ],
)
def test_sureness_follows_the_judgment_whatever_the_words(judgment: int, said: Sureness) -> None:
    for lexical in (0.0, 1.0):
        hit = make_hit(parts={"judgment": judgment / 6, "lexical": lexical, "semantic": lexical})
        assert rate_sureness(hit) is said


@pytest.mark.parametrize("semantic", [None, 0.3, 1.0])
def test_an_unjudged_hit_is_always_a_guess(semantic: float | None) -> None:
    parts = {"judgment": None, "lexical": 1.0, "age": 1.0, "semantic": semantic}
    assert rate_sureness(make_hit(parts=parts, matched=("a", "b", "c"))) is Sureness.PERHAPS
