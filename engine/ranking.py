"""BM25, rank fusion, weighted profiles, and the collapsing of near-identical texts. Pure."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from rapidfuzz import fuzz, process

from engine.search import Candidate, ItemPlace, order_by_date
from engine.values import Flag

# Width of a bin, in units of idf, for estimating thresholds.
_BIN = 0.1
# What a term adds to a bin is left out if it is less than this share of the wanted documents, as
# most of it is.
_NEGLIGIBLE = 1e-5
ALIKE = 90.0  # percent of their letters by which texts are copies
_Item = TypeVar("_Item", bound=Hashable)
# The constant of reciprocal rank fusion (Cormack, Clarke and Buettcher 2009).
_K = 60
Parts = Mapping[str, float | None]  # features by name; None = unknown
_Found = TypeVar("_Found")
_REPOST = re.compile(r"^\W*rt @\w+:?\s*", re.IGNORECASE)
_LINK = re.compile(r"https?://\S+")
_NOT_WORD = re.compile(r"\W+")
# Leading characters to compare: whole articles would take seconds.
_COMPARED = 5_000
# Most pairs of longer texts are told apart by how often they have each pair of letters, which takes
# a tenth of the time.
_LONG = 400
_KINDS, _MAXIMUM = 512, 32  # of pairs of letters, and how often one of a kind is counted
_CHANGED = 3  # pairs that a letter more or less makes or removes at most
_COUNTED = [((1 << number) - 1).to_bytes(_MAXIMUM // 8, "little") for number in range(_MAXIMUM + 1)]


@dataclass(frozen=True, slots=True)
class Bm25:
    """The two free parameters: k1 (saturation of term frequency) and b (length normalisation)."""

    k1: float = 1.2
    b: float = 0.75

    def norm(self, length: float, average: float) -> float:
        """Return what is added to tf in the denominator, for a document of `length` tokens."""
        return self.k1 * (1 - self.b + self.b * length / average)

    def part(self, tf: int, length: float, average: float) -> float:
        """Return one term's part of a document's score, to be multiplied by the term's idf."""
        return tf * (self.k1 + 1) / (tf + self.norm(length, average))


DEFAULT = Bm25()


def idf(documents: int, document_frequency: int) -> float:
    """Return the inverse document frequency of a term that is in `document_frequency` documents."""
    return math.log(1 + (documents - document_frequency + 0.5) / (document_frequency + 0.5))


def expected_threshold(
    weights: Sequence[tuple[float, float]],
    documents: float,
    wanted: int,
    parts: Sequence[float] = (1.0,),
) -> float:
    """Estimate the score that about `wanted` of `documents` documents reach.

    `weights` holds (weight, probability that a document has the term). Terms are assumed to be
    independent: the distribution of the sum of weights is their convolution, in bins of 0.1.
    `parts` are what one unit of weight adds to the score of a document, each in as many documents.
    """
    minimum = wanted * _NEGLIGIBLE
    numbers = {0: documents}  # of documents, by the bin of their sum
    for weight, probability in weights:
        shift = int(weight / _BIN)
        wider = {bin_: number * (1 - probability) for bin_, number in numbers.items()}
        for bin_, number in numbers.items():
            if number * probability > minimum:
                wider[bin_ + shift] = wider.get(bin_ + shift, 0.0) + number * probability
        numbers = wider
    scores: dict[int, float] = defaultdict(float)
    for part in parts:
        for bin_, number in numbers.items():
            scores[int(bin_ * part)] += number
    reached = 0.0
    for score in sorted(scores, reverse=True):
        reached += scores[score] / len(parts)
        if reached >= wanted:
            return score * _BIN
    return 0.0


def scores_of(wanted: Sequence[str], texts: Sequence[Sequence[str]]) -> list[float]:
    """Return the score of each text for the `wanted` terms, among these texts alone.

    Texts are lists of terms. A score is 0..1: its part of what a text could reach that consisted
    of the wanted terms. Terms that no text has count for nothing.
    """
    counts = [Counter(text) for text in texts]
    average = sum(map(len, texts)) / len(texts) if texts else 0.0
    if not average:
        return [0.0] * len(texts)
    weights = {
        term: idf(len(texts), frequency)
        for term in dict.fromkeys(wanted)
        if (frequency := sum(term in count for count in counts))
    }
    maximum = sum(weights.values()) * (DEFAULT.k1 + 1)
    return [
        sum(
            weight * DEFAULT.part(count[term], len(text), average)
            for term, weight in weights.items()
            if term in count
        )
        / maximum
        if maximum
        else 0.0
        for text, count in zip(texts, counts, strict=True)
    ]


def fuse_rankings(rankings: Iterable[Sequence[_Item]]) -> list[_Item]:
    """Return all items by the sum of 1 / (60 + rank) over the rankings that contain them.

    In a tie, the item in an earlier ranking comes first, then the one ranked higher in it.
    """
    scores: dict[_Item, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + 1 / (_K + rank)
    return sorted(scores, key=lambda item: -scores[item])


def list_ranks(rankings: Iterable[tuple[str, Sequence[_Item]]]) -> dict[_Item, dict[str, int]]:
    """Return for each item its best rank, from 1, in the rankings of each name that contain it."""
    ranks: dict[_Item, dict[str, int]] = {}
    for name, ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            named = ranks.setdefault(item, {})
            named[name] = min(rank, named.get(name, rank))
    return ranks


def weighted_mean(parts: Parts, weights: Mapping[str, float]) -> float:
    """Return the mean of the parts that are present (not None) by their weights, 0..1."""
    present = {name: value for name, value in parts.items() if value is not None}
    total = sum(weights.get(name, 0.0) for name in present)
    if not total:
        return 0.0
    return sum(weights.get(name, 0.0) * value for name, value in present.items()) / total


def best_first(score: float, candidate: Candidate) -> tuple[float, object, int]:
    """Return a sort key that puts the best first, ties by date then id."""
    return (-round(score, 9), order_by_date(candidate.created_at), candidate.id)


def level_parts(texts: Sequence[Parts], names: Collection[str]) -> list[Parts]:
    """Return the parts of texts that are ranked together, with those in `names` made comparable.

    A part that only some of the texts have becomes 0 in the others; otherwise a text could rank
    above an identical one because less is known about it. A part that none has stays None.
    """
    measured = {name for parts in texts for name in names if parts.get(name) is not None}
    return [
        {**parts, **{name: 0.0 for name in measured if parts.get(name) is None}} for parts in texts
    ]


def group_alike(
    candidates: Sequence[Candidate], *, similarity: float = ALIKE
) -> list[list[Candidate]]:
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
        key = strip_dress(text) or text
        own = _letter_pairs(key)
        may_be = _may_be_alike(key, own, keys, pairs, similarity)
        closest = process.extractOne(key, may_be, scorer=fuzz.ratio, score_cutoff=similarity)
        place = candidate.place
        if closest is None or (
            place and any(one.place and one.place.item == place.item for one in groups[closest[2]])
        ):
            keys.append(key)
            pairs.append(own)
            groups.append([candidate])
        else:
            groups[closest[2]].append(candidate)
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
    return int.from_bytes(b"".join(_COUNTED[min(count, _MAXIMUM)] for count in counts), "little")


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


def choose_eldest(group: Sequence[Candidate]) -> Candidate:
    """Return the oldest of near-identical texts, which are equally relevant.

    A text by somebody else is returned only if none is the account's own.
    """

    def build_key(candidate: Candidate) -> tuple[bool, bool, object, int]:
        is_repost = bool(candidate.flags & Flag.REPOST)
        is_cut = bool(candidate.flags & Flag.TRUNCATED)
        return (is_repost, is_cut, order_by_date(candidate.created_at), candidate.id)

    return min(group, key=build_key)


def first_of_items(
    candidates: Iterable[_Found], place: Callable[[_Found], ItemPlace | None]
) -> list[_Found]:
    """Return the first of the parts of each item, and everything that is no part."""
    seen: set[int] = set()
    firsts = []
    for candidate in candidates:
        if (where := place(candidate)) is None:
            firsts.append(candidate)
        elif where.item not in seen:
            seen.add(where.item)
            firsts.append(candidate)
    return firsts


def strip_dress(text: str) -> str:
    """Return only the words of `text`: no links, no repost mark, no case, no punctuation."""
    return _NOT_WORD.sub(" ", _LINK.sub(" ", _REPOST.sub("", text))).strip().lower()
