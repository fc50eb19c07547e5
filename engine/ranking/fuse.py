"""Joining several rankings into one."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

_Item = TypeVar("_Item", bound=Hashable)

# The constant of reciprocal rank fusion (Cormack, Clarke and Buettcher 2009).
_K = 60


def fused(
    rankings: Sequence[Sequence[_Item]], weights: Sequence[float] | None = None
) -> list[_Item]:
    """Return all items by the sum of weight / (60 + rank) over the rankings that contain them.

    `weights` are those of the rankings, 1 by default. In a tie, the item in an earlier ranking
    comes first, then the one ranked higher in it.
    """
    scores: dict[_Item, float] = {}
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for rank, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + weight / (_K + rank)
    return sorted(scores, key=lambda item: -scores[item])


def ranks(rankings: Mapping[str, Sequence[_Item]]) -> dict[_Item, dict[str, int]]:
    """Return for each item its rank, from 1, in each named ranking that contains it."""
    found: dict[_Item, dict[str, int]] = {}
    for name, ranking in rankings.items():
        for rank, item in enumerate(ranking, start=1):
            found.setdefault(item, {})[name] = rank
    return found
