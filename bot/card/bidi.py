"""The order in which mixed left-to-right and right-to-left text is read.

The Unicode Bidirectional Algorithm (UAX #9) without its explicit formatting characters, which never
reach this module: with them, a text could misrepresent itself.
"""

import unicodedata
from collections.abc import Sequence

_BRACKETS = "()[]{}〈〉《》「」『』【】〔〕（）［］｛｝"
_CLOSING = dict(zip(_BRACKETS[::2], _BRACKETS[1::2], strict=True))
_NEUTRAL = {"B", "S", "WS", "ON"}


def base_level(text: str) -> int:
    """Return 1 if the first letter of `text` is written right to left, else 0 (rules P2, P3)."""
    for character in text:
        kind = unicodedata.bidirectional(character)
        if kind in {"L", "R", "AL"}:
            return 0 if kind == "L" else 1
    return 0


def resolve_levels(text: str, base: int) -> list[int]:
    """Return the embedding level of each character: even reads rightwards, odd leftwards."""
    kinds = _resolve_weak([unicodedata.bidirectional(character) or "L" for character in text], base)
    _resolve_brackets(text, kinds, base)
    _resolve_neutrals(kinds, base)
    return [_find_level(kind, base) for kind in kinds]


def visual_order(run_levels: Sequence[int]) -> list[int]:
    """Return the indices of runs as they stand from left to right (rule L2)."""
    order = list(range(len(run_levels)))
    odd = [level for level in run_levels if level % 2]
    if not odd:
        return order
    for level in range(max(run_levels), min(odd) - 1, -1):
        start = 0
        while start < len(order):
            end = start
            while end < len(order) and run_levels[order[end]] >= level:
                end += 1
            order[start:end] = reversed(order[start:end])
            start = end + 1
    return order


def _find_direction(level: int) -> str:
    return "R" if level % 2 else "L"


def _find_level(kind: str, base: int) -> int:
    """Return the embedding level of a resolved type (rules I1 and I2)."""
    if base % 2:
        return base if kind == "R" else base + 1
    return base + {"L": 0, "R": 1}.get(kind, 2)


def _resolve_weak(kinds: list[str], base: int) -> list[str]:
    """Rules W1 to W7: numbers, their signs, and marks that follow what they sit on."""
    previous = strong = _find_direction(base)
    for at, kind in enumerate(kinds):
        if kind in {"NSM", "BN"}:
            kinds[at] = previous
        elif kind == "EN" and strong == "AL":
            kinds[at] = "AN"
        previous = kinds[at]
        if previous in {"L", "R", "AL"}:
            strong = previous
    kinds = ["R" if kind == "AL" else kind for kind in kinds]
    _join_numbers(kinds)
    _absorb_terminators(kinds)
    kinds = ["ON" if kind in {"ES", "CS", "ET"} else kind for kind in kinds]
    strong = _find_direction(base)
    for at, kind in enumerate(kinds):
        if kind in {"L", "R"}:
            strong = kind
        elif kind == "EN" and strong == "L":
            kinds[at] = "L"
    return kinds


def _join_numbers(kinds: list[str]) -> None:
    """Rule W4: one separator between two numbers of a kind belongs to the number."""
    for at in range(1, len(kinds) - 1):
        before, after = kinds[at - 1], kinds[at + 1]
        if before != after:
            continue
        if (kinds[at] in {"ES", "CS"} and before == "EN") or (kinds[at] == "CS" and before == "AN"):
            kinds[at] = before


def _absorb_terminators(kinds: list[str]) -> None:
    """Rule W5: signs beside a European number belong to it."""
    for at in range(1, len(kinds)):
        if kinds[at] == "ET" and kinds[at - 1] == "EN":
            kinds[at] = "EN"
    for at in range(len(kinds) - 2, -1, -1):
        if kinds[at] == "ET" and kinds[at + 1] == "EN":
            kinds[at] = "EN"


def _find_strength(kind: str) -> str | None:
    """Return the direction that a resolved type gives its neighbours: numbers act as R."""
    if kind == "L":
        return "L"
    return "R" if kind in {"R", "EN", "AN"} else None


def _resolve_brackets(text: str, kinds: list[str], base: int) -> None:
    """Rule N0: a pair of brackets takes one direction, from what it holds or follows."""
    embedding = _find_direction(base)
    for opening, closing in _bracket_pairs(text, kinds):
        inside = {_find_strength(kind) for kind in kinds[opening + 1 : closing]} - {None}
        if embedding in inside:
            kinds[opening] = kinds[closing] = embedding
        elif inside:
            before = (_find_strength(kind) for kind in reversed(kinds[:opening]))
            kinds[opening] = kinds[closing] = next(filter(None, before), embedding)


def _bracket_pairs(text: str, kinds: list[str]) -> list[tuple[int, int]]:
    """Return pairs of positions, ordered by the opening bracket (definition BD16)."""
    waiting: list[tuple[str, int]] = []
    pairs: list[tuple[int, int]] = []
    for at, character in enumerate(text):
        if kinds[at] != "ON":
            continue
        if character in _CLOSING:
            waiting.append((_CLOSING[character], at))
            if len(waiting) > 63:
                break
        elif any(closing == character for closing, _ in waiting):
            while True:
                closing, opened = waiting.pop()
                if closing == character:
                    pairs.append((opened, at))
                    break
    return sorted(pairs)


def _resolve_neutrals(kinds: list[str], base: int) -> None:
    """Rules N1 and N2: spaces and punctuation follow their neighbours where these agree."""
    embedding = _find_direction(base)
    before = embedding
    at = 0
    while at < len(kinds):
        if kinds[at] not in _NEUTRAL:
            before = _find_strength(kinds[at]) or embedding
            at += 1
            continue
        end = at
        while end < len(kinds) and kinds[end] in _NEUTRAL:
            end += 1
        after = (_find_strength(kinds[end]) if end < len(kinds) else None) or embedding
        kinds[at:end] = [before if before == after else embedding] * (end - at)
        at = end
