"""Estimates how promising a story is before any model is asked: the order in which it is judged.

Shared words alone say little: one name covers half of a short headline. So texts that share fewer
than three words count half. docs/decisions/0011-posting.md has the measurements.
"""

from engine.search import Hit, Prophecy

PROMISING = 0.33  # an unjudged story below this promise (0..1) is not kept
HITS = 12  # of an unjudged prophecy, from which the promise is computed
_WORDS = 3
_FEW_WORDS = 0.5


def promise(prophecy: Prophecy) -> float:
    """Return the highest share of the headline's idf (0..1) that one hit covers.

    A hit counts half unless it shares three words with the headline, or all words of a shorter one.
    The prophecy need not be judged. Its first `HITS` hits count, and the semantically near hits
    after them: a model may see more in a long text than its words show.
    """
    asked = {term.shown: term.neighbour_of or term.word for term in prophecy.terms}
    needed = min(_WORDS, len(set(asked.values())))

    def promised(hit: Hit) -> float:
        in_common = {asked.get(word, word) for word in hit.matched}
        covered = hit.parts.get("lexical") or 0.0
        return covered if len(in_common) >= needed else covered * _FEW_WORDS

    first = (*prophecy.hits, *prophecy.near)[:HITS]
    return max(map(promised, first), default=0.0)
