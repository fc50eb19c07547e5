"""BM25 written down a second time, as plainly as possible, over the stored lexemes."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from engine.ranking import Bm25
from engine.search import Candidate, Filters, Term
from tests.db.loading import Stored

# Scores this close are one score: the order of additions differs.
CLOSE = 1e-9


@dataclass(frozen=True)
class Scored:
    stored: Stored
    score: float


@dataclass(frozen=True)
class Counted:
    """Documents, how many lexemes each has, and how many of them have each lexeme."""

    documents: Sequence[Stored]
    lengths: Sequence[int]
    frequency: Mapping[str, int]

    @classmethod
    def of(cls, documents: Sequence[Stored]) -> "Counted":
        """Count once what many queries ask for. Documents without lexemes are none."""
        documents = [d for d in documents if d.frequencies]
        lengths = [sum(d.frequencies.values()) for d in documents]
        return cls(documents, lengths, Counter(name for d in documents for name in d.frequencies))


def scores(counted: Counted, terms: Sequence[Term], bm25: Bm25) -> list[Scored]:
    """Score every document that holds a lexeme of a term."""
    total = len(counted.documents)
    average = sum(counted.lengths) / max(total, 1) or 1.0
    weights: defaultdict[str, float] = defaultdict(float)
    for term in terms:
        df = min(total, sum(counted.frequency.get(name, 0) for name in term.lexemes))
        for name in term.lexemes:
            weights[name] += term.weight * math.log(1 + (total - df + 0.5) / (df + 0.5))
    scored = []
    for d, length in zip(counted.documents, counted.lengths, strict=True):
        norm = bm25.k1 * (1 - bm25.b + bm25.b * length / average)
        parts = [
            weight * tf * (bm25.k1 + 1) / (tf + norm)
            for name, weight in weights.items()
            if (tf := d.frequencies.get(name, 0))
        ]
        if parts:
            scored.append(Scored(d, math.fsum(parts)))
    return scored


def passes(stored: Stored, filters: Filters) -> bool:
    """Whether a document meets the conditions."""
    if stored.created_at is None:
        dated = filters == replace(filters, before=None, after=None) or (
            filters.undated and filters.after is None
        )
    else:
        dated = (filters.before is None or stored.created_at < filters.before) and (
            filters.after is None or stored.created_at >= filters.after
        )
    return (
        dated
        and stored.flags & filters.require == filters.require
        and not stored.flags & filters.exclude
    )


def ranked(scored: Sequence[Scored], filters: Filters, limit: int) -> list[Scored]:
    """Return the best `limit`, ties by date then id; scores that are close tie."""
    left = sorted((s for s in scored if passes(s.stored, filters)), key=lambda s: -s.score)
    ordered: list[Scored] = []
    tied: list[Scored] = []
    for s in left:
        if tied and tied[-1].score - s.score > CLOSE:
            ordered += sorted(tied, key=_age)
            tied = []
        tied.append(s)
    return (ordered + sorted(tied, key=_age))[:limit]


def _age(scored: Scored) -> tuple[bool, object, int]:
    written = scored.stored.created_at
    return (written is None, written, scored.stored.id)


def assert_same(found: Sequence[Candidate], expected: Sequence[Scored]) -> None:
    """The same documents in the same order with the same scores."""
    assert [c.external_id for c in found] == [s.stored.external_id for s in expected]
    for candidate, s in zip(found, expected, strict=True):
        assert abs(candidate.bm25 - s.score) <= CLOSE
