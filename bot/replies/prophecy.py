"""A prophecy as a reply, and for programs."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bot.i18n.words import DEFAULT, Words, marked, words_for
from bot.replies.dates import say_age
from bot.replies.limits import cut
from bot.reply import Button, HitView, Reply
from engine.prophecy.prophecy import NO_MODEL
from engine.prophecy.score import Sureness, rate_sureness
from engine.search import Headline, Hit, HitKind, ItemPlace, Mode, Prophecy, Term
from engine.text.terms import folded_words

if TYPE_CHECKING:
    from engine.contracts.answers import ProphecyAnswer

EXAMPLE = marked("Power cut leaves the whole coast in the dark")
_NOTHING = marked("Nothing foretold this.")
_HEADINGS = {
    HitKind.PREDICTION: marked("What was foretold"),
    HitKind.DEMAND: marked("It was asked for"),
    HitKind.MIRROR: marked("It was once held against others"),
    HitKind.EARLIER_CASE: marked("It has happened before"),
}
_LONGEST_HEADLINE = 200
_WORD = re.compile(r"\w+")
_PART_LENGTH = 600  # characters of a part of an item


def prophecy_reply(
    prophecy: Prophecy,
    hits: Sequence[Hit],
    *,
    now: datetime,
    words: Words,
    near: bool = False,
    buttons: tuple[tuple[Button, ...], ...] = (),
    compact: bool = False,
    pasted: bool = False,
) -> Reply:
    """Return a reply that shows `hits`, which are some or all hits of the prophecy.

    With `near` they are near results, and are labelled so. Ages are relative to the headline's
    date, which is shown unless it is today, or to `now` if it has none.

    A `compact` reply shows the first hit whole and the others in a line each, leaves out a headline
    that was just `pasted` above it, and tells only operators why nothing was judged.
    """
    headline = prophecy.headline
    title = " ".join((headline.text or headline.original).split())
    # The asker wrote the headline just above, rather than a link to it.
    stands_above = compact and pasted and title in " ".join(headline.original.split())
    views = [hit_view(hit, headline.date or now, words, near=near) for hit in hits]
    if prophecy.verdict.notice and not prophecy.judged:  # the notice says it for the whole answer
        views = [replace(view, label_unjudged=False) for view in views]
    return Reply(
        words=words,
        headline=None if stands_above else cut(title, _LONGEST_HEADLINE) or None,
        text=_format_introduction(prophecy, words, near=near)
        if hits
        else _explain_nothing(prophecy, words),
        hits=tuple(_shorten_others(views) if compact else views),
        notice=" ".join(filter(None, _list_notices(prophecy, hits, now, words, compact=compact)))
        or None,
        buttons=buttons,
    )


def _list_notices(
    prophecy: Prophecy, hits: Sequence[Hit], now: datetime, words: Words, *, compact: bool
) -> Iterator[str | None]:
    """Yield the date of the headline, how texts were found, and that more may follow."""
    yield _describe_date(prophecy.headline, now, words)
    if not hits and prophecy.unfinished:
        return  # no text is shown yet of which it could be said how it was found
    if holds_words(prophecy):
        brief = compact and not words.operator
        yield brief_notice(prophecy, words) if brief else notice_of(prophecy, words)
    if prophecy.unfinished:
        yield words.say("So far I have compared words alone; this may change in a moment.")


def _shorten_others(views: Sequence[HitView]) -> list[HitView]:
    """Return the views with all but the first in a line each, signed if several people wrote."""
    signed = len({view.signature for view in views}) > 1
    return [*views[:1], *(replace(view, small=True, signed=signed, why=None) for view in views[1:])]


def hit_view(hit: Hit, until: datetime, words: Words, *, near: bool = False) -> HitView:
    """Return the view of a hit; its age is relative to `until`.

    A `near` result is not labelled as a sure hit.
    """
    candidate = hit.candidate
    text, place = (
        _show_part(hit, candidate.place, words) if candidate.place else (candidate.text, None)
    )
    return replace(
        HitView.of(candidate, words, rank=hit.rank, text=text),
        place=place,
        age=say_age(candidate.created_at, until, words),
        kind=None if near else hit.kind,
        sureness=None if near else rate_sureness(hit),
        label_unjudged=hit.parts.get("judgment") is None,
        why=hit.why,
    )


def say_heading(hits: Iterable[Hit], words: Words) -> str:
    """Return what these hits are together, or "" if none is more than a guess."""
    kinds = {hit.kind for hit in hits if rate_sureness(hit) is not Sureness.PERHAPS}
    if not kinds:
        return ""
    alone = kinds.pop() if len(kinds) == 1 else None
    return words.say(_HEADINGS[alone]) if alone else words.say("What was said before")


def _show_part(hit: Hit, place: ItemPlace, words: Words) -> tuple[str, str]:
    """Return the text of a part of an item, around the words it was found by, and its place."""
    from bot.replies.find import place_text  # noqa: PLC0415 - few corpora hold parts of items
    from engine.answer.cited_answer import Passage, Wording  # noqa: PLC0415 - as above

    window = Wording.of([Passage(corpus="", hit=hit)]).window(hit.candidate.text, _PART_LENGTH)
    before, after = ("…" if hidden else "" for hidden in (window.before, window.after))
    return f"{before}{window.text.strip()}{after}", place_text(place, words)


def _format_introduction(prophecy: Prophecy, words: Words, *, near: bool) -> str | None:
    if not near:
        alone = all(hit.kind is HitKind.EARLIER_CASE for hit in prophecy.hits)
        return words.say("Nobody foretold this, but it has happened before:") if alone else None
    nearest = words.say("Nearest:")
    return nearest if prophecy.hits else f"{words.say(_NOTHING)} {nearest}"


def _describe_date(headline: Headline, now: datetime, words: Words) -> str | None:
    """Return a sentence with the headline's date, or None if it is today or unknown."""
    date = headline.date
    if date is None or date.astimezone(UTC).date() == now.astimezone(UTC).date():
        return None
    day = words.date(date.astimezone(UTC))
    if headline.guessed:
        return words.say("This looks like news of {date}; I count from there.", date=day)
    return words.say("The headline is of {date}.", date=day)


def _explain_nothing(prophecy: Prophecy, words: Words) -> str:
    if not holds_words(prophecy):
        return words.say(
            "No results: there is no word to look for. Try a sentence, such as: {example}",
            example=words.say(EXAMPLE),
        )
    if prophecy.unfinished:
        return words.say("Still comparing what I found; the answer comes here in a moment.")
    if prophecy.near:
        return words.say(_NOTHING)
    if not prophecy.candidates:
        return words.say("No results, nothing spooky: no old tweet shares a word with this.")
    return words.say("No results, nothing spooky: no old tweet foretold this.")


def holds_words(prophecy: Prophecy) -> bool:
    """Return whether there is a word to look for; if there is none, the answer's text says so."""
    return any(character.isalnum() for character in prophecy.headline.text)


def brief_notice(prophecy: Prophecy, words: Words) -> str | None:
    """Return the remarks for people, who cannot mend what keeps a model from judging, or None."""
    return _join_remarks(prophecy, say_unjudged(prophecy, words), words)


def say_unjudged(prophecy: Prophecy, words: Words) -> str:
    """Return that no model has judged an answer to people, or "".

    Where none is set up nothing is out of order, and only of hits it is said how they were found.
    """
    why = prophecy.verdict.notice
    if prophecy.judged or why is None:
        return ""
    if why == NO_MODEL:
        return say_how_found(prophecy, words) if prophecy.hits else ""
    if prophecy.mode is Mode.LEXICAL:
        return words.say("I cannot judge just now; ranked by words.")
    return words.say("I cannot judge just now; ranked by words and meaning.")


def say_how_found(prophecy: Prophecy, words: Words) -> str:
    """Return that hits were not judged, and what was compared in place of that."""
    if prophecy.mode is Mode.LEXICAL:
        return words.say("Not judged: found by the words in common alone.")
    return words.say("Not judged: found by words and meaning.")


def notice_of(prophecy: Prophecy, words: Words) -> str | None:
    """Return remarks on how it was found and judged, or None."""
    about_judge = prophecy.verdict.notice
    return _join_remarks(prophecy, words.render(about_judge) if about_judge else "", words)


def _join_remarks(prophecy: Prophecy, about_judge: str, words: Words) -> str | None:
    remarks = (
        _replaced_words(prophecy, words),
        _describe_aliases(prophecy.terms, words),
        words.render(prophecy.notice) if prophecy.notice else "",
        about_judge,
    )
    return " ".join(filter(None, remarks)) or None


def _replaced_words(prophecy: Prophecy, words: Words) -> str:
    """Return which words are not in the corpus, and what of the hits stood for them, as written."""
    neighbours: dict[str, dict[str, None]] = {}
    for term in prophecy.terms:
        if term.neighbour_of is not None and not term.alias:
            written = (_find_written(hit, term) for hit in prophecy.hits)
            replacements = neighbours.setdefault(term.neighbour_of, {})
            replacements |= dict.fromkeys(
                words.say('"{word}"', word=word) for word in written if word
            )
    return " ".join(
        words.say(
            'No tweet says "{unknown}"; looked for {neighbours}.',
            unknown=unknown,
            neighbours=", ".join(replacements),
        )
        for unknown, replacements in neighbours.items()
        if replacements
    )


def _find_written(hit: Hit, term: Term) -> str | None:
    """Return the word of a hit that a term found, which may be its stem, or None."""
    if term.shown not in hit.matched:
        return None
    for word in _WORD.findall(hit.candidate.text):
        if any(folded.startswith(term.word) for folded in folded_words(word)):
            return str(word)
    return None


def _describe_aliases(terms: Iterable[Term], words: Words) -> str:
    """Return which aliases from the glossary were also searched for."""
    aliases: dict[str, list[str]] = {}
    for term in terms:
        if term.neighbour_of is not None and term.alias:
            aliases.setdefault(term.neighbour_of, []).append(term.word)
    return " ".join(
        words.say(
            'For "{written}" also looked for {aliases}.',
            written=written,
            aliases=", ".join(words.say('"{word}"', word=alias) for alias in aliases_of),
        )
        for written, aliases_of in aliases.items()
    )


def prophecy_answer(prophecy: Prophecy, *, now: datetime, elapsed_ms: float) -> "ProphecyAnswer":
    """Return the prophecy for programs; ages are relative to the headline's date, or to `now`."""
    from engine.contracts.answers import ProphecyAnswer  # noqa: PLC0415 - few replies need it

    until, words = prophecy.headline.date or now, words_for(DEFAULT, operator=True)

    def tell_age(written: datetime | None) -> str | None:
        return say_age(written, until, words) or None

    return ProphecyAnswer.of(
        prophecy, age=tell_age, notice=notice_of(prophecy, words), elapsed_ms=elapsed_ms
    )
