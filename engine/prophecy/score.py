"""Features, profiles and the order of hits (docs/decisions/0005-score.md).

A profile is a weighted sum of features, each 0..1, over the features that are present in the
answer, times multipliers for texts that are worth less as a prophecy.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from engine.ranking.bm25 import Bm25, idf
from engine.ranking.profile import Parts, Profile, best_first, level
from engine.types import Candidate, Flag, Hit, Term

HIGHEST_JUDGMENT = 6
_DAYS_A_YEAR = 365.25
# A short tweet that matches is no better prophecy than a longer one: length counts for less in
# the feature than in retrieval.
_FEATURE_BM25 = Bm25(k1=1.2, b=0.3)
_LEAD = 0.5
# What may be known of some texts alone. A judgment may too, but the judged come first anyway.
_LEVELLED = ("semantic",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProphecyProfile(Profile):
    """Weights of the features and multipliers; all in 0..1."""

    weights: Mapping[str, float] = field(
        default_factory=lambda: {"judgment": 0.65, "lexical": 0.25, "age": 0.1, "semantic": 0.1}
    )
    age_full_years: float = 10.0  # the age that counts as 1
    factors: Mapping[Flag, float] = field(
        default_factory=lambda: {Flag.REPOST: 0.97, Flag.QUOTE: 0.97, Flag.TRUNCATED: 0.98}
    )
    short: float = 0.8  # fewer than `short_tokens` tokens
    short_tokens: int = 4
    minimum_judgment: int = 3  # below this a judged candidate is no hit, but near
    minimum_lexical: float = 0.1  # below this an unjudged candidate is no hit,
    minimum_semantic: float = 0.5  # unless it means as much as this


def lexical_part(
    candidate: Candidate, terms: Sequence[Term], documents: int, average_length: float
) -> float:
    """Return the share of the headline that the candidate covers, 0..1, words weighted.

    A word weighs its idf, the more the earlier it stands. Words that the corpus has never seen
    count among what is not covered, so the figure means the same for every headline. A covered
    word counts with its BM25 part, which is 1 for a text of average length that says it once.
    """
    weights = term_weights(terms, documents)
    whole = sum(w for w, t in zip(weights, terms, strict=True) if t.neighbour_of is None)
    covered = sum(
        weights[index] * _FEATURE_BM25.part(frequency, candidate.length, average_length)
        for index, frequency in candidate.matched.items()
    )
    return min(1.0, covered / whole) if whole else 0.0


def term_weights(terms: Sequence[Term], documents: int) -> list[float]:
    """Return what each word of the headline weighs; a neighbour stands where its word stands.

    A headline leads with what it is about: the first word weighs half as much again as the
    last.
    """
    last = sum(term.neighbour_of is None for term in terms) - 1
    position, weights = -1, []
    for term in terms:
        position += term.neighbour_of is None
        lead = 1 + _LEAD * (1 - position / last) if last > 0 else 1.0
        weights.append(term.weight * idf(documents, term.document_frequency) * lead)
    return weights


def age(created_at: datetime, asked_at: datetime, full_years: float) -> float:
    """Return how old a text is, on a logarithmic scale: 0 for new, 1 from `full_years` on."""
    days = max(0.0, (asked_at - created_at).total_seconds() / 86_400)
    return min(1.0, math.log1p(days) / math.log1p(full_years * _DAYS_A_YEAR))


def factors(candidate: Candidate, profile: ProphecyProfile) -> dict[str, float]:
    """Return the multipliers that apply, by name."""
    found = {
        flag.names[0]: factor
        for flag, factor in profile.factors.items()
        if candidate.flags & flag and factor < 1
    }
    if candidate.length < profile.short_tokens and profile.short < 1:
        found["short"] = profile.short
    return found


def level_hits(hits: Sequence[Hit], profile: ProphecyProfile) -> list[Hit]:
    """Return hits of several answers with parts and scores that can be compared."""
    parts = level([hit.parts for hit in hits], _LEVELLED)
    return [
        hit
        if one == hit.parts
        else replace(hit, parts=one, score=_score(one, hit.factors, profile))
        for hit, one in zip(hits, parts, strict=True)
    ]


def _score(parts: Parts, multipliers: Mapping[str, float], profile: ProphecyProfile) -> float:
    return profile.score(parts) * math.prod(multipliers.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorer:
    """Scores the candidates of one headline."""

    profile: ProphecyProfile
    terms: Sequence[Term]
    documents: int
    average_length: float
    asked_at: datetime  # the headline's date, or now

    def hits(
        self, candidates: Sequence[Candidate], judgments: Mapping[int, int], limit: int
    ) -> list[Hit]:
        """Return the best `limit` hits: judged ones first, ties by date then id.

        Where a model judged some candidates, what it left out follows what it approved: an
        unknown is never put before a find.
        """
        return self.hits_and_near(candidates, judgments, limit)[0]

    def hits_and_near(
        self, candidates: Sequence[Candidate], judgments: Mapping[int, int], limit: int
    ) -> tuple[list[Hit], list[Hit]]:
        """Return the hits, and the best `limit` of what a model saw too little in to be one.

        Ranks go on from the hits, so that a rank names one text of the answer. Where the model saw
        nothing at all, nothing is near.
        """
        parts = [self._parts(candidate, judgments.get(candidate.id)) for candidate in candidates]
        scored = list(map(self._hit, candidates, level(parts, _LEVELLED)))
        hits = _best(filter(self._qualifies, scored), limit, after=0)
        weak = (hit for hit in scored if hit.parts["judgment"] and not self._qualifies(hit))
        return hits, _best(weak, limit, after=len(hits))

    def nearest(self, candidates: Sequence[Candidate], limit: int) -> list[Hit]:
        """Return the first `limit` as they are, with their similarity as the score."""
        return [
            replace(
                self._hit(one, self._parts(one, None)),
                rank=rank,
                score=one.similarity or 0.0,
                factors={},
            )
            for rank, one in enumerate(candidates[:limit], start=1)
        ]

    def _parts(self, candidate: Candidate, judgment: int | None) -> dict[str, float | None]:
        return {
            "judgment": None if judgment is None else judgment / HIGHEST_JUDGMENT,
            "lexical": lexical_part(candidate, self.terms, self.documents, self.average_length),
            "age": age(candidate.created_at, self.asked_at, self.profile.age_full_years),
            "semantic": candidate.similarity,
        }

    def _hit(self, candidate: Candidate, parts: Parts) -> Hit:
        multipliers = factors(candidate, self.profile)
        return Hit(
            rank=0,
            candidate=candidate,
            score=_score(parts, multipliers, self.profile),
            parts=parts,
            factors=multipliers,
            matched=tuple(self.terms[index].shown for index in candidate.matched),
        )

    def _qualifies(self, hit: Hit) -> bool:
        judgment = hit.parts["judgment"]
        if judgment is None:
            covered, alike = hit.parts["lexical"] or 0.0, hit.parts["semantic"] or 0.0
            least = self.profile
            return covered >= least.minimum_lexical or alike >= least.minimum_semantic
        return round(judgment * HIGHEST_JUDGMENT) >= self.profile.minimum_judgment


def _best(hits: Iterable[Hit], limit: int, *, after: int) -> list[Hit]:
    kept = sorted(hits, key=_order)[:limit]
    return [_ranked(hit, rank) for rank, hit in enumerate(kept, start=after + 1)]


def _order(hit: Hit) -> tuple[object, ...]:
    unjudged = hit.parts["judgment"] is None
    return (unjudged, *best_first(hit.score, hit.candidate))


def _ranked(hit: Hit, rank: int) -> Hit:
    return replace(hit, rank=rank)
