"""The pages of an archive to walk through: by year and month, by likes, and on this day."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from bot.i18n.words import Words
from bot.web.browsing import TimelineEntry, describe_entry
from bot.web.examples import choose_examples, count_by_month, draw_bars
from bot.web.failures import nothing_here
from bot.web.foretold import list_posted, view_post
from bot.web.rendering import render_template
from bot.web.shared_state import SharedOf, SharedState, limit_requests
from bot.web.visitor import (
    ProphecyForm,
    VisitorOf,
    find_visitor,
    format_day,
    list_choices,
    say_span,
)
from db.search.shown import ArchiveText, DocumentLookup, Order
from engine.corpora import corpus_named
from engine.search import FIRST_MOMENT
from engine.values import Corpus

ON_A_PAGE = 30
_FARTHEST = 10_000  # texts that are skipped, at most: a month has fewer
_LAST_MOMENT = datetime(9999, 12, 31, tzinfo=UTC)

archive = APIRouter(include_in_schema=False, dependencies=[Depends(limit_requests)])


@dataclass(frozen=True, slots=True, kw_only=True)
class DateSpan:
    """Texts that a page lists: of a span of time, or of one day of every year."""

    begins: datetime = FIRST_MOMENT
    ends: datetime = _LAST_MOMENT
    month: int | None = None
    day: int | None = None

    @classmethod
    def of_month(cls, year: int, month: int) -> "DateSpan":
        """Return a month, or with 0 a whole year. Raises Refusal."""
        if not (1 <= year < 9999 and 0 <= month <= 12):
            raise nothing_here()
        begins = datetime(year, month or 1, 1, tzinfo=UTC)
        whole_year = month in (0, 12)
        ends = datetime(year + whole_year, 1 if whole_year else month + 1, 1, tzinfo=UTC)
        return cls(begins=begins, ends=ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveDay:
    """Texts under one heading; those that continue a thread stand with the day it begins on."""

    day: str = ""  # ISO; "" where texts are not listed by date
    title: str = ""  # the day as people write it
    texts: list[tuple[TimelineEntry, bool]] = field(default_factory=list)  # continues a thread?


@archive.get("/corpora")
async def _list_corpora(request: Request, shared: SharedOf, visitor: VisitorOf) -> Response:
    corpora, _ = await list_choices(shared, "") if await shared.app.corpora.list() else ([], "")
    return render_template(
        request,
        "corpora.html",
        corpora=[(corpus, await _say_span(shared, corpus, visitor.words)) for corpus in corpora],
    )


@archive.get("/corpora/{name}")
async def _show_corpus(
    request: Request, shared: SharedOf, visitor: VisitorOf, name: str
) -> Response:
    known, words = corpus_named(await shared.app.corpora.list(), name), visitor.words
    months = await count_by_month(shared, known)
    busiest = max(months, key=lambda month: (months[month], month), default="")
    return render_template(
        request,
        "corpus.html",
        corpus=known,
        asked=ProphecyForm(headline="", date=None, corpus=known.name),
        bars=draw_bars(months),
        busiest=say_span(busiest, words),
        maximum=months.get(busiest, 0),
        span=await _say_span(shared, known, words),
        lately=[view_post(*posted, visitor) for posted in await list_posted(shared, [known])],
        examples=await choose_examples(shared, known, words),
    )


@archive.get("/corpora/{name}/on-this-day")
async def _show_day(request: Request, shared: SharedOf, visitor: VisitorOf, name: str) -> Response:
    today = shared.now().astimezone(UTC)
    span = DateSpan(month=today.month, day=today.day)
    title = visitor.words.day(today)
    return await _list_texts(request, shared, name=name, span=span, title=title)


@archive.get("/corpora/{name}/most-liked")
async def _show_liked(request: Request, shared: SharedOf, name: str) -> Response:
    return await _list_texts(request, shared, name=name, span=DateSpan(), usual=Order.LIKES)


@archive.get("/corpora/{name}/{year:int}")
async def _show_year(request: Request, shared: SharedOf, name: str, year: int) -> Response:
    span, when = DateSpan.of_month(year, 0), f"{year:04}"
    return await _list_texts(
        request, shared, name=name, span=span, title=when, when=when, usual=Order.LIKES
    )


@archive.get("/corpora/{name}/{year:int}/{month:int}")
async def _show_month(
    request: Request, shared: SharedOf, visitor: VisitorOf, *, name: str, year: int, month: int
) -> Response:
    span = DateSpan.of_month(year, month or 13)
    title = visitor.words.month(year, month)
    return await _list_texts(
        request, shared, name=name, span=span, title=title, when=f"{year:04}-{month:02}"
    )


async def _list_texts(
    request: Request,
    shared: SharedState,
    *,
    name: str,
    span: DateSpan,
    title: str = "",
    when: str = "",
    usual: Order = Order.OLDEST,
) -> Response:
    """Return a page of texts in the order that is asked for."""
    known = corpus_named(await shared.app.corpora.list(), name)
    words = find_visitor(request).words
    values, months = request.query_params, await count_by_month(shared, known)
    order = Order(given) if (given := values.get("sort", "")) in list(Order) else usual
    number = int(given) if (given := values.get("page", "")).isdecimal() and len(given) < 6 else 1
    skipped = min((max(number, 1) - 1) * ON_A_PAGE, _FARTHEST)
    texts = await DocumentLookup(shared.app.database).list_texts(
        known,
        span.begins,
        span.ends,
        month=span.month,
        day=span.day,
        order=order,
        limit=ON_A_PAGE + 1,
        offset=skipped,
    )
    bars = draw_bars(months, when[:4]) if when else ()
    return render_template(
        request,
        "texts.html",
        corpus=known,
        title=title,
        when=when,
        bars=[(bar, say_span(bar.name, words)) for bar in bars],
        days=_group_by_day(texts[:ON_A_PAGE], order, known, words),
        order=order.value,
        usual=usual.value,
        page=skipped // ON_A_PAGE + 1,
        more=len(texts) > ON_A_PAGE,
    )


def _group_by_day(
    texts: Sequence[ArchiveText], order: Order, corpus: Corpus, words: Words
) -> list[ArchiveDay]:
    """Return the days on which texts, or the threads that they continue, begin."""
    days: list[ArchiveDay] = []
    for text in texts:
        moment = text.candidate.created_at
        day = format_day(moment) if order is not Order.LIKES else ""
        if not days or (not text.continues and days[-1].day != day):
            title = words.date(moment.astimezone(UTC)) if day and moment else ""
            days.append(ArchiveDay(day=day, title=title))
        entry = describe_entry(text.candidate, text.engagement, text.candidate.text, corpus, words)
        days[-1].texts.append((entry, text.continues))
    return days


async def _say_span(shared: SharedState, corpus: Corpus, words: Words) -> Sequence[str]:
    """Return the dates of the first and the last text, as far as known; the same date once."""
    moments = await shared.app.corpora.span(corpus)
    dates = (words.date(moment.astimezone(UTC)) for moment in moments if moment)
    return list(dict.fromkeys(dates))
