"""Votes on hits, and the chat's favourites."""

from dataclasses import replace

from bot.commands.registry import Command, Services
from bot.prophecy_reply import answer_buttons, hit_view
from bot.reply import Action, Reply
from bot.request import Request
from engine.chat import Answer

_SHOWN = 5


async def _up(request: Request, action: Action, services: Services) -> Reply:
    return await _vote(request, action, services, 1)


async def _down(request: Request, action: Action, services: Services) -> Reply:
    return await _vote(request, action, services, -1)


async def _vote(request: Request, action: Action, services: Services, value: int) -> Reply:
    """Count one vote a person and hit, and show the counts on the buttons."""
    words, chat = request.words, request.known_chat
    answer = await services.answers.get(chat, action.answer_id or 0)
    ranks = {str(hit.rank) for hit in answer.prophecy.hits} if answer else set()
    if answer is None or action.value not in ranks:
        return Reply(words=words, toast=words.say("This button is too old."))
    rank = int(action.value)
    await services.answers.vote(answer, rank, request.who, value, now=request.now)
    tallies = await services.answers.tallies(answer)
    buttons = answer_buttons(page_of(answer, rank, services.limit), tallies, words)
    return Reply(words=words, toast=words.say("Noted."), buttons=buttons, replaces=True)


def page_of(answer: Answer, rank: int, limit: int) -> Answer:
    """Return the answer as the message showed it that carries the button of `rank`."""
    first = (rank - 1) // limit * limit
    return replace(answer, first=first, last=first + limit)


async def _top(request: Request, services: Services) -> Reply:
    words = request.words
    favourites = await services.answers.favourites(request.known_chat, _SHOWN)
    if not favourites:
        text = words.say("No prophecy of this chat has a vote yet.")
        return Reply(words=words, text=text, ephemeral=True)
    lines = [words.say("The best prophecies of this chat:")]
    for place, favourite in enumerate(favourites, start=1):
        view = hit_view(favourite.hit, favourite.asked_at, words)
        lines += [
            "",
            f"{place}. {favourite.headline}  👍 {favourite.tally.up} 👎 {favourite.tally.down}",
            f"{view.date_text}, {view.age}: {view.text}",
            *([view.url] if view.url else []),
        ]
    return Reply(words=words, text="\n".join(lines))


TOP = Command(
    name="top",
    summary="the best-voted prophecies of this chat",
    usage="/top",
    example="/top",
    handler=_top,
    actions={"up": _up, "down": _down},
)
