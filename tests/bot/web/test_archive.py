"""The pages of an archive: what they list, in which order, and how one leads to the next."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.web.browsing import ON_A_PAGE
from bot.web.rendering import archived_address, link_pieces
from engine.corpora import Document
from engine.values import Flag, Kind
from tests.bot.kinds import fill, text_of
from tests.bot.web.stage import WebStage
from tests.bot.web.test_pages import one, read, texts
from tests.db.loading import document, load

JULY = datetime(2016, 7, 1, 9, tzinfo=UTC)


def dated(number: int, text: str, moment: datetime, **changes: Any) -> Document:
    """A text of ana, written at that moment."""
    return replace(document(str(number), text, author="ana"), created_at=moment, **changes)


DOCUMENTS = (
    dated(1, "The thread begins", JULY, engagement=5),
    dated(2, "Something else", JULY + timedelta(hours=1)),
    dated(3, "and goes on", JULY + timedelta(hours=2), reply_to="1"),
    dated(4, "and ends", JULY + timedelta(days=9), reply_to="3"),
    dated(5, "Of June", datetime(2017, 6, 1, tzinfo=UTC), engagement=90),
    dated(6, "A year on", datetime(2018, 6, 1, 23, tzinfo=UTC), engagement=7),
)
QUOTES = ".entries blockquote"


@pytest.fixture
async def archive(web: WebStage) -> WebStage:
    await load(web.app.database, "ana", DOCUMENTS)
    return web


async def quotes(stage: WebStage, path: str, **asked: object) -> list[str]:
    return texts(read(await stage.get(path, **asked)), QUOTES)


async def test_a_month_lists_its_texts_by_date_with_threads_together(archive: WebStage) -> None:
    page = read(await archive.get("/corpora/ana/2016/07"))
    thread = ["The thread begins", "and goes on", "and ends"]
    assert texts(page, "h1, .facts") == ["July 2016", "4 posts · Times are in UTC."]
    assert texts(page, "header .actions a") == ["June 2017 →"], "the next month with posts"
    assert texts(page, QUOTES) == [*thread, "Something else"]
    assert len(page.css(".continues")) == 2


async def test_a_month_is_listed_from_a_day_of_it_and_wrong_days_are_none(
    archive: WebStage,
) -> None:
    page = read(await archive.get("/corpora/ana/2016/07"))
    days = [str(link.attributes["href"]) for link in page.css(".days a")]
    assert (len(days), days[8]) == (31, "/corpora/ana/2016/07?day=9")
    assert await quotes(archive, days[1]) != await quotes(archive, days[0])
    for wrong in ("99", "0", "x", "²"):
        assert len(await quotes(archive, "/corpora/ana/2016/07", day=wrong)) == 4


async def test_the_days_before_and_after_are_linked_over_the_end_of_february(
    archive: WebStage,
) -> None:
    page = read(await archive.get("/corpora/ana/on-this-day", day="02-28"))
    assert texts(page, "header .actions a") == ["← February 27", "February 29 →"]
    for wrong in ("02-30", "x"):
        page = read(await archive.get("/corpora/ana/on-this-day", day=wrong))
        assert texts(page, "h1") == ["On this day: June 1"]
    page = read(await archive.get("/corpora/ana/on-this-day", day="01-01"))
    assert texts(page, "header .actions a") == ["← December 31", "January 2 →"]


async def test_texts_are_grouped_by_day_and_threads_under_their_first_text(
    archive: WebStage,
) -> None:
    page = read(await archive.get("/corpora/ana/2016/07"))
    assert texts(page, "h2.day") == ["July 1"]
    assert texts(page, ".entries time") == ["09:00", "11:00", "Jul 10, 2016", "10:00"]
    assert one(page, ".entries time").attributes["datetime"] == "2016-07-01T09:00Z"
    assert "Times are in UTC." in texts(page, ".facts")[0]
    spanish = read(await archive.get("/corpora/ana/on-this-day", lang="es"))
    assert texts(spanish, "h2.day") == ["2017", "2018"]
    # Where only the date was told, it is midnight.
    assert texts(spanish, ".entries time") == ["1 jun 2017", "23:00"]


async def test_most_liked_texts_stand_on_one_page_with_their_dates(archive: WebStage) -> None:
    page = read(await archive.get("/corpora/ana/most-liked"))
    assert texts(page, "h1") == ["Most reactions"]
    assert texts(page, "h2.day") == []
    assert texts(page, QUOTES)[:3] == ["Of June", "A year on", "The thread begins"]
    assert [item.attributes["value"] for item in page.css(".ranked > li")][:3] == ["1", "2", "3"]
    assert texts(page, ".entries time")[:2] == ["Jun 1, 2017", "Jun 1, 2018"]
    assert "Times are in UTC." not in one(page, "main").text()
    later = read(await archive.get("/corpora/ana/most-liked", page=2))
    assert texts(later, QUOTES) == texts(page, QUOTES)


async def test_likes_are_told_wherever_a_text_is_listed(archive: WebStage) -> None:
    liked = texts(read(await archive.get("/corpora/ana/2018/6")), ".entries .meta")
    assert any("7 reactions" in text for text in liked)
    found = texts(read(await archive.get("/search", q="June")), ".entries .meta")
    assert found == ["Jun 1, 2017 · @ana · 90 reactions"]
    assert "90 reactions" in texts(read(await archive.get("/documents/ana/5")), ".alone > .meta")[0]


async def test_this_day_shows_the_best_text_of_each_year(web: WebStage) -> None:
    day, hour = datetime(2016, 6, 1, 8, tzinfo=UTC), timedelta(hours=1)
    await load(web.app.database, "ana", [
        dated(1, "Quiet", day),
        dated(2, "Loud", day + hour, engagement=9),
        dated(3, "RT @bob: Louder", day + 2 * hour, engagement=99, flags=Flag.REPOST),
        dated(4, "https://t.co/abc", day + 3 * hour, engagement=999),
        dated(5, "Alone", day.replace(year=2018)),
        dated(6, "Another day", day + 24 * hour),
    ])  # fmt: skip
    page = read(await web.get("/corpora/ana/on-this-day"))
    for path in ("/", "/corpora/ana"):
        assert "Loud" in texts(read(await web.get(path)), "blockquote"), path
    link = one(page, ".texts + .meta a")
    rest = read(await web.get(str(link.attributes["href"])))
    assert texts(page, QUOTES) == ["Loud", "Alone"]
    assert texts(page, "h2.day") == ["2016", "2018"]
    assert texts(page, ".yearly .lead-time") == ["8 years ago", "6 years ago"]
    assert [line.attributes["x1"] for line in page.css(".since line")] == ["0%", "25%"]
    assert link.text() == "3 more posts of that day"
    assert len(texts(rest, QUOTES)) == 4


async def test_replies_to_others_are_folded_below_their_day(web: WebStage) -> None:
    await load(web.app.database, "ana", [
        dated(1, "@bob No", JULY, flags=Flag.REPLY),
        dated(2, "To all", JULY + timedelta(hours=1)),
        dated(3, "@eve Yes", JULY + timedelta(hours=2), flags=Flag.REPLY),
    ])  # fmt: skip
    page = read(await web.get("/corpora/ana/2016/07"))
    assert texts(page, QUOTES) == ["To all", "@bob No", "@eve Yes"]
    assert texts(page, "details.replies:not([open]) > summary") == ["2 replies"]
    assert len(page.css("details.replies blockquote")) == 2


async def test_years_without_texts_take_no_row(web: WebStage) -> None:
    years = [dated(year, "Something", JULY.replace(year=year)) for year in (1816, 2016)]
    await load(web.app.database, "ana", years)
    page = read(await web.get("/corpora/ana"))
    assert texts(page, ".months tbody th") == ["1816", "2016"]


async def test_archive_pages_hold_thirty_texts_and_link_to_the_next(web: WebStage) -> None:
    await load(web.app.database, "ana", [
        dated(number, f"Text {number}", JULY + timedelta(minutes=number))
        for number in range(ON_A_PAGE + 5)
    ])  # fmt: skip
    first = read(await web.get("/corpora/ana/2016/07"))
    link = str(one(first, ".actions a[rel~=next]").attributes["href"])
    second = read(await web.get(link))
    assert texts(first, QUOTES) == [f"Text {number}" for number in range(ON_A_PAGE)]
    assert texts(second, QUOTES) == [f"Text {ON_A_PAGE + number}" for number in range(5)]
    assert not second.css(".actions a[rel~=next]")
    for page, said in ((first, "Page 1 of 2"), (second, "Page 2 of 2")):
        assert texts(page, ".facts")[0].endswith(said) and texts(page, ".pages .meta") == [said]
    assert one(second, ".actions a[rel~=prev]").attributes["href"] == "/corpora/ana/2016/07"
    for strange in ("0", "-1", "x", "99999", "9" * 40):
        assert (await web.get("/corpora/ana/2016/07", page=strange)).status_code == 200


async def test_a_corpus_and_each_month_link_to_months_with_texts(archive: WebStage) -> None:
    page = read(await archive.get("/corpora/ana"))
    months = [str(link.attributes["href"]) for link in page.css(".months a")]
    assert months == ["/corpora/ana/2016/07", "/corpora/ana/2017/06", "/corpora/ana/2018/06"]
    assert page.css(".months a")[0].attributes["aria-label"] == "July 2016: 4 posts"
    assert [len(row.css("td")) for row in page.css(".months tbody tr")] == [13] * 3
    assert texts(page, ".months thead th")[:2] == ["Jan", "Feb"]
    key = one(page, ".months caption")
    assert (key.text(), len(key.css(".l1, .l2, .l3, .l4, .l5"))) == ("Posts by month 14", 5)
    assert texts(page, ".facts")[0].endswith("Busiest: July 2016, with 4.")
    page = read(await archive.get(months[0]))
    (link,) = page.css(".months [aria-current]")
    assert (link.attributes["href"], link.attributes["aria-current"]) == (months[0], "page")
    for path in ("/corpora", "/corpora/ana/2016/07", "/documents/ana/3"):
        within = read(await archive.get(path))
        assert texts(within, ".top [aria-current]") == ["Archives"]
    spanish = read(await archive.get("/corpora/ana/2016/07", lang="es"))
    assert texts(spanish, "h1") == ["Julio de 2016"]
    listed = read(await archive.get("/corpora"))
    assert one(listed, ".voices a").attributes["href"] == "/corpora/ana"


async def test_a_text_shows_its_thread_and_the_way_to_its_month(archive: WebStage) -> None:
    page = read(await archive.get("/documents/ana/3"))
    assert texts(page, QUOTES) == ["The thread begins", "and goes on", "and ends"]
    assert texts(page, ".entries [aria-current]") == ["and goes on July 1, 2016 · this post"]
    assert not page.css(".context"), "as the thread shows what it answers"
    assert texts(page, ".neighbours q") == ["Something else"]
    assert one(page, ".actions a").attributes["href"] == "/corpora/ana/2016/07"
    assert texts(read(await archive.get("/documents/ana/2")), QUOTES) == []


@pytest.mark.parametrize(
    "path",
    ["/2016", "/2016/13", "/2016/0", "/2016/8", "/0/1", "/9999/1", "/99999999999/1", "/nothing"],
)
async def test_invalid_month_is_not_found(archive: WebStage, path: str) -> None:
    assert (await archive.get(f"/corpora/ana{path}")).status_code == 404


async def test_private_archives_are_not_walked_through(web: WebStage) -> None:
    await fill(web.app.database, "diary", Kind.PERSONAL, [text_of("1", "coffee")])
    await fill(web.app.database, "open", Kind.TWEETS, [text_of("1", "tea")])
    for path in ("", "/2012/3", "/on-this-day", "/most-liked"):
        assert (await web.get(f"/corpora/diary{path}")).status_code == 404, path
    when = one(read(await web.get("/corpora")), ".voices .meta").text()
    assert " – " not in when, "a single text has one date"


async def test_archives_stand_on_one_axis(web: WebStage) -> None:
    for name, year in (("early", 2010), ("late", 2012)):
        await load(web.app.database, name, [dated(1, "coffee", JULY.replace(year=year))])
    page = read(await web.get("/corpora"))
    strips = [[mark.attributes["class"] for mark in strip.css("i")] for strip in page.css(".strip")]
    levels = [[place for place, level in enumerate(strip) if level != "l0"] for strip in strips]
    assert [len(strip) for strip in strips] == [36, 36]
    assert {place[0] // 12 for place in levels} == {0, 2}
    assert texts(page, ".ticks i") == ["2010", "2011", "2012"] * 2


X = "https://x.com/ana/status/1"


@pytest.mark.parametrize(
    ("text", "address", "links"),
    [
        ("See https://example.org/a?b=1.", None, ["https://example.org/a?b=1"]),
        ("(http://example.org)", None, ["http://example.org"]),
        ("Ask @ana_b!", X, ["https://x.com/ana_b"]),
        ("Ask @ana_b!", "https://social.example/1", []),
        ("mail@example.org javascript:alert(1)", X, []),
        ("https://", X, []),
    ],
)
def test_urls_and_account_names_become_links(
    text: str, address: str | None, links: list[str]
) -> None:
    pieces = link_pieces(text, address)
    assert [piece.url for piece in pieces if piece.url] == links
    assert "".join(piece.text for piece in pieces) == text


def test_the_internet_archive_is_asked_for_the_page_of_that_day() -> None:
    assert archived_address(X, JULY) == f"https://web.archive.org/web/20160701/{X}"
    assert archived_address(X, None) == f"https://web.archive.org/web/*/{X}"
    assert archived_address(None, JULY) is None
