"""Joining the ranked lists that propose documents for a headline."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.ranking.fuse import fused, ranks

LEXICAL, SEMANTIC = "lexical", "semantic"  # the headline's own lists, as receipts name them
OWN_WEIGHT = 2.0  # weight of each of these; the list of a phrase has weight 1

PhraseList = tuple[str, Sequence[int]]  # a phrase, and the ids it found, best first


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A document and its ranks, from 1, in the lists that propose it, by the name of the list."""

    id: int
    ranks: Mapping[str, int]  # in the headline's own lists
    asked_for: Mapping[str, int]  # in the lists of phrases


def proposals(own: Mapping[str, Sequence[int]], asked: Sequence[PhraseList]) -> list[Proposal]:
    """Return the documents in the headline's own lists and those of phrases, best first.

    A phrase may have several lists.
    """
    lists = [*own.values(), *(ids for _, ids in asked)]
    weights = [OWN_WEIGHT] * len(own) + [1.0] * len(asked)
    places, asked_for = ranks(own), _best_places(asked)
    return [
        Proposal(id=one, ranks=places.get(one, {}), asked_for=asked_for.get(one, {}))
        for one in fused(lists, weights)
    ]


def _best_places(asked: Iterable[PhraseList]) -> dict[int, dict[str, int]]:
    """Return for each document the phrases that found it, with its best rank for each."""
    found: dict[int, dict[str, int]] = {}
    for phrase, ids in asked:
        for rank, one in enumerate(ids, start=1):
            places = found.setdefault(one, {})
            places[phrase] = min(rank, places.get(phrase, rank))
    return found
