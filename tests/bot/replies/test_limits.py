"""Texts within limits: never too long, nothing lost, nothing torn apart, in linear time."""

import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.replies.limits import Measure, cut, split, utf16_length

if TYPE_CHECKING:
    from _typeshed import TraceFunction

FAMILY = "👨‍👩‍👧‍👦"
THUMB = "👍🏽"
FLAG = "🇦🇷"
SCOTLAND = "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
ACCENTED = "e\u0301"
CLUSTERS = (FAMILY, THUMB, FLAG, SCOTLAND, ACCENTED, "☕\ufe0f", "\ud83d\ude00")


def escaped_length(text: str) -> int:
    """As Slack's adapter measures a text."""
    return len(text) + 4 * text.count("&") + text.count("\n")


MEASURES: dict[str, Measure] = {"len": len, "utf16": utf16_length, "escaped": escaped_length}
measures = st.sampled_from(list(MEASURES.values()))
texts = st.lists(
    st.one_of(
        st.text(max_size=12),
        st.text(st.characters(codec=None), max_size=3),
        st.sampled_from([*CLUSTERS, " ", "\n", "\t", "&", "word ", "línea\n"]),
    ),
    max_size=60,
).map("".join)


def without_blanks(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("one two three", 13, "one two three"),
        ("one two three", 12, "one two…"),
        ("one two three", 8, "one two…"),
        ("one two three", 7, "one…"),
        ("one\ntwo three", 5, "one…"),
        ("onetwothree", 6, "onetw…"),
        ("a bcdefghijkl", 8, "a bcdef…"),
        ("one", 1, "…"),
        ("one", 0, ""),
        ("one", -3, ""),
        ("", 0, ""),
    ],
)
def test_a_text_is_cut_at_a_word_border(text: str, limit: int, expected: str) -> None:
    assert cut(text, limit) == expected


@given(texts, st.integers(0, 80), measures)
def test_what_is_cut_is_never_longer_than_allowed(text: str, limit: int, measure: Measure) -> None:
    short = cut(text, limit, measure)
    assert measure(short) <= limit
    if measure(text) <= limit:
        assert short == text
    else:
        assert text.startswith(short.removesuffix("…"))


@pytest.mark.parametrize(
    ("text", "limit", "pieces"),
    [
        ("one two three\nfour five six", 20, ["one two three", "four five six"]),
        ("four\ntwo three", 10, ["four\ntwo", "three"]),
    ],
)
def test_a_text_is_split_after_a_line_if_that_is_not_short(
    text: str, limit: int, pieces: list[str]
) -> None:
    assert split(text, limit) == pieces


@given(texts, st.integers(5, 80), measures)
def test_pieces_are_never_too_long_and_lose_nothing_but_blanks(
    text: str, limit: int, measure: Measure
) -> None:
    pieces = split(text, limit, measure)
    assert all(0 < measure(piece) <= limit for piece in pieces)
    assert without_blanks("".join(pieces)) == without_blanks(text)


def test_a_character_beyond_the_limit_is_an_error_not_an_endless_loop() -> None:
    with pytest.raises(ValueError, match="longer than 1"):
        split("a😀", 1, utf16_length)
    with pytest.raises(ValueError, match="longer than 0"):
        split("a", 0)


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("measure", [len, utf16_length])
def test_no_visible_character_is_torn_apart(cluster: str, measure: Measure) -> None:
    text = cluster * 7
    for limit in range(measure(cluster) + 1, measure(text)):
        kept = cut(text, limit, measure).removesuffix("…")
        assert kept == cluster * (len(kept) // len(cluster)) != ""
        assert all(piece == cluster * (len(piece) // len(cluster)) for piece in split(text, limit))


def count_lines(text: str, limit: int, measure: Measure) -> int:
    """Return how many lines of Python run while `text` is cut and split."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> "TraceFunction":
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        cut(text, limit, measure)
        split(text, limit, measure)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
@pytest.mark.parametrize("unit", ["a", "a ", "\n", "😀", "\u0301", "🇦", FAMILY, "&"])
@pytest.mark.parametrize("limit", [5, 512])
def test_the_work_grows_with_the_length_only(unit: str, measure: Measure, limit: int) -> None:
    short, long = (
        count_lines(unit * (length // len(unit)), limit, measure) for length in (1_000, 4_000)
    )
    # Four times the length; quadratic work would be sixteen times as much.
    assert long < 6 * short
