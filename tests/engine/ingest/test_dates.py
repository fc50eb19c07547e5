"""The ways in which exports write a time."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import RecordError
from engine.ingest.fields import from_seconds, read_written_time, read_zoned_time, zoned_or_utc
from engine.text.written_dates import DayOrder, find_day_order, is_time, names_zone

MOMENT = datetime(2019, 5, 23, 2, 54, 59, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2019-05-23T02:54:59+00:00",
        "2019-05-23T02:54:59Z",
        "2019-05-23T04:54:59.000+02:00",
        "2019-05-23 02:54:59 +0000",
        " Thu May 23 02:54:59 +0000 2019 ",
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
        ("2019-05-23T02:54:59", "has no zone"),
        (True, "not a text"),
        (1.5, "not a text"),
        ("yesterday", "cannot be read or does not exist"),
        ("2019-02-30T00:00:00Z", "cannot be read or does not exist"),
        ("Thu Mai 23 02:54:59 +0000 2019", "cannot be read or does not exist"),
        ("1970-01-01T00:00:00Z", "outside 1990 to 2200"),
        ("0001-01-01T00:00:00+01:00", "outside the calendar"),
        ("9999-12-31T23:59:59-01:00", "outside the calendar"),
    ],
)
def test_a_time_is_refused_with_the_reason(value: object, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        read_zoned_time(value)


@pytest.mark.parametrize("read_number", [zoned_or_utc, from_seconds])
@pytest.mark.parametrize("value", [10**30, -(10**30), 0, 10**15])
def test_numbers_outside_the_calendar_are_refused(
    read_number: Callable[[object], datetime], value: int
) -> None:
    with pytest.raises(RecordError, match="outside"):
        read_number(value)


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


# Times as people and spreadsheets write them
MINUTE = datetime(2019, 5, 23, 14, 5, tzinfo=UTC)
MIDNIGHT = datetime(2019, 5, 23, tzinfo=UTC)
MADRID = ZoneInfo("Europe/Madrid")


def read(value: object, *, is_day_first: bool | None = None) -> datetime:
    return read_written_time(value, zone=MADRID, is_day_first=is_day_first)


@pytest.mark.parametrize(
    "value",
    [
        "2019-05-23T02:54:59Z",
        "2019-05-23 02:54:59 UTC",
        "2019-05-23 03:54:59 CET",
        "2019-05-23 04:54:59 UTC+02:00",
        "2019-05-23 04:54:59 Europe/Madrid",
        "23/05/2019 04:54:59 +0200",
        "Thu May 23 02:54:59 +0000 2019",
        "Thu, 23 May 2019 02:54:59 +0000",
        "Thu May 23 2019 04:54:59 GMT+0200 (Central European Summer Time)",
        "May 23, 2019 · 2:54:59 AM UTC",
        "1558580099",
        1558580099,
        1558580099000,
        "1558580099000",
        "1558580099000000000",
        # Without a zone, in Madrid.
        "2019-05-23 04:54:59",
        "2019-05-23T04:54:59",
        "20190523045459",
        "23/5/19 4:54:59",
        "5/23/2019 4:54:59 AM",
    ],
)
def test_written_times_are_read_as_the_right_moment(value: object) -> None:
    assert read(value) == MOMENT


@pytest.mark.parametrize(
    "value",
    [
        "23/05/2019 16:05",
        "May 23, 2019 4:05 PM",
        "23 de mayo de 2019, 16:05",
        "jueves, 23 may. 2019 16:05",
        "4:05 p. m. 23/05/2019",
        "May 23, 2019 4:05 PM → May 24, 2019 5:05 PM",
    ],
)
def test_a_time_with_minutes_uses_the_given_zone(value: str) -> None:
    assert read(value) == MINUTE


@pytest.mark.parametrize(
    "value",
    [
        *("2019-05-23", "2019/05/23", "20190523", "23/05/2019", "23/5/19", "23.05.2019"),
        *("23-may-2019", "23-may-19", "May 23, 2019", "@May 23, 2019", "23 de mayo de 2019"),
        *("43608", "2019-05-23 UTC"),
    ],
)
def test_a_day_is_shown_as_it_was_written_in_any_zone(value: str) -> None:
    assert read(value) == MIDNIGHT
    assert names_zone(value) in {None, True}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "no date"),
        (True, "cannot be read"),
        ([], "cannot be read"),
        ("yesterday", "cannot be read or does not exist; write it as 2019-05-23"),
        ("2019", "cannot be read"),
        ("13/13/2019", "cannot be read"),
        ("2019-05-23 13:00 PM", "cannot be read"),
        ("2019-05-23 10:00 IST", "cannot be read"),  # India's, Ireland's or Israel's
        ("2019-05-23 10:00 Europe/Nowhere", "cannot be read"),
        ("03/04/2019", "--day-first or --month-first"),
        ("9" * 20, "outside"),
    ],
)
def test_a_time_is_refused_with_a_form_that_is_read(value: object, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        read(value)


@pytest.mark.parametrize(
    ("values", "order"),
    [
        (["03/04/2019", "23/04/2019 10:00"], DayOrder.DAY_FIRST),
        (["03/04/2019", "4/23/2019 10:00 PM"], DayOrder.MONTH_FIRST),
        (["03/04/2019", None, "x", 5], DayOrder.UNDECIDED),
        (["04/04/2019", "3.4.2019", "2019-03-04", "1558580099"], DayOrder.NEEDLESS),
        (["23/04/2019", "04/23/2019"], DayOrder.MIXED),
    ],
)
def test_one_date_decides_the_order_of_a_column(values: list[object], order: DayOrder) -> None:
    assert find_day_order(values) is order


def test_a_mere_number_is_no_sign_of_a_column_of_dates() -> None:
    assert is_time("3/4/2019")
    assert not is_time("1558580099")
    assert not is_time("a canal")
    assert not is_time(7)


@given(st.text(max_size=40) | st.floats() | st.integers(-(10**25), 10**25))
def test_any_other_text_is_a_time_or_rejected(value: object) -> None:
    try:
        moment = read(value)
    except RecordError:
        return
    assert moment.utcoffset() == timedelta(0)
