"""Ages in words: calendar units, never too long, never negative, growing with time."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.replies.dates import Age, age_between

UNITS = ("day", "month", "year")
moments = st.datetimes(
    min_value=datetime(1990, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
    max_value=datetime(2090, 1, 1),  # noqa: DTZ001 - the same
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=-5)), timezone(timedelta(hours=9))]),
)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("earlier", "later", "expected"),
    [
        ("2012-03-04T10:00", "2021-03-04T10:00", "9 years before"),
        ("2012-03-04T10:00", "2021-03-04T09:59", "8 years before"),
        ("2012-03-04", "2013-12-31", "1 year before"),
        ("2012-02-29", "2013-02-28", "11 months before"),
        ("2012-02-29", "2013-03-01", "1 year before"),
        ("2012-01-31", "2012-02-29", "29 days before"),
        ("2012-01-31", "2012-03-01", "1 month before"),
        ("2012-11-15", "2013-01-14", "1 month before"),
        ("2012-12-31", "2013-01-30", "30 days before"),
        ("2012-12-31", "2013-01-01", "1 day before"),
        ("2012-12-31T00:00", "2012-12-31T23:59", "less than a day before"),
        ("2013-01-01", "2012-01-01", "less than a day before"),
    ],
)
def test_ages_in_words(earlier: str, later: str, expected: str) -> None:
    assert str(age_between(utc(earlier), utc(later))) == expected


def test_zones_are_compared_as_moments() -> None:
    tokyo = datetime(2013, 1, 1, 8, tzinfo=timezone(timedelta(hours=9)))
    assert age_between(tokyo, utc("2013-12-31T23:00")) == Age(1, "year")


@given(moments, moments)
def test_an_age_is_never_negative_and_never_more_than_has_passed(
    earlier: datetime, later: datetime
) -> None:
    age = age_between(earlier, later)
    shortest = {"day": timedelta(days=1), "month": timedelta(days=28), "year": timedelta(days=365)}
    assert age.count >= 0
    assert age.count * shortest[age.unit] <= max(later - earlier, timedelta())


@given(moments, moments, moments)
def test_an_older_text_never_has_a_smaller_age(a: datetime, b: datetime, later: datetime) -> None:
    older, newer = age_between(min(a, b), later), age_between(max(a, b), later)
    assert (UNITS.index(older.unit), older.count) >= (UNITS.index(newer.unit), newer.count)
