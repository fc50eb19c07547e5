"""BM25 as in Robertson and Zaragoza (2009), with an idf that never falls below zero.

score = sum over terms of idf(t) * tf (k1 + 1) / (tf + k1 (1 - b + b length / average))
idf(t) = ln(1 + (N - df + 1/2) / (df + 1/2))
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

# Width of a bin, in units of idf, for estimating thresholds.
_BIN = 0.1
# What a term adds to a bin is left out if it is less than this share of the wanted documents, as
# most of it is.
_NEGLIGIBLE = 1e-5


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
    least = wanted * _NEGLIGIBLE
    numbers = {0: documents}  # of documents, by the bin of their sum
    for weight, probability in weights:
        shift = int(weight / _BIN)
        wider = {bin_: number * (1 - probability) for bin_, number in numbers.items()}
        for bin_, number in numbers.items():
            if number * probability > least:
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


def scores_of(
    wanted: Sequence[str], texts: Sequence[Sequence[str]], bm25: Bm25 = DEFAULT
) -> list[float]:
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
    most = sum(weights.values()) * (bm25.k1 + 1)
    return [
        sum(
            weight * bm25.part(count[term], len(text), average)
            for term, weight in weights.items()
            if term in count
        )
        / most
        if most
        else 0.0
        for text, count in zip(texts, counts, strict=True)
    ]
