"""The SQL of searches by words, by thresholds and by postings, and the rows that it returns.

Texts are composed only of the file, constants and numbered placeholders; every value is bound.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from operator import itemgetter, neg

import asyncpg
import orjson

from db.connection import (
    Connection,
    about_corpus,
    load_statements,
    name_partition,
    postings_table,
    read_row,
)
from db.pool import Database
from engine.ranking import Bm25, idf
from engine.search import Candidate, Filters, ItemPlace, Term
from engine.text.terms import Reading
from engine.values import Corpus, DateKind, Flag

# A headline has some ten words that count; of a pasted article the rarest are used.
MAX_LEXEMES = 64
# The parameter numbers of a lexeme's tsquery and of its weight.
Operand = tuple[int, int]
_NORM = "($2::float8 + $3::float8 * length)"
# GIN weighs every operand for every posting it reads: with more, the plain OR is faster.
_MAX_OPERANDS = 400
# Rounding here and on the server differs by far less than this share of a score.
SLACK = 1e-9
# Numbers of parameters: of the first class in a ranking, and of the first lexeme in a description.
_FIRST_CLASS, _FIRST_DESCRIBED_LEXEME = 9, 5
# The columns of a candidate.
COLUMNS = (
    "id, external_id, text, context, created_at, author, url, lang, flags, length, platform,"
    " dated_by"
)
_BESIDE = "meta ->> 'beside' AS beside"  # read only of documents that are returned
_FILTER_PLACEHOLDERS = ("$5", "$6", "$7", "$8")
# No index serves the date conditions of `passes`. The planner, which sees no values, expects few
# rows from these.
FEW_DATES = (
    "created_at < coalesce($5::timestamptz, 'infinity')"
    " AND created_at >= coalesce($6::timestamptz, '-infinity')"
    " AND flags & $7::integer = $7 AND flags & $8::integer = 0"
)
# The score of the same words may be added up in different ways: differences by rounding are ties.
_TIES = "1e9::float8"
# The parameters of the statements that read postings, in order.
_RANKING_PARAMETERS = (
    "k1", "norm", "norm_per_token", "limit", "before", "after", "require", "exclude",
    "lexemes", "weights", "essential", "least", "ranges",
)  # fmt: skip
_ARRAYS = (("lexemes", "text[]"), ("weights", "float8[]"))
_DESCRIPTION_PARAMETERS = ("k1", "norm", "norm_per_token", "ids", "lexemes", "weights")
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


def weigh_lexemes(terms: Sequence[Term], documents: int) -> list[WeightedLexeme]:
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


def list_operand_values(lexemes: Sequence[WeightedLexeme]) -> list[str | float]:
    """Return the values for the parameters that `build_operands` numbers."""
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
        about_corpus("search", "places", corpus.id), [unplaced.id for unplaced in candidates]
    )
    places = {row["id"]: read_row(ItemPlace, row) for row in rows}
    return [replace(unplaced, place=places.get(unplaced.id)) for unplaced in candidates]


def build_condition(before: str, after: str, require: str, exclude: str) -> str:
    """Return the condition on a document, with the filters at these parameters."""
    return load_statements("search")["passes"].format(
        before=before, after=after, require=require, exclude=exclude
    )


def list_passing_flags(filters: Filters) -> list[int] | None:
    """Return every combination of flags that passes, because the planner knows nothing of bits."""
    if not filters.require and not filters.exclude:
        return None
    return [
        flags
        for flags in range(2 * max(Flag))
        if flags & filters.require == filters.require and not flags & filters.exclude
    ]


class LexemeReader:
    """Reads words and phrases into lexemes, with the corpus' statistics for them.

    The indexes derive from it, and score by `bm25`.
    """

    def __init__(self, database: Database, bm25: Bm25 | None = None) -> None:
        self._database = database
        self._bm25 = bm25 or Bm25()

    async def read(self, corpus: Corpus, texts: Sequence[str]) -> list[Reading]:
        """Return the lexemes of normalised texts in the corpus' languages."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                load_statements("search")["read"], corpus.id, texts, corpus.query_languages
            )
        return [Reading(**row) for row in rows]

    async def read_headline(self, corpus: Corpus, words: Sequence[str]) -> list[Reading]:
        """Return the lexemes of the words of a headline, also with and without hyphens.

        It is read in English and Spanish too, for only its own language tells its stop words.
        """
        languages = corpus.query_languages
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


def read_ranked_candidate(row: asyncpg.Record, where: Sequence[tuple[int, int]]) -> Candidate:
    """Return a row with `bm25` and `frequencies` as a candidate; `where` is from `list_places`."""
    matched: dict[int, int] = {}
    frequencies = row["frequencies"]
    for term, place in where:
        if tf := frequencies[place]:
            matched[term] = matched.get(term, 0) + tf
    return read_candidate(row, bm25=row["bm25"], matched=matched)


@dataclass(frozen=True, slots=True)
class DocumentClass:
    """Documents that share an index: a range of lengths, and a limit on repeats of a lexeme."""

    condition: str
    shortest: int
    max_tf: int | None = None  # None: no limit

    def bound(self, lexeme: WeightedLexeme, bm25: Bm25, average: float) -> float:
        """Return the most that `lexeme` can add to the score of a document of this class."""
        tf = min(lexeme.max_tf, self.max_tf or lexeme.max_tf)
        return lexeme.weight * bm25.part(tf, max(tf, self.shortest), average)


# The conditions must match those of the indexes to the letter. These boundaries let the fewest
# documents of real tweets pass the threshold of real headlines.
CLASSES = (
    DocumentClass("max_tf = 1 AND length < 7", 1, 1),
    DocumentClass("max_tf = 1 AND length >= 7 AND length < 12", 7, 1),
    DocumentClass("max_tf = 1 AND length >= 12", 12, 1),
    DocumentClass("max_tf = 2 AND length < 13", 2, 2),
    DocumentClass("max_tf = 2 AND length >= 13 AND length < 21", 13, 2),
    DocumentClass("max_tf = 2 AND length >= 21", 21, 2),
    DocumentClass("max_tf > 2 AND length < 19", 3),
    DocumentClass("max_tf > 2 AND length >= 19", 19),
)


def build_threshold_query(bounds: Sequence[tuple[str, float]], need: float) -> str:
    """Return the tsquery of documents whose bounds can add up to `need`; "" if none can.

    `bounds` holds (lexeme, bound). A lexeme stands alone if its bound is enough; otherwise it is
    combined with each weaker one that, with everything weaker still, could add what is missing.
    Requiring three at once would let fewer documents through and cost GIN more than it saves. With
    need <= 0 the query is the plain OR of all lexemes.
    """
    ordered = sorted(bounds, key=lambda pair: -pair[1])
    names = [quote_lexeme(lexeme) for lexeme, _ in ordered]
    remaining = list(accumulate((bound for _, bound in reversed(ordered)), initial=0.0))[::-1]
    wanted = need * (1 - SLACK)
    parts: list[str] = []
    operands = 0
    for index in range(_count_reaching(remaining, wanted, 0)):
        missing = wanted - ordered[index][1]
        others = names[index + 1 :][: _count_reaching(remaining, missing, index + 1)]
        if missing <= 0:
            parts.append(names[index])
        elif others:
            parts.append(f"{names[index]}&({'|'.join(others)})")
            operands += len(others)
    if operands > _MAX_OPERANDS:
        parts = names[: _count_reaching(remaining, wanted, 0)]
    return "|".join(parts)


def _count_reaching(remaining: Sequence[float], need: float, start: int) -> int:
    """Count the lexemes from `start` on that, with all weaker ones, can add up to `need`."""
    return bisect_right(remaining, -need, start, len(remaining) - 1, key=neg) - start


@lru_cache(maxsize=512)
def build_class_statement(
    table: str, lexemes: int, *, dates_first: bool = False, ids_alone: bool = False
) -> str:
    """Return the SQL for the best documents, ties by date then id.

    Its columns are those of a candidate, `bm25` among them, and `frequencies`: how often the
    document contains each of the lexemes; with `ids_alone` only `id` and `bm25`. With `dates_first`
    it is written for few documents between the dates, else for few that match.
    """
    operands = build_operands(_FIRST_CLASS + len(CLASSES), lexemes)
    classes = " OR ".join(
        f"({document_class.condition} AND tsv @@ ${place})"
        for place, document_class in enumerate(CLASSES, start=_FIRST_CLASS)
    )
    once, repeated = (build_score(operands, repeats=repeats) for repeats in (False, True))
    # All columns go through the sort: cheaper than looking up the best ones again.
    columns = "id, created_at" if ids_alone else f"{COLUMNS}, meta, tsv"
    returned = f"{COLUMNS}, {_BESIDE}, bm25, ARRAY[{build_frequencies(operands)}] AS frequencies"
    # One scan for all classes, which costs less than one for each. OFFSET 0 keeps the score from
    # being computed twice.
    return (
        f"SELECT {'id, bm25' if ids_alone else returned} FROM (SELECT * FROM"
        f" (SELECT {columns}, CASE WHEN max_tf = 1 THEN {once} ELSE {repeated} END AS bm25"
        f" FROM {table} WHERE ({classes})"
        f" AND {FEW_DATES if dates_first else build_condition(*_FILTER_PLACEHOLDERS)}"
        " OFFSET 0) scored"
        f" ORDER BY round(bm25 * {_TIES}) DESC, created_at, id LIMIT $4) best"
    )


@lru_cache(maxsize=512)
def build_class_description(table: str, lexemes: int) -> str:
    """Return the SQL for documents by id, with their BM25 and the frequencies of the lexemes.

    Its parameters are k1, the two parts of the norm, the ids, and the operands of the lexemes.
    """
    operands = build_operands(_FIRST_DESCRIBED_LEXEME, lexemes)
    return load_statements("embeddings")["described"].format(
        document=table,
        # Without a lexeme this names the parameters nevertheless, as the server needs their types.
        bm25=build_score(operands, repeats=True) or "0 * ($1::float8 + $2::float8 + $3::float8)",
        frequencies=build_frequencies(operands),
    )


def count_essential(bounds: Sequence[float], need: float) -> tuple[int, float]:
    """Return how many lexemes are essential for `need`, and what they must add up to.

    `bounds` holds the most that each lexeme can add, heaviest lexeme first. What all others can add
    stays below half of what is needed: few documents then reach the rest.
    """
    others, left = 0.0, len(bounds)
    while left > 1 and others + bounds[left - 1] <= need / 2:
        left -= 1
        others += bounds[left]
    return left, need * (1 - SLACK) - others


def list_posting_values(lexemes: Sequence[WeightedLexeme]) -> list[list[str] | list[float]]:
    """Return the values of the parameters `lexemes` and `weights`."""
    return [[x.lexeme for x in lexemes], [x.weight for x in lexemes]]


@lru_cache(maxsize=512)
def build_posting_statement(
    corpus_id: int, *, dates_first: bool = False, ids_alone: bool = False
) -> str:
    """Return the SQL for the best documents, ties by date then id.

    Columns and arguments are those of build_class_statement. Its parameters are k1, the two parts
    of the norm, the limit, the filters, the arrays of lexemes and of their weights, how many of
    them are essential, the least that a document has to score by these, and the number of ranges
    of documents to search one after another: 1 with `dates_first`, which finds few documents.
    """
    names = _build_replacements(corpus_id, _RANKING_PARAMETERS)
    names["id_ranges"] = _fill_postings("ranges", names)
    condition = _fill_postings("between_dates" if dates_first else "in_range", names)
    essential = {name: f"({names[name]}::{kind})[:{names['essential']}]" for name, kind in _ARRAYS}
    others = {
        f"other_{name}": f"({names[name]}::{kind})[{names['essential']} + 1:]"
        for name, kind in _ARRAYS
    }
    names["scored"] = build_scored_select(corpus_id, names | essential, condition=condition)
    names["scored"] = _fill_postings("reaching", names | others)
    names["passes"] = build_condition(
        *(names[name] for name in ("before", "after", "require", "exclude"))
    )
    names["best"] = _fill_postings("best", names)
    return _fill_postings("best" if ids_alone else "candidates", names)


@lru_cache(maxsize=512)
def build_posting_description(corpus_id: int) -> str:
    """Return the SQL for documents by id, with their BM25 and the frequencies of the lexemes.

    Its parameters are k1, the two parts of the norm, the ids, the lexemes and their weights.
    """
    return _fill_postings("described", _build_replacements(corpus_id, _DESCRIPTION_PARAMETERS))


def build_scored_select(
    corpus_id: int, places: Mapping[str, str], *, condition: str = "true"
) -> str:
    """Return the SQL of every document that contains a lexeme, as `id`, with its `bm25`.

    `places` maps k1, norm, norm_per_token, lexemes and weights to their placeholders.
    """
    tables = {"postings": postings_table(corpus_id), "condition": condition}
    return _fill_postings("scored", {**places, **tables, "part": _fill_postings("part", places)})


def _build_replacements(corpus_id: int, parameters: Sequence[str]) -> dict[str, str]:
    """Return what the braces stand for: placeholders, tables and parts."""
    names = {name: f"${place}" for place, name in enumerate(parameters, start=1)}
    names |= {"document": name_partition(corpus_id), "corpus": str(int(corpus_id))}
    names["postings"] = postings_table(corpus_id)
    names["columns"] = ", ".join(f"d.{column}" for column in (*COLUMNS.split(", "), _BESIDE))
    names["few_dates"] = FEW_DATES
    names["part"] = _fill_postings("part", names)
    names["of_document"] = _fill_postings("of_document", names)
    return names


def _fill_postings(name: str, names: Mapping[str, str]) -> str:
    return load_statements("postings")[name].format(**names)
