"""Retrieval for the query dialect; implements engine.query.find.FindIndex.

Every document that holds the words is scored, because they are also counted
(docs/decisions/0013-dialect.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import asyncpg

from db.connection import statements
from db.corpus.corpora import names_of
from db.corpus.postings import partition
from db.search.nearest import as_text, embedding_table
from db.search.rows import (
    Readings,
    WeightedLexeme,
    constants,
    found_document,
    operand_values,
    placed_documents,
    quote_lexeme,
    weighted_lexemes,
)
from db.search.statements import (
    ALLOWED,
    MATCHING,
    NEAREST,
    NEWEST,
    RANKED,
    SCORING,
    matched_by_postings,
    months_statement,
    nearest_statement,
    newest_statement,
    posted_values,
    ranked_statement,
)
from engine.query.filters import Conditions
from engine.query.query import Chain, LanguageQuery, Plan
from engine.query.results import FoundDocument, FoundDocuments
from engine.search import Term
from engine.values import Corpus
from engine.vectors import Vector, VectorSpace

_LISTS = (
    "authors", "platforms", "roles", "domains", "threads", "tags", "mentions", "not_authors",
    "not_platforms", "not_roles", "not_domains", "not_threads", "not_tags", "not_mentions",
)  # fmt: skip

_PLAN = statements("find")["plan_for_values"]


class DialectIndex(Readings):
    """Reads queries into lexemes and finds exactly the documents that match them."""

    async def rank_texts(
        self,
        corpus: Corpus,
        queries: Sequence[LanguageQuery],
        terms: Sequence[Term],
        required: Conditions,
        limit: int,
        *,
        profiled: bool = False,
    ) -> FoundDocuments:
        """Return the exact best `limit` by BM25 over `terms`, ties by date then id.

        With `profiled`, returns as many of the newest and of the most liked ones as well.
        """
        lexemes = weighted_lexemes(terms, corpus.documents)
        wanted = {query.language: _tsquery(query) for query in queries}
        if not all(wanted.values()) or not lexemes:
            return FoundDocuments(matching=0, passing=0, documents=())
        values = _shared_values(
            corpus, _split_by_language(corpus, wanted), lexemes, required, limit
        )
        values |= zip(SCORING, constants(self._bm25, corpus.average_length), strict=True)
        values["any"] = _any(wanted)
        scored: Sequence[object]
        if corpus.postings:
            statement = matched_by_postings(corpus.id, profiled=profiled)
            scored = posted_values(lexemes)
        else:
            table = partition(corpus.id)
            statement = ranked_statement(table, len(lexemes), profiled=profiled)
            scored = operand_values(lexemes)
        async with self._database.read_anywhere() as reader:
            rows = await reader.fetch(statement, *(values[name] for name in RANKED), *scored)
            return await placed_documents(reader, corpus, _read_found_rows(rows, lexemes))

    async def newest(
        self,
        corpus: Corpus,
        queries: Sequence[LanguageQuery],
        required: Conditions,
        limit: int,
    ) -> FoundDocuments:
        """Return the newest `limit` without anything that is excluded, ties by id."""
        values = _shared_values(corpus, _exclude_words(queries), [], required, limit)
        statement = newest_statement(partition(corpus.id))
        async with self._database.read_anywhere() as reader:
            bound = (values[name] for name in NEWEST)
            rows = await reader.fetch(statement, *bound, local=_PLAN)
            return await placed_documents(reader, corpus, _read_found_rows(rows, []))

    async def nearest(
        self,
        corpus: Corpus,
        queries: Sequence[LanguageQuery],
        required: Conditions,
        limit: int,
        *,
        space: VectorSpace,
        vector: Vector,
    ) -> FoundDocuments:
        """Return the nearest `limit` that have a vector and nothing that is excluded.

        Nearest first, ties by date then id. The similarity of each is its cosine.
        """
        values = _shared_values(corpus, _exclude_words(queries), [], required, limit)
        values["vector"] = as_text(vector)
        statement = nearest_statement(partition(corpus.id), embedding_table(space.model_id))
        async with self._database.read_anywhere() as reader:
            bound = (values[name] for name in NEAREST)
            rows = await reader.fetch(statement, *bound, local=_PLAN)
            found = FoundDocuments(
                matching=None,
                passing=rows[0]["passing"],
                documents=[_near(row) for row in rows if row["id"] is not None],
            )
            return await placed_documents(reader, corpus, found)

    async def months(
        self,
        corpus: Corpus,
        queries: Sequence[LanguageQuery],
        required: Conditions,
        *,
        plan: Plan,
    ) -> dict[str, int]:
        """Return how many documents `plan` would find in each month (UTC) that has any."""
        words = plan is Plan.RANKED
        wanted = {query.language: _tsquery(query) for query in queries} if words else {}
        if not all(wanted.values()):
            return {}
        asked = _split_by_language(corpus, wanted) if words else _exclude_words(queries)
        values = _shared_values(corpus, asked, [], required, 0) | {"any": _any(wanted)}
        statement = months_statement(partition(corpus.id), words=words)
        bound = [values[name] for name in (MATCHING if words else ALLOWED)]
        async with self._database.read_anywhere() as reader:
            rows = await reader.fetch(statement, *bound, local=_PLAN)
        return {row["month"]: row["documents"] for row in rows}


def _near(row: asyncpg.Record) -> FoundDocument:
    found = found_document(row)
    return replace(found, candidate=replace(found.candidate, similarity=row["cosine"]))


def _read_found_rows(
    rows: Sequence[asyncpg.Record], lexemes: Sequence[WeightedLexeme]
) -> FoundDocuments:
    """Read a result; if there are no documents, one row holds the counts."""
    names = [x.lexeme for x in lexemes]
    return FoundDocuments(
        matching=rows[0]["matching"],
        passing=rows[0]["passing"],
        documents=[_found(row, names) for row in rows if row["id"] is not None],
    )


def _tsquery(query: LanguageQuery) -> str:
    groups = (_any_of(chains) for chains in query.required)
    unwanted = (f"!{_together(chain)}" for chain in query.excluded)
    return "&".join([*groups, *unwanted])


def _exclude_words(queries: Sequence[LanguageQuery]) -> dict[str, str] | None:
    found = {query.language: _any_of(query.excluded) for query in queries if query.excluded}
    return found or None


def _split_by_language(corpus: Corpus, wanted: Mapping[str, str]) -> Mapping[str, str] | None:
    """Return what each language searches for, or None if all search for the same."""
    same = len(set(wanted.values())) == 1 and set(corpus.languages) <= set(wanted)
    return None if same else wanted


def _any(wanted: Mapping[str, str]) -> str:
    return "|".join(f"({pattern})" for pattern in dict.fromkeys(wanted.values()))


def _any_of(chains: Sequence[Chain]) -> str:
    return f"({'|'.join(map(_together, chains))})"


def _together(chain: Chain) -> str:
    """Return a chain as lexemes at the same distances."""
    positions = [position for _, position in chain]
    distances = ("", *(f"<{there - here}>" for here, there in pairwise(positions)))
    words = (quote_lexeme(lexeme) for lexeme, _ in chain)
    return f"({''.join(map(str.__add__, distances, words))})"


def _shared_values(
    corpus: Corpus,
    queries: Mapping[str, str] | None,
    lexemes: Sequence[WeightedLexeme],
    required: Conditions,
    limit: int,
) -> dict[str, object]:
    """Return the values of the parameters that all plans share."""
    ranges = [asyncpg.Range(stretch.start, stretch.end) for stretch in required.not_during]
    lists = {name: list(getattr(required, name) or ()) or None for name in _LISTS}
    return {
        "corpus": corpus.id,
        "limit": limit,
        "queries": None if queries is None else list(queries.values()),
        "query_languages": None if queries is None else list(queries),
        "lexemes": [quote_lexeme(x.lexeme) for x in lexemes],
        "before": required.before,
        "after": required.since,
        "not_during": ranges or None,
        "require": int(required.require),
        "exclude": int(required.exclude),
        "least": required.least,
        "below": required.below,
        "languages": _languages(required.languages),
        "not_languages": _languages(required.not_languages),
        **lists,
    }


def _languages(asked: Sequence[str] | None) -> list[str] | None:
    """Return every way in which a document may name the languages; None without any."""
    return sorted({name for platform in asked for name in names_of(platform)}) if asked else None


def _found(row: asyncpg.Record, names: Sequence[str]) -> FoundDocument:
    said, own = _map_frequencies(names, row["frequencies"]), row["own_frequencies"]
    in_text = said if own is None else _map_frequencies(names, own)
    return found_document(row, bm25=row["bm25"], frequencies=said, in_text=in_text)


def _map_frequencies(names: Sequence[str], frequencies: Sequence[int]) -> dict[str, int]:
    return {name: tf for name, tf in zip(names, frequencies, strict=True) if tf}
