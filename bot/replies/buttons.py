"""The buttons below an answer: its votes, and what can be done with the whole."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import TypeAlias

from bot.adapter import traits_of
from bot.card import can_draw
from bot.i18n.words import Words
from bot.replies.limits import cut
from bot.reply import Action, Button
from engine.chat import Answer, Tally
from engine.search import ItemPlace

_LONGEST_TITLE = 100
_LONGEST_HEADING = 60
VOTES = "👍 👎"
WRITE, SHARE = "write", "share"
OWN = "own"  # marks vote buttons in a view that one person alone sees
_MAXIMUM = 3  # buttons of a compact message, beside its votes
_MAX_IN_ROW = 3  # hits whose votes fit into one row
# A hit that can be voted on: its number in the message, its answer, its rank and its votes.
Votable: TypeAlias = tuple[int, Answer, int, Tally]


def place_text(place: ItemPlace, words: Words) -> str:
    """Return "Title, p. 5 (15 of 40)", or the title and the last heading if there are no pages."""
    title = cut(" ".join(place.title.split()), _LONGEST_TITLE)
    if place.page_label and place.page_label != str(place.page):
        return words.say(
            "{title}, p. {label} ({page} of {pages})",
            title=title,
            label=place.page_label,
            page=place.page,
            pages=place.pages,
        )
    if place.page is not None:
        last = place.last_page or place.page
        if last > place.page:
            return words.say(
                "{title}, pp. {first}-{last}", title=title, first=place.page, last=last
            )
        return words.say("{title}, p. {page}", title=title, page=place.page)
    heading = (place.heading or "").rpartition(" > ")[2]
    if not heading or heading == place.title:
        return title
    return f"{title}, {cut(heading, _LONGEST_HEADING)}"


def vote_row(votable: Sequence[Votable], language: str, *, platform: str) -> tuple[Button, ...]:
    """Return the row of vote buttons of a compact message: the first hit's in one tap.

    Where one person alone can be shown a message, a button opens the votes on the others; elsewhere
    they are in the same row, as whatever a press changed there would change for everybody.
    """
    first, *others = votable
    row = vote_pair(first, language)
    if not others:
        return row
    if not traits_of(platform).shows_privately:
        more = (vote_pair(votable, language, numbered=True) for votable in others)
        return (*row, *chain.from_iterable(islice(more, _MAX_IN_ROW - 1)))
    _, answer, rank, _ = first
    label = f"{others[0][0]} … {others[-1][0]}" if len(others) > 1 else f"{others[0][0]}"
    return (*row, answer_button(answer, f"{label}: {VOTES}", "votes", f"{rank}.{language}"))


def vote_pair(
    votable: Votable, language: str, *, numbered: bool = False, view: str = ""
) -> tuple[Button, ...]:
    """Return the buttons to vote for and against a hit, with the votes that there are."""
    number, answer, rank, tally = votable
    value = ".".join(filter(None, (str(rank), language, view)))
    return tuple(
        answer_button(
            answer,
            " ".join(filter(None, (f"{number}" * numbered, sign, f"{count or ''}"))),
            name,
            value,
        )
        for sign, name, count in (("👍", "up", tally.up), ("👎", "down", tally.down))
    )


def full_vote_pair(votable: Votable, language: str) -> tuple[Button, ...]:
    """Return the vote buttons of a hit that has a row of its own, with all its numbers."""
    number, answer, rank, tally = votable
    # A vote redraws the buttons, which keep their language whoever votes.
    value = f"{rank}.{language}"
    return (
        answer_button(answer, f"{number}. 👍 {tally.up}", "up", value),
        answer_button(answer, f"{number}. 👎 {tally.down}", "down", value),
    )


def answer_button(answer: Answer, label: str, name: str, value: object) -> Button:
    """Return a button that does something with an answer."""
    return Button(label=label, action=Action(name=name, answer_id=answer.id, value=str(value)))


def answer_buttons(
    answer: Answer,
    tallies: Mapping[int, Tally],
    words: Words,
    *,
    platform: str,
    compact: bool,
    writes: bool,
) -> tuple[tuple[Button, ...], ...]:
    """Return a row of vote buttons for each hit shown, and a row for the page as a whole.

    A `compact` answer has the row of votes that suits the `platform`. What can be made of it waits
    behind one button, if there would be more than three. Near results have no votes, no picture and
    no button to write about them. `writes` says whether a model can.

    Vote buttons carry the rank of their hit and the language of the answer, which the buttons keep
    whoever votes; the others carry the index of the first hit of a page.
    """
    button = partial(answer_button, answer)
    votable = [
        (hit.rank, answer, hit.rank, tallies.get(hit.rank, Tally()))
        for hit in (() if answer.is_near else answer.page)
    ]
    votes = [full_vote_pair(votes_of_hit, words.language) for votes_of_hit in votable]
    following = answer.page_at(answer.last)
    label = words.say("Nearest") if following.is_near and not answer.is_near else words.say("More")
    shared = (
        *([button(words.say("Picture"), "picture", answer.first)] if votes and can_draw() else []),
        *([button(words.say("Write about it"), WRITE, answer.first)] if votes and writes else []),
    )
    rest: tuple[Button, ...] = (
        *([button(label, "more", answer.last)] if following.page else []),
        *([button(words.say("Why?"), "why", answer.first)] if answer.page else []),
    )
    if compact and len(rest) + len(shared) > _MAXIMUM:
        value = f"{answer.page[0].rank}.{words.language}"
        shared = (button(words.say("Share"), SHARE, value),)
    rest = (*rest, *shared)
    if compact and votes:
        votes = [vote_row(votable, words.language, platform=platform)]
    return (*votes, rest) if rest else ()


def share_buttons(answer: Answer, words: Words) -> tuple[tuple[Button, ...], ...]:
    """Return the buttons behind "Share"; the last one brings back the message's own."""
    button = partial(answer_button, answer)
    back = f"{answer.page[0].rank}.{words.language}"
    return (
        (
            *([button(words.say("Picture"), "picture", answer.first)] if can_draw() else []),
            button(words.say("Write about it"), WRITE, answer.first),
            button(words.say("Back"), "back", back),
        ),
    )
