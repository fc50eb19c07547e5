"""Votes on hits, and the chat's favourites."""

from dataclasses import replace
from functools import partial
from typing import TypeAlias

from bot.adapter import traits_of
from bot.app import App
from bot.commands.registry import Command, find_answer, too_old
from bot.commands.rights import LOOKS, Act, Effect
from bot.i18n.words import LANGUAGES, Words, marked, words_for
from bot.replies.buttons import OWN, SHARE, answer_buttons, share_buttons, vote_pair
from bot.replies.limits import cut
from bot.replies.post import post_buttons
from bot.replies.prophecy import hit_view
from bot.reply import VOTE_UP, Action, Button, ItemView, Reply, reply_aside
from bot.request import Request
from db.chat.answers import Answers
from engine.chat import Answer, Chat, Favourite, Tally

Rows: TypeAlias = tuple[tuple[Button, ...], ...]

_SHOWN = 5
_LONGEST_HEADLINE, _LONGEST_TEXT, _LONGEST_LINE = 150, 280, 100


async def _press_vote(request: Request, action: Action, app: App, *, value: int) -> Reply:
    """Count one vote per person and hit, and show the counts on the buttons.

    The same vote again withdraws it.
    """
    if (voted := await _voted_on(request, action, app)) is None:
        return too_old(request)
    answer, rank, shown_in = voted
    words, answers = request.words, Answers(app.database)
    withdrawn = await answers.withdraw(answer, rank, request.who, value)
    if not withdrawn:
        await answers.vote(answer, rank, request.who, value)
    toast = words.say("Withdrawn.") if withdrawn else words.say("Noted.")
    if action.value.endswith(f".{OWN}"):
        return replace(await _build_ballot(request, answer, rank, app), replaces=True, toast=toast)
    buttons = await _vote_buttons(request.known_chat, answer, rank, app, shown_in)
    return Reply(words=words, toast=toast, buttons=buttons, replaces=True)


async def _vote_buttons(chat: Chat, answer: Answer, rank: int, app: App, words: Words) -> Rows:
    """Return the buttons of the message that shows a hit, with its votes."""
    compact = not chat.full_answers
    writes, platform = app.client is not None, chat.platform
    answers = Answers(app.database)
    if posted := await _posted_together(answer, rank, app):
        counts = {post.id: await answers.tallies(post) for post in posted}
        return post_buttons(
            posted, counts, words, platform=platform, compact=compact, writes=writes
        )
    tallies = await answers.tallies(answer)
    page = page_of(answer, rank)
    return answer_buttons(page, tallies, words, platform=platform, compact=compact, writes=writes)


async def _posted_together(answer: Answer, rank: int, app: App) -> list[Answer]:
    """Return the answers of the post that showed a hit; none if it was an answer that did."""
    posted = await Answers(app.database).posted_with(answer)
    return (
        posted if any(post.id == answer.id and post.page[0].rank == rank for post in posted) else []
    )


async def _build_ballot(request: Request, answer: Answer, rank: int, app: App) -> Reply:
    """Return the hits of a message after the first, each with its vote buttons."""
    words, answers = request.words, Answers(app.database)
    posted = await _posted_together(answer, rank, app)
    page = page_of(answer, rank)
    places = (
        [(number, post, post.page[0]) for number, post in enumerate(posted, start=1)]
        if posted
        else [(hit.rank, page, hit) for hit in page.page]
    )[1:]
    lines, rows = [words.say("Your votes on the others:")], []
    for number, post, hit in places:
        lines.append(f"{number}. {cut(' '.join(hit.candidate.text.split()), _LONGEST_LINE)}")
        tally = (await answers.tallies(post)).get(hit.rank, Tally())
        votable = (number, post, hit.rank, tally)
        rows.append(vote_pair(votable, words.language, numbered=True, view=OWN))
    return Reply(words=words, text="\n".join(lines), buttons=tuple(rows), ephemeral=True)


async def _show_ballot(request: Request, action: Action, app: App) -> Reply:
    """Show the vote buttons of the other hits of the message to whoever asks."""
    if (voted := await _voted_on(request, action, app)) is None:
        return too_old(request)
    answer, rank, _ = voted
    if traits_of(request.place.platform).shows_privately:
        return await _build_ballot(request, answer, rank, app)
    return await _restore_buttons(request, action, app)  # a button of an earlier version


async def _restore_buttons(request: Request, action: Action, app: App) -> Reply:
    """Show the message's own buttons again."""
    if (voted := await _voted_on(request, action, app)) is None:
        return too_old(request)
    buttons = await _vote_buttons(request.known_chat, *voted[:2], app, voted[2])
    return Reply(words=request.words, buttons=buttons, replaces=True)


async def _show_share_buttons(request: Request, action: Action, app: App) -> Reply:
    """Show the buttons for what can be made of the message."""
    if (voted := await _voted_on(request, action, app)) is None:
        return too_old(request)
    answer, rank, words = voted
    buttons = share_buttons(page_of(answer, rank), words)
    return Reply(words=request.words, buttons=buttons, replaces=True)


async def _voted_on(request: Request, action: Action, app: App) -> tuple[Answer, int, Words] | None:
    """Return the answer, the rank of the hit, and the words of the buttons; None if it is gone."""
    answer = await find_answer(request, action, app)
    written, _, language = action.value.removesuffix(f".{OWN}").partition(".")
    ranks = {str(hit.rank): hit.rank for hit in answer.prophecy.hits} if answer else {}
    rank = ranks.get(written)
    if answer is None or rank is None or language not in LANGUAGES:
        return None
    return answer, rank, words_for(language)


def page_of(answer: Answer, rank: int) -> Answer:
    """Return the page of the answer that the message with the button of `rank` showed."""
    size = answer.last - answer.first
    return answer.page_at((rank - 1) // size * size)


async def _list_favourites(request: Request, app: App) -> Reply:
    words = request.words
    favourites = await Answers(app.database).favourites(request.known_chat, _SHOWN)
    if not favourites:
        return reply_aside(request, words.say("No prophecy of this chat has a vote yet."))
    items = [
        _build_favourite(place, favourite, words)
        for place, favourite in enumerate(favourites, start=1)
    ]
    return Reply(
        words=words, text=words.say("The best prophecies of this chat:"), items=tuple(items)
    )


def _build_favourite(place: int, favourite: Favourite, words: Words) -> ItemView:
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
    handler=_list_favourites,
    act=LOOKS,
    actions={
        VOTE_UP: partial(_press_vote, value=1),
        "down": partial(_press_vote, value=-1),
        "votes": _show_ballot,
        "back": _restore_buttons,
        SHARE: _show_share_buttons,
    },
    pressed={VOTE_UP: Act(Effect.POSTS), "down": Act(Effect.POSTS)},
)
