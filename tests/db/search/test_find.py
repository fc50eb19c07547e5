"""The dialect finds what a scan finds, ranks by exact BM25, and says why."""

import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings

from bench.brute_force import matching, scan
from db.corpus.corpora import Corpora
from db.corpus.documents import Documents
from db.pool import Database
from db.search.find import DialectIndex, newest_statement, ranked_statement
from engine.corpora import Document
from engine.query.filters import combine_conditions
from engine.query.find import Finder
from engine.query.parser import parse_query
from engine.query.query import Plan, list_units, plan_query
from engine.query.results import QueryAnswer
from engine.search import order_by_date
from engine.text.clean import make_searchable
from engine.values import Flag
from tests.database import Clones, pool_on, wait_for
from tests.db.loading import document, load, load_texts
from tests.query_texts import query_texts

pytestmark = pytest.mark.usefixtures("strategy")

MIXED = [
    document("wall", "They are building the wall", lang="en", day=1),
    document("walls", "Walls work, Wall after wall", lang="en", day=2, author="Ana"),
    document("street", "Wall Street falls", lang="en", day=3, flags=Flag.REPOST),
    document("great", "A great wall of China", lang="en", day=4),
    document("pared", "La pared del vecino", lang="es", day=5, author="ben"),
    document("the", "the wall, como dicen allá", lang="es", day=6),
    document("casa", "Dinner at Casa Bonita", lang="en", day=7),
    document("casas", "Faltan casas", lang="es", day=8),
    document("plain", make_searchable("state-run media on 9/11, U.S. time"), day=9),
]


@pytest.fixture(scope="module")
def mixed_url(_clones: Clones, strategy: str) -> Iterator[str]:
    """A database with one corpus in two languages, and a larger one of chance texts."""

    async def fill(url: str) -> None:
        async with pool_on(url) as database:
            full = [replace(one, **RICH.get(one.external_id, {})) for one in MIXED]  # type: ignore[arg-type]  # fields of Document
            await load(database, "mixed", full, "english")
            await load(database, "chance", chance_documents(), "english")
            await load(database, "empty", [])
            assert all(
                one.postings == (strategy == "postings") for one in await Corpora(database).list()
            )

    with _clones.clone() as url:
        wait_for(fill(url))
        yield url


RICH: dict[str, dict[str, object]] = {
    "wall": {"platform": "telegram", "engagement": 5, "tags": ("border", "maga")},
    "walls": {"platform": "mastodon", "engagement": 100, "mentions": ("ben",), "thread": "T 1"},
    "street": {"tags": ("maga",), "role": "user", "flags": Flag.REPOST | Flag.MEDIA},
    "pared": {"platform": "Telegram", "role": "assistant", "thread": "t1"},
}


def chance_documents() -> list[Document]:
    chance = random.Random(3)
    words = ["wall", "border", "china", "great", "people", "the", "casas", "país", "state-run"]
    made = [
        document(
            str(number),
            " ".join(chance.choices(words, k=chance.randint(0, 30))),
            day=chance.randint(0, 50),
            lang=chance.choice(["en", "es", None]),
            flags=chance.choice([Flag.NONE, Flag.REPOST, Flag.MEDIA]),
        )
        for number in range(400)
    ]
    return [replace(one, created_at=None) if n % 17 == 0 else one for n, one in enumerate(made)]


@pytest.fixture
async def database(mixed_url: str) -> AsyncIterator[Database]:
    async with pool_on(mixed_url) as opened:
        yield opened


async def ask(database: Database, text: str, corpus: str = "mixed", limit: int = 20) -> QueryAnswer:
    found = await Corpora(database).get(corpus)
    return await Finder(DialectIndex(database)).find(found, parse_query(text), limit=limit)


def ids(found: QueryAnswer) -> list[str]:
    return [hit.document.candidate.external_id for hit in found.hits]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("wall", {"wall", "walls", "street", "great", "the"}),
        ("the wall", {"wall", "walls", "street", "great", "the"}),
        ("wall -street", {"wall", "walls", "great", "the"}),
        ('"wall street"', {"street"}),
        ('wall -"wall street"', {"wall", "walls", "great", "the"}),
        ("wall china OR street", {"street", "great"}),
        ("pared OR street", {"pared", "street"}),
        ('"great wall"', {"great"}),
        ("casas", {"casas", "casa"}),
        ("casa -bonita", {"casas"}),
        ("state-run", {"plain"}),
        ("us", set()),
        ("U.S.", {"plain"}),
        ("9/11", {"plain"}),
        ("wall from:ANA", {"walls"}),
        ("wall -from:@ana", {"wall", "street", "great", "the"}),
        ("lang:es wall", {"the"}),
        ("-lang:es wall", {"wall", "walls", "street", "great"}),
        ("lang:en media", {"plain"}),  # the corpus' own language
        ("is:repost", {"street"}),
        ("has:media", {"street"}),
        ("platform:telegram", {"wall", "pared"}),
        ("-platform:TELEGRAM wall", {"walls", "street", "great", "the"}),
        ("role:user", {"street"}),
        ('thread:"T 1"', {"walls"}),
        ("thread:t1", {"pared"}),
        ("-thread:t1 pared", set()),
        ("#maga", {"wall", "street"}),
        ("#maga -#border", {"street"}),
        ("@ben", {"walls"}),
        ("min:5 -min:100", {"wall"}),
        ("before:2010-01-04", {"wall", "walls"}),
        ("-before:2010-01-04 after:2010-01-04 before:2010-01-05", {"street"}),
        ("on:2010-01-04", {"street"}),
        ("on:2010-01-04-05:00", {"great"}),  # midnight of the 5th in UTC
        ("-on:2010-01-04 wall", {"wall", "walls", "great", "the"}),
        ("in:mixed pared", {"pared"}),
        ("xyzzyq", set()),
        ("wall OR xyzzyq -street", {"wall", "walls", "great", "the"}),
    ],
)
async def test_a_query_finds_the_expected_documents(
    database: Database, query: str, expected: set[str]
) -> None:
    assert set(ids(await ask(database, query))) == expected


@pytest.mark.parametrize(
    ("query", "plan"),
    [
        ("wall", Plan.RANKED),
        ("xyzzyq", Plan.RANKED),
        ("from:ana", Plan.NEWEST),
        ("-wall", Plan.NEWEST),
        ("", Plan.NOTHING),
        ("-http://a.example/b", Plan.NOTHING),
    ],
)
async def test_the_plan_follows_from_what_is_asked(
    database: Database, query: str, plan: Plan
) -> None:
    assert (await ask(database, query)).plan is plan


async def test_a_query_without_words_lists_the_newest_first(database: Database) -> None:
    found = await ask(database, "-wall", limit=3)
    assert ids(found) == ["plain", "casas", "casa"]
    assert [hit.score for hit in found.hits] == [None] * 3
    assert (found.counts.matching, found.counts.passing) == (None, 4)


async def test_parts_of_the_score_add_up_and_name_their_terms(database: Database) -> None:
    for hit in (await ask(database, 'wall OR "great wall" china', corpus="chance")).hits:
        assert hit.score == pytest.approx(sum(match.score for match in hit.matched))
        assert {match.term for match in hit.matched} >= {"china"}
        assert all(match.fields == ("text",) for match in hit.matched)


async def test_results_are_sorted_by_score_then_oldest_first(database: Database) -> None:
    found = await ask(database, "wall border", corpus="chance", limit=1000)
    keys = [
        (-round(h.score or 0, 9), order_by_date(h.created_at), h.document.candidate.id)
        for h in found.hits
    ]
    assert len(keys) > 50
    assert keys == sorted(keys)


async def test_the_stages_are_counted(database: Database) -> None:
    counts = (await ask(database, "wall -street before:2010-01-05", limit=2)).counts
    assert counts.corpus == 9
    assert (counts.matching, counts.passing, counts.fetched) == (4, 2, 2)
    assert (counts.distinct, counts.returned) == (2, 2)


async def test_notices_name_ignored_words_and_words_that_no_text_contains(
    database: Database,
) -> None:
    assert (await ask(database, "wall of xyzzyq http://a.example")).notices == (
        'Too common to look for, or no word: "http://a.example".',
        'No text says "xyzzyq".',
    )
    assert (await ask(database, "!!!")).notices == ("There is no word in this to look for.",)
    assert (await ask(database, "wall", corpus="empty")).notices == ("Corpus empty is empty.",)


@pytest.mark.parametrize("corpus", ["mixed", "chance"])
async def test_random_queries_find_what_a_scan_finds(database: Database, corpus: str) -> None:
    where = await Corpora(database).get(corpus)
    rows, index = await scan(database, where), DialectIndex(database)
    chance = random.Random(7)
    words = "wall walls the great casas china people street of país state-run -wall -china -the"
    more = 'OR OR "great wall" "the wall" -"wall of" is:repost -has:media before:2010-02 lang:es'
    more += " -before:2010-01-20 -on:2010-01"
    counted = Counter[Plan]()
    for _ in range(150):
        query = parse_query(" ".join(chance.choices(f"{words} {more}".split(), k=4)))
        texts = [make_searchable(unit.text) for unit in list_units(query)]
        plan = plan_query(query, where.languages, await index.read(where, texts), where.documents)
        expected = await matching(database, where, rows, query)
        if plan.plan is not Plan.NOTHING:
            required = combine_conditions(query.filters)
            found = (
                await index.rank_texts(where, plan.by_language, plan.terms, required, 1000)
                if plan.plan is Plan.RANKED
                else await index.newest(where, plan.by_language, required, 1000)
            )
            counted[plan.plan] += 1
            assert {one.candidate.id for one in found.documents} == expected, str(query)
            assert found.passing == len(expected)
    assert counted[Plan.RANKED] > 100
    assert set(counted) == {Plan.RANKED, Plan.NEWEST}


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=query_texts())
async def test_any_text_is_accepted_as_a_query(database: Database, text: str) -> None:
    assert len((await ask(database, text)).hits) <= 20


class TestLimits:
    @pytest.fixture
    async def alike(self, database_url: str) -> AsyncIterator[Database]:
        async with pool_on(database_url) as opened:
            texts = [f"The same coffee every single morning {'!' * n}" for n in range(150)]
            texts += [f"coffee {letter * 20}" for letter in "abcdefghij"]
            await load_texts(opened, "alike", texts, "english")
            yield opened

    @pytest.mark.parametrize("limit", [1, 5, 11, 20])
    async def test_the_limit_holds_over_distinct_texts(self, alike: Database, limit: int) -> None:
        found = await ask(alike, "coffee", corpus="alike", limit=limit)
        texts = [hit.document.candidate.text for hit in found.hits]
        assert len(texts) == min(limit, 11)
        assert sum("morning" in text for text in texts) <= 1
        assert found.counts.passing == 160

    async def test_only_the_first_of_near_identical_texts_is_returned(
        self, alike: Database
    ) -> None:
        ranked = await ask(alike, "morning", corpus="alike")
        assert ids(ranked) == ["0"]
        newest = await ask(alike, "before:2010-05-31", corpus="alike")
        assert ids(newest) == ["149"]

    async def test_lexemes_beyond_the_scoring_limit_still_filter(self, database: Database) -> None:
        phrase = " ".join(f"w{n}" for n in range(90))
        assert (await ask(database, f'"{phrase}" OR wall')).counts.passing == 5
        long = " OR ".join(f"w{n}" for n in range(60))
        assert (await ask(database, f"{long} OR wall")).counts.passing == 5


async def test_the_answered_message_is_matched_as_a_separate_field(database_url: str) -> None:
    async with pool_on(database_url) as opened:
        corpus = await load(
            opened,
            "thread",
            [
                document("1", "Coffee is expensive", author="ana"),
                document("2", "And tea, tea as well", author="ana", reply_to="1", day=1),
            ],
            "english",
        )
        await Documents(opened).stitch_threads(corpus)
        [hit] = (await ask(opened, "coffee tea", corpus="thread")).hits
        assert [(m.term, m.fields, m.count) for m in hit.matched] == [
            ("coffee", ("context",), 1),
            ("tea", ("text",), 2),
        ]


async def test_hits_carry_the_details_of_their_documents(database: Database) -> None:
    [hit] = (await ask(database, "from:ana")).hits
    document = hit.document
    assert (document.candidate.platform, document.thread, document.mentions) == (
        "mastodon",
        "T 1",
        ("ben",),
    )
    assert (document.engagement, document.role, document.candidate.author) == (100, None, "Ana")
    assert hit.created_at == datetime(2010, 1, 3, tzinfo=UTC)


def test_each_plan_and_lexeme_count_has_one_statement() -> None:
    ranked = {ranked_statement("document_1", lexemes) for lexemes in range(1, 65)}
    assert len(ranked) == 64
    for statement in ranked | {newest_statement("document_1")}:
        assert "{" not in statement


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("storm", ["1", "2", "3", "none"]),
        ("before:2010-01-03 storm", ["1"]),
        ("after:2010-01-03 storm", ["2", "3"]),
        ("-before:2010-01-03 storm", ["2", "3"]),
        ("on:2010 storm", ["1", "2", "3"]),
        ("-on:2010-01-03 storm", ["1", "3", "none"]),  # nobody knows that it is of that day
        ("-rain", ["3", "2", "1", "none"]),
    ],
)
async def test_undated_documents_come_last_and_match_no_date_filter(
    database: Database, query: str, expected: list[str]
) -> None:
    texts = {"1": "storm hits old Lima", "2": "storm over wet Oslo", "3": "storm near big Rome"}
    dated = [document(name, text, day=int(name)) for name, text in texts.items()]
    undated = replace(document("none", "storm leaves dry Cairo"), created_at=None)
    await load(database, "c", [undated, *dated])
    found = await ask(database, query, "c")
    assert ids(found) == expected
