"""The buttons below answers and posts."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import TypeAlias

from bot.card import can_draw
from bot.i18n.words import Words
from bot.reply import Action, Button
from bot.request import traits_of
from engine.chat import Answer, Tally

_WRITES_IN_A_ROW = 5
VOTES = "👍 👎"
WRITE, SHARE = "write", "share"
OWN = "own"  # marks vote buttons in a view that one person alone sees
_MAXIMUM = 3  # buttons of a compact message, beside its votes
_MAX_IN_ROW = 3  # hits whose votes fit into one row
# A hit that can be voted on: its number in the message, its answer, its rank and its votes.
Votable: TypeAlias = tuple[int, Answer, int, Tally]


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
    shared = _build_sharing_buttons(answer, words, writes=writes) if votes else []
    rest: tuple[Button, ...] = (
        *([button(label, "more", answer.last)] if following.page else []),
        *([_build_why_button(answer, words)] if answer.page else []),
    )
    if compact and len(rest) + len(shared) > _MAXIMUM:
        value = f"{answer.page[0].rank}.{words.language}"
        shared = [button(words.say("Share"), SHARE, value)]
    rest = (*rest, *shared)
    if compact and votes:
        votes = [vote_row(votable, words.language, platform=platform)]
    return (*votes, rest) if rest else ()


def share_buttons(answer: Answer, words: Words) -> tuple[tuple[Button, ...], ...]:
    """Return the buttons behind "Share"; the last one brings back the message's own."""
    back = answer_button(
        answer, words.say("Back"), "back", f"{answer.page[0].rank}.{words.language}"
    )
    return ((*_build_sharing_buttons(answer, words, writes=True), back),)


def post_buttons(
    answers: Sequence[Answer],
    tallies: Mapping[int | None, Mapping[int, Tally]],
    words: Words,
    *,
    platform: str = "",
    compact: bool = False,
    writes: bool = False,
) -> tuple[tuple[Button, ...], ...]:
    """Return a row for each answer of a post: votes, why and picture; then those to write of each.

    `tallies` maps answer ids and hit ranks to votes. Answers that are not stored have no row. A
    `compact` post has the row of votes that suits the `platform`, and one for its first answer;
    /picture and /why take numbers.
    """
    votable = [
        (number, answer, rank, tallies.get(answer.id, {}).get(rank, Tally()))
        for number, answer in enumerate(answers, start=1)
        if answer.id is not None and answer.page
        for rank in (answer.page[0].rank,)
    ]
    if compact and votable:
        first = votable[0][1]
        votes = vote_row(votable, words.language, platform=platform)
        return (
            votes,
            (_build_why_button(first, words), *_build_sharing_buttons(first, words, writes=writes)),
        )
    rows = [
        (
            *full_vote_pair(votes, words.language),
            _build_why_button(votes[1], words),
            *_build_sharing_buttons(votes[1], words, writes=False),
        )
        for votes in votable
    ]
    return (*rows, *(_build_write_rows(votable, words) if writes else ()))


def _build_write_rows(votable: Sequence[Votable], words: Words) -> Iterator[tuple[Button, ...]]:
    """Yield rows of buttons to write about each story, with its number if there are several."""
    labels = [words.say("Write about {number}", number=number) for number, *_ in votable]
    if len(labels) == 1:
        labels = [words.say("Write about it")]
    buttons = [
        answer_button(answer, label, WRITE, answer.first)
        for (_, answer, *_), label in zip(votable, labels, strict=True)
    ]
    for start in range(0, len(buttons), _WRITES_IN_A_ROW):
        yield tuple(buttons[start : start + _WRITES_IN_A_ROW])


def _build_why_button(answer: Answer, words: Words) -> Button:
    return answer_button(answer, words.say("Why?"), "why", answer.first)


def _build_sharing_buttons(answer: Answer, words: Words, *, writes: bool) -> list[Button]:
    """Return the buttons to make a picture of an answer, where one can be drawn, and to write about
    it, where a model can."""
    button = partial(answer_button, answer)
    picture = [button(words.say("Picture"), "picture", answer.first)] if can_draw() else []
    write = [button(words.say("Write about it"), WRITE, answer.first)] if writes else []
    return [*picture, *write]
