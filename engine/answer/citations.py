"""Marks like [1] or [2, 5] in what a model writes."""

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
    """Return the text without marks, and the numbers in them that are 1..`given`, each once.

    Other numbers are counted in `damage`. Brackets around anything else become parentheses, so
    that nothing in the text looks like a mark.
    """
    numbers: list[int] = []

    def mark(found: re.Match[str]) -> str:
        if not _CITATION.fullmatch(found[1]):
            return found[0]
        numbers.extend(_numbers(found[1], given))
        return " "  # never nothing: what stood on both sides must not become one word

    text = _BRACKETS.sub(mark, text).translate(_PARENTHESES)
    return text, known(numbers, given, damage)


def known(numbers: list[int], given: int, damage: Counter[str]) -> tuple[int, ...]:
    """Return those of `numbers` that are 1..`given`, each once; the others are counted."""
    kept = [number for number in numbers if 1 <= number <= given]
    damage["unknown_source"] += len(numbers) - len(kept)
    return tuple(dict.fromkeys(kept))


def without_brackets(text: str) -> str:
    """Return text in which no bracket stands for a mark: it gets parentheses instead."""
    return text.translate(_PARENTHESES)


def _numbers(mark: str, given: int) -> Iterator[int]:
    for found in _NUMBERS.finditer(mark):
        first = int(found[1])
        last = int(found[2]) if found[2] else None
        if last is None:
            yield first
        else:  # what can be no range of passages is two numbers with a dash between them
            yield from range(first, last + 1) if first <= last <= given else (first, last)
