"""A post: stories of the news, each with the old text that foretold it, as a reply."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import partial

from bot.card import can_draw
from bot.i18n.words import Words
from bot.replies.buttons import WRITE, answer_button, full_vote_pair, vote_row
from bot.replies.prophecy import hit_view, say_heading, say_how_found
from bot.reply import Button, ItemView, Reply
from engine.chat import Answer, Tally

_WRITES_IN_A_ROW = 5


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


def _build_explaining_buttons(answer: Answer, words: Words) -> tuple[Button, ...]:
    button = partial(answer_button, answer)
    return (
        button(words.say("Why?"), "why", answer.first),
        *([button(words.say("Picture"), "picture", answer.first)] if can_draw() else []),
    )
