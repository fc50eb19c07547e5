"""Days, months and years as stretches of time."""

from datetime import UTC, datetime

import pytest

from engine.query.filters import Stretch, read_stretch


def day(year: int, month: int = 1, day: int = 1, hour: int = 0, minute: int = 0) -> datetime:
    return datetime(year, month, day, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2015", Stretch(day(2015), day(2016))),
        ("2015-12", Stretch(day(2015, 12), day(2016))),
        ("2016-02-29", Stretch(day(2016, 2, 29), day(2016, 3, 1))),
        ("2015-03-02+02:00", Stretch(day(2015, 3, 1, 22, 0), day(2015, 3, 2, 22, 0))),
        ("2015-03-02Z", Stretch(day(2015, 3, 2), day(2015, 3, 3))),
        ("2015-03-02T10:30", Stretch(day(2015, 3, 2, 10, 30), day(2015, 3, 2, 10, 30))),
        ("2015-03-02T10:30+01:00", Stretch(day(2015, 3, 2, 9, 30), day(2015, 3, 2, 9, 30))),
        ("2015-02-29", None),
        ("2015-13", None),
        ("0999", None),
        ("9999", None),
        ("9999-12-31T23:59-23:59", None),
        ("yesterday", None),
        ("٢٠١٥", None),
        ("", None),
    ],
)
def test_days_months_and_years_are_read_as_periods(text: str, expected: Stretch | None) -> None:
    assert read_stretch(text) == expected
