"""The search page: its order, its pages, and what programs are sent."""

import csv
import io
from dataclasses import replace
from hashlib import sha256

import pytest

from bot.web.listing import ON_A_PAGE
from engine.values import Flag
from tests.bot.web.stage import WebStage
from tests.bot.web.test_pages import one, read, texts
from tests.db.loading import document, load

QUOTES = ".entries blockquote"


async def quotes(stage: WebStage, **asked: object) -> list[str]:
    return texts(read(await stage.get("/search", q="coffee", **asked)), QUOTES)


@pytest.fixture
async def liked(web: WebStage) -> WebStage:
    said = [
        document("1", "coffee coffee coffee", day=1),
        replace(document("2", "coffee in a small cup of tin", day=0), engagement=5),
        replace(document("3", "RT @ana: coffee with milk", day=2), flags=Flag.REPOST),
    ]
    await load(web.app.database, "demo", said)
    return web


async def test_posts_stand_by_relevance_date_or_likes(liked: WebStage) -> None:
    best, small, repost = "coffee coffee coffee", "coffee in a small cup of tin", "RT @ana: coffee"
    assert (await quotes(liked))[0] == best
    assert await quotes(liked, sort="strange") == await quotes(liked)
    assert (await quotes(liked, sort="date"))[:2] == [small, best]
    assert (await quotes(liked, sort="likes"))[:2] == [small, best]
    assert len(await quotes(liked)) == 3
    own = await quotes(liked, own=1)
    assert len(own) == 2 and not any(text.startswith(repost) for text in own)


async def test_the_same_query_is_sent_as_a_table_and_for_programs(liked: WebStage) -> None:
    page = read(await liked.get("/search", q="coffee", sort="likes", own=1))
    links = [str(link.attributes["href"]) for link in page.css(".summary a")]
    table, told = [await liked.client.get(link) for link in links]
    assert await liked.json("/search", format="json") == {
        "query": "", "corpus": None, "total": 0, "posts": [],
    }  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(table.text)))
    posts = told.json()["posts"]
    assert [row["id"] for row in rows] == [post["id"] for post in posts] == ["2", "1"]
    assert told.json()["total"] == 2
    assert (rows[0]["likes"], posts[0]["text"]) == ("5", "coffee in a small cup of tin")
    assert rows[0]["created_at"] == posts[0]["created_at"] == "2010-01-01T00:00:00+00:00"
    assert table.headers["content-type"] == "text/csv; charset=utf-8"


async def test_a_page_lists_thirty_posts_and_leads_to_the_next(web: WebStage) -> None:
    said = [
        document(str(n), f"coffee {sha256(bytes([n])).hexdigest()[:12]} and more", day=n)
        for n in range(ON_A_PAGE + 5)
    ]
    await load(web.app.database, "demo", said)
    first = read(await web.get("/search", q="coffee", sort="date"))
    link = str(one(first, ".actions a[rel~=next]").attributes["href"])
    second = read(await web.client.get(link))
    back = str(one(second, ".actions a[rel~=prev]").attributes["href"])
    assert texts(read(await web.client.get(back)), QUOTES) == texts(first, QUOTES)
    for strange in ("0", "x", "9" * 40):
        assert (await web.get("/search", q="coffee", page=strange)).status_code == 200
    assert (len(texts(first, QUOTES)), len(texts(second, QUOTES))) == (ON_A_PAGE, 5)
    assert not second.css(".actions a[rel~=next]")
    assert not {*texts(first, QUOTES)} & {*texts(second, QUOTES)}


async def test_a_line_shows_in_which_years_of_the_archive_posts_were_written(
    archive: WebStage,
) -> None:
    some = read(await archive.get("/search", q="-nothing"))
    bars = one(some, ".bars")
    assert bars.attributes["aria-label"] == "Posts by year: 2016: 4, 2017: 1, 2018: 1"
    assert [bar.attributes["height"] for bar in bars.css("rect")] == ["100%", "25%", "25%"]
    assert texts(some, ".bars .count") == ["4", "1", "1"]
    few = read(await archive.get("/search", q="thread"))
    assert few.css(".entries") and not few.css(".bars"), "its date says it"


async def test_the_months_of_the_archive_stand_below_an_empty_search(archive: WebStage) -> None:
    page = read(await archive.get("/search"))
    assert [link.attributes["href"] for link in page.css("section .months a")] == [
        "/corpora/ana/2016/07", "/corpora/ana/2017/06", "/corpora/ana/2018/06",
    ]  # fmt: skip
    assert texts(page, "h2#archive") == ["ana · 6 posts · Choose a month"]


@pytest.mark.parametrize(
    ("query", "said"),
    [("zebra", "No post says that."), ("zebra xylophone", "No post says any of this.")],
)
async def test_a_search_in_vain_leads_to_the_months(
    archive: WebStage, query: str, said: str
) -> None:
    page = read(await archive.get("/search", q=query))
    assert texts(page, ".vain") == [said]
    assert "/corpora/ana" in [link.attributes["href"] for link in page.css(".next a")]


async def test_words_that_are_not_looked_for_are_not_called_unsaid(coffee_web: WebStage) -> None:
    page = read(await coffee_web.get("/search", q="the"))
    assert texts(page, "[role=note]") and not page.css(".vain")


async def test_links_of_older_versions_lead_to_the_search(coffee_web: WebStage) -> None:
    answered = await coffee_web.get("/timeline", q="coffee", lang="es")
    assert answered.status_code == 301
    assert answered.headers["location"] == "/search?q=coffee&lang=es"
