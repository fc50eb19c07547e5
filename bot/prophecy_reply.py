"""A prophecy as a reply in plain words."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from bot.age import age_between
from bot.reply import HitView, Reply
from engine.types import Hit, Prophecy, Term

EXAMPLE = "Coffee prices hit a record high"
_LONGEST_HEADLINE = 200


def prophecy_reply(prophecy: Prophecy, hits: Sequence[Hit], *, now: datetime) -> Reply:
    """Return the answer that shows `hits`, some or all of those of the prophecy.

    Ages count up to the date of the headline, or to `now` when it has none.
    """
    headline = prophecy.headline
    until = headline.date or now
    return Reply(
        headline=_shortened(headline.text or headline.original) or None,
        text=None if hits else _nothing(prophecy),
        hits=tuple(_view(hit, until) for hit in hits),
        notice=notice_of(prophecy),
    )


def _view(hit: Hit, until: datetime) -> HitView:
    found = hit.candidate
    return HitView(
        rank=hit.rank,
        text=found.text,
        author=found.author,
        date=found.created_at,
        age=str(age_between(found.created_at, until)),
        url=found.url,
        score=hit.score,
        flags=found.flags.names,
        judged=hit.parts.get("judgment") is not None,
    )


def _nothing(prophecy: Prophecy) -> str:
    if not any(character.isalnum() for character in prophecy.headline.text):
        return f"No results: there is no word to look for. Try a sentence, such as: {EXAMPLE}"
    if not prophecy.candidates:
        return "No results, nothing spooky: no old tweet shares a word with this headline."
    return "No results, nothing spooky: no old tweet foretold this."


def notice_of(prophecy: Prophecy) -> str | None:
    """Return what there is to say about how it was found and judged, each thing once."""
    notices = [_replaced_words(prophecy.terms), prophecy.notice or ""]
    if (about_judge := prophecy.verdict.notice or "") not in notices[1]:
        notices.append(about_judge)
    return " ".join(filter(None, notices)) or None


def _replaced_words(terms: Iterable[Term]) -> str:
    """Tell which words the corpus has never seen, and what was looked for in their place."""
    neighbours: dict[str, list[str]] = {}
    for term in terms:
        if term.neighbour_of is not None:
            neighbours.setdefault(term.neighbour_of, []).append(f'"{term.word}"')
    return " ".join(
        f'No tweet says "{unknown}"; looked for {", ".join(words)}.'
        for unknown, words in neighbours.items()
    )


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_HEADLINE else f"{text[: _LONGEST_HEADLINE - 1]}…"
