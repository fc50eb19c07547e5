"""The pages of an archive: its months, this day of each year, the most liked, each text."""

from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, timedelta
from functools import partial
from math import ceil, sqrt
from typing import cast

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from bot.i18n.words import Words
from bot.replies.dates import say_age, say_lead_time
from bot.reply import name_beside, name_flags, say_date
from bot.web.api import DocumentOf, month_span
from bot.web.examples import choose_examples
from bot.web.failures import nothing_here
from bot.web.foretold import list_foretold_by, list_latest
from bot.web.rendering import (
    Piece,
    archived_address,
    link_pieces,
    name_links,
    render_template,
    split_marks,
    web_address,
)
from bot.web.shared_state import SharedOf, SharedState, limit_requests
from bot.web.visitor import ProphecyForm, Visitor, VisitorOf, find_visitor, format_day, list_choices
from db.corpus.health import Neighbour, Overview
from db.search.shown import ArchiveText, DayOfYear, DocumentLookup
from engine.search import Candidate
from engine.text.address import address_candidate
from engine.values import Corpus, CorpusRole, Flag

ON_A_PAGE = 30
_MOST_LIKED = 300  # texts of an archive that are ranked
_FARTHEST = 10_000  # texts that are skipped, at most: a month has fewer
LEVELS = 5
_MAX_TICKS = 5  # years that are named on the axis of the archives
_LEAP_YEAR = 2024  # which has every day
_MAX_FORETOLD = 20  # headlines on the page of a text
_LONGEST_THREAD = 50

browsing = APIRouter(include_in_schema=False, dependencies=[Depends(limit_requests)])


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


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthView:
    """A month of the grid."""

    when: str  # "2015-03"
    name: str  # as people write it
    posts: int
    level: int  # how many that is beside the busiest month, 1 to LEVELS


@dataclass(frozen=True, slots=True, kw_only=True)
class _Beside:
    """A link to the month or the day before or after."""

    path: str
    name: str


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


@browsing.get("/corpora")
async def _list_corpora(request: Request, shared: SharedOf, visitor: VisitorOf) -> Response:
    corpora, _ = await list_choices(shared, "") if await shared.app.corpora.list() else ([], "")
    words = visitor.words
    years = {corpus.name: await list_years(shared, corpus, words) for corpus in corpora}
    named = sorted({int(year.name) for listed in years.values() for year in listed})
    span = range(named[0], named[-1] + 1) if named else range(0)
    return render_template(
        request,
        "corpora.html",
        corpora=[
            (
                corpus,
                await _say_span(shared, corpus, words),
                _fill_years(years[corpus.name], span),
            )
            for corpus in corpora
        ],
        ticks=_choose_ticks(span),
    )


def _fill_years(years: Sequence[YearView], span: range) -> Sequence[Sequence[int]]:
    """Return the level of each month of a span of years, by years, so that archives stand on one
    axis."""
    by_name = {year.name: [month.level for month in year.months] for year in years}
    return [by_name.get(str(year), [0] * 12) for year in span]


def _choose_ticks(span: range) -> Sequence[str]:
    """Return a label for each year of a span, "" where there is no room for it."""
    apart = ceil(len(span) / _MAX_TICKS) if span else 1
    return ["" if place % apart else str(year) for place, year in enumerate(span)]


@browsing.get("/corpora/{name}")
async def _show_corpus(
    request: Request, shared: SharedOf, visitor: VisitorOf, name: str
) -> Response:
    corpus, words = await shared.app.corpora.get(name), visitor.words
    years = await list_years(shared, corpus, words)
    liked = await DocumentLookup(shared.app.database).list_most_liked(corpus, limit=1)
    lately = await list_latest(shared, [corpus], visitor)
    return render_template(
        request,
        "corpus.html",
        corpus=corpus,
        asked=ProphecyForm(headline="", date=None, corpus=corpus.name),
        years=years,
        month_names=words.months,
        facts=_say_facts(corpus, await _say_span(shared, corpus, words), years, words),
        this_day=await find_this_day(shared, corpus, words),
        liked=_describe_archived(liked[0], corpus, words) if liked else None,
        lately=lately,
        examples=() if lately else await choose_examples(shared, corpus, words),
    )


def _say_facts(corpus: Corpus, span: Sequence[str], years: Sequence[YearView], words: Words) -> str:
    """Return how many posts there are, from when to when, and in which month most of them."""
    said = [words.count("{number} post", "{number} posts", corpus.documents)]
    if len(span) == 2:
        said = [
            words.say("{posts}, from {first} to {last}", posts=said[0], first=span[0], last=span[1])
        ]
    elif span:
        said = [f"{said[0]}, {span[0]}"]
    if months := [month for year in years for month in year.months if month.posts]:
        busiest = max(months, key=lambda month: (month.posts, month.when))
        number = words.number(busiest.posts)
        said.append(words.say("Busiest: {month}, with {number}", month=busiest.name, number=number))
    return "".join(f"{sentence}. " for sentence in said).strip()


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


async def _say_span(shared: SharedState, corpus: Corpus, words: Words) -> Sequence[str]:
    """Return the dates of the first and the last text, as far as known; the same date once."""
    moments = await shared.app.corpora.span(corpus)
    dates = (words.date(moment.astimezone(UTC)) for moment in moments if moment)
    return list(dict.fromkeys(dates))


async def find_this_day(shared: SharedState, corpus: Corpus, words: Words) -> ArchiveEntry | None:
    """Return the best text of this day of any year. Raises StorageError."""
    days = await _list_day(shared, corpus, shared.now().astimezone(UTC))
    if not days:
        return None
    best = max(days, key=lambda day: day.best.engagement).best
    return _describe_archived(best, corpus, words)


async def _list_day(shared: SharedState, corpus: Corpus, day: datetime) -> Sequence[DayOfYear]:
    lookup = DocumentLookup(shared.app.database)
    read = partial(lookup.list_on_day, corpus, day.month, day.day)
    return await shared.kept.get(("day", corpus.id, corpus.documents, day.month, day.day), read)


@browsing.get("/corpora/{name}/most-liked")
async def _show_liked(
    request: Request, shared: SharedOf, visitor: VisitorOf, name: str
) -> Response:
    corpus, words = await shared.app.corpora.get(name), visitor.words
    skipped = min(_count_skipped(request), _MOST_LIKED - ON_A_PAGE)
    limit = min(skipped + ON_A_PAGE + 1, _MOST_LIKED)
    liked = await DocumentLookup(shared.app.database).list_most_liked(corpus, limit=limit)
    skipped = skipped if liked[skipped:] else 0
    listed = liked[skipped : skipped + ON_A_PAGE]
    texts = [(_describe_archived(text, corpus, words), False) for text in listed]
    return _render_texts(
        request,
        corpus,
        [ArchiveDay(texts=texts)] if texts else [],
        heading=words.say("Most reactions"),
        page=skipped // ON_A_PAGE + 1,
        more=len(liked) > skipped + ON_A_PAGE,
    )


def _count_skipped(request: Request) -> int:
    """Return how many texts stand on the pages before the one that is asked for."""
    given = request.query_params.get("page", "")
    number = int(given) if given.isdecimal() and len(given) < 6 else 1
    return min((max(number, 1) - 1) * ON_A_PAGE, _FARTHEST)


@browsing.get("/corpora/{name}/on-this-day")
async def _show_day(request: Request, shared: SharedOf, visitor: VisitorOf, name: str) -> Response:
    corpus, words = await shared.app.corpora.get(name), visitor.words
    day = _read_day(request.query_params.get("day", ""), shared.now())
    listed, now = await _list_day(shared, corpus, day), shared.now()
    return _render_texts(
        request,
        corpus,
        [_view_day(text, corpus, words, first=listed[0], now=now) for text in listed],
        heading=f"{words.say('On this day')}: {words.day(day)}",
        beside=tuple(
            _Beside(
                path=visitor.link(request.url.path, day=f"{other:%m-%d}"), name=words.day(other)
            )
            for other in (day - timedelta(days=1), day + timedelta(days=1))
        ),
    )


def _read_day(given: str, now: datetime) -> datetime:
    """Return a day of a leap year, given as "02-29", or that of today."""
    today = now.astimezone(UTC)
    try:
        return datetime.strptime(f"{_LEAP_YEAR}-{given}", "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return today.replace(year=_LEAP_YEAR)


def _view_day(
    day: DayOfYear, corpus: Corpus, words: Words, *, first: DayOfYear, now: datetime
) -> ArchiveDay:
    entry, others = _describe_archived(day.best, corpus, words), day.texts - 1
    begins = _begin_day(day)
    more = words.count("{number} more post of that day", "{number} more posts of that day", others)
    return ArchiveDay(
        day=entry.day,
        title=entry.day[:4],
        since=say_lead_time(begins, now, words),
        share=round(100 * (now - begins) / (now - _begin_day(first))),
        texts=[(entry, False)],
        more=more if others else "",
    )


def _begin_day(day: DayOfYear) -> datetime:
    """Return when a day of a year began, which its texts have a date for."""
    moment = cast(datetime, day.best.candidate.created_at)
    return datetime.combine(moment.astimezone(UTC), time.min, UTC)


@browsing.get("/corpora/{name}/{year:int}/{month:int}")
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
    skipped = _count_skipped(request)
    begins, ends = month_span(when)
    month_days = (ends - begins).days
    given = request.query_params.get("day", "")
    day = int(given) if given.isdecimal() and len(given) < 3 else 0
    day = day if day <= month_days else 0
    begins += timedelta(days=max(day - 1, 0))
    lookup = DocumentLookup(shared.app.database)
    texts = await lookup.list_texts(corpus, begins, ends, limit=ON_A_PAGE + 1, offset=skipped)
    return _render_texts(
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


def _link_month(visitor: Visitor, corpus: Corpus, month: MonthView) -> _Beside:
    path = visitor.link(f"/corpora/{corpus.name}/{month.when.replace('-', '/')}")
    return _Beside(path=path, name=month.name)


def _render_texts(
    request: Request,
    corpus: Corpus,
    days: Sequence[ArchiveDay],
    *,
    heading: str,
    month: MonthView | None = None,
    beside: Sequence[_Beside | None] = (None, None),
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
        entry = _describe_archived(text, corpus, words)
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


def _describe_archived(text: ArchiveText, corpus: Corpus, words: Words) -> ArchiveEntry:
    return describe_entry(text.candidate, text.engagement, text.candidate.text, corpus, words)


def describe_entry(
    candidate: Candidate, engagement: int, text: str, corpus: Corpus, words: Words
) -> ArchiveEntry:
    """Return a text as lists show it, with marks in `text`."""
    return ArchiveEntry(
        id=candidate.external_id,
        day=format_day(candidate.created_at),
        date_text=_say_short_date(candidate, words),
        time="" if candidate.dated_by else _format_time(candidate.created_at),
        author=candidate.author if candidate.author != corpus.author else None,
        likes=_say_likes(engagement, words),
        labels=name_flags(candidate.flags.names, words),
        lang=candidate.lang,
        pieces=_list_pieces(text, words, has_media=Flag.MEDIA in candidate.flags),
    )


def _list_pieces(text: str, words: Words, *, has_media: bool) -> Sequence[Piece]:
    """Return what a list shows of a text, which may have none, and may begin with empty lines."""
    if text.strip():
        return name_links(split_marks(text.strip()), words, has_media=has_media)
    return [Piece(words.say("(picture only)") if has_media else "—", marked=False)]


def _say_short_date(candidate: Candidate, words: Words) -> str:
    if candidate.dated_by or not candidate.created_at:
        return say_date(candidate.created_at, candidate.dated_by, words)
    return words.short_date(candidate.created_at.astimezone(UTC))


def _format_time(moment: datetime | None) -> str:
    """Return the time of day (UTC), or "" for none and for midnight, which dates alone become."""
    moment = moment and moment.astimezone(UTC)
    return f"{moment:%H:%M}" if moment and moment.time() != time.min else ""


def _say_likes(number: int, words: Words) -> str:
    if not number:
        return ""
    return words.count("{number} reaction", "{number} reactions", number)


@browsing.get("/documents/{corpus}/{id:path}")
async def _show_document(
    request: Request, shared: SharedOf, visitor: VisitorOf, address: DocumentOf
) -> Response:
    corpus, document = address
    found, words = address_candidate(document.candidate, corpus), visitor.words
    url = None if corpus.role is CorpusRole.DEMONSTRATION else web_address(found.url)
    reader = Overview(shared.app.database)
    before, after = None, None
    if found.created_at:
        before, after = await reader.neighbours(corpus, found.id, found.created_at)
    thread = await reader.thread(corpus, found.external_id, limit=_LONGEST_THREAD)
    told = {member.external_id for member in thread}
    foretold = await list_foretold_by(shared, corpus, found.external_id, limit=_MAX_FORETOLD)
    return render_template(
        request,
        "document.html",
        corpus=corpus,
        document=document,
        found=found,
        has_media=Flag.MEDIA in found.flags,
        labels=name_flags(found.flags.names, words),
        likes=_say_likes(document.engagement, words),
        url=url,
        day=format_day(found.created_at),
        date_text=say_date(found.created_at, found.dated_by, words),
        pieces=name_links(
            link_pieces(found.text, found.url), words, has_media=Flag.MEDIA in found.flags
        ),
        beside=name_beside(found, words),
        archived=archived_address(url, found.created_at),
        thread=[
            (member.external_id, words.date(member.created_at.astimezone(UTC)), member.text)
            for member in thread
        ]
        if len(thread) > 1
        else (),
        before=_describe_neighbour(before, words, told),
        after=_describe_neighbour(after, words, told),
        foretold=[
            (
                headline,
                format_day(until),
                words.date(until.astimezone(UTC)),
                say_age(found.created_at, until, words),
            )
            for headline, until in foretold.items()
        ],
    )


def _describe_neighbour(
    neighbour: Neighbour | None, words: Words, thread: Container[str]
) -> tuple[str, str, str, tuple[str, ...]] | None:
    """Return the id, the date, the text and the labels of a neighbour in time; None if the thread
    holds it."""
    if neighbour is None or neighbour.external_id in thread:
        return None
    date = words.date(neighbour.created_at.astimezone(UTC))
    return neighbour.external_id, date, neighbour.text, name_flags(neighbour.flags.names, words)
