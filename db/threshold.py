"""Which documents can reach a score, written as a tsquery.

A document scores the sum of its terms' weights times a part that depends on tf and length.
Documents are indexed in classes (see db/migrations/0001_core.sql); within a class the highest
possible part is known, so each term has an upper bound there. The tsquery of a class is true
for every document of it whose bounds can add up to the wanted score, and for few others.
See docs/decisions/0004-retrieval.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from engine.bm25 import Bm25

# GIN weighs every operand for every posting it reads: with more, the plain OR is faster.
_MOST_OPERANDS = 400
# Rounding differs between here and the server by far less than this share of a score.
_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class WeightedLexeme:
    """A lexeme of the query: its weight (idf, lowered for neighbours) and the corpus' figures."""

    lexeme: str
    weight: float
    max_tf: int
    probability: float  # share of the documents that hold it


@dataclass(frozen=True, slots=True)
class DocumentClass:
    """Documents that share an index: a range of lengths, and how often they repeat a lexeme."""

    condition: str
    shortest: int
    max_tf: int | None = None  # None: without limit

    def bound(self, lexeme: WeightedLexeme, bm25: Bm25, average: float) -> float:
        """Return the most that `lexeme` can add to the score of a document of this class."""
        tf = min(lexeme.max_tf, self.max_tf or lexeme.max_tf)
        return lexeme.weight * bm25.part(tf, max(tf, self.shortest), average)


# The conditions are those of the indexes, to the letter. The boundaries let the fewest documents
# of real tweets through the threshold of real headlines.
CLASSES = (
    DocumentClass("max_tf = 1 AND length < 7", 1, 1),
    DocumentClass("max_tf = 1 AND length >= 7 AND length < 12", 7, 1),
    DocumentClass("max_tf = 1 AND length >= 12", 12, 1),
    DocumentClass("max_tf = 2 AND length < 13", 2, 2),
    DocumentClass("max_tf = 2 AND length >= 13 AND length < 21", 13, 2),
    DocumentClass("max_tf = 2 AND length >= 21", 21, 2),
    DocumentClass("max_tf > 2 AND length < 19", 3),
    DocumentClass("max_tf > 2 AND length >= 19", 19),
)


def quoted(lexeme: str) -> str:
    """Write a lexeme so that tsquery input takes it as one literal operand."""
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def reaching(bounds: Sequence[tuple[str, float]], need: float) -> str:
    """Return the tsquery of documents whose bounds can add up to `need`; "" when none can.

    `bounds` holds (lexeme, bound). A lexeme stands alone when its bound is enough, else beside
    those of the weaker ones that with everything weaker still could add what is missing. To ask
    for three at once would let fewer documents through and cost GIN more than it saves. With
    need <= 0 the query is the plain OR of all lexemes.
    """
    ordered = sorted(bounds, key=lambda pair: -pair[1])
    names = [quoted(lexeme) for lexeme, _ in ordered]
    remaining = list(accumulate((bound for _, bound in reversed(ordered)), initial=0.0))[::-1]
    wanted = need * (1 - _SLACK)
    parts: list[str] = []
    operands = 0
    for index in range(_reaching(remaining, wanted, 0)):
        missing = wanted - ordered[index][1]
        others = names[index + 1 :][: _reaching(remaining, missing, index + 1)]
        if missing <= 0:
            parts.append(names[index])
        elif others:
            parts.append(f"{names[index]}&({'|'.join(others)})")
            operands += len(others)
    if operands > _MOST_OPERANDS:
        parts = names[: _reaching(remaining, wanted, 0)]
    return "|".join(parts)


def _reaching(remaining: Sequence[float], need: float, start: int) -> int:
    """Count the lexemes from `start` on that, with all weaker ones, can add up to `need`."""
    return sum(1 for rest in remaining[start:-1] if rest >= need)
