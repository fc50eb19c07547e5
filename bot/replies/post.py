"""A post: stories of the news, each with the old text that foretold it, as a reply."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time

from bot.card import can_draw
from bot.face.reply import Action, Button, ItemView, Reply
from bot.i18n.words import Words
from bot.replies.buttons import VOTES, WRITE
from bot.replies.prophecy import hit_view
from engine.chat import Answer, Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class PostItem:
    """One story of a post. The page of its answer holds the single hit that is shown."""

    title: str
    link: str | None
    answer: Answer
    source: str = ""  # title of its feed


_WRITES_IN_A_ROW = 5


def post_reply(
    items: Sequence[PostItem],
    words: Words,
    day: date | None = None,
    *,
    compact: bool = False,
    writes: bool = False,
) -> Reply:
    """Return the post, with a row of buttons for each item whose answer is stored.

    `day` is the local date of a daily post. `writes` says whether a model can write about it.
    """
    answers = [item.answer for item in items]
    shown = tuple(_shown(number, item, words) for number, item in enumerate(items, start=1))
    title = words.say("The news of {date}, foretold:", date=spoken(day, words)) if day else None
    unjudged = any(not item.hit.judged for item in shown)
    return Reply(
        words=words,
        text=title,
        items=shown,
        notice=words.say("Not judged: found by the words in common alone.") if unjudged else None,
        buttons=post_buttons(answers, {}, words, compact=compact, writes=writes),
    )


def post_buttons(
    answers: Sequence[Answer],
    tallies: Mapping[int | None, Mapping[int, Tally]],
    words: Words,
    *,
    compact: bool = False,
    writes: bool = False,
) -> tuple[tuple[Button, ...], ...]:
    """Return a row for each answer of a post: votes, why and picture; then those to write of each.

    `tallies` maps answer ids and hit ranks to votes. Answers that are not stored have no row. A
    `compact` post has one row, for its first answer; /picture and /why take numbers.
    """
    shown = [
        (number, answer)
        for number, answer in enumerate(answers, start=1)
        if answer.id is not None and answer.page
    ]
    if compact:
        return _one_row(shown[0][1], words, writes=writes) if shown else ()
    rows = [_row(number, answer, tallies.get(answer.id, {}), words) for number, answer in shown]
    if writes:
        buttons = [_write(number if len(shown) > 1 else None, one, words) for number, one in shown]
        rows += [
            tuple(buttons[start : start + _WRITES_IN_A_ROW])
            for start in range(0, len(buttons), _WRITES_IN_A_ROW)
        ]
    return tuple(rows)


def _one_row(answer: Answer, words: Words, *, writes: bool) -> tuple[tuple[Button, ...], ...]:
    _, _, *rest = _row(1, answer, {}, words)
    if writes:
        rest.append(_write(None, answer, words))
    value = f"{answer.page[0].rank}.{words.language}"
    votes = Action(name="votes", answer_id=answer.id, value=value)
    return ((*rest, Button(label=VOTES, action=votes)),)


def _write(number: int | None, answer: Answer, words: Words) -> Button:
    """Return the button to write about a story, with its number if there are several."""
    label = words.say("Write about {number}", number=number) if number else None
    action = Action(name=WRITE, answer_id=answer.id, value=str(answer.first))
    return Button(label=label or words.say("Write about it"), action=action)


def spoken(day: date, words: Words) -> str:
    """Return a local date written out in the language of `words`."""
    return words.date(datetime.combine(day, time(12), UTC))


def _shown(number: int, item: PostItem, words: Words) -> ItemView:
    answer = item.answer
    until = answer.prophecy.headline.date or answer.asked_at
    view = hit_view(answer.page[0], until, words)
    return ItemView(headline=item.title, link=item.link, hit=replace(view, rank=number))


def _row(
    number: int, answer: Answer, tallies: Mapping[int, Tally], words: Words
) -> tuple[Button, ...]:
    rank = answer.page[0].rank
    tally = tallies.get(rank, Tally())

    def button(label: str, name: str, value: str) -> Button:
        return Button(label=label, action=Action(name=name, answer_id=answer.id, value=value))

    # A vote redraws the buttons, which keep their language whoever votes.
    vote, page = f"{rank}.{words.language}", str(answer.first)
    return (
        button(f"{number}. 👍 {tally.up}", "up", vote),
        button(f"{number}. 👎 {tally.down}", "down", vote),
        button(words.say("Why?"), "why", page),
        *([button(words.say("Picture"), "picture", page)] if can_draw() else []),
    )
