"""The share picture of an answer's first hit."""

import asyncio

from bot.card import Card, draw_card
from bot.commands.registry import Command, Services
from bot.prophecy_reply import hit_view
from bot.reply import Action, Reply
from bot.request import Request
from engine.chat import Answer


async def _picture(request: Request, services: Services) -> Reply:
    answer = await services.answers.last(request.known_chat, request.place.thread)
    return await _drawn(request, answer, answer.first if answer else 0)


async def _pressed(request: Request, action: Action, services: Services) -> Reply:
    answer = await services.answers.get(request.known_chat, action.answer_id or 0)
    return await _drawn(request, answer, 0)


async def _drawn(request: Request, answer: Answer | None, index: int) -> Reply:
    words = request.words
    if answer is None or index >= len(answer.prophecy.hits):
        return Reply(words=words, text=words.say("Send me a headline first."), ephemeral=True)
    headline = answer.prophecy.headline
    view = hit_view(answer.prophecy.hits[index], headline.date or answer.asked_at, words)
    card = Card(
        headline=headline.text,
        headline_date=words.date(headline.date) if headline.date else "",
        text=view.text,
        handle=f"@{view.author}" if view.author else "",
        date_text=view.date_text,
        lead_time_text=view.age,
        marks=view.marks(words),
    )
    picture = await asyncio.to_thread(draw_card, card)
    return Reply(words=words, text=view.url, picture=picture)


PICTURE = Command(
    name="picture",
    summary="draw the first tweet of the last answer",
    usage="/picture",
    example="/picture",
    handler=_picture,
    actions={"picture": _pressed},
)
