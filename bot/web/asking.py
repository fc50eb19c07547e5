"""The page on which people ask questions, and get answers that cite their sources."""

from datetime import UTC
from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from bot.face.reply import signature
from bot.i18n.words import Words
from bot.queries.ask import ask, searcher
from bot.replies.answer import answer_label
from bot.replies.place import place_text
from bot.web.dependencies import SharedOf, paced, paced_answers
from bot.web.parameters import LONGEST_TEXT
from bot.web.rendering import render
from bot.web.views import day_of, web_address
from bot.web.visitor import Asked, VisitorOf, corpora_to_choose
from engine.answer.types import CitedAnswer, CitedSource
from engine.prophecy.headline import read_headline
from engine.search import SearchRequest

questions = APIRouter(include_in_schema=False, dependencies=[Depends(paced)])


@questions.get("/ask")
async def _ask(request: Request, shared: SharedOf, visitor: VisitorOf) -> Response:
    values = request.query_params
    question = values.get("question", "").strip()[:LONGEST_TEXT]
    corpora, chosen = await corpora_to_choose(shared, values.get("corpus", "").strip())
    answered: CitedAnswer | None = None
    if question:
        await paced_answers(request, shared)
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
        **_shown(answered, visitor.words),
    )


def _shown(answered: CitedAnswer | None, words: Words) -> dict[str, Any]:
    """Return what the template shows of an answer, or that there is none yet."""
    if answered is None:
        return {"answered": None}
    return {
        "answered": answered,
        "label": answer_label(answered, words),
        "notice": words.render(answered.notice) if answered.notice else None,
        "sources": [_source(source, words) for source in answered.sources],
    }


def _source(source: CitedSource, words: Words) -> dict[str, Any]:
    found = source.passage.hit.candidate
    return {
        "number": source.number,
        "corpus": source.passage.corpus,
        "id": found.external_id,
        "day": day_of(found.created_at),
        "date_text": words.date(found.created_at.astimezone(UTC)),
        "signature": signature(found.voice, found.author),
        "place": place_text(found.place, words) if found.place else None,
        "text": found.text,
        "lang": found.lang,
        "url": web_address(found.url),
    }
