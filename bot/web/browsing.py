"""The pages to look at: timelines, and single texts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from math import ceil

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from bot.i18n.words import Words
from bot.queries.find import count_months, find
from bot.replies.dates import say_age
from bot.reply import name_flags, say_date
from bot.web.api import DocumentOf
from bot.web.examples import count_by_month, count_spans, draw_bars
from bot.web.foretold import list_foretold_by
from bot.web.rendering import (
    Piece,
    archived_address,
    link_pieces,
    render_template,
    split_marks,
    web_address,
)
from bot.web.schemas import LONGEST_TEXT
from bot.web.shared_state import SharedOf, SharedState, limit_requests
from bot.web.visitor import ProphecyForm, VisitorOf, format_day, list_choices, say_span
from db.corpus.health import Neighbour, Overview
from db.search.shown import DocumentLookup
from engine.errors import UsageError
from engine.messages import Message
from engine.query.filters import read_stretch
from engine.query.results import FindHit, QueryAnswer
from engine.search import Candidate, order_by_date
from engine.text.address import address_candidate
from engine.values import Corpus, Flag

MAXIMUM = 300  # texts on one page
_SPAN = re.compile(r"\d{4}(-\d{2})?")
_YEARS = 3  # shorter periods are counted by month

_MAX_FORETOLD = 20  # headlines on the page of a text
_LONGEST_THREAD = 50

browsing = APIRouter(include_in_schema=False, dependencies=[Depends(limit_requests)])


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """One text."""

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
class Span:
    """A year ("2015") or a month ("2015-03") with its texts; "" holds those without a date."""

    name: str
    title: str  # the name as people write it
    texts: int  # in total
    entries: Sequence[TimelineEntry]  # the texts that are shown
    percent: int  # of the span with the most texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """All spans from the first text to the last, empty ones included."""

    found: QueryAnswer
    spans: Sequence[Span]
    by_year: bool

    @property
    def texts(self) -> int:
        """Return the total number of texts."""
        return sum(span.texts for span in self.spans)

    @property
    def shown(self) -> int:
        """Return the number of texts on the page."""
        return sum(len(span.entries) for span in self.spans)

    @property
    def alike(self) -> int:
        """Return how many texts are left out because they nearly repeat a listed one."""
        return sum(hit.alike for hit in self.found.hits)

    @property
    def is_whole(self) -> bool:
        """Tell whether all texts are listed, but for repeats."""
        return self.texts <= self.shown + self.alike

    def summary(self, words: Words) -> str:
        """Return how many texts there are, and how many of them are listed."""
        if self.alike and self.is_whole:
            return words.count(
                "{texts} texts say that; {number} that repeats another is left out.",
                "{texts} texts say that; {number} that repeat others are left out.",
                self.alike,
                texts=words.number(self.texts),
            )
        if not self.is_whole:
            return words.say(
                "{texts} texts say that; the best {shown} are listed.",
                texts=words.number(self.texts),
                shown=words.number(self.shown),
            )
        return words.count("{number} text says that.", "{number} texts say that.", self.texts)


async def read_timeline(
    shared: SharedState, query: str, corpus: str, words: Words, when: str = ""
) -> Timeline:
    """Return the counts and the best hits of a dialect query, oldest first.

    `when` is the year ("2015") or month ("2015-03") that is looked at; "" is the whole time.

    Raises CorpusNotFound, UsageError, StorageError.
    """
    known = await shared.app.corpus(corpus)
    if when:
        if not (_SPAN.fullmatch(when) and read_stretch(when)):
            raise UsageError(Message("{when!r} is no year or month.", when=when))
        query = f"on:{when} {query}"  # in front, where no open quote can swallow it
    found = await find(shared.app, query, corpus=known.name, limit=MAXIMUM)
    if found.hits and found.corpus != known.name:  # the query names another corpus
        known = await shared.app.corpus(found.corpus)
    lexemes = {lexeme for hit in found.hits for match in hit.matched for lexeme in match.lexemes}
    ids = [hit.document.candidate.id for hit in found.hits]
    marked = await DocumentLookup(shared.app.database).mark_words(known, ids, lexemes)
    counted = await count_months(shared.app, known, found) if found.hits else {}
    by_year = len(count_spans(counted, by_year=True)) > _YEARS
    texts = count_spans(counted, by_year=by_year)
    entries: dict[str, list[TimelineEntry]] = {name: [] for name in texts}
    for hit in sorted(found.hits, key=_by_date):
        candidate = hit.document.candidate
        text = marked.get(candidate.id, candidate.text)
        # A text added between the two queries may have no span.
        span = format_day(hit.created_at)[: 4 if by_year else 7]
        entries.setdefault(span, []).append(
            describe_entry(candidate, hit.document.engagement, text, known, words)
        )
    if (undated := found.counts.passing - sum(counted.values())) > 0:
        texts[""] = max(undated, len(entries.get("", ())))
    maximum = max(texts.values(), default=0)
    spans = [
        Span(
            name=name,
            title=say_span(name, words),
            texts=number,
            entries=entries.get(name, ()),
            percent=ceil(100 * number / maximum),
        )
        for name, number in texts.items()
    ]
    return Timeline(found=found, spans=spans, by_year=by_year)


def _by_date(hit: FindHit) -> tuple[object, ...]:
    return (*order_by_date(hit.created_at), hit.document.candidate.id)


def describe_entry(
    found: Candidate, engagement: int, text: str, corpus: Corpus, words: Words
) -> TimelineEntry:
    """Return a text as lists show it, with marks in `text`."""
    return TimelineEntry(
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


@browsing.get("/timeline")
async def _show_timeline(request: Request, shared: SharedOf, visitor: VisitorOf) -> Response:
    values = request.query_params
    corpora, chosen = await list_choices(shared, values.get("corpus", "").strip())
    query = values.get("q", "").strip()[:LONGEST_TEXT]
    words = visitor.words
    when = values.get("when", "").strip()
    found = await read_timeline(shared, query, chosen, words, when) if query else None
    notices = [words.render(notice) for notice in found.found.notices] if found else []
    bars = () if found else draw_bars(await count_by_month(shared, await shared.app.corpus(chosen)))
    return render_template(
        request,
        "timeline.html",
        query=query,
        when=when if found else "",
        title=say_span(when, words) if found else "",
        asked=ProphecyForm(headline="", date=None, corpus=chosen),
        corpora=corpora,
        timeline=found,
        bars=bars,
        summary=found.summary(words) if found else None,
        notice=" ".join(notices) or None,
    )


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
