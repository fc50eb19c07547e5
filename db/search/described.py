"""Returns documents by id with BM25 for a query's words; implements Descriptions."""

from collections.abc import Sequence
from functools import lru_cache

from db.corpus.partitions import partition
from db.pool import Database
from db.search.places import placed
from db.search.postings_statement import described_by_postings, posted_values
from db.search.rows import ranked_candidate
from db.search.scoring import (
    constants,
    frequencies,
    operand_values,
    operands,
    places,
    score,
    weighted_lexemes,
)
from db.statements import statements
from engine.ranking.bm25 import Bm25
from engine.search import Candidate, Term
from engine.types import Corpus

_FIRST_LEXEME = 5  # after k1, the two parts of the norm, and the ids


class Described:
    """Reads documents that were found by other means than words."""

    def __init__(self, database: Database, bm25: Bm25 | None = None) -> None:
        self._database = database
        self._bm25 = bm25 or Bm25()

    async def described(
        self, corpus: Corpus, terms: Sequence[Term], ids: Sequence[int]
    ) -> list[Candidate]:
        """Return those of `ids` that exist, with their BM25 and matched terms, in any order."""
        if not ids:
            return []
        lexemes = weighted_lexemes(terms, corpus.documents)
        values: Sequence[object]
        if corpus.postings:
            statement = described_by_postings(corpus.id)
            values = posted_values(lexemes)
        else:
            statement = _statement(partition(corpus.id), len(lexemes))
            values = operand_values(lexemes)
        async with self._database.reading() as reader:
            rows = await reader.fetch(
                statement, *constants(self._bm25, corpus.average_length), list(ids), *values
            )
            where = places(terms, lexemes)
            return await placed(reader, corpus, [ranked_candidate(row, where) for row in rows])


@lru_cache(maxsize=512)
def _statement(table: str, lexemes: int) -> str:
    asked = operands(_FIRST_LEXEME, lexemes)
    return statements("embeddings")["described"].format(
        document=table,
        # Without a lexeme the parameters are named all the same: the server needs their types.
        bm25=score(asked, repeats=True) or "0 * ($1::float8 + $2::float8 + $3::float8)",
        frequencies=frequencies(asked),
    )
