"""How sure an answer is of a hit, as a word; receipts show numbers."""

from enum import StrEnum

from engine.search import HIGHEST_JUDGMENT, Hit

_FORETOLD, _CLOSE = 5, 4  # judgments, 0..6
# Without a judgment: the sum of lexical share and similarity, and the number of common words.
_CLOSE_EVIDENCE, _CLOSE_WORDS = 0.6, 3


class Sureness(StrEnum):
    """How sure an answer is of a hit."""

    FORETOLD = "foretold"
    CLOSE = "close"
    PERHAPS = "perhaps"


def sureness(hit: Hit) -> Sureness:
    """Return how sure the answer is of a hit. Only a model's judgment can yield FORETOLD."""
    judgment = hit.parts.get("judgment")
    if judgment is not None:
        score = round(judgment * HIGHEST_JUDGMENT)
        if score >= _FORETOLD:
            return Sureness.FORETOLD
        return Sureness.CLOSE if score >= _CLOSE else Sureness.PERHAPS
    evidence = (hit.parts.get("lexical") or 0.0) + (hit.parts.get("semantic") or 0.0)
    telling = len(set(hit.matched)) >= _CLOSE_WORDS
    return Sureness.CLOSE if telling and evidence >= _CLOSE_EVIDENCE else Sureness.PERHAPS
