"""Converts rows of documents to values of the engine, and sums BM25 in SQL from their lexemes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import itemgetter

import asyncpg
import orjson

from db.connection import Connection, load_statements
from db.corpus.corpora import about_corpus
from db.pool import Database
from engine.ranking import Bm25, idf
from engine.search import Candidate, Filters, ItemPlace, Term
from engine.text.terms import Reading
from engine.values import Corpus, DateKind, Flag

# A headline has some ten telling words; of a pasted article the rarest words are used.
MAX_LEXEMES = 64
# The parameter numbers of a lexeme's tsquery and of its weight.
Operand = tuple[int, int]
_NORM = "($2::float8 + $3::float8 * length)"
# Looking up a member of an enumeration takes longer than reading a column.
_flags = lru_cache(maxsize=None)(Flag)
_STORED = (
    "id", "external_id", "text", "context", "created_at", "author", "url", "lang", "length",
    "platform",
)  # fmt: skip
_stored = itemgetter(*_STORED)
_date_kinds: dict[str | None, DateKind | None] = {None: None} | {
    kind.value: kind for kind in DateKind
}
_SETTERS = [
    Candidate.__dict__[name].__set__
    for name in (
        *_STORED, "flags", "dated_by", "bm25", "matched", "similarity", "ranks", "asked_for",
        "place", "voice", "corpus", "beside",
    )
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class WeightedLexeme:
    """A lexeme of the query: its weight (idf, lowered for neighbours) and corpus statistics."""

    lexeme: str
    weight: float
    max_tf: int
    probability: float  # share of the documents that contain it


def weighted_lexemes(terms: Sequence[Term], documents: int) -> list[WeightedLexeme]:
    """Return the lexemes to search for, heaviest first, at most MAX_LEXEMES."""
    weighted = [
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
    return sorted(weighted, key=lambda x: (-x.weight, x.lexeme))[:MAX_LEXEMES]


def list_places(terms: Sequence[Term], lexemes: Sequence[WeightedLexeme]) -> list[tuple[int, int]]:
    """Return (term, position of one of its lexemes in `lexemes`), in the order of the terms."""
    place_of = {lexeme.lexeme: place for place, lexeme in enumerate(lexemes)}
    return [
        (index, place_of[name])
        for index, term in enumerate(terms)
        for name in term.lexemes
        if name in place_of
    ]


def list_constants(bm25: Bm25, average: float) -> tuple[float, float, float]:
    """Return the first three parameters: k1, the norm's constant, and its part per token."""
    constant = bm25.norm(0, average)
    return bm25.k1, constant, bm25.norm(1, average) - constant


def operand_values(lexemes: Sequence[WeightedLexeme]) -> list[str | float]:
    """Return the values for the parameters of `operands`."""
    return [part for x in lexemes for part in (quote_lexeme(x.lexeme), x.weight)]


def build_operands(first: int, lexemes: int) -> list[Operand]:
    """Return the parameter numbers of `lexemes` tsqueries and weights, from `first` on."""
    return [(first + 2 * i, first + 2 * i + 1) for i in range(lexemes)]


def build_frequencies(operands: Sequence[Operand]) -> str:
    """Return the SQL expressions for how often a document contains each lexeme."""
    return ", ".join(
        f"CASE WHEN tsv @@ ${lexeme} THEN term_frequency(tsv, ${lexeme})::integer ELSE 0 END"
        for lexeme, _ in operands
    )


def quote_lexeme(lexeme: str) -> str:
    """Quote a lexeme so that tsquery input takes it as one literal operand."""
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def build_score(operands: Sequence[Operand], *, repeats: bool) -> str:
    """Return the SQL expression of BM25 over the lexemes and weights at `operands`.

    `repeats` tells whether tf may exceed 1.
    """
    if repeats:
        return " + ".join(
            f"CASE WHEN tsv @@ ${lexeme} THEN ${weight}::float8"
            f" * bm25_part(tsv, ${lexeme}, $1::float8, {_NORM}) ELSE 0 END"
            for lexeme, weight in operands
        )
    # tf is always 1: the document's part is one factor, and only weights are added up.
    weights = " + ".join(
        f"CASE WHEN tsv @@ ${lexeme} THEN ${weight}::float8 ELSE 0 END"
        for lexeme, weight in operands
    )
    return f"({weights}) * ($1::float8 + 1) / (1 + {_NORM})"


async def add_places(
    connection: Connection, corpus: Corpus, candidates: Sequence[Candidate]
) -> list[Candidate]:
    """Return candidates with the places of those that are parts.

    A statement of its own, so that corpora without parts pay nothing.
    """
    if not corpus.in_parts or not candidates:
        return list(candidates)
    rows = await connection.fetch(
        about_corpus("places", "places", corpus.id), [unplaced.id for unplaced in candidates]
    )
    places = {row["id"]: ItemPlace(**{k: v for k, v in row.items() if k != "id"}) for row in rows}
    return [replace(unplaced, place=places.get(unplaced.id)) for unplaced in candidates]


def build_condition(before: str, after: str, require: str, exclude: str) -> str:
    """Return the condition on a document, with the filters at these parameters."""
    return load_statements("search")["passes"].format(
        before=before, after=after, require=require, exclude=exclude
    )


def passing_flags(filters: Filters) -> list[int] | None:
    """Return every combination of flags that passes, because the planner knows nothing of bits."""
    if not filters.require and not filters.exclude:
        return None
    return [
        flags
        for flags in range(2 * max(Flag))
        if flags & filters.require == filters.require and not flags & filters.exclude
    ]


class Readings:
    """Reads words and phrases into lexemes, with the corpus' statistics for them."""

    def __init__(self, database: Database, bm25: Bm25 | None = None) -> None:
        self._database = database
        self._bm25 = bm25 or Bm25()

    async def read(self, corpus: Corpus, texts: Sequence[str]) -> list[Reading]:
        """Return the lexemes of normalised texts in the corpus' languages."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                load_statements("search")["read"], corpus.id, texts, corpus.read_in
            )
        return [Reading(**row) for row in rows]

    async def read_headline(self, corpus: Corpus, words: Sequence[str]) -> list[Reading]:
        """Return the lexemes of the words of a headline, also with and without hyphens.

        It is read in English and Spanish too, for only its own language tells its stop words.
        """
        languages = corpus.read_in
        if "simple" not in languages:
            languages = tuple(dict.fromkeys((*languages, "english", "spanish")))
        sql = load_statements("search")
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                sql["read_headline"].format(read=sql["read"]), corpus.id, words, languages
            )
        return [Reading(**row) for row in rows]


def read_candidate(
    row: asyncpg.Record, *, bm25: float = 0.0, matched: Mapping[int, int] | None = None
) -> Candidate:
    """Return a row as a candidate.

    Sets the fields itself: the __init__ of a frozen dataclass takes four times as long, which for
    150 candidates would be a tenth of a search.
    """
    built = object.__new__(Candidate)
    coded = (_flags(row["flags"]), _date_kinds[row["dated_by"]])
    stored = _stored(row)
    if Flag.JOINED in coded[0]:  # what goes on from it is the rest of its text
        identity, external_id, text, rest, *others = stored
        stored = (identity, external_id, f"{text}\n{rest}", None, *others)
    beside = read_text_list(row.get("beside"))
    values = (*stored, *coded, bm25, matched or {}, None, {}, {}, None, None, None, beside)
    for set_value, value in zip(_SETTERS, values, strict=True):
        set_value(built, value)
    return built


def read_text_list(written: str | None) -> tuple[str, ...]:
    """Return the texts in a list of `meta`, which holds whatever the source had."""
    texts = orjson.loads(written) if written and written.startswith("[") else ()
    return tuple(entry for entry in texts if isinstance(entry, str))


def ranked_candidate(row: asyncpg.Record, where: Sequence[tuple[int, int]]) -> Candidate:
    """Return a row with `bm25` and `frequencies` as a candidate; `where` comes from `places`."""
    matched: dict[int, int] = {}
    frequencies = row["frequencies"]
    for term, place in where:
        if tf := frequencies[place]:
            matched[term] = matched.get(term, 0) + tf
    return read_candidate(row, bm25=row["bm25"], matched=matched)
