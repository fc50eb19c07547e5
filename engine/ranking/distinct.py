"""Collapsing near-identical texts to one, and the parts of an item to the best one."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from rapidfuzz import fuzz, process

from engine.search import Candidate, ItemPlace
from engine.types import Flag

_Found = TypeVar("_Found")

_REPOST = re.compile(r"^\W*rt @\w+:?\s*", re.IGNORECASE)
_LINK = re.compile(r"https?://\S+")
_NOT_WORD = re.compile(r"\W+")
# Leading characters to compare: whole articles would take seconds.
_COMPARED = 5_000
# Most pairs of longer texts are told apart by how often they have each pair of letters, which takes
# a tenth of the time.
_LONG = 400
_KINDS, _MOST = 512, 32  # of pairs of letters, and how often one of a kind is counted
_COUNTED = [((1 << number) - 1).to_bytes(_MOST // 8, "little") for number in range(_MOST + 1)]
_CHANGED = 3  # pairs that a letter more or less makes or removes at most


def alike(candidates: Sequence[Candidate], *, similarity: float = 90) -> list[list[Candidate]]:
    """Return the groups of near-identical texts; groups and members keep their order.

    `similarity` is rapidfuzz's ratio, 0..100, over the bare words. Parts of one item are never
    alike: the pages of a table or a contract may differ in one figure alone.
    """
    keys: list[str] = []
    pairs: list[int] = []
    groups: list[list[Candidate]] = []
    for candidate in candidates:
        # Texts without a word are the same only if equal character by character.
        text = candidate.text[:_COMPARED]
        key = bare(text) or text
        own = _letter_pairs(key)
        may_be = _may_be_alike(key, own, keys, pairs, similarity)
        found = process.extractOne(key, may_be, scorer=fuzz.ratio, score_cutoff=similarity)
        if found is None or _shares_item(candidate, groups[found[2]]):
            keys.append(key)
            pairs.append(own)
            groups.append([candidate])
        else:
            groups[found[2]].append(candidate)
    return groups


def _letter_pairs(key: str) -> int:
    """Return how often each kind of pair of letters occurs in a long text, counted in bits.

    The bits in which two texts differ are at most three times the letters that have to be added
    and removed to make one of the other. 0 for a short text.
    """
    if len(key) < _LONG:
        return 0
    counts = [0] * _KINDS
    for (first, second), number in Counter(pairwise(key)).items():
        counts[(37 * ord(first) + ord(second)) % _KINDS] += number
    return int.from_bytes(b"".join(_COUNTED[min(one, _MOST)] for one in counts), "little")


def _may_be_alike(
    key: str, own: int, keys: Sequence[str], pairs: Sequence[int], similarity: float
) -> Sequence[str] | Mapping[int, str]:
    """Return those of `keys`, by their place, whose ratio to `key` may reach `similarity`."""
    if not own:
        return keys
    share = _CHANGED * (1 - similarity / 100)
    return {
        place: other
        for place, (other, theirs) in enumerate(zip(keys, pairs, strict=True))
        if not theirs or (own ^ theirs).bit_count() <= share * (len(key) + len(other)) + 1
    }


def _shares_item(candidate: Candidate, group: Sequence[Candidate]) -> bool:
    place = candidate.place
    return place is not None and any(
        one.place is not None and one.place.item == place.item for one in group
    )


def eldest(group: Sequence[Candidate]) -> Candidate:
    """Return the oldest of near-identical texts, which are equally relevant.

    A text by somebody else is returned only if none is the account's own.
    """
    return min(group, key=_seniority)


def first_of_items(
    found: Iterable[_Found], place: Callable[[_Found], ItemPlace | None]
) -> list[_Found]:
    """Return the first of the parts of each item, and everything that is no part."""
    seen: set[int] = set()
    kept = []
    for one in found:
        if (where := place(one)) is None:
            kept.append(one)
        elif where.item not in seen:
            seen.add(where.item)
            kept.append(one)
    return kept


def bare(text: str) -> str:
    """Return only the words of `text`: no links, no repost mark, no case, no punctuation."""
    return _NOT_WORD.sub(" ", _LINK.sub(" ", _REPOST.sub("", text))).strip().lower()


def _seniority(candidate: Candidate) -> tuple[bool, bool, object, int]:
    repost = bool(candidate.flags & Flag.REPOST)
    cut = bool(candidate.flags & Flag.TRUNCATED)
    return (repost, cut, candidate.created_at, candidate.id)
