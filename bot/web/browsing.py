"""The pages of an archive: its months, this day, the most liked, what meets a query, each text."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from itertools import groupby

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from bot.i18n.words import Words
from bot.queries.find import find
from bot.replies.dates import say_age
from bot.reply import name_beside, name_flags, say_date
from bot.web.api import DocumentOf, month_span
from bot.web.examples import choose_examples
from bot.web.failures import nothing_here
from bot.web.foretold import list_foretold_by, list_posted, view_post
from bot.web.rendering import (
    Piece,
    archived_address,
    link_pieces,
    render_template,
    split_marks,
    web_address,
)
from bot.web.schemas import LONGEST_TEXT
from bot.web.shared_state import SEARCHES, SharedOf, SharedState, limit_requests
from bot.web.visitor import ProphecyForm, VisitorOf, find_visitor, format_day, list_choices
from db.corpus.health import Neighbour, Overview
from db.search.shown import ArchiveText, DocumentLookup
from engine.query.results import FindHit, QueryAnswer
from engine.search import FIRST_MOMENT, Candidate, order_by_date
from engine.text.address import address_candidate
from engine.values import Corpus, Flag

ON_A_PAGE = 30
MAXIMUM = 300  # texts that meet a query
_FARTHEST = 10_000  # texts that are skipped, at most: a month has fewer
_LAST_MOMENT = datetime(9999, 12, 31, tzinfo=UTC)
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
    """A month with its texts."""

    when: str  # "2015-03"
    name: str  # as people write it
    texts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DateSpan:
    """Texts that a page lists: of a span of time, or of one day of every year."""

    begins: datetime = FIRST_MOMENT
    ends: datetime = _LAST_MOMENT
    month: int | None = None
    day: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveDay:
    """Texts under one heading; those that continue a thread stand with the day it begins on."""

    day: str = ""  # ISO; "" where texts are not listed by date
    title: str = ""  # the day as people write it
    texts: list[tuple[ArchiveEntry, bool]] = field(default_factory=list)  # continues a thread?


@browsing.get("/corpora")
async def _list_corpora(request: Request, shared: SharedOf, visitor: VisitorOf) -> Response:
    corpora, _ = await list_choices(shared, "") if await shared.app.corpora.list() else ([], "")
    return render_template(
        request,
        "corpora.html",
        corpora=[(corpus, await _say_span(shared, corpus, visitor.words)) for corpus in corpora],
    )


@browsing.get("/corpora/{name}")
async def _show_corpus(
    request: Request, shared: SharedOf, visitor: VisitorOf, name: str
) -> Response:
    known, words = await shared.app.corpora.get(name), visitor.words
    years = await _list_years(shared, known, words)
    months = [month for _, listed in years for month in listed]
    return render_template(
        request,
        "corpus.html",
        corpus=known,
        asked=ProphecyForm(headline="", date=None, corpus=known.name),
        years=years,
        busiest=max(months, key=lambda month: (month.texts, month.when), default=None),
        span=await _say_span(shared, known, words),
        lately=[view_post(*posted, visitor) for posted in await list_posted(shared, [known])],
        examples=await choose_examples(shared, known, words),
    )


async def _list_years(
    shared: SharedState, corpus: Corpus, words: Words
) -> list[tuple[str, list[MonthView]]]:
    """Return the years in which there are texts, with the months. Raises StorageError."""
    months = (
        MonthView(when=when, name=words.month(int(when[:4]), int(when[5:])), texts=texts)
        for when, texts in (await shared.count_months(corpus)).items()
    )
    return [(year, [*listed]) for year, listed in groupby(months, key=lambda m: m.when[:4])]


async def _say_span(shared: SharedState, corpus: Corpus, words: Words) -> Sequence[str]:
    """Return the dates of the first and the last text, as far as known; the same date once."""
    moments = await shared.app.corpora.span(corpus)
    dates = (words.date(moment.astimezone(UTC)) for moment in moments if moment)
    return list(dict.fromkeys(dates))


@browsing.get("/corpora/{name}/most-liked")
async def _show_liked(
    request: Request, shared: SharedOf, visitor: VisitorOf, name: str
) -> Response:
    known, words = await shared.app.corpora.get(name), visitor.words
    liked = await DocumentLookup(shared.app.database).list_most_liked(known, limit=ON_A_PAGE)
    texts = [(_describe_archived(text, known, words), False) for text in liked]
    days = [ArchiveDay(texts=texts)] if texts else []
    return render_template(
        request,
        "texts.html",
        corpus=known,
        heading=words.say("Most liked"),
        when="",
        years=(),
        days=days,
        page=1,
        more=False,
    )


@browsing.get("/corpora/{name}/on-this-day")
async def _show_day(request: Request, shared: SharedOf, visitor: VisitorOf, name: str) -> Response:
    known, today = await shared.app.corpora.get(name), shared.now().astimezone(UTC)
    heading = f"{visitor.words.say('On this day')}: {visitor.words.day(today)}"
    span = DateSpan(month=today.month, day=today.day)
    return await _list_texts(request, shared, known, span, heading=heading)


@browsing.get("/corpora/{name}/{year:int}/{month:int}")
async def _show_month(
    request: Request, shared: SharedOf, visitor: VisitorOf, *, name: str, year: int, month: int
) -> Response:
    known, words = await shared.app.corpora.get(name), visitor.words
    when = f"{year:04}-{month:02}"
    if not (1 <= year < _LAST_MOMENT.year and 1 <= month <= 12):
        raise nothing_here()
    begins, ends = month_span(when)
    span = DateSpan(begins=begins, ends=ends)
    years = [listed for listed in await _list_years(shared, known, words) if listed[0] == when[:4]]
    heading = words.month(year, month)
    return await _list_texts(request, shared, known, span, heading=heading, when=when, years=years)


async def _list_texts(
    request: Request,
    shared: SharedState,
    corpus: Corpus,
    span: DateSpan,
    *,
    heading: str,
    when: str = "",
    years: Sequence[tuple[str, Sequence[MonthView]]] = (),
) -> Response:
    """Return a page of texts by date."""
    given = request.query_params.get("page", "")
    number = int(given) if given.isdecimal() and len(given) < 6 else 1
    skipped = min((max(number, 1) - 1) * ON_A_PAGE, _FARTHEST)
    texts = await DocumentLookup(shared.app.database).list_texts(
        corpus,
        span.begins,
        span.ends,
        month=span.month,
        day=span.day,
        limit=ON_A_PAGE + 1,
        offset=skipped,
    )
    return render_template(
        request,
        "texts.html",
        corpus=corpus,
        heading=heading,
        when=when,
        years=years,
        days=_group_by_day(texts[:ON_A_PAGE], corpus, find_visitor(request).words),
        page=skipped // ON_A_PAGE + 1,
        more=len(texts) > ON_A_PAGE,
    )


def _group_by_day(texts: Sequence[ArchiveText], corpus: Corpus, words: Words) -> list[ArchiveDay]:
    """Return the days on which texts, or the threads that they continue, begin."""
    days: list[ArchiveDay] = []
    for text in texts:
        moment = text.candidate.created_at
        day = format_day(moment)
        if not days or (not text.continues and days[-1].day != day):
            title = words.date(moment.astimezone(UTC)) if moment else ""
            days.append(ArchiveDay(day=day, title=title))
        days[-1].texts.append((_describe_archived(text, corpus, words), text.continues))
    return days


def _describe_archived(text: ArchiveText, corpus: Corpus, words: Words) -> ArchiveEntry:
    return describe_entry(text.candidate, text.engagement, text.candidate.text, corpus, words)


def describe_entry(
    found: Candidate, engagement: int, text: str, corpus: Corpus, words: Words
) -> ArchiveEntry:
    """Return a text as lists show it, with marks in `text`."""
    return ArchiveEntry(
        id=found.external_id,
        day=format_day(found.created_at),
        date_text=say_date(found.created_at, found.dated_by, words),
        time="" if found.dated_by else _format_time(found.created_at),
        author=found.author if f"@{found.author}" != corpus.voice else None,
        likes=_say_likes(engagement, words),
        labels=name_flags(found.flags.names, words),
        lang=found.lang,
        pieces=split_marks(text),
    )


def _format_time(moment: datetime | None) -> str:
    """Return the time of day (UTC), or "" for none and for midnight, which dates alone become."""
    moment = moment and moment.astimezone(UTC)
    return f"{moment:%H:%M}" if moment and moment.time() != time.min else ""


def _say_likes(number: int, words: Words) -> str:
    if not number:
        return ""
    return words.count("{number} like or repost", "{number} likes and reposts", number)


@browsing.get("/timeline", dependencies=[SEARCHES])
async def _show_timeline(request: Request, shared: SharedOf, visitor: VisitorOf) -> Response:
    values, words = request.query_params, visitor.words
    corpora, chosen = await list_choices(shared, values.get("corpus", "").strip())
    query = values.get("q", "").strip()[:LONGEST_TEXT]
    found = await find(shared.app, query, corpus=chosen, limit=MAXIMUM) if query else None
    return render_template(
        request,
        "timeline.html",
        query=query,
        asked=ProphecyForm(headline="", date=None, corpus=chosen),
        corpora=corpora,
        found=found,
        entries=await _list_found(shared, found, words) if found and found.hits else [],
        is_whole=not found or _is_whole(found),
        summary=_summarise(found, words) if found else None,
        notice=" ".join(words.render(notice) for notice in found.notices) if found else None,
    )


async def _list_found(shared: SharedState, found: QueryAnswer, words: Words) -> list[ArchiveEntry]:
    """Return the best hits of a dialect query, oldest first, with marks. Raises StorageError."""
    corpus = await shared.app.corpus(found.corpus)  # the query may name another than the form
    lexemes = {lexeme for hit in found.hits for match in hit.matched for lexeme in match.lexemes}
    hits = [hit.document for hit in sorted(found.hits, key=_by_date)]
    ids = [hit.candidate.id for hit in hits]
    marked = await DocumentLookup(shared.app.database).mark_words(corpus, ids, lexemes)
    return [
        describe_entry(
            hit.candidate,
            hit.engagement,
            marked.get(hit.candidate.id, hit.candidate.text),
            corpus,
            words,
        )
        for hit in hits
    ]


def _by_date(hit: FindHit) -> tuple[object, ...]:
    return (*order_by_date(hit.created_at), hit.document.candidate.id)


def _count_alike(found: QueryAnswer) -> int:
    """Return how many texts are left out because they nearly repeat a listed one."""
    return sum(hit.alike for hit in found.hits)


def _is_whole(found: QueryAnswer) -> bool:
    """Tell whether all texts are listed, but for repeats."""
    return found.counts.passing <= len(found.hits) + _count_alike(found)


def _summarise(found: QueryAnswer, words: Words) -> str:
    """Return how many texts there are, and how many of them are listed."""
    texts, alike = found.counts.passing, _count_alike(found)
    if not _is_whole(found):
        return words.say(
            "{texts} texts say that; the best {shown} are listed.",
            texts=words.number(texts),
            shown=words.number(len(found.hits)),
        )
    if alike:
        return words.count(
            "{texts} texts say that; {number} that repeats another is left out.",
            "{texts} texts say that; {number} that repeat others are left out.",
            alike,
            texts=words.number(texts),
        )
    return words.count("{number} text says that.", "{number} texts say that.", texts)


@browsing.get("/documents/{corpus}/{id:path}")
async def _show_document(
    request: Request, shared: SharedOf, visitor: VisitorOf, asked: DocumentOf
) -> Response:
    known, document = asked
    found, words = address_candidate(document.candidate, known), visitor.words
    reader = Overview(shared.app.database)
    before, after = None, None
    if found.created_at:
        before, after = await reader.neighbours(known, found.id, found.created_at)
    thread = await reader.thread(known, found.external_id, limit=_LONGEST_THREAD)
    foretold = await list_foretold_by(shared, known, found.external_id, limit=_MAX_FORETOLD)
    return render_template(
        request,
        "document.html",
        corpus=known,
        document=document,
        found=found,
        has_media=Flag.MEDIA in found.flags,
        labels=name_flags(found.flags.names, words),
        likes=_say_likes(document.engagement, words),
        url=web_address(found.url),
        day=format_day(found.created_at),
        date_text=say_date(found.created_at, found.dated_by, words),
        pieces=link_pieces(found.text, found.url),
        beside=name_beside(found, words),
        archived=archived_address(web_address(found.url), found.created_at),
        thread=[
            (member.external_id, words.date(member.created_at.astimezone(UTC)), member.text)
            for member in thread
        ]
        if len(thread) > 1
        else (),
        before=_describe_neighbour(before, words),
        after=_describe_neighbour(after, words),
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
    found: Neighbour | None, words: Words
) -> tuple[str, str, str, tuple[str, ...]] | None:
    """Return the id, the date, the text and the labels of a neighbour in time."""
    if found is None:
        return None
    date = words.date(found.created_at.astimezone(UTC))
    return found.external_id, date, found.text, name_flags(found.flags.names, words)
