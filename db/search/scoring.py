"""BM25 in the database: the lexemes of terms, their weights, and the SQL that sums them.

A scoring statement has k1 and the two parts of the norm as its first three parameters, and later,
for each lexeme, its tsquery and its weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.ranking import Bm25, idf
from engine.search import Term

# A headline has some ten telling words; of a pasted article the rarest words are used.
MAX_LEXEMES = 64
# The parameter numbers of a lexeme's tsquery and of its weight.
Operand = tuple[int, int]


_NORM = "($2::float8 + $3::float8 * length)"


@dataclass(frozen=True, slots=True)
class WeightedLexeme:
    """A lexeme of the query: its weight (idf, lowered for neighbours) and corpus statistics."""

    lexeme: str
    weight: float
    max_tf: int
    probability: float  # share of the documents that contain it


def weighted_lexemes(terms: Sequence[Term], documents: int) -> list[WeightedLexeme]:
    """Return the lexemes to search for, heaviest first, at most MAX_LEXEMES."""
    found = [
        WeightedLexeme(
            lexeme,
            idf(documents, term.document_frequency) * term.weight,
            term.max_tf,
            term.document_frequency / max(documents, 1),
        )
        for term in terms
        if term.document_frequency
        for lexeme in term.lexemes
    ]
    return sorted(found, key=lambda x: (-x.weight, x.lexeme))[:MAX_LEXEMES]


def places(terms: Sequence[Term], lexemes: Sequence[WeightedLexeme]) -> list[tuple[int, int]]:
    """Return (term, position of one of its lexemes in `lexemes`), in the order of the terms."""
    asked = {lexeme.lexeme: place for place, lexeme in enumerate(lexemes)}
    return [
        (index, asked[name])
        for index, term in enumerate(terms)
        for name in term.lexemes
        if name in asked
    ]


def constants(bm25: Bm25, average: float) -> tuple[float, float, float]:
    """Return the first three parameters: k1, the norm's constant, and its part per token."""
    constant = bm25.norm(0, average)
    return bm25.k1, constant, bm25.norm(1, average) - constant


def operand_values(lexemes: Sequence[WeightedLexeme]) -> list[str | float]:
    """Return the values for the parameters of `operands`."""
    return [part for x in lexemes for part in (quote_lexeme(x.lexeme), x.weight)]


def operands(first: int, lexemes: int) -> list[Operand]:
    """Return the parameter numbers of `lexemes` tsqueries and weights, from `first` on."""
    return [(first + 2 * i, first + 2 * i + 1) for i in range(lexemes)]


def frequencies(operands: Sequence[Operand]) -> str:
    """Return the SQL expressions for how often a document contains each lexeme."""
    return ", ".join(
        f"CASE WHEN tsv @@ ${lexeme} THEN term_frequency(tsv, ${lexeme})::integer ELSE 0 END"
        for lexeme, _ in operands
    )


def quote_lexeme(lexeme: str) -> str:
    """Quote a lexeme so that tsquery input takes it as one literal operand."""
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def score(operands: Sequence[Operand], *, repeats: bool) -> str:
    """Return the SQL expression of BM25 over the lexemes and weights at `operands`.

    `repeats` tells whether tf may exceed 1.
    """
    if repeats:
        return " + ".join(
            f"CASE WHEN tsv @@ ${lexeme} THEN ${weight}::float8"
            f" * bm25_part(tsv, ${lexeme}, $1::float8, {_NORM}) ELSE 0 END"
            for lexeme, weight in operands
        )
    # tf is always 1: the document's part is one factor, and only weights are added up.
    weights = " + ".join(
        f"CASE WHEN tsv @@ ${lexeme} THEN ${weight}::float8 ELSE 0 END"
        for lexeme, weight in operands
    )
    return f"({weights}) * ($1::float8 + 1) / (1 + {_NORM})"
