"""Lead times in words: calendar units, never too long, never negative, growing with time."""

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.i18n.words import words_for
from bot.replies.dates import read_date, say_age, say_lead_time
from engine.errors import UsageError

ENGLISH, SPANISH = words_for("en"), words_for("es")
moments = st.datetimes(
    min_value=datetime(1990, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
    max_value=datetime(2090, 1, 1),  # noqa: DTZ001 - the same
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=-5)), timezone(timedelta(hours=9))]),
)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("earlier", "later", "english", "spanish"),
    [
        ("2012-03-04T10:00", "2021-03-04T10:00", "9 years", "9 años"),
        ("2012-03-04T10:00", "2021-03-04T09:59", "8 years, 11 months", "8 años y 11 meses"),
        ("2012-03-04", "2020-12-31", "8 years, 9 months", "8 años y 9 meses"),
        ("2012-03-04", "2013-04-30", "1 year, 1 month", "1 año y 1 mes"),
        ("2012-02-29", "2013-02-28", "11 months", "11 meses"),
        ("2012-02-29", "2013-03-01", "1 year", "1 año"),
        ("2012-01-31", "2012-02-29", "29 days", "29 días"),
        ("2012-01-31", "2012-03-01", "1 month", "1 mes"),
        ("2012-11-15", "2013-01-14", "1 month", "1 mes"),
        ("2012-12-31", "2013-01-30", "30 days", "30 días"),
        ("2012-12-31", "2013-01-01", "1 day", "1 día"),
        ("2012-12-31T00:00", "2012-12-31T23:59", "less than a day", "menos de un día"),
        ("2013-01-01", "2012-01-01", "less than a day", "menos de un día"),
        ("1812-06-01", "2026-11-28", "214 years, 5 months", "214 años y 5 meses"),
    ],
)
def test_lead_times_in_words(earlier: str, later: str, english: str, spanish: str) -> None:
    before = utc(earlier), utc(later)
    assert [say_lead_time(*before, words) for words in (ENGLISH, SPANISH)] == [english, spanish]
    assert say_age(*before, ENGLISH) == f"{english} before"
    assert say_age(*before, SPANISH) == f"{spanish} antes"


def read_lengths(earlier: datetime, later: datetime) -> tuple[int, int, int]:
    """Return the years, months and days that the words of a lead time say."""
    said = say_lead_time(earlier, later, ENGLISH)
    lengths = {unit: int(count) for count, unit in re.findall(r"(\d+) (day|month|year)s?", said)}
    return lengths.get("year", 0), lengths.get("month", 0), lengths.get("day", 0)


@given(moments, moments)
def test_a_lead_time_is_never_more_than_has_passed(earlier: datetime, later: datetime) -> None:
    years, months, days = read_lengths(earlier, later)
    least = timedelta(days=365 * years + 28 * months + days)
    assert least <= max(later - earlier, timedelta())


@given(moments, moments, moments)
def test_an_older_text_never_has_a_shorter_lead_time(a: datetime, b: datetime, c: datetime) -> None:
    assert read_lengths(min(a, b), c) >= read_lengths(max(a, b), c)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2015", datetime(2015, 1, 1, tzinfo=UTC)),
        ("2015-03", datetime(2015, 3, 1, tzinfo=UTC)),
        (" 2015-03-02 ", datetime(2015, 3, 2, tzinfo=UTC)),
        ("2015-03-02T10:30", datetime(2015, 3, 2, 10, 30, tzinfo=UTC)),
        ("2015-03-02T10:30:00Z", datetime(2015, 3, 2, 10, 30, tzinfo=UTC)),
        ("2015-03-02T00:30:00+02:00", datetime(2015, 3, 1, 22, 30, tzinfo=UTC)),
    ],
)
def test_missing_date_parts_default_to_the_beginning_in_utc(text: str, moment: datetime) -> None:
    found = read_date(text)
    assert found == moment
    assert found.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    "text",
    [
        *("", "tomorrow", "2015-13", "2015-02-30", "0000", "0999", "99999", "-2015", "15"),
        *("2015-1", "0001-01-01T00:00+14:00", "9999-12-31T23:59:59-14:00", "２０１５-０３"),
        "2015-03-02 x",
    ],
)
def test_invalid_date_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not a date\. Write it as 2015, 2015-03 or "):
        read_date(text)


@given(st.text() | st.datetimes().map(str) | st.dates().map(str) | st.from_regex(r"[-\d:TZ+]+"))
def test_any_text_is_a_moment_or_a_usage_error(text: str) -> None:
    try:
        moment = read_date(text)
    except UsageError:
        return
    assert moment.tzinfo is UTC
    assert moment.year >= 1000
