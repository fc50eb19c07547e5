"""Collapsing near-identical texts to one, and the parts of an item to the best one."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from rapidfuzz import fuzz, process

from engine.types import Candidate, Flag, ItemPlace

_Found = TypeVar("_Found")

_REPOST = re.compile(r"^\W*rt @\w+:?\s*", re.IGNORECASE)
_LINK = re.compile(r"https?://\S+")
_NOT_WORD = re.compile(r"\W+")
# Leading characters to compare: whole articles would take seconds.
_COMPARED = 5_000


def alike(candidates: Sequence[Candidate], *, similarity: float = 90) -> list[list[Candidate]]:
    """Return the groups of near-identical texts; groups and members keep their order.

    `similarity` is rapidfuzz's ratio, 0..100, over the bare words. Parts of one item are never
    alike: the pages of a table or a contract may differ in one figure alone.
    """
    keys: list[str] = []
    groups: list[list[Candidate]] = []
    for candidate in candidates:
        # Texts without a word are the same only if equal character by character.
        text = candidate.text[:_COMPARED]
        key = bare(text) or text
        found = process.extractOne(key, keys, scorer=fuzz.ratio, score_cutoff=similarity)
        if found is None or _shares_item(candidate, groups[found[2]]):
            keys.append(key)
            groups.append([candidate])
        else:
            groups[found[2]].append(candidate)
    return groups


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
