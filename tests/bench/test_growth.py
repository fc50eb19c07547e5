"""Every regular expression and text function takes time in proportion to its text."""

import re

import pytest

from bench.growth import (
    LIMIT,
    Growth,
    function_growth,
    measure_pattern,
    pattern_growth,
    reader_growth,
)
from bench.hostile_texts import Use
from bench.text_functions import text_uses
from tests.patterns import needs_timer

pytestmark = needs_timer


def steep(found: list[Growth]) -> list[Growth]:
    return [growth for growth in found if growth.ratio > LIMIT]


@pytest.mark.slow
@pytest.mark.parametrize("package", ["engine", "bot", "db"])
def test_patterns_grow_no_faster_than_a_text(package: str) -> None:
    found = list(pattern_growth(package))
    assert len(found) > 5
    assert steep(found) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of functions that take a pattern
@pytest.mark.parametrize("package", ["engine", "bot"])
def test_text_functions_grow_no_faster_than_a_text(package: str) -> None:
    found = list(function_growth(package))
    assert len(found) > 100
    assert steep(found) == []


@pytest.mark.slow
def test_the_guard_and_readers_of_answers_grow_no_faster_than_what_they_read() -> None:
    assert steep(list(reader_growth())) == []


@pytest.mark.slow  # it tests what finds them
@pytest.mark.parametrize(
    ("pattern", "way"),
    [
        (r"\s*#[ \t]+([^\n]+?)[ \t#]*(?:\n|\Z)", "match"),
        (r"https?://\S+|[@#]\w+|\S*\.\w+/\S*", "sub"),
        (r"\s+$", "sub"),
        (r"(a+)+$", "match"),
        (rb">([^<]*)<", "sub"),
        (r'"(?:[^"\\]|\\.)*(?:"|$)', "sub"),
    ],
)
def test_a_pattern_that_backtracks_is_found(pattern: str | bytes, way: str) -> None:
    assert measure_pattern(Use("slow", re.compile(pattern), way)).ratio > LIMIT


@pytest.mark.parametrize("pattern", [r"a+b", r"(?<!\s)\s+$", r"[^<]*", r"(?:\w++\.)++[a-z]"])
def test_a_linear_pattern_is_not(pattern: str) -> None:
    assert measure_pattern(Use("fast", re.compile(pattern), "match")).ratio <= LIMIT


def test_a_function_is_called_with_each_text_that_it_takes() -> None:
    called: list[tuple[object, ...]] = []

    def take(text: str, number: int, words: tuple[str, ...], *, more: bytes) -> None:
        called.append((text, number, words, more))

    for _, use in text_uses(take):
        use("abc")
    assert called == [
        ("abc", 100, (), b"a b"),
        ("a b", 100, ("abc",), b"a b"),
        ("a b", 100, (), b"abc"),
    ]
