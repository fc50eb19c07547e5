"""A date of a feed is read as a whole, or it is none: half of one makes news look old."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.feeds.read import read_feed, read_feed_date
from tests.engine.feeds.documents import URL, item, rss

DAY = datetime(2026, 11, 27, tzinfo=UTC)
MOMENT = datetime(2026, 11, 27, 14, 5, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    "written",
    [
        *("2026-11-27", "2026/11/27", "2026.11.27", "2026. 11. 27.", "2026 11 27", "20261127"),
        *("2026年11月27日", "2026年 11月 27日", "2026년 11월 27일", "2026-W48-5", "27-11-2026"),
        *("27.11.2026", "27/11/2026", "11/27/2026", "27-Nov-2026", "27 Nov 26", "Nov 27, 2026"),
        *("Friday, November 27th, 2026", "fr, 27. November 2026", "ven., 27 nov. 2026"),
        *("sex, 27 de novembro de 2026", "vr, 27 nov 2026"),
        *("27 ноября 2026", "Пт, 27 ноя 2026", "  2026-11-27  "),
    ],
)
def test_a_day_is_read_in_any_common_spelling(written: str) -> None:
    assert read_feed_date(written) == DAY


@pytest.mark.parametrize(
    "written",
    [
        *("2026-11-27T14:05:09Z", "2026-11-27 14:05:09", "2026/11/27 14:05:09", "20261127T140509Z"),
        *("Fri, 27 Nov 2026 14:05:09 GMT", "Fri, 27 Nov 2026 14:05:09 UT", "1795788309"),
        *("Thu, 27 Nov 2026 14:05:09 +0000", "Fri Nov 27 14:05:09 2026", "1795788309000"),
        *("Fri Nov 27 14:05:09 UTC 2026", "Fri, Nov 27 2026 02:05:09 PM"),
        *("2:05:09 p.m., 27 Nov 2026",),
        *("Fri, 27 Nov 2026 15:05:09 CET", "Fri, 27 Nov 2026 09:05:09 EST"),
        *("2026年11月27日 14:05:09", "Fri, 27 Nov 2026 14:5:9 Z", 1795788309),
        *("2026-11-27 15:05:09.364419679 +0100 CET",),
        *("Fri, 27 Nov 2026 17:05:09 UTC+3", "Fri, 27 Nov 2026 17:05:09 GMT+0300"),
        *("2026-11-27T09:05:09.000-0500", "2026-11-27T09:05:09-05:00[America/New_York]"),
        *("2026-11-27 15:05:09 Europe/Madrid", "Sat, 28 Nov 2026 00:05:09 AEST"),
        *("Fri, 27 Nov 2026 14:05:09 +0000 (UTC)", "2026年11月27日 14时05分09秒"),
        *("27/11/2026 14:05:09",),
    ],
)  # fmt: skip
def test_a_clock_half_of_the_day_and_a_zone_are_applied(written: str) -> None:
    assert read_feed_date(written) == MOMENT


@pytest.mark.parametrize(
    "written",
    [
        *("", "yesterday", "2 hours ago", "27", "27 Nov", "Nov 2026", "2026", "2026-11", "11/2026"),
        *("2026/13/40", "2026-11-27 and more", "32 Nov 2026", "Fri, 27 Nov 2026 25:05 GMT"),
        *("Fri, 27 Nov 2026 14:05 IST", "Fri, 27 Nov 2026 14:05 Atlantis/Centre", "03/04/2026"),
        *("9999-12-31T23:00:00-05:00", "Blah, 27 Nov 2026 x"),
        *("1" * 500, "27 Nov 2026 28 Nov 2026", "２０２６ words"),
        *(None, 5, True, ["2026-11-27"]),
    ],
)
def test_what_is_not_a_date_as_a_whole_is_none(written: object) -> None:
    assert read_feed_date(written) is None


def test_an_unreadable_date_gives_way_to_the_next_best() -> None:
    both = rss(
        item(
            "News",
            more="<pubDate>some day</pubDate>"
            '<dc:date xmlns:dc="http://purl.org/dc/elements/1.1/">2026-11-27</dc:date>',
        )
    )
    assert read_feed(both, None, URL).entries[0].published == DAY


@given(st.text(max_size=60))
def test_no_text_is_more_than_a_date_or_none(written: str) -> None:
    date = read_feed_date(written)
    assert date is None or date.tzinfo is UTC


@given(st.datetimes(datetime(1990, 1, 1), datetime(2200, 1, 1)))  # noqa: DTZ001 - hypothesis' own
def test_every_day_is_read_in_each_order_of_its_numbers(moment: datetime) -> None:
    day = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    for sign in "-/. ":
        assert read_feed_date(day.strftime(f"%Y{sign}%m{sign}%d")) == day
    assert read_feed_date(day.strftime("%d.%m.%Y")) == day
    assert read_feed_date(f"{day:%a, %d %b %Y} 00:00:00 +0000") == day
