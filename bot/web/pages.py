"""The pages for people. Everything works without scripts."""

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles

from bot.card import can_draw, draw_apart, require_pictures
from bot.i18n.words import Words
from bot.queries.ask import ask, searcher
from bot.replies.answer import answer_label, quote_labels
from bot.replies.buttons import place_text
from bot.replies.picture import card_of, picture_answer
from bot.replies.prophecy import notice_of, prophecy_reply
from bot.reply import labels, say_date, signature
from bot.web.examples import choose_examples
from bot.web.failures import Failure, Refusal
from bot.web.reading import reading
from bot.web.rendering import STATIC, build_cards, is_foretold, render, web_address
from bot.web.schemas import LONGEST_TEXT
from bot.web.shared_state import SharedOf, client_address, limit_answers, limit_requests
from bot.web.visitor import (
    Asked,
    Ballots,
    VisitorOf,
    build_lasting_link,
    find_visitor,
    format_day,
    identify_voter,
    list_choices,
    prophesy_asked,
    read_asked,
    read_form,
    recover_asked,
)
from db.search.shown import Shown
from engine.answer.cited_answer import CitedAnswer, CitedSource
from engine.chat import Answer
from engine.errors import UsageError
from engine.messages import Message
from engine.prophecy.headline import read_headline
from engine.search import SearchRequest

_PICTURE_SECONDS = 3600
PICTURE_SIZE = (1200, 630)  # pixels

router = APIRouter(include_in_schema=False, dependencies=[Depends(limit_requests)])
_DEAR = [Depends(limit_answers)]


@router.get("/ask")
async def _ask(request: Request, shared: SharedOf, visitor: VisitorOf) -> Response:
    values = request.query_params
    question = values.get("question", "").strip()[:LONGEST_TEXT]
    corpora, chosen = await list_choices(shared, values.get("corpus", "").strip())
    answered: CitedAnswer | None = None
    if question:
        await limit_answers(request, shared)
        asked = SearchRequest(
            headline=read_headline(question), limit=shared.settings.answer.limit, now=shared.now()
        )
        answered = await ask(
            shared.app, asked, [await shared.corpus(chosen)], prophet=searcher(shared.app)
        )
    return render(
        request,
        "ask.html",
        question=question,
        asked=Asked(headline="", date=None, corpus=chosen),
        corpora=corpora,
        **_describe_answer(answered, visitor.words),
    )


def _describe_answer(answered: CitedAnswer | None, words: Words) -> dict[str, Any]:
    """Return what the template shows of an answer, or that there is none yet."""
    if answered is None:
        return {"answered": None}
    return {
        "answered": answered,
        "label": answer_label(answered, words),
        "notice": words.render(answered.notice) if answered.notice else None,
        "said": [
            (sentence, quote_labels(sentence, answered, words)) for sentence in answered.sentences
        ],
        "sources": [_describe_source(source, words) for source in answered.sources],
    }


def _describe_source(source: CitedSource, words: Words) -> dict[str, Any]:
    found = source.passage.hit.candidate
    return {
        "number": source.number,
        "corpus": source.passage.corpus,
        "id": found.external_id,
        "day": format_day(found.created_at),
        "date_text": say_date(found.created_at, found.dated_by, words),
        "signature": signature(found.voice, found.author, in_item=found.place is not None),
        "labels": labels(found.flags.names, words),
        "place": place_text(found.place, words) if found.place else None,
        "text": found.text,
        "lang": found.lang,
        "url": web_address(found.url),
    }


def add_pages(app: FastAPI) -> None:
    """Add the pages and their static files."""
    for pages in (router, reading):
        app.include_router(pages)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")


def render_failure(request: Request, failure: Failure) -> Response:
    """Return the page that explains a failure."""
    words = find_visitor(request).words
    page = render(
        request,
        "failure.html",
        status=failure.status.value,
        message=words.render(failure.message),
        fix=words.render(failure.fix) if failure.fix else None,
        asked=recover_asked(request, failure.status),
    )
    page.headers.update(failure.headers)
    return page


@router.get("/")
async def _show_home(request: Request, shared: SharedOf, visitor: VisitorOf) -> Response:
    if not await shared.app.corpora.list():
        return render(request, "home.html", asked=None, corpora=(), examples=())
    corpora, chosen = await list_choices(shared, request.query_params.get("corpus", "").strip())
    asked = Asked(headline="", date=None, corpus=chosen)
    known = await shared.corpus(chosen)
    return render(
        request,
        "home.html",
        asked=asked,
        corpora=corpora,
        examples=await choose_examples(shared, known, visitor.words),
    )


@router.get("/prophecy", dependencies=_DEAR)
async def _show_prophecy(request: Request, shared: SharedOf, visitor: VisitorOf) -> Response:
    asked = read_asked(request.query_params)
    corpora, chosen = await list_choices(shared, asked.corpus)
    if not asked.headline:
        return RedirectResponse(visitor.link("/"), HTTPStatus.SEE_OTHER)
    if asked.date is None or asked.corpus != chosen or "://" in asked.headline:
        return RedirectResponse(await build_lasting_link(shared, visitor, asked, chosen), 303)
    prophecy = await prophesy_asked(shared, asked)
    words, until, usual = visitor.words, asked.date, shared.settings.search.limit
    known = await shared.corpus(asked.corpus)
    lexemes = {lexeme for term in prophecy.terms for lexeme in term.lexemes}
    near = () if prophecy.hits else prophecy.near
    ids = [hit.candidate.id for hit in (*prophecy.hits, *near)]
    marked = await Shown(shared.app.database).mark_words(known, ids, lexemes)
    tallies = await Ballots(shared).tallies(prophecy)
    reply = prophecy_reply(prophecy, prophecy.hits, now=shared.now(), words=words)
    return render(
        request,
        "prophecy.html",
        asked=asked,
        corpora=corpora,
        corpus=known,
        date_text=words.date(asked.date),
        pictures=can_draw(),
        picture_size=PICTURE_SIZE,
        votable=usual if shared.settings.web.votes else 0,
        foretold=is_foretold(prophecy),
        cards=build_cards(
            prophecy.hits, prophecy, until=until, words=words, marked=marked, tallies=tallies
        ),
        near=build_cards(near, prophecy, until=until, words=words, marked=marked, near=True),
        more=not asked.more and len(prophecy.hits or near) >= usual,
        nothing=reply.text,
        notice=notice_of(prophecy, words),
    )


@router.get("/picture.png", dependencies=_DEAR)
async def _show_picture(request: Request, shared: SharedOf, visitor: VisitorOf) -> Response:
    require_pictures()
    asked = read_asked(request.query_params)
    prophecy = await prophesy_asked(shared, asked)
    if not prophecy.hits:
        raise Refusal(HTTPStatus.NOT_FOUND, Message("Nothing foretold this."))
    answer = Answer(prophecy=prophecy, asked_at=shared.now(), first=0, last=1)
    card = card_of(
        picture_answer(answer),
        visitor.words,
        avatar=await shared.app.corpora.avatar(prophecy.corpus),
        footer=shared.settings.pictures.footer,
    )
    picture = await draw_apart(shared.app.isolation, card)
    keep = {"Cache-Control": f"public, max-age={_PICTURE_SECONDS}"}
    return Response(picture, media_type="image/png", headers=keep)


@router.post("/vote", dependencies=_DEAR)
async def _take_vote(request: Request, shared: SharedOf, visitor: VisitorOf) -> Response:
    if not shared.settings.web.votes:
        raise Refusal(HTTPStatus.FORBIDDEN, Message("Nobody votes on this page."))
    form = await read_form(request)
    asked = read_asked(form)
    value = {"up": 1, "down": -1}.get(form.get("vote", ""))
    if value is None or asked.date is None:
        raise UsageError(Message("This is no vote."))
    voter = await identify_voter(shared, client_address(request))
    prophecy = await prophesy_asked(shared, asked)
    await Ballots(shared).vote(prophecy, form.get("id", ""), voter, value, now=shared.now())
    back = visitor.link(
        "/prophecy",
        headline=asked.headline,
        date=asked.day,
        corpus=asked.corpus,
        lang=form.get("lang"),
    )
    return RedirectResponse(back, HTTPStatus.SEE_OTHER)


@router.get("/robots.txt")
async def _show_robots() -> Response:
    """Let those read an answer and its picture who show a card of a link that somebody shares.

    These pages ask search engines by a tag not to list them, and ask no model unless everybody may.
    """
    lines = ("User-agent: *", "Disallow: /api/", "Disallow: /timeline", "Disallow: /compose",
             "Disallow: /ask", "")  # fmt: skip
    return PlainTextResponse("\n".join(lines))
