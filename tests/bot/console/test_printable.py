"""Nothing that a tweet holds can steer the terminal."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.console.screen import make_printable

BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Café ☕ 新聞", "Café ☕ 新聞"),
        ("👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ❤️", "👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ❤️"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("a\tb", "a b"),
        ("\x1b[31mred\x1b[0m", "�[31mred�[0m"),
        ("\x1b]0;title\x07", "�]0;title�"),
        ("\x9b2J", "�2J"),
        ("a\x00b\x08\x7f", "a�b��"),
        ("\u202eevil", "�evil"),
        ("\ud83d", "�"),
    ],
)
def test_printable_on_known_texts(text: str, shown: str) -> None:
    assert make_printable(text) == shown


@given(st.text(st.characters(codec=None)))
def test_no_control_character_gets_through(text: str) -> None:
    for character in make_printable(text):
        assert character == "\n" or unicodedata.category(character) not in {"Cc", "Cs"}
        assert unicodedata.bidirectional(character) not in BIDI


@given(st.text(st.characters(exclude_categories=["C", "Zl", "Zp"])))
def test_text_that_is_harmless_stays_as_it_was_written(text: str) -> None:
    assert make_printable(text) == text


@given(st.text(st.characters(codec=None)))
def test_printable_is_idempotent_and_encodable_as_utf_8(text: str) -> None:
    once = make_printable(text)
    assert make_printable(once) == once
    assert once.encode("utf-8").decode("utf-8") == once
