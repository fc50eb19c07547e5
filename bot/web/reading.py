"""The pages to look at: timelines, the wall, corpora, and single texts."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus

from fastapi import APIRouter, Depends, Request
from fastapi.responses import FileResponse, Response

from bot.i18n.words import Words
from bot.media import Media
from bot.replies.dates import age_between
from bot.web.api import read_document
from bot.web.dependencies import SharedOf, paced
from bot.web.examples import examples_of
from bot.web.exhibits import exhibited, exhibited_together, overview
from bot.web.failures import Refusal
from bot.web.parameters import LONGEST_TEXT
from bot.web.rendering import render
from bot.web.timeline import timeline
from bot.web.views import CardView, card_view, day_of, pieces_of, start_of, web_address
from bot.web.visitor import Asked, VisitorOf, corpora_to_choose
from bot.web.voting import Ballots
from db.corpus.overview import Lead, Neighbour
from engine.messages import Message
from engine.text.address import addressed
from engine.types import Corpus, Flag

_MOST_FORETOLD = 20  # headlines on the page of a text
_MEDIA_SECONDS = 3600

reading = APIRouter(include_in_schema=False, dependencies=[Depends(paced)])


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadView:
    """A headline and the text that foretold it, in a line of time."""

    headline: str
    day: str
    corpus: str
    id: str
    text: str
    age: str
    since: str
    until: str
    start: int


@reading.get("/timeline")
async def _timeline(request: Request, shared: SharedOf, visitor: VisitorOf) -> Response:
    values = request.query_params
    corpora, chosen = await corpora_to_choose(shared, values.get("corpus", "").strip())
    query = values.get("q", "").strip()[:LONGEST_TEXT]
    words = visitor.words
    when = values.get("when", "").strip()
    found = await timeline(shared, query, chosen, words, when) if query else None
    notices = [words.render(said) for said in found.found.notices] if found else []
    exhibit = None if found else await exhibited(shared, await shared.corpus(chosen))
    return render(
        request,
        "timeline.html",
        query=query,
        when=when,
        asked=Asked(headline="", date=None, corpus=chosen),
        corpora=corpora,
        timeline=found,
        exhibit=exhibit,
        summary=found.summary(words) if found else None,
        notice=" ".join(notices) or None,
    )


@reading.get("/wall")
async def _wall(request: Request, shared: SharedOf, visitor: VisitorOf) -> Response:
    words = visitor.words
    cards: list[tuple[str, str, CardView]] = []
    favourites = [(one, one.headline.date or one.asked_at) for one in await Ballots(shared).wall()]
    leads = [until - favourite.hit.candidate.created_at for favourite, until in favourites]
    for favourite, until in favourites:
        cards.append(
            (
                favourite.headline.text,
                day_of(until),
                card_view(
                    replace(favourite.hit, rank=len(cards) + 1),
                    corpus=favourite.corpus,
                    until=until,
                    words=words,
                    marked={},
                    tally=favourite.tally,
                    judged=False,
                    earliest=until - max(leads),
                ),
            )
        )
    longest, subjects = await exhibited_together(shared)
    _, chosen = await corpora_to_choose(shared, "")
    examples = [] if cards else await examples_of(shared, await shared.corpus(chosen), words)
    return render(
        request,
        "wall.html",
        cards=cards,
        leads=_lead_views(longest, words),
        subjects=subjects,
        chosen=chosen,
        examples=examples,
        votes=shared.settings.web.votes,
    )


@reading.get("/corpora/{name}")
async def _corpus(request: Request, shared: SharedOf, visitor: VisitorOf, name: str) -> Response:
    known, words = await shared.corpus(name), visitor.words
    exhibit = await exhibited(shared, known)
    oldest, newest = await shared.app.corpora.span(known)
    corpora, _ = await corpora_to_choose(shared, known.name)
    return render(
        request,
        "corpus.html",
        corpus=known,
        corpora=corpora,
        asked=Asked(headline="", date=None, corpus=known.name),
        exhibit=exhibit,
        span=tuple(words.date(day.astimezone(UTC)) for day in (oldest, newest) if day),
        leads=_lead_views([(known, lead) for lead in exhibit.leads], words),
        subjects=[(known, word, number) for word, number in exhibit.subjects.items()],
        examples=await examples_of(shared, known, words),
    )


@reading.get("/documents/{corpus}/{id:path}")
async def _document(
    request: Request,
    shared: SharedOf,
    visitor: VisitorOf,
    corpus: str,
    id: str,  # noqa: A002 - its name in answers
) -> Response:
    known, document = await read_document(shared, corpus, id)
    found, words, reader = (
        addressed(document.candidate, known),
        visitor.words,
        await overview(shared),
    )
    before, after = await reader.neighbours(known, found.id, found.created_at)
    media = await asyncio.to_thread(Media(shared.settings.data_dir).of, known, found.external_id)
    foretold = await reader.foretold_by(known, found.external_id, limit=_MOST_FORETOLD)
    return render(
        request,
        "document.html",
        corpus=known,
        document=document,
        found=found,
        has_media=Flag.MEDIA in found.flags or bool(media),
        media=media,
        url=web_address(found.url),
        day=day_of(found.created_at),
        date_text=words.date(found.created_at.astimezone(UTC)),
        pieces=pieces_of(found.text),
        before=_neighbour(before, words),
        after=_neighbour(after, words),
        foretold=[
            (headline, day_of(until), age_between(found.created_at, until).said(words))
            for headline, until in foretold
        ],
    )


@reading.get("/media/{corpus}/{id}/{name}")
async def _media(
    shared: SharedOf,
    corpus: str,
    id: str,  # noqa: A002 - its name in answers
    name: str,
) -> Response:
    """Send a picture or video of a text. What is removed from its corpus is not sent any more."""
    known, document = await read_document(shared, corpus, id)
    media = Media(shared.settings.data_dir)
    found = await asyncio.to_thread(media.path, known, document.candidate.external_id, name)
    if found is None:
        raise Refusal(HTTPStatus.NOT_FOUND, Message("There is nothing at this address."))
    path, media_type = found
    keep = {"Cache-Control": f"public, max-age={_MEDIA_SECONDS}"}
    return FileResponse(path, media_type=media_type, headers=keep)


def _neighbour(found: Neighbour | None, words: Words) -> tuple[str, str, str] | None:
    """Return the id, the date and the text of a neighbour in time."""
    if found is None:
        return None
    return found.external_id, words.date(found.created_at.astimezone(UTC)), found.text


def _lead_views(leads: Sequence[tuple[Corpus, Lead]], words: Words) -> list[LeadView]:
    longest = max((lead.until - lead.created_at for _, lead in leads), default=None)
    return [
        LeadView(
            headline=lead.headline,
            day=day_of(lead.until),
            corpus=corpus.name,
            id=lead.external_id,
            text=lead.text,
            age=age_between(lead.created_at, lead.until).said(words),
            since=_year(lead.created_at),
            until=_year(lead.until),
            start=start_of(lead.created_at, lead.until - longest, lead.until) if longest else 0,
        )
        for corpus, lead in leads
    ]


def _year(moment: datetime) -> str:
    return day_of(moment)[:4]
