"""Dates as people type them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.replies.dates import read_date
from engine.errors import UsageError


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
    with pytest.raises(UsageError, match=r"is not a date\. Write it as 2015, 2015-03, "):
        read_date(text)


@given(st.text() | st.datetimes().map(str) | st.dates().map(str) | st.from_regex(r"[-\d:TZ+]+"))
def test_any_text_is_a_moment_or_a_usage_error(text: str) -> None:
    try:
        moment = read_date(text)
    except UsageError:
        return
    assert moment.tzinfo is UTC
    assert moment.year >= 1000


@given(st.datetimes(timezones=st.just(UTC)).filter(lambda moment: moment.year >= 1000))
def test_isoformat_dates_round_trip(moment: datetime) -> None:
    assert read_date(moment.isoformat()) == moment
