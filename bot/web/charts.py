"""Charts of texts by month, as coordinates that templates draw as SVG."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 360, 110  # units of the picture; the labels of years stand below
_MOST_LABELS = 9
_FEWEST = 12  # months that have room, so that the bar of a single one is not a wall
_GAP = 0.2  # share of a column's place that stays empty


@dataclass(frozen=True, slots=True)
class Column:
    """A month and its bar."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class YearLabel:
    """The name of a year, and where the year begins."""

    x: float
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthChart:
    """Columns of all months from the first to the last, and what a table says instead."""

    columns: Sequence[Column]
    labels: Sequence[YearLabel]
    most: int  # texts of the highest column
    busiest: str  # its month ("2012-03")
    years: Mapping[str, int]

    @property
    def texts(self) -> int:
        """Return the total number of texts."""
        return sum(self.years.values())


def month_chart(counted: Mapping[str, int]) -> MonthChart | None:
    """Return the chart of texts by month ("2012-03"), or None if there are no texts."""
    if not counted:
        return None
    months = every_month(counted)
    place, most = WIDTH / max(len(months), _FEWEST), max(counted.values())
    columns = [
        Column(round(at * place, 2), round(HEIGHT - high, 2), round(place * (1 - _GAP), 2), high)
        for at, month in enumerate(months)
        if (high := round(HEIGHT * counted.get(month, 0) / most, 2))
    ]
    years = dict.fromkeys((month[:4] for month in months), 0)
    for month, number in counted.items():
        years[month[:4]] += number
    return MonthChart(
        columns=columns,
        labels=list(_labels(months, place)),
        most=most,
        busiest=max(counted, key=lambda month: (counted[month], month)),
        years=years,
    )


def every_month(counted: Mapping[str, int]) -> list[str]:
    """Return all months from the first of `counted` to the last, with those between them."""
    first, last = min(counted), max(counted)
    every = (
        f"{year:04}-{month:02}"
        for year in range(int(first[:4]), int(last[:4]) + 1)
        for month in range(1, 13)
    )
    return [month for month in every if first <= month <= last]


def _labels(months: Sequence[str], place: float) -> Iterator[YearLabel]:
    """Yield the years that have room for their names."""
    begins = [(at, month[:4]) for at, month in enumerate(months) if month.endswith("-01") or not at]
    if len(begins) > 1 and begins[1][0] < 12 and begins[1][0] * place < WIDTH / _MOST_LABELS:
        begins = begins[1:]  # the part of the first year is too short for its name
    step = -(-len(begins) // _MOST_LABELS)
    for at, name in begins[::step]:
        if WIDTH - at * place >= WIDTH / (_MOST_LABELS + 3) or len(begins) == 1:
            yield YearLabel(round(at * place, 2), name)
