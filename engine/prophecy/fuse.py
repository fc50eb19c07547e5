"""The lists that propose documents for a headline, joined into one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.ranking.fuse import fused, ranks

LEXICAL, SEMANTIC = "lexical", "semantic"  # the headline's own lists, as receipts name them
OWN_WEIGHT = 2.0  # what each of these counts for beside the list of a phrase

PhraseList = tuple[str, Sequence[int]]  # a phrase, and the ids it found, best first


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A document and who proposes it: places in lists from 1 on, by the lists' names."""

    id: int
    ranks: Mapping[str, int]  # in the headline's own lists
    asked_for: Mapping[str, int]  # in those of phrases


def proposals(own: Mapping[str, Sequence[int]], asked: Sequence[PhraseList]) -> list[Proposal]:
    """Return what the headline's own lists and those of phrases propose, best first.

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
    """Return for each document the phrases that found it, and its best place for each."""
    found: dict[int, dict[str, int]] = {}
    for phrase, ids in asked:
        for rank, one in enumerate(ids, start=1):
            places = found.setdefault(one, {})
            places[phrase] = min(rank, places.get(phrase, rank))
    return found
