"""Searches documents by words (BM25): SearchIndex, PhraseIndex, Descriptions of engine.ports.

Most documents share a word with a headline, and few can be among the best. So a search guesses the
score that the best reach, reads only documents that can score as much (as WAND and MaxScore do),
and lowers the guess until the answer is exact. Short texts are read by classes, whose length and
repetitions bound the score (docs/decisions/0004-retrieval.md); a corpus of long texts has a table
of postings, which are summed (docs/decisions/0030-postings.md). Both give the same documents and
scores.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

import asyncpg
import orjson

from db.connection import Connection, about_corpus, load_statements, name_partition
from db.pool import Database
from db.search.statements import (
    CLASSES,
    LexemeReader,
    WeightedLexeme,
    add_places,
    build_class_description,
    build_class_statement,
    build_posting_description,
    build_posting_statement,
    build_threshold_query,
    count_essential,
    list_constants,
    list_operand_values,
    list_passing_flags,
    list_places,
    list_posting_values,
    read_ranked_candidate,
    weigh_lexemes,
)
from engine.ranking import DEFAULT, Bm25, expected_threshold
from engine.search import Candidate, Filters, Term
from engine.text.clean import make_searchable
from engine.text.terms import find_misspelt, find_own_language, headline_terms, without_repeats
from engine.values import Corpus

# With so few postings a plain OR is read as fast as anything narrower.
_FEW_POSTINGS = 1000
# About how many postings are summed at once: the sums of their documents take half a megabyte.
_POSTINGS_PER_RANGE = 8000
# Lengths, relative to the average, from which the scores of short texts with several words of a
# headline are guessed. With these the fewest real tweets pass the guessed threshold.
_LENGTHS = (0.7, 0.9, 1.15, 1.4, 1.8)
# About how many documents pass a threshold for each that is returned.
_PASSING_PER_HIT = 4
# If too few documents pass a threshold, the next guess is made for a share that is smaller in
# proportion and by _OVERSHOOT more, and falls at least by _STEP: a few rounds reach the plain OR.
_OVERSHOOT = 1.5
_STEP = 0.8
_MOST_NEIGHBOURS = 2
_PHRASES_AT_ONCE = 3  # each uses a connection, and the pool has four


@dataclass(frozen=True, slots=True)
class _Ranking:
    """What to rank: the best `limit` documents of a corpus by these lexemes."""

    corpus: Corpus
    lexemes: Sequence[WeightedLexeme]
    filters: Filters
    limit: int
    dates_first: bool = False  # few documents are of these dates: read them before the words
    ids_alone: bool = False  # return no texts

    def guess_threshold(self, share: float, bm25: Bm25) -> float:
        """Guess the score that `limit` documents reach, if a `share` of the corpus passes."""
        weights = [(lexeme.weight, lexeme.probability) for lexeme in self.lexemes]
        lengths = (1.0,) if self.corpus.postings else _LENGTHS
        parts = [bm25.part(1, length, 1.0) for length in lengths]
        return expected_threshold(
            weights, self.corpus.searchable_documents * share, self.limit, parts
        )

    @property
    def estimated_postings(self) -> float:
        """About how many entries a plain OR would read."""
        return sum(lexeme.probability for lexeme in self.lexemes) * self.corpus.searchable_documents


class LexicalIndex(LexemeReader):
    """Reads headlines into terms and finds the exact best documents by BM25."""

    async def terms(self, corpus: Corpus, text: str) -> list[Term]:
        """Read `text`, normalised by engine.text.clean, in every language of the corpus.

        A word that the corpus does not contain becomes a term with document_frequency 0, followed
        by the words of the corpus that are spelt most like it (trigrams). Of many such words only
        the first few get neighbours, and none in a headline of another language.
        """
        words = text.split()
        readings = await self.read_headline(corpus, words)
        terms = headline_terms(words, corpus.query_languages, readings, corpus.searchable_documents)
        language = find_own_language(words, readings)
        misspelt = (
            find_misspelt(terms) if language is None or language in corpus.query_languages else []
        )
        if not misspelt:
            return terms
        with_neighbours: list[Term] = []
        async with self._database.connection() as connection:
            for term in terms:
                with_neighbours.append(term)
                if term in misspelt:
                    with_neighbours += await self._find_neighbours(connection, corpus, term)
        return without_repeats(with_neighbours)

    async def top(
        self, corpus: Corpus, terms: Sequence[Term], filters: Filters, limit: int
    ) -> list[Candidate]:
        """Return the exact best `limit` documents by BM25, ties by date then id."""
        lexemes = weigh_lexemes(terms, corpus.searchable_documents)
        if not lexemes or limit < 1:
            return []
        async with self._database.connection() as connection:
            rows = await self._rank_documents(connection, _Ranking(corpus, lexemes, filters, limit))
            where = list_places(terms, lexemes)
            return await add_places(
                connection, corpus, [read_ranked_candidate(row, where) for row in rows]
            )

    async def rank_phrases(
        self, corpus: Corpus, phrases: Sequence[str], filters: Filters, limit: int
    ) -> list[list[int]]:
        """Return for each phrase the ids of the exact best `limit` documents, best first."""
        turns = asyncio.Semaphore(_PHRASES_AT_ONCE)

        async def rank_ids(terms: Sequence[Term]) -> list[int]:
            lexemes = weigh_lexemes(terms, corpus.searchable_documents)
            if not lexemes or limit < 1:
                return []
            ranking = _Ranking(corpus, lexemes, filters, limit, ids_alone=True)
            async with turns, self._database.connection() as connection:
                return [row["id"] for row in await self._rank_documents(connection, ranking)]

        terms_of_phrases = await self._read_phrases(corpus, phrases)
        return list(await asyncio.gather(*map(rank_ids, terms_of_phrases)))

    async def _read_phrases(self, corpus: Corpus, phrases: Sequence[str]) -> list[list[Term]]:
        """Return the terms of each phrase, all read in one statement."""
        split_phrases = [make_searchable(phrase).split() for phrase in phrases]
        readings = await self.read(corpus, [word for words in split_phrases for word in words])
        terms, first = [], 0
        for words in split_phrases:
            readings_of_phrase = [
                replace(reading, unit=reading.unit - first)
                for reading in readings
                if first <= reading.unit < first + len(words)
            ]
            terms.append(
                headline_terms(
                    words, corpus.query_languages, readings_of_phrase, corpus.searchable_documents
                )
            )
            first += len(words)
        return terms

    async def _find_neighbours(
        self, connection: Connection, corpus: Corpus, unknown: Term
    ) -> list[Term]:
        """Return the words of the corpus that are spelt most like an unknown one."""
        statement = load_statements("search")["neighbours"]
        rows = await connection.fetch(statement, corpus.id, unknown.lexemes[0])
        return [
            Term(
                word=row["lexeme"],
                lexemes=(row["lexeme"],),
                document_frequency=min(corpus.searchable_documents, row["document_frequency"]),
                max_tf=row["max_tf"],
                weight=row["similarity"] / 2,
                neighbour_of=unknown.word,
            )
            for row in rows[:_MOST_NEIGHBOURS]
        ]

    async def _rank_documents(
        self, connection: Connection, ranking: _Ranking
    ) -> list[asyncpg.Record]:
        """Query documents above a threshold, and lower it until the answer is exact.

        It is exact once the last of the best scores at least the threshold, as a document that was
        not read scores less.
        """
        if ranking.estimated_postings <= _FEW_POSTINGS:
            return await self._find_documents_above(connection, ranking, 0.0)
        share, dates_first = await self._plan_ranking(connection, ranking)
        ranking = replace(ranking, dates_first=dates_first)
        threshold = ranking.guess_threshold(share, self._bm25)
        while True:
            rows = await self._find_documents_above(connection, ranking, threshold)
            full = len(rows) == ranking.limit
            if threshold <= 0 or (full and rows[-1]["bm25"] >= threshold):
                return rows
            if full:  # the last read scores less than its bound: read what can score as much, once
                threshold = rows[-1]["bm25"]
            else:  # too few pass: guess for a smaller share, until the threshold is 0, a plain OR
                share *= max(len(rows), 1) / ranking.limit / _OVERSHOOT
                threshold = min(ranking.guess_threshold(share, self._bm25), threshold * _STEP)

    async def _find_documents_above(
        self, connection: Connection, ranking: _Ranking, threshold: float
    ) -> list[asyncpg.Record]:
        """Return the best documents among those that can score `threshold`."""
        build = self._query_postings if ranking.corpus.postings else self._query_classes
        filters = ranking.filters
        statement, values = build(ranking, threshold)
        return await connection.fetch(
            statement,
            *list_constants(self._bm25, ranking.corpus.average_length),
            ranking.limit,
            filters.before,
            filters.since,
            int(filters.require),
            int(filters.exclude),
            *values,
        )

    def _query_classes(self, ranking: _Ranking, threshold: float) -> tuple[str, Sequence[object]]:
        """Return the statement that reads the classes of documents, and its values after those of
        the filters."""
        average = ranking.corpus.average_length
        queries = [
            build_threshold_query(
                [
                    (lexeme.lexeme, document_class.bound(lexeme, self._bm25, average))
                    for lexeme in ranking.lexemes
                ],
                threshold,
            )
            for document_class in CLASSES
        ]
        statement = build_class_statement(
            name_partition(ranking.corpus.id),
            len(ranking.lexemes),
            dates_first=ranking.dates_first,
            ids_alone=ranking.ids_alone,
        )
        return statement, [*queries, *list_operand_values(ranking.lexemes)]

    def _query_postings(self, ranking: _Ranking, threshold: float) -> tuple[str, Sequence[object]]:
        """Return the statement that reads postings, and its values after those of the filters."""
        average = ranking.corpus.average_length
        bounds = [
            lexeme.weight * self._bm25.part(lexeme.max_tf, lexeme.max_tf, average)
            for lexeme in ranking.lexemes
        ]
        statement = build_posting_statement(
            ranking.corpus.id, dates_first=ranking.dates_first, ids_alone=ranking.ids_alone
        )
        essential, minimum = count_essential(bounds, threshold)
        postings = replace(ranking, lexemes=ranking.lexemes[:essential]).estimated_postings
        ranges = 1 if ranking.dates_first else 1 + int(postings / _POSTINGS_PER_RANGE)
        return statement, [*list_posting_values(ranking.lexemes), essential, minimum, ranges]

    async def _plan_ranking(self, connection: Connection, ranking: _Ranking) -> tuple[float, bool]:
        """Return about which share of the corpus passes the filters, by the planner's statistics
        (EXPLAIN), and whether to read by date first, as that leaves fewer documents than the words.
        """
        corpus, filters = ranking.corpus, ranking.filters
        # `since` also says whether texts without a date pass.
        dated = share = await self._estimate_passing_share(
            connection, corpus, Filters(before=filters.before, after=filters.since)
        )
        if filters.require or filters.exclude:
            share = await self._estimate_passing_share(connection, corpus, filters)
        matching = min(ranking.estimated_postings, _PASSING_PER_HIT * ranking.limit / share)
        few_dates = filters.since is not None and dated * corpus.documents < matching
        return share, few_dates

    async def _estimate_passing_share(
        self, connection: Connection, corpus: Corpus, filters: Filters
    ) -> float:
        """Estimate which share of the corpus passes, from the planner's statistics."""
        if filters == Filters():
            return 1.0
        plan = await connection.fetchval(
            about_corpus("search", "share", corpus.id),
            corpus.id,
            filters.before,
            filters.since,
            list_passing_flags(filters),
        )
        plan = orjson.loads(plan)[0]["Plan"]
        if query := plan.get("Distributed Query"):  # which Citus sends to a worker
            plan = query["Job"]["Tasks"][0]["Remote Plan"][0][0]["Plan"]
        return min(1.0, max(float(plan["Plan Rows"]), 1.0) / corpus.documents)


class CandidateReader:
    """Reads documents that were found by other means than words."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def describe_documents(
        self, corpus: Corpus, terms: Sequence[Term], ids: Sequence[int]
    ) -> list[Candidate]:
        """Return those of `ids` that exist, with their BM25 and matched terms, in any order."""
        if not ids:
            return []
        lexemes = weigh_lexemes(terms, corpus.searchable_documents)
        values: Sequence[object]
        if corpus.postings:
            statement = build_posting_description(corpus.id)
            values = list_posting_values(lexemes)
        else:
            statement = build_class_description(name_partition(corpus.id), len(lexemes))
            values = list_operand_values(lexemes)
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                statement, *list_constants(DEFAULT, corpus.average_length), list(ids), *values
            )
            where = list_places(terms, lexemes)
            return await add_places(
                connection, corpus, [read_ranked_candidate(row, where) for row in rows]
            )
