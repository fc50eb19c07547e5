"""The buttons below an answer: its votes, and what can be done with the whole."""

from collections.abc import Mapping

from bot.card import can_draw
from bot.i18n.words import Words
from bot.replies.limits import cut
from bot.reply import Action, Button
from engine.chat import Answer, Tally
from engine.search import ItemPlace

_LONGEST_TITLE = 100
_LONGEST_HEADING = 60


def place_text(place: ItemPlace, words: Words) -> str:
    """Return "Title, p. 12", or the title and the last of the headings if there are no pages."""
    title = cut(" ".join(place.title.split()), _LONGEST_TITLE)
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


VOTES = "👍 👎"
WRITE, SHARE = "write", "share"
_MOST = 4  # buttons of a compact message


def answer_buttons(
    answer: Answer,
    tallies: Mapping[int, Tally],
    words: Words,
    *,
    compact: bool = False,
    writes: bool = False,
) -> tuple[tuple[Button, ...], ...]:
    """Return a row of vote buttons for each hit shown, and a row for the page as a whole.

    In a `compact` answer the vote buttons wait behind one button of that row; so does what can be
    made of the answer, if there would be more than four. Near results have no votes, no picture and
    no button to write about them. `writes` says whether a model can.

    Vote buttons carry the rank of their hit and the language of the answer, which the buttons keep
    whoever votes; the others carry the index of the first hit of a page.
    """

    def button(label: str, name: str, value: object) -> Button:
        return Button(label=label, action=Action(name=name, answer_id=answer.id, value=str(value)))

    votes = []
    for hit in () if answer.is_near else answer.page:
        tally, rank = tallies.get(hit.rank, Tally()), hit.rank
        value = f"{rank}.{words.language}"
        votes.append(
            (
                button(f"{rank}. 👍 {tally.up}", "up", value),
                button(f"{rank}. 👎 {tally.down}", "down", value),
            )
        )
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
    if compact and len(rest) + len(shared) + bool(votes) > _MOST:
        value = f"{answer.page[0].rank}.{words.language}"
        shared = (button(words.say("Share"), SHARE, value),)
    rest = (*rest, *shared)
    if compact:
        first = f"{answer.page[0].rank}.{words.language}" if votes else ""
        return ((*rest, *([button(VOTES, "votes", first)] if votes else [])),) if rest else ()
    return (*votes, rest) if rest else ()


def share_buttons(answer: Answer, words: Words) -> tuple[tuple[Button, ...], ...]:
    """Return the buttons behind "Share"; the last one brings back the message's own."""

    def button(label: str, name: str, value: object) -> Button:
        return Button(label=label, action=Action(name=name, answer_id=answer.id, value=str(value)))

    back = f"{answer.page[0].rank}.{words.language}"
    return (
        (
            *([button(words.say("Picture"), "picture", answer.first)] if can_draw() else []),
            button(words.say("Write about it"), WRITE, answer.first),
            button(words.say("Back"), "back", back),
        ),
    )


def ballot(
    answer: Answer,
    rank: int,
    tally: Tally,
    words: Words,
    *,
    number: int,
    following: tuple[Answer, int] | None,
) -> tuple[tuple[Button, ...], ...]:
    """Return the vote buttons of one hit of a compact message, which shows it as `number`.

    `following` is the next hit of the message, if it has several. The last button brings back the
    message's own buttons.
    """

    def button(label: str, name: str, of: Answer, ranked: int) -> Button:
        value = f"{ranked}.{words.language}"
        return Button(label=label, action=Action(name=name, answer_id=of.id, value=value))

    return (
        (
            button(f"{number}. 👍 {tally.up}", "up", answer, rank),
            button(f"{number}. 👎 {tally.down}", "down", answer, rank),
            *([button(words.say("Next"), "votes", *following)] if following else []),
            button(words.say("Back"), "back", answer, rank),
        ),
    )
