"""Charts by month."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.web.examples import HEIGHT, WIDTH, draw_month_chart, list_months

MONTHS = st.builds("{:04}-{:02}".format, st.integers(1990, 2030), st.integers(1, 12))
COUNTS = st.dictionaries(MONTHS, st.integers(1, 5000), min_size=1)


def test_no_texts_have_no_chart() -> None:
    assert draw_month_chart({}) is None


def test_a_chart_holds_every_month_from_the_first_to_the_last() -> None:
    chart = draw_month_chart({"2019-11": 1, "2020-02": 4})
    assert chart is not None
    assert list_months({"2019-11": 1, "2020-02": 4}) == ["2019-11", "2019-12", "2020-01", "2020-02"]
    assert [(one.x, one.y, one.height) for one in chart.columns] == [
        (0, 82.5, 27.5),
        (90, 0, HEIGHT),
    ]
    assert (chart.most, chart.busiest, chart.texts) == (4, "2020-02", 5)
    assert chart.years == {"2019": 1, "2020": 4}


def test_a_single_month_is_a_bar_and_no_wall() -> None:
    chart = draw_month_chart({"2012-05": 3})
    assert chart is not None
    assert chart.columns[0].width < WIDTH / 12


@pytest.mark.parametrize(("first", "last", "names"), [
    ("2012-05", "2012-05", ["2012"]),
    ("2009-12", "2012-12", ["2010", "2011", "2012"]),
    ("1990-01", "2020-12", ["1990", "1994", "1998", "2002", "2006", "2010", "2014", "2018"]),
])  # fmt: skip
def test_years_are_named_where_there_is_room(first: str, last: str, names: list[str]) -> None:
    chart = draw_month_chart({first: 1, last: 1})
    assert chart is not None
    assert [label.name for label in chart.labels] == names


@given(COUNTS)
def test_all_is_counted_and_drawn_within_the_picture(counted: dict[str, int]) -> None:
    chart = draw_month_chart(counted)
    assert chart is not None
    assert chart.texts == sum(counted.values())
    assert len(chart.columns) == len([one for one in counted.values() if one])
    assert max(one.height for one in chart.columns) == HEIGHT
    for one in chart.columns:
        assert 0 <= one.x < one.x + one.width <= WIDTH + 0.01
        assert one.y + one.height == pytest.approx(HEIGHT, abs=0.02)
    assert all(0 <= label.x < WIDTH for label in chart.labels)
