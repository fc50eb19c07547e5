"""The share picture of an answer's hit."""

import asyncio

from bot.card import draw_card
from bot.commands.registry import Command, Services, nothing_yet, too_old
from bot.commands.rights import Act, Effect
from bot.face.reply import Action, Reply, aside
from bot.face.request import Request
from bot.i18n.words import marked
from bot.replies.picture import card_of
from engine.chat import Answer


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


PICTURE = Command(
    name="picture",
    summary=marked("draw the first tweet of the last answer"),
    usage="/picture",
    example="/picture",
    handler=_picture,
    act=Act(Effect.ANSWERS, counted=True),
    actions={"picture": _pressed},
)
