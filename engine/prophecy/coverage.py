"""How much of a headline a text covers: its words, weighted by rarity and position."""

from collections.abc import Sequence

from engine.ranking.bm25 import Bm25, idf
from engine.search import Candidate, Term

# A short tweet that matches is no better prophecy than a longer one, so length counts for less in
# the feature than in retrieval.
FEATURE_BM25 = Bm25(k1=1.2, b=0.3)
_LEAD = 0.5
# Up to this share, lexical evidence grows linearly; beyond, ever more slowly.
_EVEN = 0.5


def share_covered(
    candidate: Candidate,
    terms: Sequence[Term],
    documents: int,
    average_length: float,
    *,
    bm25: Bm25 = FEATURE_BM25,
    rarest: int = 0,
) -> float:
    """Return the weighted share of the headline's words that the candidate covers.

    The weight of a word is its idf, increased the earlier it stands. Words that the corpus has
    never seen count as not covered, so that shares of different headlines are comparable. A
    covered word counts with its BM25 part, which is 1 for a text of average length that has it
    once; the share of a short text, or one that repeats the words, may exceed 1.
    """
    weights = term_weights(terms, documents, rarest)
    whole = sum(w for w, t in zip(weights, terms, strict=True) if t.neighbour_of is None)
    covered = sum(
        weights[index] * bm25.part(frequency, candidate.length, average_length)
        for index, frequency in candidate.matched.items()
    )
    return covered / whole if whole else 0.0


def lexical_part(
    candidate: Candidate, terms: Sequence[Term], documents: int, average_length: float
) -> float:
    """Return the weighted share of the headline's words that the candidate covers, 0..1."""
    return min(1.0, share_covered(candidate, terms, documents, average_length))


def evident(covered: float) -> float:
    """Return the lexical evidence for a coverage, 0..1.

    It is strictly increasing, even for coverages above 1, so that nothing ties at the top.
    """
    return covered if covered <= _EVEN else 1 - _EVEN**2 / covered


def term_weights(terms: Sequence[Term], documents: int, rarest: int = 0) -> list[float]:
    """Return the weight of each word of the headline; a neighbour has its word's position.

    A headline leads with what it is about: the first word weighs half as much again as the
    last. A word in fewer than `rarest` documents is weighted as if it were in so many.
    """
    last = sum(term.neighbour_of is None for term in terms) - 1
    position, weights = -1, []
    for term in terms:
        position += term.neighbour_of is None
        lead = 1 + _LEAD * (1 - position / last) if last > 0 else 1.0
        said_by = min(max(term.document_frequency, rarest), documents)
        weights.append(term.weight * idf(documents, said_by) * lead)
    return weights
