"""A prophecy as a reply."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from bot.card import can_draw
from bot.face.reply import Action, Button, HitView, Reply
from bot.i18n.words import Words, marked
from bot.replies.dates import age_between
from bot.replies.limits import cut
from bot.replies.place import place_text
from engine.answer.types import Passage
from engine.answer.wording import Wording
from engine.chat import Answer, Tally
from engine.prophecy.sureness import sureness
from engine.types import Headline, Hit, Prophecy, Term

EXAMPLE = marked("Coffee prices hit a record high")
_NOTHING = marked("Nothing foretold this.")
_LONGEST_HEADLINE = 200
_RADIUS = 300  # characters of a part of an item on either side of its best match


def prophecy_reply(
    prophecy: Prophecy,
    hits: Sequence[Hit],
    *,
    now: datetime,
    words: Words,
    near: bool = False,
    buttons: tuple[tuple[Button, ...], ...] = (),
) -> Reply:
    """Return a reply that shows `hits`, which are some or all hits of the prophecy.

    With `near` they are near results, and are labelled so. Ages are relative to the headline's
    date, which is shown unless it is today, or to `now` if it has none.
    """
    headline = prophecy.headline
    until = headline.date or now
    notices = (_date(headline, now, words), notice_of(prophecy, words))
    return Reply(
        words=words,
        headline=cut(" ".join((headline.text or headline.original).split()), _LONGEST_HEADLINE)
        or None,
        text=_introduction(prophecy, words, near=near) if hits else _nothing(prophecy, words),
        hits=tuple(hit_view(hit, until, words, near=near) for hit in hits),
        notice=" ".join(filter(None, notices)) or None,
        buttons=buttons,
    )


def hit_view(hit: Hit, until: datetime, words: Words, *, near: bool = False) -> HitView:
    """Return the view of a hit; its age is relative to `until`.

    A `near` result is not labelled as a sure hit.
    """
    found = hit.candidate
    return HitView(
        rank=hit.rank,
        text=_shown_text(hit),
        place=place_text(found.place, words) if found.place else None,
        author=found.author,
        date=found.created_at,
        date_text=words.date(found.created_at),
        age=age_between(found.created_at, until).said(words),
        url=found.url,
        sureness=None if near else sureness(hit),
        flags=found.flags.names,
        judged=hit.parts.get("judgment") is not None,
        why=hit.why,
    )


def _shown_text(hit: Hit) -> str:
    """Return the text, or that of a part of an item around the words that it was found by."""
    text = hit.candidate.text
    if hit.candidate.place is None:
        return text
    found = Wording.of([Passage(corpus="", hit=hit)]).window(text, _RADIUS)
    before, after = ("…" if cut else "" for cut in (found.before, found.after))
    return f"{before}{found.text.strip()}{after}"


def answer_buttons(
    answer: Answer, tallies: Mapping[int, Tally], words: Words
) -> tuple[tuple[Button, ...], ...]:
    """Return a row of vote buttons for each hit shown, and a row for the page as a whole.

    Near results have no votes and no picture.

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
    rest = (
        *([button(label, "more", answer.last)] if following.page else []),
        *([button(words.say("Why?"), "why", answer.first)] if answer.page else []),
        *([button(words.say("Picture"), "picture", answer.first)] if votes and can_draw() else []),
    )
    return (*votes, rest) if rest else ()


def _introduction(prophecy: Prophecy, words: Words, *, near: bool) -> str | None:
    if not near:
        return None
    nearest = words.say("Nearest:")
    return nearest if prophecy.hits else f"{words.say(_NOTHING)} {nearest}"


def _date(headline: Headline, now: datetime, words: Words) -> str | None:
    """Return a sentence with the headline's date, or None if it is today or unknown."""
    date = headline.date
    if date is None or date.astimezone(UTC).date() == now.astimezone(UTC).date():
        return None
    return words.say("The headline is of {date}.", date=words.date(date.astimezone(UTC)))


def _nothing(prophecy: Prophecy, words: Words) -> str:
    if not any(character.isalnum() for character in prophecy.headline.text):
        return words.say(
            "No results: there is no word to look for. Try a sentence, such as: {example}",
            example=words.say(EXAMPLE),
        )
    if prophecy.near:
        return words.say(_NOTHING)
    if not prophecy.candidates:
        return words.say("No results, nothing spooky: no old tweet shares a word with this.")
    return words.say("No results, nothing spooky: no old tweet foretold this.")


def notice_of(prophecy: Prophecy, words: Words) -> str | None:
    """Return remarks on how it was found and judged, without repetition, or None."""
    about_search, about_judge = prophecy.notice, prophecy.verdict.notice
    if about_judge and about_judge in (about_search or ""):
        about_judge = None
    notices = (
        _replaced_words(prophecy.terms, words),
        _aliases(prophecy.terms, words),
        *(words.render(one) for one in (about_search, about_judge) if one),
    )
    return " ".join(filter(None, notices)) or None


def _replaced_words(terms: Iterable[Term], words: Words) -> str:
    """Return which words are not in the corpus, and what was searched for instead."""
    neighbours: dict[str, list[str]] = {}
    for term in terms:
        if term.neighbour_of is not None and not term.alias:
            neighbours.setdefault(term.neighbour_of, []).append(f'"{term.word}"')
    return " ".join(
        words.say(
            'No tweet says "{unknown}"; looked for {neighbours}.',
            unknown=unknown,
            neighbours=", ".join(found),
        )
        for unknown, found in neighbours.items()
    )


def _aliases(terms: Iterable[Term], words: Words) -> str:
    """Return which aliases from the glossary were also searched for."""
    aliases: dict[str, list[str]] = {}
    for term in terms:
        if term.neighbour_of is not None and term.alias:
            aliases.setdefault(term.neighbour_of, []).append(term.word)
    return " ".join(
        words.say(
            'For "{written}" also looked for {aliases}.',
            written=written,
            aliases=", ".join(f'"{alias}"' for alias in found),
        )
        for written, found in aliases.items()
    )
