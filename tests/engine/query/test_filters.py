"""What filters demand together."""

from datetime import UTC, datetime

import pytest

from engine.query.filters import Conditions, Stretch, combine_conditions, read_stretch
from engine.query.parser import parse_query
from engine.values import Flag


def day(year: int, month: int = 1, date: int = 1, hour: int = 0, minute: int = 0) -> datetime:
    return datetime(year, month, date, hour, minute, tzinfo=UTC)


def moment(day_of_march: int, *, hour: int = 0) -> datetime:
    return datetime(2015, 3, day_of_march, hour, tzinfo=UTC)


def of(text: str) -> Conditions:
    return combine_conditions(parse_query(text).filters)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Conditions()),
        ("in:demo -in:other", Conditions()),
        ("before:2015", Conditions(before=day(2015))),
        ("before:2015 before:2014", Conditions(before=day(2014))),
        ("after:2015-03", Conditions(after=day(2015, 3))),
        ("before:2015-03-02T14:00+01:00", Conditions(before=moment(2, hour=13))),
        ("before:2015-03-02+09:00", Conditions(before=moment(1, hour=15))),
        ("before:1000", Conditions(before=day(1000))),
        ("before:9999", Conditions()),
        ("-before:2015", Conditions(after=day(2015))),
        ("on:2015", Conditions(after=day(2015), before=day(2016))),
        ("on:2015-03-02", Conditions(after=moment(2), before=moment(3))),
        ("on:2015 before:2015-06", Conditions(after=day(2015), before=day(2015, 6))),
        ("-on:2015", Conditions(not_during=(Stretch(day(2015), day(2016)),))),
        ("min:5 min:9", Conditions(minimum=9)),
        ("-min:5 -min:9", Conditions(below=5)),
        ("min:999999999", Conditions(minimum=999_999_999)),
        ("min:1000000000", Conditions()),
        ("has:media is:reply", Conditions(require=Flag.MEDIA | Flag.REPLY)),
        ("-has:media -is:repost", Conditions(exclude=Flag.MEDIA | Flag.REPOST)),
        ("from:a from:B -from:c", Conditions(authors=("a", "b"), not_authors=("c",))),
        ("lang:en -lang:es", Conditions(languages=("en",), not_languages=("es",))),
        ("role:user -role:me", Conditions(roles=("user",), not_roles=("me",))),
        ("thread:A1 -thread:b", Conditions(threads=("A1",), not_threads=("b",))),
        ("#A #b -#c", Conditions(tags=("a", "b"), not_tags=("c",))),
        ("@A -@b", Conditions(mentions=("a",), not_mentions=("b",))),
    ],
)
def test_filters_combine_into_one_condition(text: str, expected: Conditions) -> None:
    assert of(text) == expected


# Days, months and years as stretches of time


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2015", Stretch(day(2015), day(2016))),
        ("2015-12", Stretch(day(2015, 12), day(2016))),
        ("2016-02-29", Stretch(day(2016, 2, 29), day(2016, 3, 1))),
        ("2015-03-02+02:00", Stretch(day(2015, 3, 1, 22, 0), day(2015, 3, 2, 22, 0))),
        ("2015-03-02T10:30", Stretch(day(2015, 3, 2, 10, 30), day(2015, 3, 2, 10, 30))),
        ("2015-03-02T10:30+01:00", Stretch(day(2015, 3, 2, 9, 30), day(2015, 3, 2, 9, 30))),
        ("2015-02-29", None),
        ("0999", None),
        ("9999", None),
        ("9999-12-31T23:59-23:59", None),
        ("yesterday", None),
        ("٢٠١٥", None),
    ],
)
def test_days_months_and_years_are_read_as_periods(text: str, expected: Stretch | None) -> None:
    assert read_stretch(text) == expected
