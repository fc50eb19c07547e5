"""Lexical retrieval; implements engine.ports.SearchIndex."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import asyncpg

from db.connection import Connection
from db.corpora import partition
from db.pool import Database
from db.rank_statement import rank_statement
from db.statements import statements
from db.terms import Reading, read_terms
from db.threshold import CLASSES, WeightedLexeme, quoted, reaching
from engine.bm25 import Bm25, expected_threshold, idf
from engine.types import Candidate, Corpus, Filters, Flag, Term

# A headline has some ten telling words; of a pasted article the rarest are asked for.
MAX_LEXEMES = 64
# With so few postings a plain OR is read as fast as anything narrower.
_FEW_POSTINGS = 1500
# After too few documents the next guess aims this much lower than proportion says, and falls at
# least by this factor, so that a few rounds reach the plain OR at the worst.
_OVERSHOOT = 1.5
_STEP = 0.8
# A word of fewer letters has neighbours by chance.
_SHORTEST_MISSPELT = 5
# Each takes some 30 ms among 40,000 lexemes; a text of many unknown words is in another language.
_MOST_MISSPELT = 8
_NEIGHBOUR_SIMILARITY = 0.55
_NEIGHBOURS = 2
_EDGES = re.compile(r"^\W+|\W+$")


@dataclass(frozen=True, slots=True)
class _Ranked:
    id: int
    score: float


@dataclass(frozen=True, slots=True)
class _Request:
    corpus: Corpus
    lexemes: Sequence[WeightedLexeme]
    filters: Filters
    limit: int

    def guess(self, share: float) -> float:
        """Guess the score that `limit` documents reach, of a `share` of the corpus."""
        weights = [(x.weight, x.probability) for x in self.lexemes]
        return expected_threshold(weights, self.corpus.documents * share, self.limit)

    @property
    def postings(self) -> float:
        """How many entries a plain OR would read."""
        return sum(x.probability for x in self.lexemes) * self.corpus.documents


class Search:
    """Reads headlines into terms and finds the exact best documents by BM25."""

    def __init__(self, database: Database, bm25: Bm25 | None = None) -> None:
        self._database = database
        self._bm25 = bm25 or Bm25()
        self._sql = statements("search")

    async def terms(self, corpus: Corpus, text: str) -> list[Term]:
        """Read `text`, normalised by engine.text, in every language the corpus holds.

        A word the corpus has never seen comes as a term with document_frequency 0, followed by
        its neighbours by trigrams. Of many such words only the first few have neighbours.
        """
        words = text.split()
        languages = list(corpus.languages) or [corpus.language]
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._sql["analyse"], corpus.id, words, languages)
            readings = [Reading(**{**row, "word": row["word"] - 1}) for row in rows]
            shown = [_EDGES.sub("", word) or word for word in words]
            read = read_terms(shown, languages, readings, corpus.documents)
            misspelt = [term for term in read if _may_be_misspelt(term)][:_MOST_MISSPELT]
            terms: list[Term] = []
            for term in read:
                terms.append(term)
                if term in misspelt:
                    terms += await self._neighbours(connection, corpus, term)
        return _without_repeats(terms)

    async def top(
        self, corpus: Corpus, terms: Sequence[Term], filters: Filters, limit: int
    ) -> list[Candidate]:
        """Return the exact best `limit` documents by BM25, ties by date then id."""
        lexemes = weighted_lexemes(terms, corpus.documents)
        if not lexemes or limit < 1:
            return []
        async with self._database.connection() as connection:
            request = _Request(corpus, lexemes, filters, limit)
            ranked = await self._rank(connection, request)
            rows = await connection.fetch(
                self._sql["documents"],
                corpus.id,
                [row.id for row in ranked],
                [lexeme.lexeme for lexeme in lexemes],
            )
        by_id = {row["id"]: row for row in rows}
        terms_of = {name: i for i, term in enumerate(terms) for name in term.lexemes}
        # A document deleted between the two statements is simply gone.
        return [_candidate(by_id[row.id], row.score, terms_of) for row in ranked if row.id in by_id]

    async def _neighbours(
        self, connection: Connection, corpus: Corpus, unknown: Term
    ) -> list[Term]:
        rows = await connection.fetch(self._sql["neighbours"], corpus.id, unknown.lexemes[0])
        return [
            Term(
                word=row["lexeme"],
                lexemes=(row["lexeme"],),
                document_frequency=min(corpus.documents, row["document_frequency"]),
                max_tf=row["max_tf"],
                weight=row["similarity"] / 2,
                neighbour_of=unknown.word,
            )
            for row in rows[:_NEIGHBOURS]
            if row["similarity"] >= _NEIGHBOUR_SIMILARITY
        ]

    async def _rank(self, connection: Connection, request: _Request) -> list[_Ranked]:
        """Ask for documents above a threshold, and lower it until the answer is exact."""
        share = await self._share(connection, request.corpus, request.filters)
        need = 0.0 if request.postings <= _FEW_POSTINGS else request.guess(share)
        while True:
            found = await self._above(connection, request, need)
            full = len(found) == request.limit
            if need <= 0 or (full and found[-1].score >= need):
                return found
            if full:
                need = found[-1].score
            else:
                share *= max(len(found), 1) / request.limit / _OVERSHOOT
                need = min(request.guess(share), need * _STEP)

    async def _above(self, connection: Connection, request: _Request, need: float) -> list[_Ranked]:
        """Return the best documents among those that can score `need`."""
        average = request.corpus.average_length
        queries = [
            reaching([(x.lexeme, c.bound(x, self._bm25, average)) for x in request.lexemes], need)
            for c in CLASSES
        ]
        operands = [part for x in request.lexemes for part in (quoted(x.lexeme), x.weight)]
        constant = self._bm25.norm(0, average)
        rows = await connection.fetch(
            rank_statement(partition(request.corpus.id), len(request.lexemes)),
            self._bm25.k1,
            constant,
            self._bm25.norm(1, average) - constant,
            request.limit,
            request.filters.before,
            request.filters.after,
            int(request.filters.require),
            int(request.filters.exclude),
            *queries,
            *operands,
        )
        return [_Ranked(row["id"], row["score"]) for row in rows]

    async def _share(self, connection: Connection, corpus: Corpus, filters: Filters) -> float:
        """Estimate which share of the corpus passes the dates, from the planner's statistics.

        Flags are taken as always true: the planner knows nothing of bits, and a second round
        costs less than a threshold that is far too low.
        """
        if not corpus.documents or (filters.before is None and filters.after is None):
            return 1.0
        statement = await connection.prepare(self._sql["share"])
        plan = await statement.explain(corpus.id, filters.before, filters.after)
        rows = float(plan[0]["Plan"]["Plan Rows"])
        return min(1.0, max(rows, 1.0) / corpus.documents)


def weighted_lexemes(terms: Sequence[Term], documents: int) -> list[WeightedLexeme]:
    """Return the lexemes to ask for, heaviest first, at most MAX_LEXEMES."""
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


def _may_be_misspelt(term: Term) -> bool:
    unknown = not term.document_frequency
    return unknown and len(term.word) >= _SHORTEST_MISSPELT and term.word.isalpha()


def _without_repeats(terms: Sequence[Term]) -> list[Term]:
    """Drop neighbours that the headline names itself or that stand for two unknown words."""
    seen = {name for term in terms if term.neighbour_of is None for name in term.lexemes}
    kept = []
    for term in terms:
        if term.neighbour_of is None or not seen & set(term.lexemes):
            kept.append(term)
        seen |= set(term.lexemes)
    return kept


def _candidate(row: asyncpg.Record, score: float, terms_of: Mapping[str, int]) -> Candidate:
    values = dict(row)
    matched: dict[int, int] = {}
    for lexeme, frequency in zip(values.pop("lexemes"), values.pop("frequencies"), strict=True):
        term = terms_of[lexeme]
        matched[term] = matched.get(term, 0) + frequency
    values["flags"] = Flag(values["flags"])
    return Candidate(**values, bm25=score, matched=dict(sorted(matched.items())))
