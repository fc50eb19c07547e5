"""What an adapter hands over is made harmless and read for commands."""

from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bot.conversing import PRIVATE, event


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/why", ("why", "")),
        ("/WHY", ("why", "")),
        ("  /p  Coffee prices \n", ("p", "Coffee prices")),
        ("/p\nCoffee\nprices", ("p", "Coffee\nprices")),
        ("/r/politics bans bots", None),
        ("/", None),
        ("/ 5", None),
        ("/2024/06/01", None),
        ("50/50 vote", None),
        ("Coffee /why", None),
        ("/why?", None),
    ],
)
def test_a_command_is_a_slash_and_a_word(text: str, expected: tuple[str, str] | None) -> None:
    assert event(text).command_call == expected


@given(st.text(st.characters(codec=None)))
def test_strip_unstorable_removes_nul_and_lone_surrogates(text: str) -> None:
    place = replace(PRIVATE, title=text)
    cleaned = event(text, place=place).strip_unstorable()
    for kept in (cleaned.text, cleaned.place.title or ""):
        assert "\0" not in kept
        kept.encode()  # raises for half a surrogate pair
    assert cleaned.strip_unstorable() == cleaned


def test_a_zero_byte_parts_words() -> None:
    assert event("\0container\0ship\0").strip_unstorable().text == "container ship"


def test_long_text_is_cut_to_10000_characters() -> None:
    assert event("x" * 10_001).strip_unstorable().text == "x" * 10_000


def test_a_moment_needs_a_zone() -> None:
    with pytest.raises(ValueError, match="without a zone"):
        event("x", now=datetime(2024, 1, 1))  # noqa: DTZ001 - the point of the test


def test_the_chat_is_known_only_behind_the_gates() -> None:
    with pytest.raises(LookupError):
        _ = event("x").known_chat
