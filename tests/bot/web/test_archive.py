"""The pages of an archive: what they list, in which order, and how one leads to the next."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.web.rendering import archived_address, link_pieces
from engine.values import Flag, Kind
from tests.bot.kinds import fill, text_of
from tests.bot.web.stage import JULY, WebStage, dated
from tests.bot.web.test_pages import one, read, texts
from tests.db.loading import load

QUOTES = ".entries blockquote"


async def quotes(stage: WebStage, path: str, **asked: object) -> list[str]:
    return texts(read(await stage.get(path, **asked)), QUOTES)


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


async def test_most_liked_texts_stand_on_one_page_with_their_dates(archive: WebStage) -> None:
    page = read(await archive.get("/corpora/ana/most-liked"))
    assert texts(page, "h1") == ["Most reactions"]
    assert texts(page, "h2.day") == []
    assert texts(page, QUOTES)[:3] == ["Of June", "A year on", "The thread begins"]
    assert [item.attributes["value"] for item in page.css(".ranked > li")][:3] == ["1", "2", "3"]
    assert texts(page, ".entries time")[:2] == ["Jun 1, 2017", "Jun 1, 2018"]
    assert "Times are in UTC." not in one(page, "main").text()
    bars = [bar.attributes["width"] for bar in page.css(".share-of rect")]
    assert bars == ["100%", "8%", "6%"], "of the most, for those with any"
    later = read(await archive.get("/corpora/ana/most-liked", page=2))
    assert texts(later, QUOTES) == texts(page, QUOTES)


async def test_likes_are_told_wherever_a_text_is_listed(archive: WebStage) -> None:
    liked = texts(read(await archive.get("/corpora/ana/2018/6")), ".entries .meta")
    assert any("7 reactions" in text for text in liked)
    found = texts(read(await archive.get("/search", q="June")), ".entries .meta")
    assert found == ["@ana · Jun 1, 2017 · 90 reactions"]
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


async def test_a_text_shows_its_thread_and_the_way_to_its_month(archive: WebStage) -> None:
    page = read(await archive.get("/documents/ana/3"))
    assert texts(page, QUOTES) == ["The thread begins", "and goes on", "and ends"]
    assert texts(page, ".entries [aria-current]") == ["and goes on July 1, 2016 · this post"]
    assert not page.css(".context"), "as the thread shows what it answers"
    assert texts(page, ".neighbours q") == ["Something else"]
    assert one(page, ".actions a").attributes["href"] == "/corpora/ana/2016/07"
    assert texts(read(await archive.get("/documents/ana/2")), QUOTES) == []


async def test_private_archives_are_not_walked_through(web: WebStage) -> None:
    await fill(web.app.database, "diary", Kind.PERSONAL, [text_of("1", "coffee")])
    await fill(web.app.database, "open", Kind.TWEETS, [text_of("1", "tea")])
    for path in ("", "/2012/3", "/on-this-day", "/most-liked"):
        assert (await web.get(f"/corpora/diary{path}")).status_code == 404, path
    when = one(read(await web.get("/corpora")), ".voices .meta").text()
    assert " – " not in when, "a single text has one date"


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
