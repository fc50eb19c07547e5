"""The share picture of an answer's hit."""

import asyncio
from datetime import datetime

from bot.card import Card, draw_card
from bot.commands.registry import Command, Services, nothing_yet, too_old
from bot.prophecy_reply import hit_view
from bot.reply import Action, Reply, aside
from bot.request import Request
from bot.rights import Act, Effect
from bot.words import Words, marked
from engine.chat import Answer
from engine.types import Hit


async def _picture(request: Request, services: Services) -> Reply:
    answer = await services.answers.last(request.known_chat, request.place.thread)
    if answer is None or not answer.page:
        return nothing_yet(request)
    return await _drawn(request, answer)


async def _pressed(request: Request, action: Action, services: Services) -> Reply:
    answer = await services.answers.get(request.known_chat, action.answer_id or 0)
    if answer is None or not (page := answer.page_named(action.value)):
        return too_old(request)
    return await _drawn(request, page)


async def _drawn(request: Request, answer: Answer) -> Reply:
    if answer.is_near:
        return aside(request, request.words.say("Nothing foretold this."))
    card = card_of(answer, request.words)
    picture = await asyncio.to_thread(draw_card, card)
    return Reply(words=request.words, text=answer.page[0].candidate.url, picture=picture)


def card_of(answer: Answer, words: Words) -> Card:
    """Return what the picture of the first hit of the answer's page says."""
    prophecy = answer.prophecy
    return hit_card(
        answer.page[0],
        prophecy.headline.text,
        prophecy.headline.date,
        answer.asked_at,
        words,
        corpus=prophecy.corpus,
    )


def hit_card(
    hit: Hit, headline: str, date: datetime | None, now: datetime, words: Words, *, corpus: str
) -> Card:
    """Return what the picture of a hit says; its age counts up to `date`, else to `now`.

    Where nobody knows who wrote it, it bears the name of its corpus.
    """
    view = hit_view(hit, date or now, words)
    return Card(
        headline=headline,
        headline_date=words.date(date) if date else "",
        text=view.text,
        author="" if view.author else corpus,
        handle=f"@{view.author}" if view.author else "",
        date_text=view.date_text,
        lead_time_text=view.age,
        marks=view.marks(words),
    )


PICTURE = Command(
    name="picture",
    summary=marked("draw the first tweet of the last answer"),
    usage="/picture",
    example="/picture",
    handler=_picture,
    act=Act(Effect.ANSWERS, counted=True),
    actions={"picture": _pressed},
)
