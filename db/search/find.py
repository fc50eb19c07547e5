"""Retrieval for the query dialect; implements engine.query.find.FindIndex.

Every document that holds the words is scored, because they are also counted
(docs/decisions/0013-dialect.md). A headline is searched by statements of its own, since it wants
the best few and no count: a threshold leaves most of its matches unread.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from itertools import pairwise

import asyncpg

from db.connection import Connection, load_statements, name_partition, read_row
from db.corpus.corpora import names_of
from db.search.nearest import as_text, embedding_table
from db.search.statements import (
    CLASSES,
    LexemeReader,
    WeightedLexeme,
    add_places,
    build_condition,
    build_operands,
    build_score,
    build_scored_select,
    list_constants,
    list_operand_values,
    list_posting_values,
    quote_lexeme,
    read_candidate,
    read_text_list,
    weigh_lexemes,
)
from engine.query.filters import Conditions
from engine.query.query import Chain, LanguageQuery
from engine.query.results import FoundDocument, FoundDocuments
from engine.search import Term
from engine.values import Corpus
from engine.vectors import Vector, VectorSpace

_LISTS = (
    "authors", "platforms", "roles", "domains", "threads", "tags", "mentions", "not_authors",
    "not_platforms", "not_roles", "not_domains", "not_threads", "not_tags", "not_mentions",
)  # fmt: skip

_PLAN = load_statements("find")["plan_for_values"]
_SHARED = ("before", "after", "require", "exclude")  # the same as for headlines
# In the order of their placeholders: db.search.statements needs these three first. `ranked` then
# adds, for each scored lexeme, its tsquery and its weight.
SCORING = ("k1", "norm", "norm_per_token")
_UNSCORED = ("0::float8",) * len(CLASSES)
_CONDITIONS = tuple(field.name for field in fields(Conditions) if field.name != "undated")
NEWEST = ("corpus", "limit", "queries", "query_languages", "lexemes", *_CONDITIONS)
RANKED = (*SCORING, "any", *NEWEST)
NEAREST = (*NEWEST, "vector")


class DialectIndex(LexemeReader):
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
        lexemes = weigh_lexemes(terms, corpus.searchable_documents)
        wanted = {query.language: _build_tsquery(query) for query in queries}
        if not all(wanted.values()) or not lexemes:
            return FoundDocuments(matching=0, passing=0, documents=())
        same = len(set(wanted.values())) == 1 and set(corpus.languages) <= set(wanted)
        # Without what each language searches for, where all search for the same.
        values = _shared_values(corpus, None if same else wanted, lexemes, required, limit)
        values |= zip(SCORING, list_constants(self._bm25, corpus.average_length), strict=True)
        values["any"] = "|".join(f"({pattern})" for pattern in dict.fromkeys(wanted.values()))
        scored: Sequence[object]
        if corpus.postings:
            statement = matched_by_postings(corpus.id, profiled=profiled)
            scored = list_posting_values(lexemes)
        else:
            table = name_partition(corpus.id)
            statement = ranked_statement(table, len(lexemes), profiled=profiled)
            scored = list_operand_values(lexemes)
        async with self._database.connection() as connection:
            rows = await connection.fetch(statement, *(values[name] for name in RANKED), *scored)
            return await _add_places(connection, corpus, _read_found_rows(rows, lexemes))

    async def newest(
        self, corpus: Corpus, queries: Sequence[LanguageQuery], required: Conditions, limit: int
    ) -> FoundDocuments:
        """Return the newest `limit` without anything that is excluded, ties by id."""
        values = _shared_values(corpus, _exclude_words(queries), [], required, limit)
        statement = newest_statement(name_partition(corpus.id))
        async with self._database.transaction(_PLAN) as connection:
            rows = await connection.fetch(statement, *(values[name] for name in NEWEST))
            return await _add_places(connection, corpus, _read_found_rows(rows, []))

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
        statement = nearest_statement(name_partition(corpus.id), embedding_table(space.model_id))
        async with self._database.transaction(_PLAN) as connection:
            rows = await connection.fetch(statement, *(values[name] for name in NEAREST))
            documents = FoundDocuments(
                matching=None,
                passing=rows[0]["passing"],
                documents=[_read_near_document(row) for row in rows if row["id"] is not None],
            )
            return await _add_places(connection, corpus, documents)


def _read_near_document(row: asyncpg.Record) -> FoundDocument:
    document = found_document(row)
    return replace(document, candidate=replace(document.candidate, similarity=row["cosine"]))


def _read_found_rows(
    rows: Sequence[asyncpg.Record], lexemes: Sequence[WeightedLexeme]
) -> FoundDocuments:
    """Read a result; if there are no documents, one row holds the counts."""
    names = [x.lexeme for x in lexemes]
    return FoundDocuments(
        matching=rows[0]["matching"],
        passing=rows[0]["passing"],
        documents=[_read_found(row, names) for row in rows if row["id"] is not None],
    )


def _build_tsquery(query: LanguageQuery) -> str:
    groups = (_any_of(chains) for chains in query.required)
    unwanted = (f"!{_join_chain(chain)}" for chain in query.excluded)
    return "&".join([*groups, *unwanted])


def _exclude_words(queries: Sequence[LanguageQuery]) -> dict[str, str] | None:
    excluded = {query.language: _any_of(query.excluded) for query in queries if query.excluded}
    return excluded or None


def _any_of(chains: Sequence[Chain]) -> str:
    return f"({'|'.join(map(_join_chain, chains))})"


def _join_chain(chain: Chain) -> str:
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
        "minimum": required.minimum,
        "below": required.below,
        "languages": _list_language_names(required.languages),
        "not_languages": _list_language_names(required.not_languages),
        **lists,
    }


def _list_language_names(languages: Sequence[str] | None) -> list[str] | None:
    """Return every way in which a document may name the languages; None without any."""
    return (
        sorted({name for platform in languages for name in names_of(platform)})
        if languages
        else None
    )


def _read_found(row: asyncpg.Record, names: Sequence[str]) -> FoundDocument:
    frequencies, own = _map_frequencies(names, row["frequencies"]), row["own_frequencies"]
    in_text = frequencies if own is None else _map_frequencies(names, own)
    return found_document(row, bm25=row["bm25"], frequencies=frequencies, in_text=in_text)


def _map_frequencies(names: Sequence[str], frequencies: Sequence[int]) -> dict[str, int]:
    return {name: tf for name, tf in zip(names, frequencies, strict=True) if tf}


async def _add_places(
    connection: Connection, corpus: Corpus, found: FoundDocuments
) -> FoundDocuments:
    """Return found documents with the places of those that are parts."""
    if not corpus.in_parts:
        return found
    candidates = await add_places(
        connection, corpus, [document.candidate for document in found.documents]
    )
    documents: list[FoundDocument] = [
        replace(document, candidate=candidate)
        for document, candidate in zip(found.documents, candidates, strict=True)
    ]
    return replace(found, documents=documents)


def found_document(
    row: asyncpg.Record,
    *,
    bm25: float = 0.0,
    frequencies: Mapping[str, int] | None = None,
    in_text: Mapping[str, int] | None = None,
) -> FoundDocument:
    """Return a row with everything that is stored of a document."""
    return read_row(
        FoundDocument,
        row,
        candidate=read_candidate(row, bm25=bm25),
        frequencies=frequencies or {},
        in_text=in_text or {},
        thread=row["thread_id"],
        attachments=read_text_list(row["attachments"]),
        participants=read_text_list(row["participants"]),
    )


@lru_cache(maxsize=512)
def ranked_statement(table: str, lexemes: int, *, profiled: bool = False) -> str:
    """Return the SQL of the plan `ranked`, for `lexemes` scored lexemes.

    `profiled` also asks for the newest and the most liked besides the best by words.
    """
    names = _build_placeholders(RANKED, document=table)
    operands = build_operands(len(RANKED) + 1, lexemes)
    scores = [
        build_score(operands, repeats=document_class.max_tf != 1) for document_class in CLASSES
    ]
    return _build_ranked(names, _build_branches(names, scores), profiled=profiled)


@lru_cache(maxsize=512)
def matched_by_postings(corpus_id: int, *, profiled: bool = False) -> str:
    """Return the same for a corpus with postings.

    After the parameters RANKED it takes the arrays of lexemes and of their weights.
    """
    names = _build_placeholders(RANKED, document=name_partition(corpus_id))
    arrays = {"lexemes": f"${len(RANKED) + 1}", "weights": f"${len(RANKED) + 2}"}
    scores = {
        "branches": _build_branches(names),
        "scored": build_scored_select(corpus_id, names | arrays),
    }
    return _build_ranked(names, _fill_find("with_scores", scores), profiled=profiled)


@lru_cache(maxsize=512)
def newest_statement(table: str) -> str:
    """Return the SQL of the plan `newest`."""
    return _build_unranked("newest", _build_placeholders(NEWEST, document=table))


@lru_cache(maxsize=512)
def nearest_statement(table: str, embedding: str) -> str:
    """Return the SQL of the plan `nearest`, by the vectors of one model."""
    names = _build_placeholders(NEAREST, document=table, embedding=embedding)
    return _build_unranked("nearest", names)


def _build_unranked(name: str, names: Mapping[str, str]) -> str:
    return _fill_with_columns(name, {**names, "allowed": _fill_find("allowed", names)})


def _build_ranked(names: Mapping[str, str], matching: str, *, profiled: bool) -> str:
    best = _fill_find("best_by_words", names)
    if profiled:
        best = _fill_find("best_by_all", {**names, "best_by_words": best})
    return _fill_with_columns("ranked", {**names, "matching": matching, "best": best})


def _build_branches(names: Mapping[str, str], scores: Sequence[str] = _UNSCORED) -> str:
    """Return the SQL of all documents that match, each class with its score."""
    return " UNION ALL ".join(
        _fill_find("branch", {**names, "condition": document_class.condition, "score": expression})
        for document_class, expression in zip(CLASSES, scores, strict=True)
    )


def _build_placeholders(parameters: tuple[str, ...], **tables: str) -> dict[str, str]:
    """Return what the braces stand for: parameters, tables, and the condition on a document."""
    names = {name: f"${place}" for place, name in enumerate(parameters, start=1)} | tables
    names["filters"] = build_condition(**{name: names[name] for name in _SHARED})
    return names | {"passes": _fill_find("passes", names)}


def _fill_with_columns(name: str, names: Mapping[str, str]) -> str:
    return _fill_find(name, {**names, "columns": _fill_find("columns", names)})


def _fill_find(name: str, names: Mapping[str, str]) -> str:
    return load_statements("find")[name].format(**names)
