"""The months of an archive: the grid of its years, its line of time, a page for each month."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from math import ceil, sqrt

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from bot.i18n.words import Words
from bot.web.api import month_span
from bot.web.failures import nothing_here
from bot.web.listing import ON_A_PAGE, ArchiveDay, describe_archived
from bot.web.rendering import render_template
from bot.web.shared_state import SharedOf, SharedState, limit_requests
from bot.web.visitor import Visitor, VisitorOf, find_visitor, format_day
from db.search.shown import ArchiveText, DocumentLookup
from engine.values import Corpus, Flag

LEVELS = 5
_MAX_PARTS = 40  # of a line of time
_MAX_TICKS = 5  # years that are named on it
_PARTS_OF_A_YEAR = (1, 2, 3, 4, 6, 12)  # months
_FILLED = 0.88  # of the width of a part; the rest parts it from the next
_LOWEST = 3  # percent: what has any posts is seen
_FARTHEST = 10_000  # texts that are skipped, at most: a month has fewer

monthly = APIRouter(include_in_schema=False, dependencies=[Depends(limit_requests)])


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthView:
    """A month of the grid."""

    when: str  # "2015-03"
    name: str  # as people write it
    posts: int
    level: int  # how many that is beside the busiest month, 1 to LEVELS


@dataclass(frozen=True, slots=True, kw_only=True)
class YearView:
    """A year of the grid, with all of its months."""

    name: str
    months: Sequence[MonthView]

    @property
    def posts(self) -> int:
        """How many there are in the whole year."""
        return sum(month.posts for month in self.months)

    @property
    def most(self) -> int:
        """How many there are in its busiest month."""
        return max(month.posts for month in self.months)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A part of a line of years; where it stands and how high it is, in percent."""

    name: str  # of its year
    posts: int
    start: float
    width: float
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LineOfYears:
    """How many posts there are from year to year."""

    bars: Sequence[Bar]
    parts: int  # with or without posts
    months: int  # of a part
    most: int  # posts of the highest bar
    ticks: Sequence[tuple[float, str]]  # where some of the years begin


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A link to the month or the day before or after."""

    path: str
    name: str


@monthly.get("/corpora/{name}/{year:int}/{month:int}")
async def _show_month(
    request: Request, shared: SharedOf, visitor: VisitorOf, *, name: str, year: int, month: int
) -> Response:
    corpus, words = await shared.app.corpora.get(name), visitor.words
    when = f"{year:04}-{month:02}"
    years = await list_years(shared, corpus, words)
    months = [view for each in years for view in each.months if view.posts]
    at = next((place for place, view in enumerate(months) if view.when == when), None)
    if at is None:
        raise nothing_here()
    skipped = count_skipped(request)
    begins, ends = month_span(when)
    month_days = (ends - begins).days
    given = request.query_params.get("day", "")
    day = int(given) if given.isdecimal() and len(given) < 3 else 0
    day = day if day <= month_days else 0
    begins += timedelta(days=max(day - 1, 0))
    lookup = DocumentLookup(shared.app.database)
    texts = await lookup.list_texts(corpus, begins, ends, limit=ON_A_PAGE + 1, offset=skipped)
    return render_texts(
        request,
        corpus,
        _group_by_day(texts[:ON_A_PAGE], corpus, words),
        heading=words.month(year, month),
        month=months[at],
        beside=(
            _link_month(visitor, corpus, months[at - 1]) if at else None,
            _link_month(visitor, corpus, months[at + 1]) if months[at + 1 :] else None,
        ),
        years=years,
        month_days=month_days,
        day=day,
        times=True,
        page=skipped // ON_A_PAGE + 1,
        more=len(texts) > ON_A_PAGE,
        pages=0 if day else ceil(months[at].posts / ON_A_PAGE),
    )


def _link_month(visitor: Visitor, corpus: Corpus, month: MonthView) -> Beside:
    path = visitor.link(f"/corpora/{corpus.name}/{month.when.replace('-', '/')}")
    return Beside(path=path, name=month.name)


def render_texts(
    request: Request,
    corpus: Corpus,
    days: Sequence[ArchiveDay],
    *,
    heading: str,
    intro: str = "",
    by_year: Sequence[str] = (),  # years that have a list like this
    month: MonthView | None = None,
    beside: Sequence[Beside | None] = (None, None),
    month_days: int = 0,
    day: int = 0,  # from which the month is listed, if not from its first
    years: Sequence[YearView] = (),
    times: bool = False,
    page: int = 1,
    more: bool = False,
    pages: int = 0,  # 0: not told
) -> Response:
    """Return a page of texts under headings."""
    entries = (entry for day in days for entry in (*(text for text, _ in day.texts), *day.replies))
    first = next(entries, None)
    return render_template(
        request,
        "texts.html",
        corpus=corpus,
        heading=heading,
        intro=intro,
        by_year=by_year,
        month=month,
        beside=beside,
        month_days=month_days,
        day=day,
        values={"day": day} if day else {},
        years=years,
        month_names=find_visitor(request).words.months,
        days=days,
        first_id=first.id if first else "",
        times=times,
        page=page,
        more=more,
        pages=pages,
        before=ON_A_PAGE * (page - 1),
    )


def count_skipped(request: Request) -> int:
    """Return how many texts stand on the pages before the one that is asked for."""
    given = request.query_params.get("page", "")
    number = int(given) if given.isdecimal() and len(given) < 6 else 1
    return min((max(number, 1) - 1) * ON_A_PAGE, _FARTHEST)


def _group_by_day(texts: Sequence[ArchiveText], corpus: Corpus, words: Words) -> list[ArchiveDay]:
    """Return the days on which texts, or the threads that they continue, begin; replies to others
    stand below what was said to all."""
    days: list[ArchiveDay] = []
    for text in texts:
        moment = text.candidate.created_at
        day = format_day(moment)
        if not days or (not text.continues and days[-1].day != day):
            title = words.day(moment.astimezone(UTC)) if moment else ""
            days.append(ArchiveDay(day=day, title=title))
        entry = describe_archived(text, corpus, words)
        if Flag.REPLY in text.candidate.flags and not text.continues:
            days[-1].replies.append(entry)
        else:
            days[-1].texts.append((entry, text.continues))
    return [
        replace(
            day, say_replies=words.count("{number} reply", "{number} replies", len(day.replies))
        )
        for day in days
    ]


async def list_years(shared: SharedState, corpus: Corpus, words: Words) -> list[YearView]:
    """Return the years in which there are texts. Raises StorageError."""
    counted = await shared.count_months(corpus)
    most = max(counted.values(), default=1)

    def view_month(year: str, month: int) -> MonthView:
        when = f"{year}-{month:02}"
        posts = counted.get(when, 0)
        # Not in proportion: a month of few posts is still seen beside the busiest one.
        level = ceil(LEVELS * sqrt(posts / most))
        name = words.month(int(year), month)
        return MonthView(when=when, name=name, posts=posts, level=level)

    years = dict.fromkeys(when[:4] for when in counted)
    return [
        YearView(name=year, months=[view_month(year, month) for month in range(1, 13)])
        for year in years
    ]


def span_years(months: Iterable[str]) -> range:
    """Return the years from the first to the last of some months ("2015-03")."""
    years = [int(when[:4]) for when in months]
    return range(min(years), max(years) + 1) if years else range(0)


def draw_line(counted: Mapping[str, int], span: range, *, finest: int = 1) -> LineOfYears | None:
    """Return how many posts each part of some years has, of those in `counted` by month, or None
    for no posts. A part has at least `finest` months."""
    step = _choose_step(span, finest)
    posts = Counter[int]()
    for when, number in counted.items():
        posts[(12 * (int(when[:4]) - span.start) + int(when[5:]) - 1) // step] += number
    if not posts:
        return None
    parts, most = ceil(12 * len(span) / step), max(posts.values())
    apart = ceil(len(span) / _MAX_TICKS)
    return LineOfYears(
        bars=[
            Bar(
                name=_name_years(span[place * step // 12 :], step),
                posts=number,
                start=round(100 * place / parts, 2),
                width=round(100 * _FILLED / parts, 2),
                height=max(round(100 * number / most), _LOWEST),
            )
            for place, number in sorted(posts.items())
        ],
        parts=parts,
        months=step,
        most=most,
        ticks=[
            (round(1200 * at / step / parts, 2), str(span[at])) for at in range(0, len(span), apart)
        ],
    )


def _choose_step(span: range, finest: int) -> int:
    """Return of how many months a part of some years is: of a part of a year, or of whole ones."""
    years_each = ceil(len(span) / _MAX_PARTS)
    fine = (step for step in _PARTS_OF_A_YEAR if step >= finest)
    return next((step for step in fine if 12 * len(span) <= step * _MAX_PARTS), 12 * years_each)


def _name_years(years: range, step: int) -> str:
    """Return the name of the first years of some that a part of `step` months has."""
    first, last = years[0], years[: max(step // 12, 1)][-1]
    return str(first) if first == last else f"{first}–{last}"
