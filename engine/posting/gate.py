"""Which stories are worth the language model: those that retrieval alone makes promising.

Words in common say little of themselves: a short headline is half covered by one name. Hence only
texts that share three words count. docs/decisions/0011-posting.md has the measurements.
"""

from engine.types import Hit, Prophecy

PROMISING = 0.33  # from this promise (0..1) on a story goes to the model
HITS = 12  # of an unjudged prophecy that the promise is read from
_WORDS = 3


def promise(prophecy: Prophecy) -> float:
    """Return the highest share of the headline's idf (0..1) that one hit covers.

    A hit must have three words in common with the headline, or all of a shorter one. The prophecy
    need not be judged; its first `HITS` hits count, and what is near after them: a model may see
    more in a long text than its words tell.
    """
    asked = {term.shown: term.neighbour_of or term.word for term in prophecy.terms}
    needed = min(_WORDS, len(set(asked.values())))

    def in_common(hit: Hit) -> int:
        return len({asked.get(word, word) for word in hit.matched})

    return max(
        (
            hit.parts.get("lexical") or 0.0
            for hit in (*prophecy.hits, *prophecy.near)[:HITS]
            if in_common(hit) >= needed
        ),
        default=0.0,
    )
