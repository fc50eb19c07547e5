"""The months of an archive: the grid of its years, its line of time, and the page of a month."""

from datetime import timedelta

import pytest

from bot.web.listing import ROWS_PER_PAGE, draw_line, span_years
from engine.values import Flag
from tests.bot.web.stage import JULY, WebStage, dated
from tests.bot.web.test_archive import QUOTES, quotes
from tests.bot.web.test_pages import one, read, texts
from tests.db.loading import load


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
    assert len(await quotes(archive, days[30])) < 4
    for wrong in ("99", "0", "x", "²"):
        assert len(await quotes(archive, "/corpora/ana/2016/07", day=wrong)) == 4


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
        for number in range(ROWS_PER_PAGE + 5)
    ])  # fmt: skip
    first = read(await web.get("/corpora/ana/2016/07"))
    link = str(one(first, ".actions a[rel~=next]").attributes["href"])
    second = read(await web.get(link))
    assert texts(first, QUOTES) == [f"Text {number}" for number in range(ROWS_PER_PAGE)]
    assert texts(second, QUOTES) == [f"Text {ROWS_PER_PAGE + number}" for number in range(5)]
    assert not second.css(".actions a[rel~=next]")
    for page, said in ((first, "Page 1 of 2"), (second, "Page 2 of 2")):
        assert said in texts(page, ".facts")[0] and texts(page, ".pages .meta") == [said]
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


@pytest.mark.parametrize(
    "path",
    ["/2016", "/2016/13", "/2016/0", "/2016/8", "/0/1", "/9999/1", "/99999999999/1", "/nothing"],
)
async def test_invalid_month_is_not_found(archive: WebStage, path: str) -> None:
    assert (await archive.get(f"/corpora/ana{path}")).status_code == 404


async def test_archives_stand_on_one_line_of_years(web: WebStage) -> None:
    for name, year in (("early", 2010), ("late", 2012)):
        await load(web.app.database, name, [dated(1, "coffee", JULY.replace(year=year))])
    page = read(await web.get("/corpora"))
    bars = [[bar.attributes["x"] for bar in line.css("rect")] for line in page.css(".bars")]
    assert bars == [["16.67%"], ["83.33%"]]
    assert texts(page, ".bars text") == ["2010", "2011", "2012"] * 2


@pytest.mark.parametrize("years", [1, 2, 6, 16, 40, 41, 209])
def test_a_line_of_years_has_few_parts_and_ticks(years: int) -> None:
    span = range(2025 - years, 2025)
    counted = {f"{year}-{month:02}": month for year in span for month in range(1, 13)}
    line = draw_line(counted, span_years(counted))
    assert line is not None
    assert (len(line.bars), sum(bar.posts for bar in line.bars)) == (line.parts, 78 * years)
    assert line.parts <= 40 and len(line.ticks) <= 5
    assert line.bars[0].start == line.ticks[0][0] == 0
    assert line.bars[-1].start + line.bars[-1].width <= 100
    assert max(bar.height for bar in line.bars) == 100


def test_parts_of_a_line_of_years_are_named_by_their_years() -> None:
    assert draw_line({}, span_years(())) is None
    for first, names in ((2009, ["2009", "2024"]), (1816, ["1816–1821", "2020–2024"])):
        counted = {f"{first}-01": 3, "2024-07": 1}
        line = draw_line(counted, span_years(counted), finest=12)
        assert line and [bar.name for bar in line.bars] == names
        assert [bar.height for bar in line.bars] == [100, 33]
