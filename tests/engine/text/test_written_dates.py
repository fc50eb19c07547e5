"""Times as people and spreadsheets write them."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import RecordError
from engine.ingest.fields import read_written_time
from engine.text.written_dates import DayOrder, find_day_order, is_time, names_zone

MOMENT = datetime(2019, 5, 23, 2, 54, 59, tzinfo=UTC)
MINUTE = datetime(2019, 5, 23, 14, 5, tzinfo=UTC)
DAY = datetime(2019, 5, 23, tzinfo=UTC)
MADRID = ZoneInfo("Europe/Madrid")


def read(value: object, *, is_day_first: bool | None = None) -> datetime:
    return read_written_time(value, zone=MADRID, is_day_first=is_day_first)


@pytest.mark.parametrize(
    "value",
    [
        "2019-05-23T02:54:59Z",
        "2019-05-23 02:54:59 UTC",
        "2019-05-23 03:54:59 CET",
        "2019-05-23 04:54:59 GMT+2",
        "2019-05-23 04:54:59 UTC+02:00",
        "2019-05-23 04:54:59 Europe/Madrid",
        "2019-05-22 19:54:59 PDT",
        "23/05/2019 04:54:59 +0200",
        "Thu May 23 02:54:59 +0000 2019",
        "Thu, 23 May 2019 02:54:59 +0000",
        "Thu May 23 2019 04:54:59 GMT+0200 (Central European Summer Time)",
        "May 23, 2019 · 2:54:59 AM UTC",
        "1558580099",
        "1558580099.0",
        1558580099,
        1558580099000,
        "1558580099000",
        "1558580099000000",
        "1558580099000000000",
        # Without a zone, in Madrid.
        "2019-05-23 04:54:59",
        "2019-05-23T04:54:59",
        "2019/05/23 4:54:59",
        "20190523045459",
        "23/5/19 4:54:59",
        "23-05-2019 4:54:59",
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
    assert read(value) == DAY
    assert names_zone(value) in {None, True}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "no date"),
        (" ", "no date"),
        (True, "cannot be read"),
        ([], "cannot be read"),
        ("yesterday", "cannot be read or does not exist; write it as 2019-05-23"),
        ("2019", "cannot be read"),
        ("31/02/2019", "cannot be read"),
        ("13/13/2019", "cannot be read"),
        ("2019-05-23 25:00", "cannot be read"),
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
