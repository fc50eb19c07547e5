"""Rankings joined into one, and features combined into one score."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TypeVar

_Item = TypeVar("_Item", bound=Hashable)

# Reciprocal rank fusion (Cormack, Clarke and Buettcher 2009) and the constant they found.
_K = 60


def fused(rankings: Sequence[Sequence[_Item]]) -> list[_Item]:
    """Return every item of the rankings, by the sum of 1 / (60 + rank) over those that hold it.

    Ties go to the item that an earlier ranking holds, and holds higher up.
    """
    scores: dict[_Item, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + 1 / (_K + rank)
    return sorted(scores, key=lambda item: -scores[item])


def ranks(rankings: Mapping[str, Sequence[_Item]]) -> dict[_Item, dict[str, int]]:
    """Return for each item which ranking holds it, by name, and at which rank from 1 on."""
    found: dict[_Item, dict[str, int]] = {}
    for name, ranking in rankings.items():
        for rank, item in enumerate(ranking, start=1):
            found.setdefault(item, {})[name] = rank
    return found


def combine(parts: Mapping[str, float | None], weights: Mapping[str, float]) -> float:
    """Return the weighted mean of the parts that are present (not None), 0..1."""
    present = {name: value for name, value in parts.items() if value is not None}
    total = sum(weights.get(name, 0.0) for name in present)
    if not total:
        return 0.0
    return sum(weights.get(name, 0.0) * value for name, value in present.items()) / total


def level(
    texts: Sequence[Mapping[str, float | None]], names: Collection[str]
) -> list[Mapping[str, float | None]]:
    """Return the parts of texts that are ranked together, those called `names` comparable.

    A part that only some of them have is 0 in the others, as it is for a text that has nothing
    of it: else what is not known of a text would put it before its twin. A part that none has
    stays None.
    """
    known = {name for parts in texts for name in names if parts.get(name) is not None}
    return [
        {**parts, **{name: 0.0 for name in known if parts.get(name) is None}} for parts in texts
    ]
