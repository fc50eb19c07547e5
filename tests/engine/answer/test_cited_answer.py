"""Marks of sources in what a model writes."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.answer.cited_answer import split_citations, without_brackets

GIVEN = 5


@pytest.mark.parametrize(
    ("mark", "numbers"),
    [
        ("[1]", (1,)),
        ("[2][1]", (2, 1)),
        ("[1, 3; 5]", (1, 3, 5)),
        ("[2-4]", (2, 3, 4)),
        ("[4 and 5]", (4, 5)),
        ("[^2]", (2,)),
        ("[source 3]", (3,)),
        ("[Passages 1, 2]", (1, 2)),
        ("[#4]", (4,)),
        ("【2†source】", (2,)),
        ("［3］", (3,)),
        ("[1][1]", (1,)),
        ("[6]", ()),
        ("[0]", ()),
        ("[1-9999]", (1,)),
        ("[99999999]", ()),
        ("[٣]", (3,)),
    ],
)
def test_a_citation_mark_is_parsed(mark: str, numbers: tuple[int, ...]) -> None:
    text, found = split_citations(f"so it is {mark}", GIVEN, Counter())
    assert (text.strip(), found) == ("so it is", numbers)


@pytest.mark.parametrize("text", ["he [sic] said [in 2019 or so] [...]", "a[i] and [] and [1"])
def test_other_brackets_are_kept(text: str) -> None:
    assert split_citations(text, GIVEN, Counter()) == (text, ())
    assert without_brackets(text) == text


def test_brackets_that_look_like_citations_become_parentheses() -> None:
    assert without_brackets("see [1] 【2】 [3, 4]") == "see (1) (2) (3, 4)"


@given(st.text(alphabet="[]［］【】12, -a", max_size=60))
def test_remaining_text_contains_no_citation_mark(text: str) -> None:
    left, numbers = split_citations(text, GIVEN, Counter())
    assert split_citations(left, GIVEN, Counter()) == (left, ())
    assert all(1 <= number <= GIVEN for number in numbers)
