"""What the lists of an archive show: its texts, the grid of its months, the line of its years."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from math import ceil, sqrt
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from bot.i18n.words import Words
from bot.reply import name_flags, say_date
from bot.web.rendering import Piece, name_links, render_template, split_marks
from bot.web.shared_state import SharedState
from bot.web.visitor import find_visitor, format_day, read_whole_number
from db.search.shown import ArchiveText
from engine.search import Candidate
from engine.values import Corpus, Flag

ROWS_PER_PAGE = 30
_LEVELS = 5
_MAX_PARTS = 40  # of a line of time
_MAX_TICKS = 5  # years that are named on it
_PARTS_OF_A_YEAR = (1, 2, 3, 4, 6, 12)  # months
_FILLED = 0.88  # of the width of a part; the rest parts it from the next
_LOWEST = 3  # percent: what has any posts is seen
_FARTHEST = 10_000  # texts that are skipped, at most: a month has fewer


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveEntry:
    """One text as lists show it."""

    id: str
    day: str
    date_text: str
    time: str  # of the day, in UTC: "09:05"; "" if it is not known
    author: str | None  # if it says more than the corpus does
    likes: str
    labels: Sequence[str]
    lang: str | None
    pieces: Sequence[Piece]
    share: int = 0  # of the reactions of the most liked, in percent, where texts are ranked by them


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveDay:
    """Texts under one heading; those that continue a thread stand with the day it begins on."""

    day: str = ""  # ISO; "" where texts are not listed by date
    title: str = ""  # as people write it
    since: str = ""  # how long ago that is, where this tells the days apart
    share: int = 0  # of the longest of these times, in percent
    texts: list[tuple[ArchiveEntry, bool]] = field(default_factory=list)  # continues a thread?
    replies: list[ArchiveEntry] = field(default_factory=list)  # to others
    say_replies: str = ""
    more: str = ""  # how many other texts that day has


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthView:
    """A month of the grid."""

    when: str  # "2015-03"
    name: str  # as people write it
    posts: int
    level: int  # how many that is beside the busiest month, 1 to 5


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


def describe_archived(text: ArchiveText, corpus: Corpus, words: Words) -> ArchiveEntry:
    return describe_entry(text.candidate, text.engagement, text.candidate.text, corpus, words)


def describe_entry(
    candidate: Candidate, engagement: int, text: str, corpus: Corpus, words: Words
) -> ArchiveEntry:
    """Return a text as lists show it, with marks in `text`."""
    created_at = candidate.created_at
    return ArchiveEntry(
        id=candidate.external_id,
        day=format_day(created_at),
        date_text=say_date(created_at, candidate.dated_by, words)
        if candidate.dated_by or not created_at
        else words.short_date(created_at.astimezone(UTC)),
        time="" if candidate.dated_by else _format_time(created_at),
        author=candidate.author if candidate.author != corpus.author else None,
        likes=say_likes(engagement, words),
        labels=name_flags(candidate.flags.names, words),
        lang=candidate.lang,
        pieces=_list_pieces(text, words, has_media=Flag.MEDIA in candidate.flags),
    )


def _list_pieces(text: str, words: Words, *, has_media: bool) -> Sequence[Piece]:
    """Return what a list shows of a text, which may have none, and may begin with empty lines."""
    if text.strip():
        return name_links(split_marks(text.strip()), words, has_media=has_media)
    return [Piece(words.say("(picture only)") if has_media else "—", marked=False)]


def _format_time(moment: datetime | None) -> str:
    """Return the time of day (UTC), or "" for none and for midnight, which dates alone become."""
    moment = moment and moment.astimezone(UTC)
    return f"{moment:%H:%M}" if moment and moment.time() != time.min else ""


def say_likes(number: int, words: Words) -> str:
    if not number:
        return ""
    return words.count("{number} reaction", "{number} reactions", number)


def render_texts(
    request: Request,
    corpus: Corpus,
    days: Sequence[ArchiveDay],
    *,
    heading: str,
    page: int = 1,
    more: bool = False,
    **shown: object,
) -> Response:
    """Return a page of texts under headings, and what else is `shown` on some of these pages."""
    entries = (entry for day in days for entry in (*(text for text, _ in day.texts), *day.replies))
    first = next(entries, None)
    usual: dict[str, Any] = {
        "intro": "",
        "by_year": (),  # that have a list like this
        "month": None,
        "beside": (None, None),  # paths and names of the lists before and after
        "years": (),
        "values": {},  # of the addresses of the other pages
        "pages": 0,  # not told
    }
    return render_template(
        request,
        "texts.html",
        corpus=corpus,
        heading=heading,
        month_names=find_visitor(request).words.months,
        days=days,
        first_id=first.id if first else "",
        page=page,
        more=more,
        before=ROWS_PER_PAGE * (page - 1),
        **usual | shown,
    )


def count_skipped(request: Request) -> int:
    """Return how many texts stand on the pages before the one that is asked for."""
    page = max(read_whole_number(request, "page", digits=5), 1)
    return min((page - 1) * ROWS_PER_PAGE, _FARTHEST)


async def list_years(shared: SharedState, corpus: Corpus, words: Words) -> list[YearView]:
    """Return the years in which there are texts. Raises StorageError."""
    counted = await shared.count_months(corpus)
    most = max(counted.values(), default=1)

    def view_month(year: str, month: int) -> MonthView:
        when = f"{year}-{month:02}"
        posts = counted.get(when, 0)
        # Not in proportion: a month of few posts is still seen beside the busiest one.
        level = ceil(_LEVELS * sqrt(posts / most))
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
