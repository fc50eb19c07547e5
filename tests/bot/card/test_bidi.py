"""Mixed directions are ordered as a stranger's implementation of UAX #9 orders them."""

import pytest
from bidi import get_display
from hypothesis import given
from hypothesis import strategies as st

from bot.card.bidi import base_level, resolve_levels, visual_order

# Letters of each direction, both kinds of digits, separators, terminators, brackets, neutrals.
ALPHABET = "abאבשالسم12٣٤ .,:/+-%$#()[]{}!?\"'…–"


def displayed(text: str, base: int) -> str:
    """The characters from left to right; brackets are not mirrored, that is for their glyphs."""
    return "".join(text[index] for index in visual_order(resolve_levels(text, base)))


@given(st.text(ALPHABET, min_size=1, max_size=30), st.sampled_from("LR"))
def test_visual_order_matches_the_python_bidi_library(text: str, direction: str) -> None:
    text = f"x{text}x" if direction == "L" else f"ש{text}ש"  # white space at an end is cut before
    assert displayed(text, int(direction == "R")) == get_display(text, base_dir=direction)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("שלום world", "world םולש"),
        ("price: 100 ₪", "price: 100 ₪"),
        ("אבג 123", "123 גבא"),
        ("(אבג)", ")גבא("),
    ],
)
def test_display_order_of_known_sentences(text: str, shown: str) -> None:
    assert displayed(text, base_level(text)) == shown


@pytest.mark.parametrize(
    ("text", "level"), [("abc שלום", 0), ("… 12 שלום abc", 1), ("123 …", 0), ("", 0), ("م", 1)]
)
def test_the_first_letter_decides_the_base_direction(text: str, level: int) -> None:
    assert base_level(text) == level


@given(st.lists(st.integers(0, 4), max_size=12))
def test_visual_order_contains_every_run_exactly_once(found: list[int]) -> None:
    assert sorted(visual_order(found)) == list(range(len(found)))
