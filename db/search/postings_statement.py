"""Builds the statements that score documents by the postings of their corpus, from postings.sql.

There is one of each for a corpus: lexemes and weights are bound as arrays.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from db.corpus.partitions import partition, postings_table
from db.search.passing import passes
from db.search.rank_statement import COLUMNS, FEW_DATES, SLACK
from db.search.scoring import WeightedLexeme
from db.statements import statements

_RANKED = (
    "k1", "norm", "norm_per_token", "limit", "before", "after", "require", "exclude",
    "lexemes", "weights", "essential", "least", "ranges",
)  # fmt: skip
_ARRAYS = (("lexemes", "text[]"), ("weights", "float8[]"))
_DESCRIBED = ("k1", "norm", "norm_per_token", "ids", "lexemes", "weights")


def essential(bounds: Sequence[float], need: float) -> tuple[int, float]:
    """Return how many lexemes are essential for `need`, and what they must add up to.

    `bounds` holds the most that each lexeme can add, heaviest lexeme first. What all others can add
    stays below half of what is needed: few documents then reach the rest.
    """
    others, left = 0.0, len(bounds)
    while left > 1 and others + bounds[left - 1] <= need / 2:
        left -= 1
        others += bounds[left]
    return left, need * (1 - SLACK) - others


def posted_values(lexemes: Sequence[WeightedLexeme]) -> list[list[str] | list[float]]:
    """Return the values of the parameters `lexemes` and `weights`."""
    return [[x.lexeme for x in lexemes], [x.weight for x in lexemes]]


@lru_cache(maxsize=512)
def ranked_by_postings(
    corpus_id: int, *, dates_first: bool = False, ids_alone: bool = False
) -> str:
    """Return the SQL for the best documents, ties by date then id.

    Columns and arguments are those of rank_statement. Its parameters are k1, the two parts of the
    norm, the limit, the filters, the arrays of lexemes and of their weights, how many of them are
    essential, the least that a document has to score by these, and the number of ranges of
    documents to search one after another: 1 with `dates_first`, which finds few documents.
    """
    names = _names(corpus_id, _RANKED)
    names["id_ranges"] = _filled("ranges", names)
    condition = _filled("between_dates" if dates_first else "in_range", names)
    essential = {name: f"({names[name]}::{kind})[:{names['essential']}]" for name, kind in _ARRAYS}
    others = {
        f"other_{name}": f"({names[name]}::{kind})[{names['essential']} + 1:]"
        for name, kind in _ARRAYS
    }
    names["scored"] = scored(corpus_id, names | essential, condition=condition)
    names["scored"] = _filled("reaching", names | others)
    names["passes"] = passes(*(names[name] for name in ("before", "after", "require", "exclude")))
    names["best"] = _filled("best", names)
    return _filled("best" if ids_alone else "candidates", names)


@lru_cache(maxsize=512)
def described_by_postings(corpus_id: int) -> str:
    """Return the SQL for documents by id, with their BM25 and the frequencies of the lexemes.

    Its parameters are k1, the two parts of the norm, the ids, the lexemes and their weights.
    """
    return _filled("described", _names(corpus_id, _DESCRIBED))


def scored(corpus_id: int, places: Mapping[str, str], *, condition: str = "true") -> str:
    """Return the SQL of every document that contains a lexeme, as `id`, with its `bm25`.

    `places` maps k1, norm, norm_per_token, lexemes and weights to their placeholders.
    """
    tables = {"postings": postings_table(corpus_id), "condition": condition}
    return _filled("scored", {**places, **tables, "part": _filled("part", places)})


def _names(corpus_id: int, parameters: Sequence[str]) -> dict[str, str]:
    """Return what the braces stand for: placeholders, tables and parts."""
    names = {name: f"${place}" for place, name in enumerate(parameters, start=1)}
    names |= {"document": partition(corpus_id), "corpus": str(int(corpus_id))}
    names["postings"] = postings_table(corpus_id)
    names["columns"] = ", ".join(f"d.{column}" for column in COLUMNS.split(", "))
    names["few_dates"] = FEW_DATES
    names["part"] = _filled("part", names)
    names["of_document"] = _filled("of_document", names)
    return names


def _filled(name: str, names: Mapping[str, str]) -> str:
    return statements("postings")[name].format(**names)
