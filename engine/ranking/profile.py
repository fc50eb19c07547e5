"""Profiles: features of a text, each 0..1, combined into one score by their weights."""

from collections.abc import Collection, Mapping, Sequence

from engine.types import Candidate

Parts = Mapping[str, float | None]  # a feature by its name; None: nothing is known


def weighted_mean(parts: Parts, weights: Mapping[str, float]) -> float:
    """Return the mean of the parts that are present (not None) by their weights, 0..1."""
    present = {name: value for name, value in parts.items() if value is not None}
    total = sum(weights.get(name, 0.0) for name in present)
    if not total:
        return 0.0
    return sum(weights.get(name, 0.0) * value for name, value in present.items()) / total


def best_first(score: float, candidate: Candidate) -> tuple[float, object, int]:
    """Return what sorts the best before the others, ties by date then id."""
    return (-round(score, 9), candidate.created_at, candidate.id)


def level(texts: Sequence[Parts], names: Collection[str]) -> list[Parts]:
    """Return the parts of texts that are ranked together, those called `names` comparable.

    A part that only some of them have is 0 in the others, as it is for a text that has nothing
    of it: else what is not known of a text would put it before its twin. A part that none has
    stays None.
    """
    known = {name for parts in texts for name in names if parts.get(name) is not None}
    return [
        {**parts, **{name: 0.0 for name in known if parts.get(name) is None}} for parts in texts
    ]
