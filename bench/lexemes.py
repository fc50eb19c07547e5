"""The lexemes of every document in the database, and BM25 over them straight from the formula."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from db.pool import Database
from engine.ranking import Bm25, idf
from engine.search import Term
from engine.values import Corpus

_PAGE = 20_000
_LEXEMES = """
SELECT external_id::bigint AS number, created_at, flags,
       CASE WHEN max_tf <= 1 THEN tsvector_to_array(tsv)
            ELSE (SELECT array_agg(lexeme) FROM unnest(tsv) u, unnest(u.positions)) END AS lexemes
  FROM document
 WHERE corpus_id = $1
"""


@dataclass(frozen=True, slots=True)
class Lexemes:
    """Documents as numbers: document i has tokens[starts[i]:starts[i + 1]], with repetitions."""

    names: dict[str, int]
    tokens: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    created: npt.NDArray[np.float64]  # seconds since 1970
    flags: npt.NDArray[np.int32]

    @property
    def documents(self) -> int:
        """Return the number of documents."""
        return len(self.starts) - 1

    def of(self, document: int) -> list[int]:
        """Return the tokens of one document."""
        found: list[int] = self.tokens[self.starts[document] : self.starts[document + 1]].tolist()
        return found


async def lexemes(database: Database, corpus: Corpus) -> Lexemes:
    """Read all documents of a corpus, whose external ids number them from 0."""
    names: dict[str, int] = {}
    found: list[npt.NDArray[np.int32]] = [np.empty(0, np.int32)] * corpus.documents
    created = np.zeros(corpus.documents)
    flags = np.zeros(corpus.documents, np.int32)
    async with database.transaction() as connection:
        async for row in connection.cursor(_LEXEMES, corpus.id, prefetch=_PAGE):
            numbers = [names.setdefault(name, len(names)) for name in row["lexemes"] or ()]
            found[row["number"]] = np.array(numbers, np.int32)
            created[row["number"]] = row["created_at"].timestamp()
            flags[row["number"]] = row["flags"]
    starts = np.concatenate([[0], np.cumsum([len(one) for one in found])]).astype(np.int64)
    return Lexemes(names, np.concatenate(found), starts, created, flags)


def count_equally(terms: Sequence[Term]) -> list[Term]:
    """Return the terms of one lexeme that the corpus knows, each as a whole word.

    No peer weighs halves, or counts "whistle-blower" and "whistleblower" as one word.
    """
    return [
        replace(term, weight=1.0)
        for term in terms
        if term.document_frequency and not term.neighbour_of and len(term.lexemes) == 1
    ]


class Reference:
    """BM25 in double precision, scoring every document: slow, plain and correct."""

    def __init__(self, lexemes: Lexemes, bm25: Bm25 | None = None) -> None:
        bm25 = bm25 or Bm25()
        lengths = np.diff(lexemes.starts)
        numbers = np.repeat(np.arange(lexemes.documents), lengths)
        keys = lexemes.tokens.astype(np.int64) * lexemes.documents + numbers
        postings, tf = np.unique(keys, return_counts=True)
        token, self._document = np.divmod(postings, lexemes.documents)
        norm = bm25.k1 * (1 - bm25.b + bm25.b * lengths / lengths[lengths > 0].mean())
        part = tf * (bm25.k1 + 1) / (tf + norm[self._document])
        self._first = np.searchsorted(token, np.arange(len(lexemes.names) + 1))
        searchable = int(np.count_nonzero(lengths))
        weights = [idf(searchable, int(df)) for df in np.diff(self._first)]
        self._impact = part * np.array(weights)[token]
        self._documents = lexemes.documents

    def scores(self, tokens: Sequence[int]) -> npt.NDArray[np.float64]:
        """Return the score of every document for a query of distinct tokens."""
        scores = np.zeros(self._documents)
        for token in tokens:
            span = slice(self._first[token], self._first[token + 1])
            scores[self._document[span]] += self._impact[span]
        return scores


def overlap(
    scores: npt.NDArray[np.float64],
    found: Sequence[int],
    limit: int,
    passing: npt.NDArray[np.bool_] | Any = True,
) -> float:
    """Return the share of the best `limit` documents that `found` holds.

    `passing` masks the documents that a filter lets through. Documents that tie with the last of
    the best, within the rounding of single precision, also count as correct.
    """
    scores = np.where(passing, scores, 0.0)
    wanted = min(limit, int(np.count_nonzero(scores)))
    if not wanted:
        return 1.0 if not found else 0.0
    cut = np.partition(scores, -wanted)[-wanted] * (1 - 1e-5)
    return float(np.count_nonzero(scores[list(set(found))] >= cut)) / wanted
