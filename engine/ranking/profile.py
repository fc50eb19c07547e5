"""Profiles: features of a text, each 0..1, combined into one score by their weights."""

from collections.abc import Collection, Mapping, Sequence

from engine.search import Candidate

Parts = Mapping[str, float | None]  # features by name; None = unknown


def weighted_mean(parts: Parts, weights: Mapping[str, float]) -> float:
    """Return the mean of the parts that are present (not None) by their weights, 0..1."""
    present = {name: value for name, value in parts.items() if value is not None}
    total = sum(weights.get(name, 0.0) for name in present)
    if not total:
        return 0.0
    return sum(weights.get(name, 0.0) * value for name, value in present.items()) / total


def best_first(score: float, candidate: Candidate) -> tuple[float, object, int]:
    """Return a sort key that puts the best first, ties by date then id."""
    return (-round(score, 9), candidate.created_at, candidate.id)


def level(texts: Sequence[Parts], names: Collection[str]) -> list[Parts]:
    """Return the parts of texts that are ranked together, with those in `names` made comparable.

    A part that only some of the texts have becomes 0 in the others; otherwise a text could rank
    above an identical one because less is known about it. A part that none has stays None.
    """
    known = {name for parts in texts for name in names if parts.get(name) is not None}
    return [
        {**parts, **{name: 0.0 for name in known if parts.get(name) is None}} for parts in texts
    ]
