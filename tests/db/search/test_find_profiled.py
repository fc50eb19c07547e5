"""What a profile ranks: the best by words, the newest, the most liked; within the filters."""

import random
from dataclasses import replace

import pytest

from db.corpus.corpora import Corpora
from db.pool import Database
from db.search.find import DialectIndex
from engine.corpora import Document
from engine.query.filters import combine_conditions
from engine.query.find import Finder
from engine.query.parser import parse_query
from engine.query.query import list_units, plan_query
from engine.query.results import FoundDocument, FoundDocuments, QueryAnswer
from engine.settings.searching import FindSettings, KindProfile
from engine.text.clean import make_searchable
from engine.values import Kind
from tests.bot.kinds import fill
from tests.db.loading import document, load

pytestmark = pytest.mark.usefixtures("strategy")

WORDS = ["coffee", "tea", "milk", "sugar", "water", "bread"]


def documents(number: int = 300) -> list[Document]:
    chance = random.Random(5)
    return [
        replace(
            document(
                str(n), " ".join(chance.choices(WORDS, k=chance.randint(1, 12))), day=float(n % 97)
            ),
            engagement=chance.choice([0, 0, 1, 5, 900]),
            platform=chance.choice(["x", "mastodon"]),
        )
        for n in range(number)
    ]


async def pool(database: Database, text: str, limit: int, *, profiled: bool) -> FoundDocuments:
    corpus, index, query = (
        await Corpora(database).get("c"),
        DialectIndex(database),
        parse_query(text),
    )
    read = await index.read(corpus, [make_searchable(unit.text) for unit in list_units(query)])
    plan = plan_query(query, corpus.languages, read, corpus.documents)
    required = combine_conditions(query.filters)
    return await index.rank_texts(
        corpus, plan.by_language, plan.terms, required, limit, profiled=profiled
    )


def newest_first(one: FoundDocument) -> tuple[float, int]:
    assert one.candidate.created_at
    return -one.candidate.created_at.timestamp(), one.candidate.id


@pytest.mark.parametrize("text", ["coffee", "coffee OR tea", "coffee -milk platform:mastodon"])
async def test_the_pool_is_the_union_of_the_three_best(database: Database, text: str) -> None:
    await load(database, "c", documents())
    everything = (await pool(database, text, 1000, profiled=False)).documents
    best = list(everything[:10])
    best += sorted(everything, key=newest_first)[:10]
    best += sorted(
        everything, key=lambda d: (-d.engagement, d.candidate.created_at, d.candidate.id)
    )[:10]
    found = await pool(database, text, 10, profiled=True)
    assert {one.candidate.id for one in found.documents} == {one.candidate.id for one in best}
    assert found.passing == len(everything) > 20


async def find(database: Database, profile: KindProfile, text: str, pool: int = 200) -> QueryAnswer:
    corpus = await Corpora(database).get("c")
    chosen = FindSettings(profiles={Kind.SOCIAL: profile}, similarity=100, pool=pool)
    return await Finder(DialectIndex(database), chosen).find(corpus, parse_query(text), limit=7)


def ids(found: QueryAnswer) -> list[str]:
    return [hit.document.candidate.external_id for hit in found.hits]


WORDS_ALONE = KindProfile(weights={"lexical": 1.0})
LIKED = KindProfile(weights={"lexical": 0.3, "engagement": 0.7})


async def test_a_small_pool_gives_the_same_results_as_ranking_everything(
    database: Database,
) -> None:
    """Here the first seven are decided by likes: a pool by words alone would miss them."""
    await fill(database, "c", Kind.SOCIAL, documents())
    whole = await find(database, LIKED, "coffee", pool=1000)
    assert whole.counts.candidates == whole.counts.passing
    few = await find(database, LIKED, "coffee", pool=30)
    assert ids(few) == ids(whole)
    assert few.counts.candidates is not None
    assert few.counts.candidates < few.counts.passing
    assert all(hit.document.engagement == 900 for hit in few.hits)


async def test_hits_carry_both_the_profile_score_and_bm25(database: Database) -> None:
    await fill(database, "c", Kind.SOCIAL, documents())
    found = await find(database, LIKED, "coffee tea")
    for hit in found.hits:
        score = 0.3 * (hit.parts["lexical"] or 0) + 0.7 * (hit.parts["engagement"] or 0)
        assert hit.score == pytest.approx(score)
        assert hit.document.candidate.bm25 == pytest.approx(sum(m.score for m in hit.matched))
    assert [hit.score for hit in found.hits] == sorted(
        (h.score or 0 for h in found.hits), reverse=True
    )


async def test_kinds_without_a_profile_are_ranked_by_bm25(database: Database) -> None:
    await load(database, "c", documents())
    found = await find(database, LIKED, "coffee tea")
    assert found.counts.candidates is None
    assert all(hit.score == hit.document.candidate.bm25 and not hit.parts for hit in found.hits)


@pytest.mark.parametrize(
    ("meta", "url", "expected"),
    [
        ({}, "https://www.Example.org/a", ["example.org", "org"]),
        ({}, "http://user@blog.example.org:8080?x", ["blog.example.org", "example.org", "org"]),
        ({"domain": "a.net"}, "https://example.org/", ["a.net", "net"]),
        ({}, None, []),
        ({}, "no address", []),
    ],
)
async def test_domains_of_a_page_include_its_parent_domains(
    database: Database, meta: dict[str, str], url: str | None, expected: list[str]
) -> None:
    async with database.connection() as connection:
        found = await connection.fetchval(
            "SELECT domains_of(jsonb_build_object('domain', $1::text), $2)", meta.get("domain"), url
        )
    assert found == expected


async def test_excluding_a_domain_keeps_documents_without_a_domain(database: Database) -> None:
    rows = [
        replace(document("a", "coffee"), url="https://example.org/a"),
        replace(document("b", "coffee too"), url="https://sub.example.org/b"),
        replace(document("n", "coffee, no page")),
    ]
    await load(database, "c", rows)
    corpus, finder = await Corpora(database).get("c"), Finder(DialectIndex(database))
    asked = parse_query("coffee -domain:sub.example.org")
    assert set(ids(await finder.find(corpus, asked))) == {"a", "n"}
    both = parse_query("domain:example.org")
    assert set(ids(await finder.find(corpus, both))) == {"a", "b"}


async def test_a_query_without_words_lists_the_newest_and_uses_no_profile(
    database: Database,
) -> None:
    await fill(database, "c", Kind.SOCIAL, documents())
    found = await find(database, LIKED, "platform:mastodon")
    moments = [hit.created_at for hit in found.hits if hit.created_at]
    assert moments == sorted(moments, reverse=True)
    assert (found.counts.candidates, found.hits[0].score, found.hits[0].parts) == (None, None, {})


async def test_the_pool_grows_if_one_text_leads_in_all_three_rankings(database: Database) -> None:
    same = [
        replace(document(f"s{n}", "coffee with milk", day=100 + n), engagement=5)
        for n in range(150)
    ]
    other = [document(f"o{n}", f"coffee {f'word{n} ' * 9}", day=200 + n / 99) for n in range(6)]
    await fill(database, "c", Kind.SOCIAL, [*same, *other])
    found = await find(database, WORDS_ALONE, "coffee", pool=5)
    assert ids(found) == ["s0", *(f"o{n}" for n in range(6))]
    assert found.hits[0].alike == 149


async def test_a_query_without_words_reads_on_past_repeated_texts(database: Database) -> None:
    same = [document(f"s{n}", "coffee with milk", day=100 + n) for n in range(150)]
    other = [document(f"o{n}", f"word{n} " * 9, day=n) for n in range(6)]
    await load(database, "c", [*same, *other])
    found = await find(database, LIKED, "after:2009")
    assert ids(found) == ["s149", *(f"o{n}" for n in reversed(range(6)))]


async def test_one_matching_alternative_of_a_group_counts_in_full(database: Database) -> None:
    texts = ["coffee", "tea", *["milk"] * 6]
    rows = [document(f"{n}", text, day=n) for n, text in enumerate(texts)]
    await fill(database, "c", Kind.SOCIAL, rows)
    profile = WORDS_ALONE
    alone = {
        hit.document.candidate.external_id: hit.score
        for hit in (await find(database, profile, "coffee")).hits
    }
    either = {
        hit.document.candidate.external_id: hit.score
        for hit in (await find(database, profile, "coffee OR tea")).hits
    }
    assert set(either) == {"0", "1"}
    assert either["0"] == alone["0"] == pytest.approx(0.5)


async def test_recency_depends_on_the_time_of_the_search(database: Database) -> None:
    rows = [document("old", "coffee again", day=0), document("new", "coffee once more", day=30)]
    old, new = (row.created_at for row in rows)
    assert old and new
    decay_days_later = new + (new - old)
    await fill(database, "c", Kind.SOCIAL, rows)
    corpus = await Corpora(database).get("c")
    profile = KindProfile(weights={"lexical": 0.1, "recency": 0.9}, decay_days=30)
    finder = Finder(DialectIndex(database), FindSettings(profiles={Kind.SOCIAL: profile}))
    asked = parse_query("coffee")
    known = await finder.find(corpus, asked, now=decay_days_later)
    assert ids(known) == ["new", "old"]
    assert known.hits[0].parts["recency"] == pytest.approx(0.3679, abs=1e-4)
    unknown = await finder.find(corpus, asked)
    assert unknown.hits[0].parts["recency"] is None
