"""The ranking statement: one shape for each number of lexemes.

Text is put together from constants and counted placeholders only; every value is bound.

Parameters: $1 k1; $2, $3 the constant and the per-token part of a document's norm; $4 limit;
$5 before; $6 after; $7 flags that must be set; $8 flags that must not; then one tsquery a
document class; then, for each lexeme, its tsquery and its weight.
"""

from collections.abc import Sequence
from functools import lru_cache

from db.threshold import CLASSES

_FIRST_CLASS = 9
_FIRST_LEXEME = _FIRST_CLASS + len(CLASSES)

_COLUMNS = "id, external_id, text, context, created_at, author, url, lang, flags, length"
_FLAGS = "flags & $7::integer = $7 AND flags & $8::integer = 0"
# No index serves the first form. Of the second the planner, who sees no values, expects few rows.
_MANY_DATES = (
    "($5::timestamptz IS NULL OR created_at < $5) AND ($6::timestamptz IS NULL OR created_at >= $6)"
)
_FEW_DATES = (
    "created_at < coalesce($5::timestamptz, 'infinity')"
    " AND created_at >= coalesce($6::timestamptz, '-infinity')"
)
# The classes add up the same score in different order: what differs by rounding alone is a tie.
_TIES = "1e9::float8"
_NORM = "($2::float8 + $3::float8 * length)"

# The places of a lexeme's tsquery and of its weight.
_Operand = tuple[int, int]


@lru_cache(maxsize=512)
def rank_statement(table: str, lexemes: int, *, dates_first: bool = False) -> str:
    """Return the SQL that gives the best documents, ties by date then id.

    Its columns are those of a candidate, `bm25` among them, and `frequencies`: how often the
    document says each of the lexemes. With `dates_first` it is made for few documents between
    the dates, else for few that match.
    """
    operands = [(_FIRST_LEXEME + 2 * i, _FIRST_LEXEME + 2 * i + 1) for i in range(lexemes)]
    scored = _between_dates(table, operands) if dates_first else _by_class(table, operands)
    frequencies = ", ".join(
        f"CASE WHEN tsv @@ ${lexeme} THEN term_frequency(tsv, ${lexeme})::integer ELSE 0 END"
        for lexeme, _ in operands
    )
    # All columns go through the sort: cheaper than to look up the best ones again.
    return (
        f"SELECT {_COLUMNS}, bm25, ARRAY[{frequencies}] AS frequencies"
        f" FROM (SELECT * FROM ({scored}) scored"
        f" ORDER BY round(bm25 * {_TIES}) DESC, created_at, id LIMIT $4) best"
    )


def _by_class(table: str, operands: Sequence[_Operand]) -> str:
    return " UNION ALL ".join(
        f"SELECT {_COLUMNS}, tsv, {score(operands, repeats=one.max_tf != 1)} AS bm25 FROM {table}"
        f" WHERE {one.condition} AND tsv @@ ${place} AND {_MANY_DATES} AND {_FLAGS}"
        for place, one in enumerate(CLASSES, start=_FIRST_CLASS)
    )


def _between_dates(table: str, operands: Sequence[_Operand]) -> str:
    classes = " OR ".join(
        f"({one.condition} AND tsv @@ ${place})"
        for place, one in enumerate(CLASSES, start=_FIRST_CLASS)
    )
    return (
        f"SELECT {_COLUMNS}, tsv, {score(operands, repeats=True)} AS bm25 FROM {table}"
        f" WHERE {_FEW_DATES} AND {_FLAGS} AND ({classes})"
    )


def score(operands: Sequence[_Operand], *, repeats: bool) -> str:
    """Return the expression of BM25 over lexemes and weights at the places of `operands`.

    The first three parameters are those of this module; `repeats` tells whether tf may pass 1.
    """
    if repeats:
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
