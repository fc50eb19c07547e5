"""A headline and the tweets that foretold it; more of them."""

from dataclasses import replace

from bot.commands.registry import Command, Services
from bot.overheard import is_quiet, looks_like_headline, worth_saying
from bot.prophecy_reply import EXAMPLE, answer_buttons, prophecy_reply
from bot.reply import Action, Reply
from bot.request import Request, Trigger
from engine.chat import Answer, Listening
from engine.types import Prophecy

_PAGES = 4  # answers' worth of hits asked for at once: /more costs no second search


async def plain(request: Request, services: Services) -> Reply | None:
    """Answer text that is no command: what is said to the bot, and what it may overhear."""
    if request.trigger is not Trigger.OVERHEARD:
        return await _prophesy(request, services)
    chat = request.known_chat
    if chat.listening is not Listening.ALL or is_quiet(chat, request.now):
        return None
    if not looks_like_headline(request.text):
        return None
    prophecy = await _look(request, services)
    if not worth_saying(prophecy, chat.threshold, services.unjudged_coverage):
        return None
    return await _answer(request, services, prophecy)


async def _prophesy(request: Request, services: Services) -> Reply:
    if not request.text.strip():
        text = request.words.say(
            "Send me a headline, such as: {example}", example=request.words.say(EXAMPLE)
        )
        return Reply(words=request.words, text=text, ephemeral=True)
    return await _answer(request, services, await _look(request, services))


async def _look(request: Request, services: Services) -> Prophecy:
    return await services.prophesy(
        await services.read_headline(request.text, now=request.now),
        corpus=request.known_chat.corpus or services.corpus,
        limit=services.limit * _PAGES,
        now=request.now,
    )


async def _answer(request: Request, services: Services, prophecy: Prophecy) -> Reply:
    answer = Answer(prophecy=prophecy, asked_at=request.now, first=0, last=services.limit)
    kept = await services.answers.keep(request.known_chat, request.place.thread, answer)
    return await _shown(request, services, replace(answer, id=kept))


async def _shown(request: Request, services: Services, answer: Answer) -> Reply:
    buttons = answer_buttons(answer, await services.answers.tallies(answer), request.words)
    return prophecy_reply(
        answer.prophecy,
        answer.page,
        now=answer.asked_at,
        words=request.words,
        buttons=buttons,
    )


async def _more(request: Request, services: Services) -> Reply:
    answer = await services.answers.last(request.known_chat, request.place.thread)
    return await _next_page(request, services, answer)


async def _more_pressed(request: Request, action: Action, services: Services) -> Reply:
    answer = await services.answers.get(request.known_chat, action.answer_id or 0)
    return await _next_page(request, services, answer)


async def _next_page(request: Request, services: Services, answer: Answer | None) -> Reply:
    if answer is None:
        text = request.words.say("Send me a headline first.")
        return Reply(words=request.words, text=text, ephemeral=True)
    turned = replace(answer, first=answer.last, last=answer.last + services.limit)
    if not turned.page:
        text = request.words.say("That is all I found.")
        return Reply(words=request.words, text=text, ephemeral=True)
    await services.answers.turn_page(turned)
    return await _shown(request, services, turned)


PROPHECY = Command(
    name="prophecy",
    aliases=("p",),
    summary="find old tweets that foretold a headline or a link; plain text does the same",
    usage="/prophecy HEADLINE",
    example=f"/prophecy {EXAMPLE}",
    handler=_prophesy,
)
MORE = Command(
    name="more",
    summary="show the next tweets for the last headline",
    usage="/more",
    example="/more",
    handler=_more,
    actions={"more": _more_pressed},
)
