"""Scores the candidates of a headline, orders them, and decides which are hits.

A score is the weighted mean of the evidence that is present in the answer, each part 0..1, times a
small boost for age and multipliers for texts that are worth less as a prophecy. A text with too
little evidence is not a hit but near (docs/decisions/0027-silence.md).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING

from engine.ranking import Bm25, Parts, best_first, first_of_items, idf, level_parts, weighted_mean
from engine.search import HIGHEST_JUDGMENT, Candidate, Hit, HitKind, Term
from engine.settings.searching import ProphecySettings
from engine.text.terms import is_generic
from engine.values import Flag

if TYPE_CHECKING:
    from engine.prophecy.meaning import Predictions

# A short tweet that matches is no better prophecy than a longer one, so length counts for less in
# the feature than in retrieval.
FEATURE_BM25 = Bm25(k1=1.2, b=0.3)
_POSITION_BOOST = 0.5  # of the first word of a headline over the last
# Up to this share, lexical evidence grows linearly; beyond, ever more slowly.
_LINEAR_UP_TO = 0.5
_DAYS_PER_YEAR = 365.25
_FULL_AGE = 10 * _DAYS_PER_YEAR  # days from which on age counts in full
_SHORT_TOKENS = 4
# What texts are multiplied by that are worth less as a prophecy.
_FLAG_FACTORS = {Flag.REPOST: 0.97, Flag.QUOTE: 0.97, Flag.TRUNCATED: 0.98}
_SHORT_FACTOR = 0.8
_GENERIC_FACTOR = 0.6  # greetings, thanks and bare links, which foretell nothing
# Meaning alone says nothing of a headline with fewer words: "source?" means as much as "yes".
_FEWEST_COMPARED = 3
# Whether a text shares enough is decided with retrieval's b, because a long text shares words by
# chance; and with a minimum document frequency, because in a small corpus rarity is chance.
_STRICT_BM25 = Bm25(k1=1.2, b=0.75)
_MIN_DOCUMENT_FREQUENCY = 3
# Parts that may be known for some texts only. So may a judgment, but judged texts come first.
_LEVELLED = ("semantic",)


class Sureness(StrEnum):
    """How sure an answer is of a hit."""

    FORETOLD = "foretold"
    CLOSE = "close"
    PERHAPS = "perhaps"


def rate_sureness(hit: Hit) -> Sureness:
    """Return how sure the answer is of a hit: PERHAPS, unless a model judged it.

    Only a prediction is FORETOLD.
    """
    if hit.parts.get("judgment") is None:
        return Sureness.PERHAPS
    return Sureness.FORETOLD if hit.kind is HitKind.PREDICTION else Sureness.CLOSE


def share_covered(
    candidate: Candidate,
    terms: Sequence[Term],
    documents: int,
    average_length: float,
    *,
    bm25: Bm25 = FEATURE_BM25,
    min_document_frequency: int = 0,
) -> float:
    """Return the weighted share of the headline's words that the candidate covers.

    The weight of a word is its idf, increased the earlier it stands. Words that the corpus has
    never seen count as not covered, so that shares of different headlines are comparable. A
    covered word counts with its BM25 part, which is 1 for a text of average length that has it
    once; the share of a short text, or one that repeats the words, may exceed 1.
    """
    weights = term_weights(terms, documents, min_document_frequency)
    total = sum(w for w, t in zip(weights, terms, strict=True) if t.neighbour_of is None)
    covered = sum(
        weights[index] * bm25.part(frequency, candidate.length, average_length)
        for index, frequency in candidate.matched.items()
    )
    return covered / total if total else 0.0


def weigh_coverage(covered: float) -> float:
    """Return the lexical evidence for a coverage, 0..1.

    It is strictly increasing, even for coverages above 1, so that nothing ties at the top.
    """
    return covered if covered <= _LINEAR_UP_TO else 1 - _LINEAR_UP_TO**2 / covered


def term_weights(
    terms: Sequence[Term], documents: int, min_document_frequency: int = 0
) -> list[float]:
    """Return the weight of each word of the headline; a neighbour has its word's position.

    A headline leads with what it is about: the first word weighs half as much again as the
    last. A word in fewer than `min_document_frequency` documents is weighted as if it were in so
    many.
    """
    last = sum(term.neighbour_of is None for term in terms) - 1
    position, weights = -1, []
    for term in terms:
        position += term.neighbour_of is None
        lead = 1 + _POSITION_BOOST * (1 - position / last) if last > 0 else 1.0
        said_by = min(max(term.document_frequency, min_document_frequency), documents)
        weights.append(term.weight * idf(documents, said_by) * lead)
    return weights


def measure_age(created_at: datetime, asked_at: datetime) -> float:
    """Return the age of a text on a logarithmic scale: 0 for new, 1 from ten years on."""
    days = max(0.0, (asked_at - created_at).total_seconds() / 86_400)
    return min(1.0, math.log1p(days) / math.log1p(_FULL_AGE))


def list_factors(candidate: Candidate) -> dict[str, float]:
    """Return the multipliers that apply, by name."""
    factors = {
        flag.names[0]: factor for flag, factor in _FLAG_FACTORS.items() if candidate.flags & flag
    }
    if candidate.length < _SHORT_TOKENS:
        factors["short"] = _SHORT_FACTOR
    if is_generic(candidate.text):
        factors["generic"] = _GENERIC_FACTOR
    return factors


def level_hits(hits: Sequence[Hit], weights: Mapping[str, float]) -> list[Hit]:
    """Return hits of several answers with comparable parts and scores."""

    def weigh_evidence(parts: Parts) -> float:
        return sum(
            weight
            for name, weight in weights.items()
            if name != "age" and parts.get(name) is not None
        )

    def level(hit: Hit, parts: Parts) -> Hit:
        """Return a hit with unknown parts counted as 0, which lowers its mean."""
        whole = weigh_evidence(parts)
        if parts == hit.parts or not whole:
            return replace(hit, parts=parts)
        return replace(hit, parts=parts, score=hit.score * weigh_evidence(hit.parts) / whole)

    return list(map(level, hits, level_parts([hit.parts for hit in hits], _LEVELLED)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorer:
    """Scores the candidates of one headline."""

    settings: ProphecySettings
    terms: Sequence[Term]
    documents: int
    average_length: float
    asked_at: datetime  # the headline's date, or now
    by_meaning: bool = True  # what similarity is; False for vectors of word counts
    passages: bool = False  # whether several parts of one item may be hits
    predictions: "Predictions | None" = None  # where no text is judged
    best: Sequence[int] = ()  # ids of judged texts that the model would show, in this order
    telling_words: int = _FEWEST_COMPARED  # of the headline: "good morning" has none

    def hits_and_near(
        self, candidates: Sequence[Candidate], judgments: Mapping[int, int], limit: int
    ) -> tuple[list[Hit], list[Hit]]:
        """Return the best `limit` hits, and as many of the texts that are too weak to be hits.

        Judged texts come first, ties by date then id. If a model judged only some candidates, the
        others follow those it approved. Ranks continue from the hits, so that a rank is unique in
        the answer. A text that a model judged 0 is not near. Where it named the best, other texts
        that it judged are no hits: most make the same point, or none. Where a tuned model compared
        texts, it decides.
        """
        coverages = list(map(self._measure_coverage, candidates))
        parts = [
            self._measure_parts(candidate, covered, judgments.get(candidate.id))
            for candidate, covered in zip(candidates, coverages, strict=True)
        ]
        scored = list(map(self._build_hit, candidates, level_parts(parts, _LEVELLED), coverages))
        strong = {hit.candidate.id for hit in scored if self._is_strong_enough(hit)}
        scored.sort(key=lambda hit: (hit.candidate.id not in strong, *self._build_order_key(hit)))
        if not self.passages:
            scored = first_of_items(scored, lambda hit: hit.candidate.place)
        best = [hit for hit in scored if hit.candidate.id in strong]
        if all(hit.parts["judgment"] is None for hit in best):
            # Unjudged, the best of the author's own words comes first, whatever its score: a repost
            # or a quotation passes on somebody else's.
            own = next((hit for hit in best if hit.candidate.flags.passed_on is None), None)
            best.sort(key=lambda hit: hit is not own)
        hits = _number_hits(best, limit, after=0)
        weak = (
            hit for hit in scored if hit.parts["judgment"] != 0 and hit.candidate.id not in strong
        )
        return hits, _number_hits(weak, limit, after=len(hits))

    def _build_order_key(self, hit: Hit) -> tuple[object, ...]:
        number = hit.candidate.id
        unknown = self.predictions is not None and number not in self.predictions.cosines
        place = self.best.index(number) if number in self.best else len(self.best)
        return (unknown, place, *order_hits(hit))

    def choose_best(self, candidates: Sequence[Candidate], limit: int) -> list[Candidate]:
        """Return the best `limit` candidates without any judgment, whether or not they are hits."""
        hits, near = self.hits_and_near(candidates, {}, limit)
        return [hit.candidate for hit in (*hits, *near)][:limit]

    def find_highest_coverage(self, candidates: Sequence[Candidate]) -> float:
        """Return the highest share of the headline's words that one of `candidates` covers."""
        return min(1.0, max(map(self._measure_coverage, candidates), default=0.0))

    def nearest(self, candidates: Sequence[Candidate], limit: int) -> list[Hit]:
        """Return the first `limit` candidates in their order, scored by their similarity."""
        hits = []
        if not self.passages:
            candidates = first_of_items(candidates, lambda candidate: candidate.place)
        for rank, candidate in enumerate(candidates[:limit], start=1):
            covered = self._measure_coverage(candidate)
            hit = self._build_hit(candidate, self._measure_parts(candidate, covered, None), covered)
            similarity = candidate.similarity or 0.0
            hits.append(replace(hit, rank=rank, score=similarity, factors={}))
        return hits

    def _measure_parts(
        self, candidate: Candidate, covered: float, judgment: int | None
    ) -> dict[str, float | None]:
        written = candidate.created_at
        return {
            "judgment": None if judgment is None else judgment / HIGHEST_JUDGMENT,
            "lexical": min(1.0, covered),
            "age": None if written is None else measure_age(written, self.asked_at),
            "semantic": candidate.similarity,
        }

    def _build_hit(self, candidate: Candidate, parts: Parts, covered: float) -> Hit:
        predicted = self.predictions.score(candidate.id) if self.predictions else None
        multipliers = list_factors(candidate) if predicted is None else {}
        score = self._score_evidence(parts, covered) if predicted is None else predicted
        return Hit(
            candidate=candidate,
            score=score * math.prod(multipliers.values()),
            parts=parts,
            factors=multipliers,
            matched=tuple(dict.fromkeys(self.terms[index].shown for index in candidate.matched)),
        )

    def _score_evidence(self, parts: Parts, covered: float) -> float:
        """Return the mean of the evidence. Age is no evidence and can only lower the score."""
        evidence = {name: value for name, value in parts.items() if name != "age"}
        mean = weighted_mean(
            evidence | {"lexical": weigh_coverage(covered)},
            self.settings.score.weights,
        )
        return mean * (1 - self.settings.score.age_boost * (1 - (parts["age"] or 0.0)))

    def _is_strong_enough(self, hit: Hit) -> bool:
        """Return whether a text is a hit.

        A judged one is if it has enough points and, where the model named the best, is one of
        them. Else the tuned model decides, if it compared the text. Else the multiples of the
        least coverage and the least similarity must sum to 1: half of the one and half of the
        other is enough.
        """
        judgment = hit.parts["judgment"]
        if judgment is not None:
            worthy = round(judgment * HIGHEST_JUDGMENT) >= self.settings.search.minimum_judgment
            return worthy and (not self.best or hit.candidate.id in self.best)
        fewest = 1 if hit.candidate.matched else _FEWEST_COMPARED
        if self.telling_words < fewest:
            return False
        if self.predictions:
            return self.predictions.is_hit(hit.candidate.id)
        search = self.settings.search
        shared = self._measure_coverage(
            hit.candidate, bm25=_STRICT_BM25, min_document_frequency=_MIN_DOCUMENT_FREQUENCY
        )
        enough = _measure_multiple(shared, search.minimum_lexical)
        if self.by_meaning:
            enough += _measure_multiple(hit.parts["semantic"], search.minimum_semantic)
        return round(enough, 9) >= 1 if math.isfinite(enough) else True

    def _measure_coverage(
        self, candidate: Candidate, *, bm25: Bm25 = FEATURE_BM25, min_document_frequency: int = 0
    ) -> float:
        return share_covered(
            candidate,
            self.terms,
            self.documents,
            self.average_length,
            bm25=bm25,
            min_document_frequency=min_document_frequency,
        )


def _measure_multiple(value: float | None, minimum: float) -> float:
    """Return `value` as a multiple of `minimum`, what is enough."""
    if value is None:
        return 0.0
    return value / minimum if minimum else math.inf


def _number_hits(hits: Iterable[Hit], limit: int, *, after: int) -> list[Hit]:
    first = islice(hits, limit)
    return [replace(hit, rank=rank) for rank, hit in enumerate(first, start=after + 1)]


def order_hits(hit: Hit) -> tuple[object, ...]:
    """Return a sort key that puts judged hits first, then the best, ties by date then id."""
    unjudged = hit.parts["judgment"] is None
    return (unjudged, *best_first(hit.score, hit.candidate))
