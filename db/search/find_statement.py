"""Builds the statements of the dialect from db/sql/find.sql: a fixed set for each corpus.

There is one per plan and, for the ranked plan without postings, one per number of lexemes. Texts
are composed only of the file, constants and numbered placeholders; every value is bound.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import lru_cache

from db.corpus.partitions import partition
from db.search.passing import passes
from db.search.postings_statement import scored
from db.search.rank_statement import CLASSES
from db.search.scoring import operands, score
from db.statements import statements
from engine.query.filters import Conditions
from engine.search import Filters

_SHARED = tuple(field.name for field in fields(Filters))  # the same as for headlines
_FILTERS = tuple(field.name for field in fields(Conditions))
# In the order of their placeholders: db.search.scoring needs these three first. `ranked` then adds,
# for each scored lexeme, its tsquery and its weight.
SCORING = ("k1", "norm", "norm_per_token")
NEWEST = ("corpus", "limit", "queries", "query_languages", "lexemes", *_FILTERS)
RANKED = (*SCORING, "any", *NEWEST)
NEAREST = (*NEWEST, "vector")
ALLOWED = ("queries", "query_languages", *_FILTERS)
MATCHING = ("any", *ALLOWED)

_UNSCORED = ("0::float8",) * len(CLASSES)


@lru_cache(maxsize=512)
def ranked_statement(table: str, lexemes: int, *, profiled: bool = False) -> str:
    """Return the SQL of the plan `ranked`, for `lexemes` scored lexemes.

    `profiled` also asks for the newest and the most liked besides the best by words.
    """
    names = _places(RANKED) | {"document": table}
    asked = operands(len(RANKED) + 1, lexemes)
    names["passes"] = _filled("passes", names)
    scores = [score(asked, repeats=one.max_tf != 1) for one in CLASSES]
    return _ranked(names, _branches(names, scores), profiled=profiled)


@lru_cache(maxsize=512)
def matched_by_postings(corpus_id: int, *, profiled: bool = False) -> str:
    """Return the same for a corpus with postings.

    After the parameters RANKED it takes the arrays of lexemes and of their weights.
    """
    names = _places(RANKED) | {"document": partition(corpus_id)}
    names["passes"] = _filled("passes", names)
    arrays = {"lexemes": f"${len(RANKED) + 1}", "weights": f"${len(RANKED) + 2}"}
    scores = {"branches": _branches(names), "scored": scored(corpus_id, names | arrays)}
    return _ranked(names, _filled("with_scores", scores), profiled=profiled)


@lru_cache(maxsize=512)
def newest_statement(table: str) -> str:
    """Return the SQL of the plan `newest`."""
    names = _places(NEWEST) | {"document": table}
    names["passes"] = _filled("passes", names)
    return _whole("newest", names | {"allowed": _filled("allowed", names)})


@lru_cache(maxsize=512)
def nearest_statement(table: str, embedding: str) -> str:
    """Return the SQL of the plan `nearest`, by the vectors of one model."""
    names = _places(NEAREST) | {"document": table, "embedding": embedding}
    names["passes"] = _filled("passes", names)
    return _whole("nearest", names | {"allowed": _filled("allowed", names)})


@lru_cache(maxsize=512)
def months_statement(table: str, *, words: bool) -> str:
    """Return the SQL that counts by month: with `words` the matches, without all allowed texts."""
    names = _places(MATCHING if words else ALLOWED) | {"document": table}
    names["passes"] = _filled("passes", names)
    if words:
        names["branches"] = _branches(names)
    return _filled("months", {"found": _filled("matching" if words else "allowed", names)})


def _ranked(names: Mapping[str, str], matching: str, *, profiled: bool) -> str:
    best = _filled("best_by_words", names)
    if profiled:
        best = _filled("best_by_all", {**names, "best_by_words": best})
    return _whole("ranked", {**names, "matching": matching, "best": best})


def _branches(names: Mapping[str, str], scores: Sequence[str] = _UNSCORED) -> str:
    """Return the SQL of all documents that match, each class with its score."""
    return " UNION ALL ".join(
        _filled("branch", {**names, "condition": one.condition, "score": expression})
        for one, expression in zip(CLASSES, scores, strict=True)
    )


def _places(parameters: tuple[str, ...]) -> dict[str, str]:
    names = {name: f"${place}" for place, name in enumerate(parameters, start=1)}
    return names | {"filters": passes(**{name: names[name] for name in _SHARED})}


def _whole(name: str, names: Mapping[str, str]) -> str:
    return _filled(name, {**names, "columns": _filled("columns", names)})


def _filled(name: str, names: Mapping[str, str]) -> str:
    return statements("find")[name].format(**names)
