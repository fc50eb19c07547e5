"""Votes on hits, and the chat's favourites."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.commands.registry import LOOKS, Act, Command, Effect, too_old
from bot.commands.services import Services
from bot.i18n.words import LANGUAGES, Words, marked, words_for
from bot.replies.buttons import SHARE, answer_buttons, ballot, share_buttons
from bot.replies.limits import cut
from bot.replies.post import post_buttons
from bot.replies.prophecy import hit_view
from bot.reply import Action, Button, ItemView, Reply, aside
from bot.request import Request
from engine.chat import Answer, Favourite, Tally

_SHOWN = 5
_LONGEST_HEADLINE, _LONGEST_TEXT = 150, 280


async def _up(request: Request, action: Action, services: Services) -> Reply:
    return await _vote(request, action, services, 1)


async def _vote_down(request: Request, action: Action, services: Services) -> Reply:
    return await _vote(request, action, services, -1)


async def _vote(request: Request, action: Action, services: Services, value: int) -> Reply:
    """Count one vote per person and hit, and show the counts on the buttons.

    The same vote again withdraws it.
    """
    if (voted := await _voted_on(request, action, services)) is None:
        return too_old(request)
    answer, rank, shown_in = voted
    words = request.words
    withdrawn = await services.stores.answers.withdraw(answer, rank, request.who, value)
    if not withdrawn:
        await services.stores.answers.vote(answer, rank, request.who, value, now=request.now)
    return Reply(
        words=words,
        toast=words.say("Withdrawn.") if withdrawn else words.say("Noted."),
        buttons=await _buttons(request, answer, rank, services, shown_in),
        replaces=True,
    )


async def _buttons(
    request: Request, answer: Answer, rank: int, services: Services, words: Words
) -> tuple[tuple[Button, ...], ...]:
    """Return the buttons of the message that was voted on, with the new counts."""
    compact = not request.known_chat.full_answers
    writes = services.composing is not None
    posted = await services.stores.answers.posted_with(answer)
    if not any(one.id == answer.id and one.page[0].rank == rank for one in posted):
        shown = page_of(answer, rank)
        tallies = await services.stores.answers.tallies(answer)
        if compact:
            return _ballot([(shown, hit.rank) for hit in shown.page], answer, rank, tallies, words)
        return answer_buttons(shown, tallies, words, writes=writes)
    if compact:
        places = [(one, one.page[0].rank) for one in posted]
        tallies = await services.stores.answers.tallies(answer)
        return _ballot(places, answer, rank, tallies, words, numbered=True)
    counts = {one.id: await services.stores.answers.tallies(one) for one in posted}
    return post_buttons(posted, counts, words, writes=writes)


def _ballot(
    places: Sequence[tuple[Answer, int]],
    answer: Answer,
    rank: int,
    tallies: Mapping[int, Tally],
    words: Words,
    *,
    numbered: bool = False,
) -> tuple[tuple[Button, ...], ...]:
    """Return the vote buttons of one of the hits that a compact message shows."""
    known = [(one.id, ranked) for one, ranked in places]
    at = known.index((answer.id, rank))
    following = places[(at + 1) % len(places)] if len(places) > 1 else None
    number = at + 1 if numbered else rank
    tally = tallies.get(rank, Tally())
    return ballot(answer, rank, tally, words, number=number, following=following)


async def _open(request: Request, action: Action, services: Services) -> Reply:
    """Show the vote buttons of one hit."""
    if (voted := await _voted_on(request, action, services)) is None:
        return too_old(request)
    answer, rank, words = voted
    buttons = await _buttons(request, answer, rank, services, words)
    return Reply(words=request.words, buttons=buttons, replaces=True)


async def _close(request: Request, action: Action, services: Services) -> Reply:
    """Show the message's own buttons again."""
    if (voted := await _voted_on(request, action, services)) is None:
        return too_old(request)
    answer, rank, words = voted
    compact = not request.known_chat.full_answers
    writes = services.composing is not None
    if posted := await services.stores.answers.posted_with(answer):
        buttons = post_buttons(posted, {}, words, compact=compact, writes=writes)
    else:
        tallies = await services.stores.answers.tallies(answer)
        shown = page_of(answer, rank)
        buttons = answer_buttons(shown, tallies, words, compact=compact, writes=writes)
    return Reply(words=request.words, buttons=buttons, replaces=True)


async def _share(request: Request, action: Action, services: Services) -> Reply:
    """Show the buttons for what can be made of the message."""
    if (voted := await _voted_on(request, action, services)) is None:
        return too_old(request)
    answer, rank, words = voted
    buttons = share_buttons(page_of(answer, rank), words)
    return Reply(words=request.words, buttons=buttons, replaces=True)


async def _voted_on(
    request: Request, action: Action, services: Services
) -> tuple[Answer, int, Words] | None:
    """Return the answer, the rank of the hit, and the words of the buttons; None if it is gone."""
    answer = await services.stores.answers.get(request.known_chat, action.answer_id or 0)
    written, _, language = action.value.partition(".")
    ranks = {str(hit.rank): hit.rank for hit in answer.prophecy.hits} if answer else {}
    rank = ranks.get(written)
    if answer is None or rank is None or language not in LANGUAGES:
        return None
    return answer, rank, words_for(language)


def page_of(answer: Answer, rank: int) -> Answer:
    """Return the page of the answer that the message with the button of `rank` showed."""
    size = answer.last - answer.first
    return answer.page_at((rank - 1) // size * size)


async def _top(request: Request, services: Services) -> Reply:
    words = request.words
    favourites = await services.stores.answers.favourites(request.known_chat, _SHOWN)
    if not favourites:
        return aside(request, words.say("No prophecy of this chat has a vote yet."))
    items = [_favourite(place, one, words) for place, one in enumerate(favourites, start=1)]
    return Reply(
        words=words, text=words.say("The best prophecies of this chat:"), items=tuple(items)
    )


def _favourite(place: int, favourite: Favourite, words: Words) -> ItemView:
    headline, tally = favourite.headline, favourite.tally
    view = hit_view(favourite.hit, headline.date or favourite.asked_at, words)
    counts = f"👍 {tally.up} 👎 {tally.down}"
    return ItemView(
        headline=f"{cut(headline.text, _LONGEST_HEADLINE)}  {counts}",
        link=None,
        hit=replace(view, rank=place, text=cut(view.text, _LONGEST_TEXT), why=None, small=True),
    )


TOP = Command(
    name="top",
    summary=marked("the best-voted prophecies of this chat"),
    usage="/top",
    example="/top",
    handler=_top,
    act=LOOKS,
    actions={"up": _up, "down": _vote_down, "votes": _open, "back": _close, SHARE: _share},
    pressed={"up": Act(Effect.POSTS), "down": Act(Effect.POSTS)},
)
