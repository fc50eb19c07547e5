"""Votes on hits, and the chat's favourites."""

from bot.commands.registry import Command, Services, too_old
from bot.commands.rights import LOOKS, Act, Effect
from bot.face.reply import Action, Button, Reply, aside
from bot.face.request import Request
from bot.i18n.words import LANGUAGES, Words, marked, words_for
from bot.replies.limits import cut
from bot.replies.post import post_buttons
from bot.replies.prophecy import answer_buttons, hit_view
from engine.chat import Answer, Favourite

_SHOWN = 5
_LONGEST_HEADLINE, _LONGEST_TEXT = 150, 280


async def _up(request: Request, action: Action, services: Services) -> Reply:
    return await _vote(request, action, services, 1)


async def _down(request: Request, action: Action, services: Services) -> Reply:
    return await _vote(request, action, services, -1)


async def _vote(request: Request, action: Action, services: Services, value: int) -> Reply:
    """Count one vote per person and hit, and show the counts on the buttons.

    The same vote again withdraws it.
    """
    answer = await services.answers.get(request.known_chat, action.answer_id or 0)
    written, _, language = action.value.partition(".")
    ranks = {str(hit.rank): hit.rank for hit in answer.prophecy.hits} if answer else {}
    rank = ranks.get(written)
    if answer is None or rank is None or language not in LANGUAGES:
        return too_old(request)
    words = request.words
    withdrawn = await services.answers.withdraw(answer, rank, request.who, value)
    if not withdrawn:
        await services.answers.vote(answer, rank, request.who, value, now=request.now)
    return Reply(
        words=words,
        toast=words.say("Withdrawn.") if withdrawn else words.say("Noted."),
        buttons=await _buttons(answer, rank, services, words_for(language)),
        replaces=True,
    )


async def _buttons(
    answer: Answer, rank: int, services: Services, words: Words
) -> tuple[tuple[Button, ...], ...]:
    """Return the buttons of the message that was voted on, with the new counts."""
    posted = await services.answers.posted_with(answer)
    if any(one.id == answer.id and one.page[0].rank == rank for one in posted):
        tallies = {one.id: await services.answers.tallies(one) for one in posted}
        return post_buttons(posted, tallies, words)
    shown = page_of(answer, rank)
    return answer_buttons(shown, await services.answers.tallies(answer), words)


def page_of(answer: Answer, rank: int) -> Answer:
    """Return the page of the answer that the message with the button of `rank` showed."""
    size = answer.last - answer.first
    return answer.page_at((rank - 1) // size * size)


async def _top(request: Request, services: Services) -> Reply:
    words = request.words
    favourites = await services.answers.favourites(request.known_chat, _SHOWN)
    if not favourites:
        return aside(request, words.say("No prophecy of this chat has a vote yet."))
    lines = [words.say("The best prophecies of this chat:")]
    for place, favourite in enumerate(favourites, start=1):
        lines += ["", *_favourite(place, favourite, words)]
    return Reply(words=words, text="\n".join(lines))


def _favourite(place: int, favourite: Favourite, words: Words) -> list[str]:
    headline, tally = favourite.headline, favourite.tally
    view = hit_view(favourite.hit, headline.date or favourite.asked_at, words)
    return [
        f"{place}. {cut(headline.text, _LONGEST_HEADLINE)}  👍 {tally.up} 👎 {tally.down}",
        f"{view.date_text}, {view.age}: {cut(view.text, _LONGEST_TEXT)}",
        *([view.url] if view.url else []),
    ]


TOP = Command(
    name="top",
    summary=marked("the best-voted prophecies of this chat"),
    usage="/top",
    example="/top",
    handler=_top,
    act=LOOKS,
    actions={"up": _up, "down": _down},
    pressed={"up": Act(Effect.POSTS), "down": Act(Effect.POSTS)},
)
