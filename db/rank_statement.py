"""The ranking statement: one shape for each number of lexemes.

Text is put together from constants and counted placeholders only; every value is bound.

Parameters: $1 k1; $2, $3 the constant and the per-token part of a document's norm; $4 limit;
$5 before; $6 after; $7 flags that must be set; $8 flags that must not; then one tsquery a
document class; then, for each lexeme, its tsquery and its weight.
"""

from functools import lru_cache

from db.threshold import CLASSES, DocumentClass

_FIRST_CLASS = 9
_FIRST_LEXEME = _FIRST_CLASS + len(CLASSES)

_FILTERS = (
    "($5::timestamptz IS NULL OR created_at < $5)"
    " AND ($6::timestamptz IS NULL OR created_at >= $6)"
    " AND flags & $7::integer = $7 AND flags & $8::integer = 0"
)
# The classes add up the same score in different order: what differs by rounding alone is a tie.
_TIES = "1e9::float8"
_NORM = "($2::float8 + $3::float8 * length)"


@lru_cache(maxsize=512)
def rank_statement(table: str, lexemes: int) -> str:
    """Return the SQL that gives (id, score) of the best documents, ties by date then id."""
    selects = " UNION ALL ".join(
        f"SELECT id, created_at, {_score(document_class, lexemes)} AS score FROM {table}"
        f" WHERE tsv @@ ${_FIRST_CLASS + index} AND {document_class.condition} AND {_FILTERS}"
        for index, document_class in enumerate(CLASSES)
    )
    return (
        f"SELECT id, score FROM ({selects}) ranked"
        f" ORDER BY round(score * {_TIES}) DESC, created_at, id LIMIT $4"
    )


def _score(document_class: DocumentClass, lexemes: int) -> str:
    operands = [(_FIRST_LEXEME + 2 * i, _FIRST_LEXEME + 2 * i + 1) for i in range(lexemes)]
    if document_class.repeats:
        return " + ".join(
            f"CASE WHEN tsv @@ ${lexeme} THEN ${weight}::float8"
            f" * bm25_part(tsv, ${lexeme}, $1::float8, {_NORM}) ELSE 0 END"
            for lexeme, weight in operands
        )
    # tf is 1 throughout: the document's part is one factor, and only weights are added up.
    weights = " + ".join(
        f"CASE WHEN tsv @@ ${lexeme} THEN ${weight}::float8 ELSE 0 END"
        for lexeme, weight in operands
    )
    return f"({weights}) * ($1::float8 + 1) / (1 + {_NORM})"
