"""Every regular expression of the project takes time in proportion to its text.

A text is compared with one of an eighth of its size: a linear pattern takes eight times as long, a
quadratic one sixty-four times. Processor time is counted, so that neither a busy machine nor a slow
one changes anything.
"""

import re

import pytest

from tests.patterns import (
    Use,
    grows_faster,
    hostile_texts,
    modules,
    needs_timer,
    patterns,
    ways,
)

pytestmark = needs_timer


def uses(package: str) -> list[Use]:
    known = list(modules(package))
    by_name = {module.__name__: module for module in known}
    found = []
    for name, pattern in patterns(known).items():
        home = [module for own, module in by_name.items() if name.startswith(f"{own}.")]
        readers = known if not name.rpartition(".")[2].startswith("_") else home
        found += [Use(name, pattern, way) for way in sorted(ways(name, readers))]
    return found


def hostile(use: Use) -> str | None:
    """Return the beginning of a text on which a pattern takes too long, or None."""
    for text in hostile_texts(use.pattern):
        if grows_faster(text.of_size, use.on):
            return f"{use.name}.{use.way}: {text}"
    return None


@pytest.mark.slow
@pytest.mark.parametrize("package", ["engine", "bot"])
def test_time_grows_no_faster_than_a_text(package: str) -> None:
    found = uses(package)
    assert len(found) > 30
    assert [slow for use in found if (slow := hostile(use))] == []


@pytest.mark.slow  # it tests what finds them
@pytest.mark.parametrize(
    ("pattern", "way"),
    [
        (r"\s*#[ \t]+([^\n]+?)[ \t#]*(?:\n|\Z)", "match"),
        (r"https?://\S+|[@#]\w+|\S*\.\w+/\S*", "sub"),
        (r"\d+(?:\s*(?:[-,;&\s]|and)\s*\d+)*", "fullmatch"),
        (r"[ \t]*\n[ \t]*", "sub"),
        (r"\s+$", "sub"),
        (r"(a+)+$", "match"),
        (r"(?:a|aa)+b", "match"),
        (rb">([^<]*)<", "sub"),
    ],
)
def test_a_pattern_that_backtracks_is_found(pattern: str | bytes, way: str) -> None:
    assert hostile(Use("slow", re.compile(pattern), way))


@pytest.mark.parametrize("pattern", [r"a+b", r"(?<!\s)\s+$", r"[^<]*", r"(?:\w++\.)++[a-z]"])
def test_a_linear_pattern_is_not(pattern: str) -> None:
    assert hostile(Use("fast", re.compile(pattern), "match")) is None
