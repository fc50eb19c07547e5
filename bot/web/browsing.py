"""The pages of an archive: its months, this day of each year, the most liked, each text."""

from collections.abc import Container, Sequence
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from functools import partial
from math import ceil
from typing import cast

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from bot.i18n.words import Words
from bot.replies.dates import say_age, say_lead_time
from bot.reply import name_beside, name_flags, say_date
from bot.web.api import DocumentOf, month_span
from bot.web.examples import choose_examples, list_foretold_by, list_latest
from bot.web.failures import nothing_here
from bot.web.listing import (
    ON_A_PAGE,
    ArchiveDay,
    ArchiveEntry,
    LineOfYears,
    YearView,
    count_skipped,
    describe_archived,
    draw_line,
    list_years,
    render_texts,
    say_likes,
    span_years,
)
from bot.web.rendering import (
    archived_address,
    link_pieces,
    name_links,
    render_template,
    web_address,
)
from bot.web.shared_state import SharedOf, SharedState, limit_requests
from bot.web.visitor import ProphecyForm, VisitorOf, format_day, list_choices, read_whole_number
from db.search.shown import ArchiveText, DayOfYear, DocumentLookup, Neighbour
from engine.text.address import address_candidate
from engine.values import Corpus, CorpusRole, Flag

_MOST_LIKED = 300  # texts of an archive that are ranked
_LEAP_YEAR = 2024  # which has every day
_MAX_FORETOLD = 20  # headlines on the page of a text
_LONGEST_THREAD = 50

browsing = APIRouter(include_in_schema=False, dependencies=[Depends(limit_requests)])


@browsing.get("/corpora")
async def _list_corpora(request: Request, shared: SharedOf, visitor: VisitorOf) -> Response:
    corpora, _ = await list_choices(shared, "") if await shared.app.corpora.list() else ([], "")
    rows = await describe_archives(shared, corpora, visitor.words)
    return render_template(request, "corpora.html", corpora=rows)


async def describe_archives(
    shared: SharedState, corpora: Sequence[Corpus], words: Words
) -> Sequence[tuple[Corpus, Sequence[str], LineOfYears | None]]:
    """Return archives with the dates of their first and last text, and a line of their years, all
    over the same years. Raises StorageError."""
    counted = {corpus.name: await shared.count_months(corpus) for corpus in corpora}
    years = span_years(when for months in counted.values() for when in months)
    spans = await shared.app.corpora.spans(corpora)
    return [
        (corpus, _say_span(spans[corpus.id], words), draw_line(counted[corpus.name], years))
        for corpus in corpora
    ]


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
        asked=ProphecyForm(corpus=corpus.name),
        years=years,
        month_names=words.months,
        facts=_say_facts(corpus, await shared.app.corpora.span(corpus), years, words),
        this_day=await find_this_day(shared, corpus, words),
        liked=describe_archived(liked[0], corpus, words) if liked else None,
        lately=lately,
        examples=() if lately else await choose_examples(shared, corpus, words),
    )


def _say_facts(
    corpus: Corpus, moments: Sequence[datetime | None], years: Sequence[YearView], words: Words
) -> str:
    """Return how many posts there are, from when to when, and in which month most of them."""
    span = _say_span(moments, words)
    posts = words.count("{number} post", "{number} posts", corpus.documents)
    if len(span) == 2:
        first, last = span
        posts = words.say("{posts}, from {first} to {last}", posts=posts, first=first, last=last)
    elif span:
        posts = ", ".join((posts, *span))
    said = [posts]
    if months := [month for year in years for month in year.months if month.posts]:
        busiest = max(months, key=lambda month: (month.posts, month.when))
        number = words.number(busiest.posts)
        said.append(words.say("Busiest: {month}, with {number}", month=busiest.name, number=number))
    return "".join(f"{sentence}. " for sentence in said).strip()


def _say_span(moments: Sequence[datetime | None], words: Words) -> Sequence[str]:
    """Return the dates of the first and the last text, as far as known; the same date once."""
    dates = (words.date(moment.astimezone(UTC)) for moment in moments if moment)
    return list(dict.fromkeys(dates))


async def find_this_day(shared: SharedState, corpus: Corpus, words: Words) -> ArchiveEntry | None:
    """Return the best text of this day of any year. Raises StorageError."""
    days = await _list_day(shared, corpus, shared.now().astimezone(UTC))
    if not days:
        return None
    best = max(days, key=lambda day: day.best.engagement).best
    return describe_archived(best, corpus, words)


async def _list_day(shared: SharedState, corpus: Corpus, day: datetime) -> Sequence[DayOfYear]:
    lookup = DocumentLookup(shared.app.database)
    read = partial(lookup.list_on_day, corpus, day.month, day.day)
    return await shared.kept.get(("day", corpus.id, corpus.documents, day.month, day.day), read)


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
    skipped = count_skipped(request)
    begins, ends = month_span(when)
    month_days = (ends - begins).days
    day = read_whole_number(request, "day", digits=2)
    day = day if day <= month_days else 0
    begins += timedelta(days=max(day - 1, 0))
    lookup = DocumentLookup(shared.app.database)
    texts = await lookup.list_texts(corpus, begins, ends, limit=ON_A_PAGE + 1, offset=skipped)
    around = (None, *months, None)
    return render_texts(
        request,
        corpus,
        _group_by_day(texts[:ON_A_PAGE], corpus, words),
        heading=words.month(year, month),
        page=skipped // ON_A_PAGE + 1,
        more=len(texts) > ON_A_PAGE,
        month=months[at],
        beside=[
            other and (visitor.link(f"/corpora/{name}/{other.when.replace('-', '/')}"), other.name)
            for other in (around[at], around[at + 2])
        ],
        years=years,
        month_days=month_days,
        values={"day": day} if day else {},
        pages=0 if day else ceil(months[at].posts / ON_A_PAGE),
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


@browsing.get("/corpora/{name}/most-liked")
async def _show_liked(
    request: Request, shared: SharedOf, visitor: VisitorOf, name: str
) -> Response:
    corpus, words = await shared.app.corpora.get(name), visitor.words
    skipped = min(count_skipped(request), _MOST_LIKED - ON_A_PAGE)
    limit = min(skipped + ON_A_PAGE + 1, _MOST_LIKED)
    liked = await DocumentLookup(shared.app.database).list_most_liked(corpus, limit=limit)
    skipped = skipped if liked[skipped:] else 0
    listed = liked[skipped : skipped + ON_A_PAGE]
    texts = [
        (
            replace(
                describe_archived(text, corpus, words),
                share=ceil(100 * text.engagement / (liked[0].engagement or 1)),
            ),
            False,
        )
        for text in listed
    ]
    return render_texts(
        request,
        corpus,
        [ArchiveDay(texts=texts)] if texts else [],
        heading=words.say("Most reactions"),
        intro=words.say("Likes, reposts and other reactions, added up."),
        by_year=sorted({when[:4] for when in await shared.count_months(corpus)}),
        page=skipped // ON_A_PAGE + 1,
        more=len(liked) > skipped + ON_A_PAGE,
    )


@browsing.get("/corpora/{name}/on-this-day")
async def _show_day(request: Request, shared: SharedOf, visitor: VisitorOf, name: str) -> Response:
    corpus, words = await shared.app.corpora.get(name), visitor.words
    day = _read_day(request.query_params.get("day", ""), shared.now())
    listed, now = await _list_day(shared, corpus, day), shared.now()
    return render_texts(
        request,
        corpus,
        [_view_day(text, corpus, words, first=listed[0], now=now) for text in listed],
        heading=f"{words.say('On this day')}: {words.day(day)}",
        beside=[
            (visitor.link(request.url.path, day=f"{other:%m-%d}"), words.day(other))
            for other in (day - timedelta(days=1), day + timedelta(days=1))
        ],
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
    entry, others = describe_archived(day.best, corpus, words), day.texts - 1
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


@browsing.get("/documents/{corpus}/{id:path}")
async def _show_document(
    request: Request, shared: SharedOf, visitor: VisitorOf, address: DocumentOf
) -> Response:
    corpus, document = address
    found, words = address_candidate(document.candidate, corpus), visitor.words
    url = None if corpus.role is CorpusRole.DEMONSTRATION else web_address(found.url)
    reader = DocumentLookup(shared.app.database)
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
        likes=say_likes(document.engagement, words),
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
    pieces = name_links(
        link_pieces(neighbour.text, None), words, has_media=Flag.MEDIA in neighbour.flags
    )
    text = "".join(piece.text for piece in pieces)
    return neighbour.external_id, date, text, name_flags(neighbour.flags.names, words)
