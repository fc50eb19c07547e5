"""The best documents are exactly those of BM25, whatever the threshold does on the way."""

import itertools
import math
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Self
from unittest.mock import patch

import bm25s
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from db.connection import Connection
from db.corpus.corpora import Corpora
from db.corpus.documents import Documents
from db.pool import Database
from db.search import lexical as search_module
from db.search.lexical import LexicalIndex
from db.search.statements import (
    MAX_LEXEMES,
    build_class_statement,
    build_posting_statement,
    quote_lexeme,
    weigh_lexemes,
)
from engine.corpora import Document
from engine.ranking import Bm25, expected_threshold
from engine.search import Candidate, Filters, Term
from engine.values import Corpus, Flag
from tests.database import Clones, execute, pool_on, wait_for
from tests.db.loading import START, Stored, document, load, load_texts, read_back
from tests.db.reference import CLOSE, Counted, assert_same, ranked, scores

pytestmark = pytest.mark.usefixtures("strategy")

ANY = Filters()
FLAGS = (Flag.NONE, Flag.NONE, Flag.NONE, Flag.REPOST, Flag.QUOTE, Flag.REPOST | Flag.MEDIA)
_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
VOCABULARY = ["".join(pair) for pair in itertools.product(_SYLLABLES, repeat=2)]


def synthetic(count: int, seed: int) -> list[Document]:
    """Documents with Zipf's word frequencies, some that repeat a word, some without a word."""
    draw = random.Random(seed)
    words = draw.sample(VOCABULARY, len(VOCABULARY))
    cumulative = list(itertools.accumulate(1 / rank for rank in range(1, len(words) + 1)))
    made = []
    for number in range(count):
        text = draw.choices(words, cum_weights=cumulative, k=draw.randint(1, 60))
        if number % 9 == 0:
            text = text[: draw.randint(1, 5)]
        if number % 11 == 0:
            text += [draw.choice(words[:200])] * draw.randint(2, 30)
        if number % 50 == 0:
            text = []
        # Several documents a day, so that dates tie too.
        day = draw.randint(0, count // 3)
        flags = draw.choice(FLAGS)
        whole = document(str(number), " ".join(text), day=day, flags=flags)
        made.append(replace(whole, created_at=None) if number % 13 == 0 else whole)
    return made


@pytest.fixture
def _by_classes(strategy: str) -> None:
    if strategy != "classes":
        pytest.skip("postings need no threshold")


@pytest.fixture(scope="module")
def large_url(_clones: Clones, strategy: str) -> Iterator[str]:
    """A database with 2,000 synthetic documents in the corpus "large"."""

    async def fill(url: str) -> None:
        async with pool_on(url) as database:
            corpus = await load(database, "large", synthetic(2000, seed=1))
            assert corpus.postings == (strategy == "postings")
        await execute(url, "ANALYZE")

    with _clones.clone() as url:
        wait_for(fill(url))
        yield url


@pytest.fixture
async def large(large_url: str) -> AsyncIterator[Database]:
    async with pool_on(large_url) as database:
        yield database


# What "large" holds with either strategy, read once: no test changes it.
_LARGE: dict[Corpus, Counted] = {}


@dataclass
class Checked:
    """Checks the answers of the index by those of the reference."""

    search: LexicalIndex
    bm25: Bm25
    corpus: Corpus
    counted: Counted

    @classmethod
    async def of(cls, database: Database, name: str, bm25: Bm25 | None = None) -> Self:
        bm25 = bm25 or Bm25()
        corpus = await Corpora(database).get(name)
        counted = _LARGE.get(corpus) or Counted.of(await read_back(database, corpus))
        if name == "large":
            _LARGE[corpus] = counted
        return cls(LexicalIndex(database, bm25), bm25, corpus, counted)

    @property
    def stored(self) -> Sequence[Stored]:
        """The documents of the corpus."""
        return self.counted.documents

    async def assert_exact(
        self, text: str, filters: Filters = ANY, limit: int = 150
    ) -> list[Candidate]:
        return await self.assert_terms_exact(
            await self.search.terms(self.corpus, text), filters, limit
        )

    async def assert_terms_exact(
        self, terms: Sequence[Term], filters: Filters = ANY, limit: int = 150
    ) -> list[Candidate]:
        found = await self.search.top(self.corpus, terms, filters, limit)
        assert_same(found, ranked(scores(self.counted, terms, self.bm25), filters, limit))
        return found

    def headlines(self, count: int, seed: int) -> list[str]:
        """Words of a document, frequent ones among them, with words of others."""
        draw = random.Random(seed)
        with_words = [s for s in self.stored if s.frequencies]
        made = []
        for _ in range(count):
            words = draw.sample(sorted(draw.choice(with_words).frequencies), 1)
            words += [
                draw.choice(sorted(draw.choice(with_words).frequencies))
                for _ in range(draw.randint(0, 12))
            ]
            made.append(" ".join(words))
        return made


@pytest.mark.parametrize(
    "bm25",
    [Bm25(), Bm25(k1=0.9, b=0.4), Bm25(k1=2.0, b=1.0), Bm25(k1=1.2, b=0.0), Bm25(k1=0.0)],
    ids=str,
)
async def test_the_top_150_match_a_reference_implementation(large: Database, bm25: Bm25) -> None:
    checked = await Checked.of(large, "large", bm25)
    for headline in checked.headlines(12, seed=2):
        await checked.assert_exact(headline)


async def test_only_texts_with_words_count(database: Database) -> None:
    """Written down by hand: three texts of 4, 1 and 1 words, 6 in all, and two without any."""
    thread = [
        document("1", "storm over the", author="ana", shown="Storm over the..."),
        document("2", "harbour", author="ana", day=0.001, shown="...harbour"),
    ]
    alone = [document("3", "calm", day=1), document("4", "storm", day=2), document("5", "", day=3)]
    corpus = await load(database, "c", [*thread, *alone])
    await Documents(database).stitch_threads(corpus)
    checked = await Checked.of(database, "c")
    assert (checked.corpus.documents, checked.corpus.searchable_documents) == (5, 3)
    assert checked.corpus.average_length == 2.0
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    short, long = (idf * 2.2 / (1 + 1.2 * (0.25 + 0.75 * length / 2)) for length in (1, 4))
    found = await checked.assert_exact("storm")
    assert [c.external_id for c in found] == ["4", "1"]
    assert [c.bm25 for c in found] == pytest.approx([short, long])


async def test_the_order_matches_the_bm25s_library(large: Database) -> None:
    checked = await Checked.of(large, "large")
    tokens = [
        [name for name, tf in s.frequencies.items() for _ in range(tf)] for s in checked.stored
    ]
    # Lucene's idf with the classic numerator is the formula of engine.ranking.
    peer = bm25s.BM25(k1=1.2, b=0.75, method="atire", idf_method="lucene", dtype="float64")
    peer.index(tokens, show_progress=False)
    for headline in checked.headlines(20, seed=3):
        given_by_peer = peer.get_scores(list(dict.fromkeys(headline.split())))
        expected = np.sort(given_by_peer[given_by_peer > 0])[::-1][:150]
        found = await checked.assert_exact(headline)
        assert [c.bm25 for c in found] == pytest.approx(expected.tolist(), abs=CLOSE)
        by_id = dict(zip((s.external_id for s in checked.stored), given_by_peer, strict=True))
        own = [by_id[c.external_id] for c in found]
        assert [c.bm25 for c in found] == pytest.approx(own, abs=CLOSE)


@pytest.mark.parametrize("limit", [0, 1, 2, 7, 50, 499, 500])
async def test_results_are_exact_for_any_limit(large: Database, limit: int) -> None:
    checked = await Checked.of(large, "large")
    for headline in checked.headlines(6, seed=limit):
        await checked.assert_exact(headline, limit=limit)


@pytest.mark.parametrize(
    "filters",
    [
        Filters(before=START + timedelta(days=3)),
        Filters(after=START + timedelta(days=100), before=START + timedelta(days=130)),
        Filters(before=START),
        Filters(require=Flag.REPOST),
        Filters(require=Flag.REPOST | Flag.MEDIA, before=START + timedelta(days=50)),
        Filters(exclude=Flag.REPOST | Flag.QUOTE),
        Filters(require=Flag.REPOST, exclude=Flag.MEDIA, after=START + timedelta(days=400)),
        Filters(require=Flag.DELETED),
    ],
    ids=str,
)
async def test_filters_hold_strictly_and_the_rest_is_exact(
    large: Database, filters: Filters
) -> None:
    checked = await Checked.of(large, "large")
    for headline in checked.headlines(5, seed=5):
        await checked.assert_exact(headline, filters)


async def test_before_is_exclusive_and_after_inclusive(database: Database) -> None:
    await load_texts(database, "c", ["storm"] * 5)
    checked = await Checked.of(database, "c")
    filters = Filters(after=START + timedelta(days=1), before=START + timedelta(days=3))
    assert [c.external_id for c in await checked.assert_exact("storm", filters)] == ["1", "2"]


async def test_undated_documents_fail_date_filters_and_come_last(database: Database) -> None:
    documents = [document(str(day), "storm", day=day) for day in (2, 1, 3)]
    documents += [
        replace(one, external_id=f"u{n}", created_at=None) for n, one in enumerate(documents)
    ]
    await load(database, "c", documents)
    checked = await Checked.of(database, "c")
    until, since = START + timedelta(days=2.5), START + timedelta(days=1.5)
    for filters, expected in (
        (ANY, ["1", "2", "3", "u0", "u1", "u2"]),
        (Filters(before=until), ["1", "2"]),
        (Filters(after=since), ["2", "3"]),
        (Filters(before=until, undated=True), ["1", "2", "u0", "u1", "u2"]),
        (Filters(before=until, after=since, undated=True), ["2"]),
        (Filters(exclude=Flag.REPOST), ["1", "2", "3", "u0", "u1", "u2"]),
    ):
        assert [c.external_id for c in await checked.assert_exact("storm", filters)] == expected


class Needs:
    """Notes the thresholds that a search asks for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[float] = []
        above = LexicalIndex._find_documents_above

        async def noting(*arguments: Any) -> Any:
            self.asked.append(arguments[-1])
            return await above(*arguments)

        monkeypatch.setattr(LexicalIndex, "_find_documents_above", noting)


@pytest.mark.parametrize("factor", [0.0, 0.02, 0.3, 1.0, 1.7, 5.0, 1e6])
async def test_a_wrong_guess_of_the_threshold_costs_rounds_and_never_exactness(
    large: Database, monkeypatch: pytest.MonkeyPatch, factor: float
) -> None:
    checked = await Checked.of(large, "large")
    monkeypatch.setattr(
        search_module, "expected_threshold", lambda *a: factor * expected_threshold(*a)
    )
    needs = Needs(monkeypatch)
    for headline in checked.headlines(8, seed=7):
        needs.asked.clear()
        await checked.assert_exact(headline)
        assert len(needs.asked) < 100


async def test_thresholds_are_really_used(large: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    checked = await Checked.of(large, "large")
    needs = Needs(monkeypatch)
    for headline in checked.headlines(30, seed=2):
        await checked.assert_exact(headline)
    assert sum(need > 1 for need in needs.asked) >= 10


@pytest.mark.usefixtures("_by_classes")
async def test_a_narrow_date_filter_is_applied_before_the_words(
    large: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = await Checked.of(large, "large")
    monkeypatch.setattr(search_module, "_FEW_POSTINGS", 0)
    used: set[bool] = set()

    def noting(*arguments: Any, dates_first: bool, ids_alone: bool) -> str:
        used.add(dates_first)
        return build_class_statement(*arguments, dates_first=dates_first, ids_alone=ids_alone)

    monkeypatch.setattr(search_module, "build_class_statement", noting)
    week = Filters(after=START + timedelta(days=100), before=START + timedelta(days=107))
    for headline in checked.headlines(10, seed=13):
        used.clear()
        await checked.assert_exact(headline, week)
        await checked.assert_exact(headline, replace(week, exclude=Flag.QUOTE))
        assert True in used
        used.clear()
        await checked.assert_exact(headline)
        assert used == {False}


async def test_a_narrow_date_filter_is_applied_before_postings(
    large: Database, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if strategy != "postings":
        pytest.skip("postings are read")
    monkeypatch.setattr(search_module, "_FEW_POSTINGS", 0)
    checked = await Checked.of(large, "large")
    week = Filters(after=START + timedelta(days=100), before=START + timedelta(days=107))
    with patch.object(
        search_module, "build_posting_statement", wraps=build_posting_statement
    ) as chosen:
        for filters in (week, replace(week, exclude=Flag.QUOTE)):
            for headline in checked.headlines(6, seed=13):
                await checked.assert_exact(headline, filters, limit=3)
            assert any(call.kwargs["dates_first"] for call in chosen.mock_calls)
            chosen.reset_mock()
            await checked.assert_exact(headline)
            assert not chosen.mock_calls[-1].kwargs["dates_first"]


@pytest.mark.parametrize("postings_at_once", [1, 40, 500])
async def test_many_postings_are_summed_range_by_range(
    large: Database, strategy: str, postings_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if strategy != "postings":
        pytest.skip("postings are read")
    monkeypatch.setattr(search_module, "_FEW_POSTINGS", 0)
    monkeypatch.setattr(search_module, "_POSTINGS_PER_RANGE", postings_at_once)
    checked = await Checked.of(large, "large")
    for headline in checked.headlines(5, seed=17):
        for limit in (1, 30):
            await checked.assert_exact(headline, limit=limit)
            await checked.assert_exact(headline, Filters(exclude=Flag.QUOTE), limit=limit)


async def test_ranges_hold_ids_with_gaps(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "_FEW_POSTINGS", 0)
    monkeypatch.setattr(search_module, "_POSTINGS_PER_RANGE", 7)
    await load(database, "first", synthetic(20, seed=2))
    await load(database, "gaps", synthetic(60, seed=3)[:30])
    await load(database, "between", synthetic(200, seed=4))
    await load(database, "gaps", synthetic(60, seed=3))
    checked = await Checked.of(database, "gaps")
    for headline in checked.headlines(8, seed=19):
        await checked.assert_exact(headline, limit=5)


_WORDS = st.sampled_from(["ba", "be", "bi", "bo", "bu", "da", "de"])
_TEXTS = st.lists(st.lists(_WORDS, max_size=9).map(" ".join), min_size=1, max_size=14)
_numbers = itertools.count()


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    texts=_TEXTS,
    query=st.lists(_WORDS, min_size=1, max_size=9).map(" ".join),
    limit=st.integers(1, 16),
    k1=st.just(0.0) | st.floats(0.01, 3),
    b=st.just(0.0) | st.floats(0.01, 1),
    factor=st.sampled_from([0.5, 1.0, 1.5]),
)
async def test_search_is_exact_on_small_corpora(
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    texts: list[str],
    query: str,
    limit: int,
    k1: float,
    b: float,
    factor: float,
) -> None:
    monkeypatch.setattr(search_module, "_FEW_POSTINGS", 0)
    monkeypatch.setattr(
        search_module, "expected_threshold", lambda *a: factor * expected_threshold(*a)
    )
    name = f"c{next(_numbers)}"
    await load_texts(database, name, texts)
    checked = await Checked.of(database, name, Bm25(k1=k1, b=b))
    await checked.assert_exact(query, limit=limit)


async def test_equal_scores_go_by_date_then_id(database: Database) -> None:
    # The same score is reached in every class of documents: with other words once or repeated.
    documents: list[Document] = []
    for length, day in itertools.product(range(1, 40), (3, 1, 2)):
        others = [f"w{i}" for i in range(length)]
        repeated = ["again"] * length
        for text in (others, repeated, others):
            documents.append(
                document(f"{len(documents):04}", " ".join(["storm", "rain", *text]), day=day)
            )
    await load(database, "c", documents)
    for k1, b in ((1.2, 0.75), (0.7, 0.3), (1.7, 0.9)):
        checked = await Checked.of(database, "c", Bm25(k1=k1, b=b))
        await checked.assert_exact("storm", limit=500)
        await checked.assert_exact("storm rain", limit=500)


async def test_neighbours_of_unknown_words_count_less(large: Database) -> None:
    checked = await Checked.of(large, "large")
    draw = random.Random(9)
    for headline in checked.headlines(10, seed=9):
        terms = await checked.search.terms(checked.corpus, headline)
        weakened = [replace(t, weight=draw.choice([1.0, 0.5, 0.3, 0.28])) for t in terms]
        await checked.assert_terms_exact(weakened)


async def test_a_misspelt_word_finds_its_neighbour(database: Database) -> None:
    await load_texts(database, "c", ["the earthquake", "a quake", "nothing else", "earth"])
    checked = await Checked.of(database, "c")
    terms = await checked.search.terms(checked.corpus, "eartquake")
    assert [(t.word, t.document_frequency, t.neighbour_of) for t in terms] == [
        ("eartquake", 0, None),
        ("earthquake", 1, "eartquake"),
    ]
    assert 0 < terms[1].weight <= 0.5
    assert [c.text for c in await checked.assert_terms_exact(terms)] == ["the earthquake"]


@pytest.mark.parametrize("asked", ["Wi-Fi", "WiFi", "wifi"])
async def test_a_word_is_found_with_its_hyphen_and_without(database: Database, asked: str) -> None:
    texts = ["Free Wi-Fi for all", "The WiFi is slow", "WI is Wisconsin", "fi fi fo"]
    await load_texts(database, "c", texts)
    checked = await Checked.of(database, "c")
    terms = await checked.search.terms(checked.corpus, asked)
    assert [(t.word, set(t.lexemes), t.document_frequency) for t in terms] == [
        (asked, {"wi-fi", "wifi"}, 2)
    ]
    assert {c.text for c in await checked.assert_terms_exact(terms)} == set(texts[:2])


async def test_a_foreign_headline_loses_its_stop_words_and_gets_no_neighbours(
    database: Database,
) -> None:
    texts = ["@YMcTier: y que", "China is passing us", "the president", "with the con man"]
    corpus = await load_texts(database, "c", texts, "english")
    terms = await LexicalIndex(database).terms(corpus, "Y qué pasa con China y el presidente")
    assert [(t.word, t.neighbour_of) for t in terms] == [
        ("pasa", None),
        ("China", None),
        ("presidente", None),
    ]


async def test_neighbours_are_looked_up_for_the_first_few_unknown_words_only(
    database: Database,
) -> None:
    words = [f"earthquake{letter}" for letter in "abcdefghijklmnop"]
    corpus = await load_texts(database, "c", words)
    misspelt = [word.replace("quake", "quacke") for word in words]
    terms = await LexicalIndex(database).terms(corpus, " ".join(misspelt))
    assert [t.word for t in terms if t.neighbour_of is None] == misspelt
    assert {t.neighbour_of for t in terms} - {None} <= set(misspelt[:8])
    assert any(t.neighbour_of == misspelt[0] for t in terms)


@pytest.mark.parametrize("word", ["erth", "x-ray9", "eartquake9"])
async def test_a_short_word_or_one_with_digits_has_no_neighbours(
    database: Database, word: str
) -> None:
    corpus = await load_texts(database, "c", ["earth", "earthquake", "x-ray8", "eartquake8"])
    terms = await LexicalIndex(database).terms(corpus, word)
    assert terms
    assert not any(t.neighbour_of for t in terms)


async def test_a_document_that_says_two_lexemes_of_a_term_gets_both(database: Database) -> None:
    await load_texts(database, "c", ["ran far", "run far", "run ran", "far", "else"])
    checked = await Checked.of(database, "c")
    run = Term(word="run", lexemes=("run", "ran"), document_frequency=4, max_tf=1)
    found = await checked.assert_terms_exact([run])
    assert [c.text for c in found] == ["run ran", "ran far", "run far"]
    assert [c.matched for c in found] == [{0: 2}, {0: 1}, {0: 1}]


@pytest.mark.parametrize("repeats", [1, 4])
async def test_a_lexeme_that_two_terms_name_counts_twice(database: Database, repeats: int) -> None:
    await load_texts(database, "c", ["storm " * n + "x" * (n % 3) for n in range(1, 9)])
    checked = await Checked.of(database, "c")
    [storm] = await checked.search.terms(checked.corpus, "storm")
    await checked.assert_terms_exact([storm] * repeats)


async def test_a_repeated_word_of_a_headline_is_one_term(database: Database) -> None:
    await load_texts(database, "c", ["a storm", "calm"], "english")
    checked = await Checked.of(database, "c")
    terms = await checked.search.terms(checked.corpus, "Storm: storms, STORM!")
    assert [t.lexemes for t in terms] == [("storm",)]


async def test_term_frequency_is_read_back_exactly(database: Database) -> None:
    async with database.connection() as connection:
        rows = await connection.fetch(
            "SELECT tf, bm25_part(to_tsvector('simple', repeat('storm ', tf) || ' and rain'),"
            " 'storm', $1, $2) AS part FROM generate_series(1, 255) tf",
            1.2,
            0.7,
        )
    assert [row["part"] for row in rows] == pytest.approx(
        [tf * 2.2 / (tf + 0.7) for tf in range(1, 256)], rel=1e-12
    )


LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
ODD_LEXEMES = [
    "'",
    "\\",
    "AND",
    "!",
    "a:*",
    "a & b",
    "(",
    "<->",
    "a b",
    "😀",
    "\u200b",
]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(lexemes=st.lists(st.text(LETTERS, min_size=1, max_size=8), min_size=1, max_size=4))
async def test_any_lexeme_is_taken_literally(large: Database, lexemes: list[str]) -> None:
    async with large.connection() as connection:
        await assert_literal(connection, lexemes)


async def assert_literal(connection: Connection, lexemes: list[str]) -> None:
    """The OR of the quoted lexemes matches each of them alone, and nothing else."""
    query = "|".join(map(quote_lexeme, lexemes))
    rows = await connection.fetch(
        "SELECT l, array_to_tsvector(ARRAY[l]) @@ $2 AS same,"
        " array_to_tsvector(ARRAY[l || 'x', 'x' || l]) @@ $2 AS other, numnode($2) AS nodes"
        " FROM unnest($1::text[]) l",
        lexemes,
        query,
    )
    for row in rows:
        assert row["same"]
        assert not row["other"] or {row["l"] + "x", "x" + row["l"]} & set(lexemes)
        assert row["nodes"] == 2 * len(lexemes) - 1


async def test_odd_lexemes_are_found_and_ranked(database: Database) -> None:
    await load_texts(database, "c", ["storm"] * len(ODD_LEXEMES))
    async with database.connection() as connection:
        for number, lexeme in enumerate(ODD_LEXEMES):
            escaped = "".join("\\" + letter for letter in lexeme)
            await connection.execute(
                "UPDATE document SET tsv = tsv || $2::text::tsvector, length = 3, max_tf = 2"
                " WHERE external_id = $1",
                str(number),
                f"{escaped}:5,9",
            )
    checked = await Checked.of(database, "c")
    for number, lexeme in enumerate(ODD_LEXEMES):
        odd = Term(word=lexeme, lexemes=(lexeme,), document_frequency=1, max_tf=2)
        [found] = await checked.assert_terms_exact([odd])
        assert (found.external_id, found.matched) == (str(number), {0: 2})


@pytest.mark.parametrize(
    "text",
    ["", "   ", "!!! ... --- '", "😀 🔥", "& | ! <-> :*", "\\ ' \" '' $1 %s ;--", "the of and"],
)
async def test_text_without_significant_words_finds_nothing(database: Database, text: str) -> None:
    await load_texts(database, "c", ["storm", "rain & snow"], "english")
    search, corpus = LexicalIndex(database), await Corpora(database).get("c")
    terms = await search.terms(corpus, text)
    assert not any(term.document_frequency for term in terms)
    assert await search.top(corpus, terms, ANY, 10) == []


async def test_a_long_headline_is_searched_by_its_rarest_words(large: Database) -> None:
    checked = await Checked.of(large, "large")
    draw = random.Random(11)
    words = draw.sample(VOCABULARY, 800)
    terms = await checked.search.terms(checked.corpus, " ".join(words))
    asked = weigh_lexemes(terms, checked.corpus.documents)
    assert len(asked) == MAX_LEXEMES
    names = {lexeme.lexeme for lexeme in asked}
    left_out = [t for t in terms if t.document_frequency and not names & set(t.lexemes)]
    assert left_out
    rarest_left_out = min(t.document_frequency for t in left_out)
    assert all(x.probability * checked.corpus.documents <= rarest_left_out + 0.5 for x in asked)
    found = await checked.search.top(checked.corpus, terms, ANY, 150)
    kept = [t for t in terms if names & set(t.lexemes)]
    assert_same(found, ranked(scores(checked.counted, kept, checked.bm25), ANY, 150))
    # What was found through one term may say another that was not asked for.
    for candidate in found:
        assert all(set(terms[i].lexemes) & names for i in candidate.matched)


async def test_search_is_exact_for_sixty_four_frequent_words(large: Database) -> None:
    """Bounds that hardly differ are the worst case for the threshold's query."""
    checked = await Checked.of(large, "large")
    frequent: Counter[str] = Counter(name for s in checked.stored for name in s.frequencies)
    words = [word for word, _ in frequent.most_common(MAX_LEXEMES)]
    await checked.assert_exact(" ".join(words))
    await checked.assert_exact(" ".join(words), limit=3)


async def test_search_is_confined_to_one_corpus(database: Database) -> None:
    await load_texts(database, "one", ["storm here", "calm", "calm"])
    before = await Checked.of(database, "one")
    found_before = await before.assert_exact("storm calm")
    await load_texts(database, "two", ["storm there", "storm storm storm", "rare"] * 5)
    checked = await Checked.of(database, "one")
    assert await checked.assert_exact("storm calm") == found_before
    terms = await checked.search.terms(checked.corpus, "storm rare")
    assert [(t.word, t.document_frequency, t.max_tf) for t in terms] == [
        ("storm", 1, 1),
        ("rare", 0, 1),
    ]


async def test_stale_corpus_statistics_do_not_break_a_search(database: Database) -> None:
    empty = await load_texts(database, "c", [])
    search = LexicalIndex(database)
    assert await search.top(empty, await search.terms(empty, "storm"), ANY, 10) == []
    small = await load_texts(database, "c", ["storm earthquake"])
    await load_texts(database, "c", ["storm earthquake"] * 9 + ["stormy"])
    for headline in ("storm", "eartquake stormy"):
        terms = await search.terms(small, headline)
        assert all(t.document_frequency <= small.documents for t in terms)
        found = await search.top(small, terms, ANY, 20)
        assert all(c.bm25 > 0 for c in found)
    assert len(await search.top(small, await search.terms(small, "storm"), ANY, 20)) == 9


async def test_a_candidate_carries_the_details_of_its_document(database: Database) -> None:
    given = document("9007199254740993", "storm storm rain", day=2, lang="en", flags=Flag.QUOTE)
    corpus = await load(database, "c", [replace(given, url="https://x.example/1", author="ana")])
    search = LexicalIndex(database)
    terms = await search.terms(corpus, "snow rain storm")
    [found] = await search.top(corpus, terms, ANY, 10)
    assert found.external_id == "9007199254740993"
    assert (found.text, found.context) == ("storm storm rain", None)
    assert found.created_at == START + timedelta(days=2)
    assert (found.author, found.url, found.lang) == ("ana", "https://x.example/1", "en")
    assert (found.flags, found.length) == (Flag.QUOTE, 3)
    assert {terms[i].word: n for i, n in found.matched.items()} == {"rain": 1, "storm": 2}


async def test_phrases_find_what_each_would_find_alone(large: Database) -> None:
    checked = await Checked.of(large, "large")
    phrases = [*checked.headlines(7, seed=29), "", "..."]
    for filters in (ANY, Filters(before=START + timedelta(days=300), exclude=Flag.REPOST)):
        found = await checked.search.rank_phrases(checked.corpus, phrases, filters, 40)
        alone = [await checked.assert_exact(phrase, filters, 40) for phrase in phrases]
        assert found == [[one.id for one in each] for each in alone]
        assert any(found)
    assert await checked.search.rank_phrases(checked.corpus, [], ANY, 40) == []
    [phrase] = checked.headlines(1, seed=3)
    assert await checked.search.rank_phrases(checked.corpus, [phrase], ANY, 0) == [[]]
