"""The buttons below answers and posts; and a post as a reply: stories of the news, each with the
old text that foretold it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import partial
from itertools import chain, islice
from typing import TypeAlias

from bot.card import can_draw
from bot.i18n.words import Words
from bot.replies.prophecy import hit_view, say_heading, say_how_found
from bot.reply import Action, Button, ItemView, Reply
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
    numbered = [
        (number, answer)
        for number, answer in enumerate(answers, start=1)
        if answer.id is not None and answer.page
    ]
    votable = [
        (number, answer, rank, tallies.get(answer.id, {}).get(rank, Tally()))
        for number, answer in numbered
        for rank in (answer.page[0].rank,)
    ]
    if compact and numbered:
        first = numbered[0][1]
        write = [_build_write_button(None, first, words)] if writes else []
        return (
            vote_row(votable, words.language, platform=platform),
            (*_build_explaining_buttons(first, words), *write),
        )
    rows = [
        (*full_vote_pair(votes, words.language), *_build_explaining_buttons(answer, words))
        for votes, (_, answer) in zip(votable, numbered, strict=True)
    ]
    if writes:
        buttons = [
            _build_write_button(number if len(numbered) > 1 else None, answer, words)
            for number, answer in numbered
        ]
        rows += [
            tuple(buttons[start : start + _WRITES_IN_A_ROW])
            for start in range(0, len(buttons), _WRITES_IN_A_ROW)
        ]
    return tuple(rows)


def _build_write_button(number: int | None, answer: Answer, words: Words) -> Button:
    """Return the button to write about a story, with its number if there are several."""
    label = words.say("Write about {number}", number=number) if number else None
    return answer_button(answer, label or words.say("Write about it"), WRITE, answer.first)


def _build_explaining_buttons(answer: Answer, words: Words) -> tuple[Button, ...]:
    button = partial(answer_button, answer)
    return (
        button(words.say("Why?"), "why", answer.first),
        *([button(words.say("Picture"), "picture", answer.first)] if can_draw() else []),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PostItem:
    """One story of a post. The page of its answer holds the single hit that is shown."""

    title: str
    link: str | None
    answer: Answer


def post_reply(
    items: Sequence[PostItem],
    words: Words,
    day: date | None = None,
    *,
    zone: tzinfo = UTC,
    platform: str = "",
    compact: bool = False,
    writes: bool = False,
) -> Reply:
    """Return the post, with a row of buttons for each item whose answer is stored.

    `day` is the local date of a daily post, `zone` that of its chat. `writes` says whether a model
    can write about it, `platform` where it is shown.
    """
    answers = [item.answer for item in items]
    views = []
    for number, item in enumerate(items, start=1):
        until = item.answer.prophecy.headline.date or item.answer.asked_at
        view = replace(hit_view(item.answer.page[0], until, words), rank=number)
        views.append(ItemView(headline=item.title, link=item.link, hit=view))
    title = _format_title(items, day, zone, words) if day else None
    unjudged = [
        item.answer.prophecy
        for item, view in zip(items, views, strict=True)
        if view.hit.label_unjudged
    ]
    return Reply(
        words=words,
        text=title,
        items=tuple(views),
        notice=say_how_found(unjudged[0], words) if unjudged else None,
        buttons=post_buttons(answers, {}, words, platform=platform, compact=compact, writes=writes),
    )


def _format_title(items: Sequence[PostItem], day: date, zone: tzinfo, words: Words) -> str:
    """Return the dates of the stories, as a post in the morning tells yesterday's, and what the
    texts are to them."""
    moments = [item.answer.prophecy.headline.date for item in items]
    dates = [moment.astimezone(zone).date() if moment else day for moment in moments]
    first, last = (write_day(date, words) for date in (min(dates), max(dates)))
    news = words.say("The news of {date}.", date=first)
    if first != last:
        news = words.say("The news from {first} to {last}.", first=first, last=last)
    heading = say_heading([item.answer.page[0] for item in items], words)
    nearest = words.say("Nearest by their words:")
    return f"{news} {heading}:" if heading else f"{news} {nearest}"


def say_nothing_found(day: date, words: Words, *, judged: bool = True) -> str:
    """Return what a daily post of that date says that has nothing to tell, or nothing `judged`."""
    since = write_day(day - timedelta(days=1), words)
    if not judged:
        return words.say(
            "The news since {date} was not judged: no language model answered.", date=since
        )
    return words.say("No old tweet foretold the news since {date}.", date=since)


def write_day(day: date, words: Words) -> str:
    """Return a local date written out in the language of `words`."""
    return words.date(datetime.combine(day, time(12), UTC))
