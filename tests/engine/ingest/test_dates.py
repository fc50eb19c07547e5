"""The ways in which exports write a time."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import RecordError
from engine.ingest.fields import read_zoned_time, zoned_or_utc

MOMENT = datetime(2019, 5, 23, 2, 54, 59, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2019-05-23T02:54:59+00:00",
        "2019-05-23T02:54:59Z",
        "2019-05-23T04:54:59.000+02:00",
        "2019-05-23 02:54:59 +0000",
        "2019-05-22 22:54:59 -0400",
        " Thu May 23 02:54:59 +0000 2019 ",
        "Wed May 22 22:54:59 -0400 2019",
    ],
)
def test_a_time_with_a_zone_is_read(text: str) -> None:
    assert read_zoned_time(text) == zoned_or_utc(text) == MOMENT


@pytest.mark.parametrize(
    "value", ["2019-05-23 02:54:59", "05-23-2019 02:54:59", "2019-05-23T02:54:59", 1558580099000]
)
def test_a_time_without_a_zone_is_utc_only_where_the_source_means_it(value: object) -> None:
    assert zoned_or_utc(value) == MOMENT
    with pytest.raises(RecordError):
        read_zoned_time(value)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "no date"),
        ("", "no date"),
        ("2019-05-23T02:54:59", "has no zone"),
        (True, "not a text"),
        ([], "not a text"),
        (1.5, "not a text"),
        ("yesterday", "cannot be read or does not exist"),
        ("2019-02-30T00:00:00Z", "cannot be read or does not exist"),
        ("2019-05-23T25:00:00Z", "cannot be read or does not exist"),
        ("Thu Mai 23 02:54:59 +0000 2019", "cannot be read or does not exist"),
        ("1970-01-01T00:00:00Z", "outside 1990 to 2200"),
        ("2201-01-01T00:00:00Z", "outside 1990 to 2200"),
        ("0001-01-01T00:00:00+01:00", "outside the calendar"),
        ("9999-12-31T23:59:59-01:00", "outside the calendar"),
    ],
)
def test_a_time_is_refused_with_the_reason(value: object, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        read_zoned_time(value)


@pytest.mark.parametrize("value", [10**30, -(10**30), 0, 10**15])
def test_milliseconds_outside_the_calendar_are_refused(value: int) -> None:
    with pytest.raises(RecordError, match="outside"):
        zoned_or_utc(value)


OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(
    st.datetimes(
        min_value=datetime(1991, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
        max_value=datetime(2200, 1, 1),  # noqa: DTZ001 - the same
        timezones=OFFSETS,
    )
)
def test_any_modern_time_is_read_back_unchanged(moment: datetime) -> None:
    assert read_zoned_time(moment.isoformat()) == moment.astimezone(UTC)


@given(st.text() | st.integers() | st.text(alphabet="0123456789-:+T Zay"))
def test_any_value_is_read_as_a_time_or_rejected(value: object) -> None:
    for read in (read_zoned_time, zoned_or_utc):
        try:
            assert read(value).tzinfo is UTC
        except RecordError as exc:
            assert str(exc)
