"""Where sentences end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.text.chunks import split_sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("A rose. [1] It fell. [2][3]", ["A rose. [1]", "It fell. [2][3]"]),
        ("A rose [1]. It fell [2].", ["A rose [1].", "It fell [2]."]),
        (
            "Mr. Smith paid 3.5 in the U.S. Then he left.",
            ["Mr. Smith paid 3.5 in the U.S. Then he left."],
        ),
        ("¿Qué? ¡No! El Sr. Paz calla.", ["¿Qué?", "¡No!", "El Sr. Paz calla."]),
        ('He said "No." She left.', ['He said "No."', "She left."]),
        ("one\n\ntwo", ["one", "two"]),
        ("wait... what", ["wait... what"]),
        (" \n ", []),
    ],
)
def test_text_is_split_into_sentences(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected


@given(st.text(alphabet='aA.!? \n[]1"', max_size=80))
def test_splitting_loses_only_spaces(text: str) -> None:
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())


def test_splitting_handles_a_very_long_text() -> None:
    assert len(split_sentences("A. " * 7000)) == 1
    assert len(split_sentences("No way! " * 2500)) == 2500
