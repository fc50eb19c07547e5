"""How sure an answer is of a hit, in a word."""

import pytest

from engine.prophecy.score import Sureness, sureness
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
def test_a_judgment_decides_whatever_the_words_say(judgment: int, said: Sureness) -> None:
    for lexical in (0.0, 1.0):
        hit = make_hit(parts={"judgment": judgment / 6, "lexical": lexical, "semantic": lexical})
        assert sureness(hit) is said


@pytest.mark.parametrize(
    ("lexical", "semantic", "words", "said"),
    [
        (0.9, None, 3, Sureness.CLOSE),
        (0.3, 0.3, 3, Sureness.CLOSE),
        (0.5, None, 3, Sureness.PERHAPS),
        (1.0, 1.0, 2, Sureness.PERHAPS),  # two words in common may be chance
    ],
)
def test_unjudged_nothing_is_said_to_be_foretold(
    lexical: float, semantic: float | None, words: int, said: Sureness
) -> None:
    parts = {"judgment": None, "lexical": lexical, "age": 1.0, "semantic": semantic}
    hit = make_hit(parts=parts, matched=tuple("abc"[:words]))
    assert sureness(hit) is said
