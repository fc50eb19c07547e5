"""Citation marks like [1] or [2, 5] in a model's text."""

import re
from collections import Counter
from collections.abc import Iterator

_BRACKETS = re.compile(r"[\[［【]([^\[\]［］【】]{0,200})[\]］】]")
_CITATION = re.compile(
    r"[\s^#]*(?:(?:source|passage|fuente|pasaje|doc)\w?\W*)?\d++(?:\s*+(?:[-–,;&]|and|y)?+\s*+\d++)*+"
    r"\s*+(?:†\w*)?",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"(\d{1,4})(?:\s*[-–]\s*(\d{1,4}))?")
_PARENTHESES = str.maketrans("[]［］【】", "()()()")


def cited(text: str, given: int, damage: Counter[str]) -> tuple[str, tuple[int, ...]]:
    """Return the text without marks, and the distinct numbers in them that are 1..`given`.

    Other numbers are counted in `damage`. Brackets around anything else become parentheses, so
    that nothing in the text looks like a mark.
    """
    numbers: list[int] = []

    def mark(found: re.Match[str]) -> str:
        if not _CITATION.fullmatch(found[1]):
            return found[0]
        numbers.extend(_numbers(found[1], given))
        return " "  # not "", which could join the words on both sides

    text = _BRACKETS.sub(mark, text).translate(_PARENTHESES)
    return text, known(numbers, given, damage)


def known(numbers: list[int], given: int, damage: Counter[str]) -> tuple[int, ...]:
    """Return the distinct `numbers` that are 1..`given`; others are counted in `damage`."""
    kept = [number for number in numbers if 1 <= number <= given]
    damage["unknown_source"] += len(numbers) - len(kept)
    return tuple(dict.fromkeys(kept))


def without_brackets(text: str) -> str:
    """Return text with brackets replaced by parentheses, so that none looks like a mark."""
    return text.translate(_PARENTHESES)


def _numbers(mark: str, given: int) -> Iterator[int]:
    for found in _NUMBERS.finditer(mark):
        first = int(found[1])
        last = int(found[2]) if found[2] else None
        if last is None:
            yield first
        else:  # cannot be a range of passages, so it is two numbers with a dash
            yield from range(first, last + 1) if first <= last <= given else (first, last)
