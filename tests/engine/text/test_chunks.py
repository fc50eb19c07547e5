"""Chunks of long texts: nothing is lost, sizes and overlaps hold, headings and pages are known."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.text.chunks import OVERLAP, Block, split_chunks, split_sentences, token_count
from tests.conftest import FEW_EXAMPLES

_WORDS = st.sampled_from(
    ["rose", "a", "Prices", "10%", "internationalisation", "the", "咖啡", "año", "x" * 90]
)
_SENTENCES = st.lists(_WORDS, min_size=1, max_size=60).map(lambda words: " ".join(words) + ".")
_BLOCKS = st.lists(
    st.builds(
        Block,
        text=st.lists(_SENTENCES, min_size=1, max_size=8).map(" ".join),
        headings=st.lists(st.sampled_from(["One", "Two", "Three"]), max_size=2).map(tuple),
        page=st.none() | st.integers(1, 9),
    ),
    max_size=12,
)


def _numbered(count: int, length: int = 9) -> str:
    return " ".join(
        " ".join(f"W{place}x{word}" for word in range(length)) + "." for place in range(count)
    )


@FEW_EXAMPLES
@given(_BLOCKS)
def test_each_chunk_begins_with_the_end_of_the_one_before(blocks: list[Block]) -> None:
    for one, other in pairwise(split_chunks(blocks)):
        words, following = one.text.split(), other.text.split()
        shared = [
            size
            for size in range(1, min(len(words), len(following)) + 1)
            if words[-size:] == following[:size]
        ]
        assert any(
            OVERLAP / 3 <= token_count(" ".join(following[:size])) <= OVERLAP * 1.5
            for size in shared
        ), (one, other)


def test_a_sentence_stays_whole() -> None:
    text = _numbered(200)
    for each in split_chunks([Block(text=text)]):
        assert each.text.endswith(".")
        assert each.text.split()[0].endswith("x0")


def test_text_without_blanks_is_cut_after_its_marks() -> None:
    found = split_chunks([Block(text="咖啡很贵。" * 400)])
    assert len(found) > 4
    assert all(each.text.endswith("。") for each in found)


def test_a_section_begins_a_chunk_if_the_one_before_is_long_enough() -> None:
    found = split_chunks(
        [
            Block(text=_numbered(30), headings=("Report", "Past"), page=1),
            Block(text="Now it is dear.", headings=("Report", "Present"), page=2),
        ]
    )
    assert [each.headings for each in found] == [("Report", "Past"), ("Report", "Present")]
    assert found[1].text.endswith("\n\nPresent\n\nNow it is dear.")
    assert [(each.page, each.last_page) for each in found] == [(1, 1), (1, 2)]


def test_a_chunk_of_several_sections_names_the_first_and_the_last() -> None:
    sections = ("Prams", "Dogs", "Bicycles")
    [only] = split_chunks([Block(text="Yes.", headings=("Southern", name)) for name in sections])
    assert only.headings == ("Southern", "Prams … Bicycles")
    within = [Block(text="Yes.", headings=one) for one in (("A",), ("A", "B"))]
    assert [each.headings for each in split_chunks(within)] == [("A",)]


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("four", 1), ("coffee is", 3), ("咖啡", 2), ("año", 1)]
)
def test_tokens_are_four_characters_or_one_wide_one(text: str, tokens: int) -> None:
    assert token_count(text) == tokens


def test_an_overlap_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="60 of 100"):
        split_chunks([], minimum=100, overlap=60)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("A rose. [1] It fell. [2][3]", ["A rose. [1]", "It fell. [2][3]"]),
        (
            "Mr. Smith paid 3.5 in the U.S. Then he left.",
            ["Mr. Smith paid 3.5 in the U.S. Then he left."],
        ),
        ("¿Qué? ¡No! El Sr. Paz calla.", ["¿Qué?", "¡No!", "El Sr. Paz calla."]),
        ('He said "No." She left.', ['He said "No."', "She left."]),
        ("one\n\ntwo", ["one", "two"]),
        ("wait... what", ["wait... what"]),
    ],
)
def test_text_is_split_into_sentences(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected


@given(st.text(alphabet='aA.!? \n[]1"', max_size=80))
def test_splitting_loses_only_spaces(text: str) -> None:
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())
