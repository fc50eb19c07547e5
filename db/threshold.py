"""Which documents can reach a score, written as a tsquery.

A document scores the sum of its terms' weights times a part that depends on tf and length.
Documents are indexed in classes (see db/migrations/0001_core.sql); within a class the highest
possible part is known, so each term has an upper bound there. The tsquery of a class is true
for every document of it whose bounds can add up to the wanted score, and for few others.
See docs/decisions/0004-retrieval.md.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

from engine.bm25 import Bm25

# Below this depth a query no longer asks for combinations: it stays small and a little wider.
_DEPTH = 4
# Combinations of many terms with like bounds would fill megabytes: a query of more pieces
# (operands and closing brackets) is made less deep.
_MOST_PIECES = 512
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
    """Documents that share an index: all tf = 1 and a range of lengths, or any that repeat."""

    condition: str
    shortest: int
    repeats: bool = False

    def bound(self, lexeme: WeightedLexeme, bm25: Bm25, average: float) -> float:
        """Return the most that `lexeme` can add to the score of a document of this class."""
        tf = lexeme.max_tf if self.repeats else 1
        return lexeme.weight * bm25.part(tf, max(tf, self.shortest), average)


# The conditions are those of the indexes, to the letter.
CLASSES = (
    DocumentClass("max_tf = 1 AND length < 7", 1),
    DocumentClass("max_tf = 1 AND length >= 7 AND length < 11", 7),
    DocumentClass("max_tf = 1 AND length >= 11 AND length < 16", 11),
    DocumentClass("max_tf = 1 AND length >= 16", 16),
    DocumentClass("max_tf > 1", 2, repeats=True),
)


def quoted(lexeme: str) -> str:
    """Write a lexeme so that tsquery input takes it as one literal operand."""
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def reaching(bounds: Sequence[tuple[str, float]], need: float) -> str:
    """Return the tsquery of documents whose bounds can add up to `need`; "" when none can.

    `bounds` holds (lexeme, bound). With need <= 0 it is the plain OR of all lexemes.
    """
    ordered = sorted(bounds, key=lambda pair: -pair[1])
    remaining = list(accumulate((bound for _, bound in reversed(ordered)), initial=0.0))[::-1]
    wanted = need * (1 - _SLACK)
    for depth in range(_DEPTH, 0, -1):
        pieces = list(islice(_pieces(ordered, remaining, 0, wanted, depth), _MOST_PIECES + 1))
        if len(pieces) <= _MOST_PIECES:
            return "".join(pieces)
    return "".join(_pieces(ordered, remaining, 0, wanted, 0))


def _pieces(
    ordered: Sequence[tuple[str, float]],
    remaining: Sequence[float],
    start: int,
    need: float,
    depth: int,
) -> Iterator[str]:
    """OR-ed parts: the first matching lexeme is at `index`, the rest must add what is missing."""
    separator = ""
    for index in range(start, len(ordered)):
        if remaining[index] < need:
            break
        lexeme, bound = ordered[index]
        if bound >= need or depth == 0:
            yield f"{separator}{quoted(lexeme)}"
        elif remaining[index + 1] >= need - bound:
            yield f"{separator}{quoted(lexeme)}&("
            yield from _pieces(ordered, remaining, index + 1, need - bound, depth - 1)
            yield ")"
        else:
            continue
        separator = "|"
