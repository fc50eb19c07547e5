"""Rankings joined into one."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

_Item = TypeVar("_Item", bound=Hashable)

# Reciprocal rank fusion (Cormack, Clarke and Buettcher 2009) and the constant they found.
_K = 60


def fused(
    rankings: Sequence[Sequence[_Item]], weights: Sequence[float] | None = None
) -> list[_Item]:
    """Return every item of the rankings, by the sum of 1 / (60 + rank) over those that hold it.

    `weights` says how often each ranking counts, once by default. Ties go to the item that an
    earlier ranking holds, and holds higher up.
    """
    scores: dict[_Item, float] = {}
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for rank, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + weight / (_K + rank)
    return sorted(scores, key=lambda item: -scores[item])


def ranks(rankings: Mapping[str, Sequence[_Item]]) -> dict[_Item, dict[str, int]]:
    """Return for each item which ranking holds it, by name, and at which rank from 1 on."""
    found: dict[_Item, dict[str, int]] = {}
    for name, ranking in rankings.items():
        for rank, item in enumerate(ranking, start=1):
            found.setdefault(item, {})[name] = rank
    return found
