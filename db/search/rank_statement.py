"""Builds the ranking statement, and the tsquery of documents that can reach a score."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from operator import neg

from db.search.passing import passes
from db.search.scoring import WeightedLexeme, frequencies, operands, quoted, score
from engine.ranking.bm25 import Bm25

# GIN weighs every operand for every posting it reads: with more, the plain OR is faster.
_MOST_OPERANDS = 400
# Rounding here and on the server differs by far less than this share of a score.
SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class DocumentClass:
    """Documents that share an index: a range of lengths, and a limit on repeats of a lexeme."""

    condition: str
    shortest: int
    max_tf: int | None = None  # None: no limit

    def bound(self, lexeme: WeightedLexeme, bm25: Bm25, average: float) -> float:
        """Return the most that `lexeme` can add to the score of a document of this class."""
        tf = min(lexeme.max_tf, self.max_tf or lexeme.max_tf)
        return lexeme.weight * bm25.part(tf, max(tf, self.shortest), average)


# The conditions must match those of the indexes to the letter. These boundaries let the fewest
# documents of real tweets pass the threshold of real headlines.
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


def reaching(bounds: Sequence[tuple[str, float]], need: float) -> str:
    """Return the tsquery of documents whose bounds can add up to `need`; "" if none can.

    `bounds` holds (lexeme, bound). A lexeme stands alone if its bound is enough; otherwise it is
    combined with each weaker one that, with everything weaker still, could add what is missing.
    Requiring three at once would let fewer documents through and cost GIN more than it saves. With
    need <= 0 the query is the plain OR of all lexemes.
    """
    ordered = sorted(bounds, key=lambda pair: -pair[1])
    names = [quoted(lexeme) for lexeme, _ in ordered]
    remaining = list(accumulate((bound for _, bound in reversed(ordered)), initial=0.0))[::-1]
    wanted = need * (1 - SLACK)
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
    return bisect_right(remaining, -need, start, len(remaining) - 1, key=neg) - start


_FIRST_CLASS = 9
_FIRST_LEXEME = _FIRST_CLASS + len(CLASSES)

# Of a candidate.
COLUMNS = "id, external_id, text, context, created_at, author, url, lang, flags, length, platform"
_FILTERS = ("$5", "$6", "$7", "$8")
# No index serves the date conditions of `passes`. The planner, which sees no values, expects few
# rows from these.
FEW_DATES = (
    "created_at < coalesce($5::timestamptz, 'infinity')"
    " AND created_at >= coalesce($6::timestamptz, '-infinity')"
    " AND flags & $7::integer = $7 AND flags & $8::integer = 0"
)
# The score of the same words may be added up in different ways: differences by rounding are ties.
_TIES = "1e9::float8"


@lru_cache(maxsize=512)
def rank_statement(
    table: str, lexemes: int, *, dates_first: bool = False, ids_alone: bool = False
) -> str:
    """Return the SQL for the best documents, ties by date then id.

    Its columns are those of a candidate, `bm25` among them, and `frequencies`: how often the
    document contains each of the lexemes; with `ids_alone` only `id` and `bm25`. With `dates_first`
    it is written for few documents between the dates, else for few that match.
    """
    asked = operands(_FIRST_LEXEME, lexemes)
    classes = " OR ".join(
        f"({one.condition} AND tsv @@ ${place})"
        for place, one in enumerate(CLASSES, start=_FIRST_CLASS)
    )
    once, repeated = (score(asked, repeats=repeats) for repeats in (False, True))
    # All columns go through the sort: cheaper than looking up the best ones again.
    columns = "id, created_at" if ids_alone else f"{COLUMNS}, tsv"
    shown = f"{COLUMNS}, bm25, ARRAY[{frequencies(asked)}] AS frequencies"
    # One scan for all classes, which costs less than one for each. OFFSET 0 keeps the score from
    # being computed twice.
    return (
        f"SELECT {'id, bm25' if ids_alone else shown} FROM (SELECT * FROM"
        f" (SELECT {columns}, CASE WHEN max_tf = 1 THEN {once} ELSE {repeated} END AS bm25"
        f" FROM {table} WHERE ({classes}) AND {FEW_DATES if dates_first else passes(*_FILTERS)}"
        " OFFSET 0) scored"
        f" ORDER BY round(bm25 * {_TIES}) DESC, created_at, id LIMIT $4) best"
    )
