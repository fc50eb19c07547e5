"""Hashed TF-IDF."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.embed.local import DIMENSIONS, hash_lexemes

WORDS = st.dictionaries(
    st.text(min_size=1, max_size=8),
    st.tuples(st.integers(1, 9), st.integers(0, 1000)),
    min_size=1,
    max_size=30,
)


def cosine(one: list[float], other: list[float]) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


@given(WORDS)
def test_a_vector_has_length_one_and_is_the_same_every_time(
    words: dict[str, tuple[int, int]],
) -> None:
    vector = hash_lexemes(words, 1000)
    assert len(vector) == DIMENSIONS
    assert vector == pytest.approx(hash_lexemes(dict(reversed(words.items())), 1000), abs=1e-6)
    # Two words may cancel each other out in one dimension, all of them hardly ever.
    assert math.hypot(*vector) == pytest.approx(1) or not any(vector)


def test_a_text_without_words_has_a_zero_vector() -> None:
    assert not any(hash_lexemes({}, 1000))


def test_rare_words_in_common_weigh_more_than_frequent_ones() -> None:
    asked = hash_lexemes({"snow": (1, 5), "people": (1, 900)}, 1000)
    rare = hash_lexemes({"snow": (1, 5), "other": (1, 50)}, 1000)
    frequent = hash_lexemes({"people": (1, 900), "other": (1, 50)}, 1000)
    assert cosine(asked, rare) > cosine(asked, frequent) > 0


def test_unrelated_texts_are_far_apart() -> None:
    one = hash_lexemes({f"a{n}": (1, 5) for n in range(10)}, 1000)
    other = hash_lexemes({f"b{n}": (1, 5) for n in range(10)}, 1000)
    assert abs(cosine(one, other)) < 0.3
