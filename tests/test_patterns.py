"""Every regular expression of the project takes time in proportion to its text.

What is written at one go by strangers is at most some 100,000 characters. On a fifth of it a linear
pattern takes about a millisecond and a quadratic one about a second; processor time is counted, so
that a busy machine changes nothing.
"""

import re
import sys

import pytest

from tests.patterns import Use, hostile_texts, modules, patterns, seconds_over, ways

SIZE = 20_000
SECONDS = 0.15

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a timer of processor time")


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
    for text in hostile_texts(use.pattern, SIZE):
        if seconds_over(SECONDS, lambda text=text: use.on(text)):  # type: ignore[misc]
            return f"{use.name}.{use.way}: {text[:30]!r}...{text[-3:]!r}"
    return None


@pytest.mark.parametrize("package", ["engine", "bot"])
def test_time_grows_no_faster_than_a_text(package: str) -> None:
    found = uses(package)
    assert len(found) > 30
    assert [slow for use in found if (slow := hostile(use))] == []


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
