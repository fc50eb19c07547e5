"""The page for people. Everything works without a script."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated
from urllib.parse import parse_qs, urlsplit

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles

from bot.app import DEMO_CORPUS, NEWS_CORPUS
from bot.card import draw_card
from bot.commands.picture import hit_card
from bot.dates import read_date
from bot.engine_sentences import in_language
from bot.prophecy_reply import prophecy_reply
from bot.web.api import read_document
from bot.web.desk import Desk
from bot.web.doors import DeskOf, paced, paced_answers
from bot.web.failures import Problem, Refusal
from bot.web.parameters import LONGEST_TEXT
from bot.web.rendering import STATIC, render
from bot.web.timeline import MOST, timeline
from bot.web.views import CardView, card_view, day_of, pieces_of, web_address
from bot.web.visitor import Visitor, visitor_of
from bot.web.voting import Ballots, voter_of
from bot.words import Words
from db.shown import Shown
from engine.address import addressed
from engine.errors import UsageError
from engine.headline import read_headline
from engine.types import Corpus, Prophecy

_COOKIE = "presagio_voter"
_COOKIE_SECONDS = 365 * 24 * 3600
_LONGEST_FORM = 20_000  # bytes
_PICTURE_SECONDS = 3600

router = APIRouter(include_in_schema=False, dependencies=[Depends(paced)])
_DEAR = [Depends(paced_answers)]


async def _visitor(request: Request) -> Visitor:
    return visitor_of(request)


VisitorOf = Annotated[Visitor, Depends(_visitor)]


def add_pages(app: FastAPI) -> None:
    """Add the pages and the files that they need."""
    app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")


def failure_page(request: Request, problem: Problem, headers: Mapping[str, str]) -> Response:
    """Return the page that tells why there is no other."""
    words = visitor_of(request).words
    page = render(
        request,
        "failure.html",
        status=problem.status,
        message=in_language(problem.message, words),
        fix=in_language(problem.fix, words) if problem.fix else None,
    )
    page.headers.update(headers)
    return page


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the form of a prophecy says; its address is the link to the answer."""

    headline: str
    date: datetime | None
    corpus: str

    @property
    def day(self) -> str:
        """The date as the form writes it; "" without one."""
        return day_of(self.date) if self.date else ""


def read_asked(values: Mapping[str, str]) -> Asked:
    """Read the form. Raises UsageError."""
    headline = " ".join(values.get("headline", "").split())
    if len(headline) > LONGEST_TEXT:
        raise UsageError(f"A headline has no more than {LONGEST_TEXT} characters.")
    date = values.get("date", "").strip()
    return Asked(
        headline=headline,
        date=read_date(date) if date else None,
        corpus=values.get("corpus", "").strip(),
    )


@router.get("/")
async def _home(request: Request, desk: DeskOf) -> Response:
    corpora, chosen = await _corpora(desk, "")
    asked = Asked(headline="", date=None, corpus=chosen)
    return render(request, "home.html", asked=asked, corpora=corpora)


@router.get("/prophecy", dependencies=_DEAR)
async def _prophecy(request: Request, desk: DeskOf, visitor: VisitorOf) -> Response:
    asked = read_asked(request.query_params)
    corpora, chosen = await _corpora(desk, asked.corpus)
    if not asked.headline:
        return RedirectResponse(visitor.link("/"), HTTPStatus.SEE_OTHER)
    if asked.date is None or asked.corpus != chosen or "://" in asked.headline:
        return RedirectResponse(await _lasting_link(desk, visitor, asked, chosen), 303)
    prophecy = await _answered(desk, asked)
    words, until = visitor.words, asked.date
    known = await desk.corpus(asked.corpus)
    lexemes = {lexeme for term in prophecy.terms for lexeme in term.lexemes}
    ids = [hit.candidate.id for hit in prophecy.hits]
    marked = await Shown(desk.app.database).marked(known, ids, lexemes)
    tallies = await Ballots(desk).tallies(prophecy)
    reply = prophecy_reply(prophecy, prophecy.hits, now=desk.now(), words=words)
    return render(
        request,
        "prophecy.html",
        asked=asked,
        corpora=corpora,
        date_text=words.date(asked.date),
        cards=[
            card_view(
                hit,
                corpus=prophecy.corpus,
                until=until,
                words=words,
                marked=marked,
                tally=tallies.get(hit.candidate.external_id),
            )
            for hit in prophecy.hits
        ],
        nothing=reply.text,
        notice=reply.notice,
    )


@router.get("/picture.png", dependencies=_DEAR)
async def _picture(request: Request, desk: DeskOf, visitor: VisitorOf) -> Response:
    asked = read_asked(request.query_params)
    prophecy = await _answered(desk, asked)
    if not prophecy.hits:
        raise Refusal(HTTPStatus.NOT_FOUND, "Nothing foretold this.")
    card = hit_card(prophecy.hits[0], prophecy.headline.text, asked.date, desk.now(), visitor.words)
    picture = await asyncio.to_thread(draw_card, card)
    keep = {"Cache-Control": f"public, max-age={_PICTURE_SECONDS}"}
    return Response(picture, media_type="image/png", headers=keep)


@router.post("/vote", dependencies=_DEAR)
async def _vote(request: Request, desk: DeskOf, visitor: VisitorOf) -> Response:
    _require_same_site(request)
    form = await _form(request)
    asked = read_asked(form)
    value = {"up": 1, "down": -1}.get(form.get("vote", ""))
    if value is None or asked.date is None:
        raise UsageError("This is no vote.")
    voter = voter_of(request.cookies.get(_COOKIE))
    prophecy = await _answered(desk, asked)
    await Ballots(desk).vote(prophecy, form.get("id", ""), voter, value, now=desk.now())
    back = visitor.link(
        "/prophecy",
        headline=asked.headline,
        date=asked.day,
        corpus=asked.corpus,
        lang=form.get("lang"),
    )
    response = RedirectResponse(back, HTTPStatus.SEE_OTHER)
    response.set_cookie(
        _COOKIE,
        voter,
        max_age=_COOKIE_SECONDS,
        path="/vote",
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response


@router.get("/timeline")
async def _timeline(request: Request, desk: DeskOf, visitor: VisitorOf) -> Response:
    values = request.query_params
    corpora, chosen = await _corpora(desk, values.get("corpus", "").strip())
    query = values.get("q", "").strip()[:LONGEST_TEXT]
    words = visitor.words
    found = await timeline(desk, query, chosen, words) if query else None
    notices = [in_language(said, words) for said in found.found.notices] if found else []
    return render(
        request,
        "timeline.html",
        query=query,
        asked=Asked(headline="", date=None, corpus=chosen),
        corpora=corpora,
        timeline=found,
        summary=_summary(found.found.counts.passing, found.shown, words) if found else None,
        notice=" ".join(notices) or None,
    )


def _summary(passing: int, shown: int, words: Words) -> str:
    if passing > MOST:
        return words.say(
            "{passing} texts say that; these are the best {shown}.",
            passing=words.number(passing),
            shown=words.number(shown),
        )
    return words.count("{number} text says that.", "{number} texts say that.", shown)


@router.get("/wall")
async def _wall(request: Request, desk: DeskOf, visitor: VisitorOf) -> Response:
    words = visitor.words
    cards: list[tuple[str, str, CardView]] = []
    for favourite in await Ballots(desk).wall():
        until = favourite.headline.date or favourite.asked_at
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
                ),
            )
        )
    return render(request, "wall.html", cards=cards)


@router.get("/documents/{corpus}/{id:path}")
async def _document(
    request: Request,
    desk: DeskOf,
    visitor: VisitorOf,
    corpus: str,
    id: str,  # noqa: A002 - its name in answers
) -> Response:
    known, document = await read_document(desk, corpus, id)
    found = addressed(document.candidate, known)
    return render(
        request,
        "document.html",
        corpus=known.name,
        document=document,
        found=found,
        url=web_address(found.url),
        day=day_of(found.created_at),
        date_text=visitor.words.date(found.created_at),
        pieces=pieces_of(found.text),
    )


@router.get("/robots.txt")
async def _robots() -> Response:
    """Keep crawlers from asking a model: only the pages that ask nothing are theirs."""
    lines = ("User-agent: *", "Disallow: /api/", "Disallow: /prophecy", "Disallow: /timeline",
             "Disallow: /picture.png", "Disallow: /documents/", "")  # fmt: skip
    return PlainTextResponse("\n".join(lines))


async def _corpora(desk: Desk, asked: str) -> tuple[list[Corpus], str]:
    """Return what may be chosen, and what is: of several corpora, the largest of one's own.

    Raises CorpusNotFound.
    """
    shown = [
        one for one in await desk.app.corpora.list() if one.name != NEWS_CORPUS or asked == one.name
    ]
    if asked or len(shown) < 2:
        return shown, (await desk.corpus(asked)).name
    configured = desk.settings.search.corpus
    best = max(
        shown,
        key=lambda one: (one.name == configured, one.name != DEMO_CORPUS, one.documents, one.name),
    )
    return shown, best.name


async def _lasting_link(desk: Desk, visitor: Visitor, asked: Asked, corpus: str) -> str:
    """Return the address under which the same answer stands tomorrow."""
    now = desk.now()
    headline, date = asked.headline, asked.date or now
    if "://" in headline:
        read = await desk.read_headline(headline, now=now)
        headline, date = read.text, asked.date or read.date or now
    return visitor.link(
        "/prophecy", headline=headline, date=day_of(date.astimezone(UTC)), corpus=corpus
    )


async def _answered(desk: Desk, asked: Asked) -> Prophecy:
    """Answer a headline; asked again, the judge's word comes from the cache."""
    return await desk.prophesy(
        await desk.corpus(asked.corpus),
        read_headline(asked.headline, date=asked.date),
        limit=desk.settings.search.limit,
    )


def _require_same_site(request: Request) -> None:
    """Refuse a vote that another site's page sends in a visitor's name."""
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    foreign = (site not in (None, "same-origin", "none")) or (
        origin is not None and urlsplit(origin).netloc != request.url.netloc
    )
    if foreign:
        raise Refusal(HTTPStatus.FORBIDDEN, "A vote has to come from this page.")


async def _form(request: Request) -> dict[str, str]:
    """Read a short form. Raises Refusal."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _LONGEST_FORM:
            raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The form is too long.")
    read = parse_qs(body.decode("utf-8", "replace"))
    return {name: values[-1] for name, values in read.items()}
