"""A second, deliberately plain implementation of the dialect: a scan of every document.

It shares with the search only the parser and the server's conversion of words to lexemes.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from db.corpus.corpora import names_of
from db.pool import Database
from engine.query.query import Filter, Query, Unit
from engine.ranking import Bm25
from engine.search import Term
from engine.text.clean import make_searchable
from engine.values import Corpus, Flag


@dataclass(frozen=True, slots=True)
class Row:
    """A document as the database holds it, with the positions of its lexemes."""

    id: int
    moment: str  # ISO 8601, UTC: compared as text; "" without a date
    language: str
    positions: Mapping[str, frozenset[int]]
    columns: asyncpg.Record

    @property
    def length(self) -> int:
        return sum(map(len, self.positions.values()))


async def scan(database: Database, corpus: Corpus) -> list[Row]:
    """Read every document of a corpus."""
    async with database.connection() as connection:
        rows = await connection.fetch(
            "SELECT id, created_at, language, lang, flags, engagement, lower(author) AS author,"
            " lower(platform) AS platform, lower(role) AS role, thread_id, tags, mentions,"
            " tsv::text AS vector FROM document WHERE corpus_id = $1",
            corpus.id,
            timeout=120,
        )
    return [
        Row(r["id"], _moment(r["created_at"]), r["language"], _read(r["vector"]), r) for r in rows
    ]


def _moment(written: datetime | None) -> str:
    return f"{written:%Y-%m-%dT%H:%M:%S}" if written else ""


async def vectors(
    database: Database, corpus: Corpus, units: Iterable[Unit]
) -> dict[tuple[Unit, str], list[tuple[str, int]]]:
    """Return the (lexeme, position) pairs of each unit in each language of the corpus."""
    found = {}
    async with database.connection() as connection:
        for unit in units:
            for language in corpus.languages:
                vector = await connection.fetchval(
                    "SELECT to_lexemes($1, $2)::text",
                    language,
                    make_searchable(unit.text),
                )
                found[unit, language] = sorted(
                    ((lexeme, p) for lexeme, ps in _read(vector).items() for p in ps),
                    key=lambda pair: (pair[1], pair[0]),
                )
    return found


async def matching(
    database: Database, corpus: Corpus, rows: Sequence[Row], query: Query
) -> set[int]:
    """Return the ids of the documents that match the query."""
    wanted = [alternative.unit for alternative in query.alternatives]
    read = await vectors(database, corpus, {*wanted, *query.excluded})
    telling = {language for (unit, language), lexemes in read.items() if lexemes and unit in wanted}
    return {
        row.id
        for row in rows
        if (row.language in telling or not telling)
        and _says(row, query, read)
        and all(_passes(row, query.filters, one) for one in query.filters)
    }


def scores(rows: Sequence[Row], terms: Sequence[Term], bm25: Bm25) -> dict[int, float]:
    """Return BM25 of every document over the terms."""
    rows = [row for row in rows if row.positions]  # no other can be searched
    frequency = Counter(name for row in rows for name in row.positions)
    average = sum(row.length for row in rows) / len(rows)
    weights = {
        name: term.weight * math.log(1 + (len(rows) - df + 0.5) / (df + 0.5))
        for term in terms
        for df in [min(len(rows), term.document_frequency)]
        for name in term.lexemes
        if frequency[name]
    }
    return {
        row.id: math.fsum(
            weight * bm25.part(len(row.positions[name]), row.length, average)
            for name, weight in weights.items()
            if name in row.positions
        )
        for row in rows
    }


def _read(vector: str) -> dict[str, frozenset[int]]:
    """Read PostgreSQL's text form of a tsvector: 'lexeme':1,2 'it''s':3."""
    found, at = {}, 0
    while at < len(vector):
        end = at + 1
        while vector[end] != "'" or vector[end + 1 : end + 2] == "'":
            end += 2 if vector[end] in "'\\" else 1
        lexeme = vector[at + 1 : end].replace("''", "'").replace("\\\\", "\\")
        numbers, _, _ = vector[end + 1 :].partition(" ")
        found[lexeme] = frozenset(int(n) for n in numbers.lstrip(":").split(",") if n)
        at = end + 1 + len(numbers) + 1
    return found


def _says(
    row: Row, query: Query, read: Mapping[tuple[Unit, str], Sequence[tuple[str, int]]]
) -> bool:
    for group in query.groups:
        chains = [read[alternative.unit, row.language] for alternative in group.alternatives]
        chains = [chain for chain in chains if chain]
        if chains and not any(_stands(row, chain) for chain in chains):
            return False
    unwanted = [read[unit, row.language] for unit in query.excluded]
    return not any(chain and _stands(row, chain) for chain in unwanted)


def _stands(row: Row, chain: Sequence[tuple[str, int]]) -> bool:
    first, begin = chain[0]
    return any(
        all(at + position - begin in row.positions.get(name, ()) for name, position in chain)
        for at in row.positions.get(first, ())
    )


def _passes(row: Row, filters: Sequence[Filter], one: Filter) -> bool:
    """Return whether a row passes a filter; one of several names is enough, unless excluded."""
    if one.name in ("before", "after") and not row.moment:
        return False  # nobody knows when it was written
    if one.negated or one.name in ("before", "after", "on", "min", "has", "is", "tag", "mention"):
        return _meets(row, one) != one.negated
    return any(_meets(row, f) for f in filters if f.name == one.name and not f.negated)


def _meets(row: Row, one: Filter) -> bool:
    columns, value = row.columns, one.value
    match one.name:
        case "before":
            return row.moment < value
        case "after":
            return row.moment >= value
        case "on":
            return row.moment.startswith(value)
        case "min":
            return bool(columns["engagement"] >= int(value))
        case "has" | "is":
            return bool(columns["flags"] & Flag[value.upper()])
        case "tag" | "mention":
            return value in columns[f"{one.name}s"]
        case "lang":
            return bool(names_of(value) & {columns["lang"] or columns["language"]})
        case "from":
            return bool(columns["author"] == value)
        case "thread":
            return bool(columns["thread_id"] == value)
        case "platform" | "role":
            return bool(columns[one.name] == value)
        case _:
            return True  # "in:" has already chosen the corpus
