"""Values for the templates: texts in pieces, dates in words, scores as percentages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import MappingProxyType

from bot.i18n.words import Words
from bot.replies.prophecy import hit_view
from bot.reply import HitView
from db.search.shown import MARK_BEGINS, MARK_ENDS
from engine.chat import Tally
from engine.prophecy.score import Sureness, sureness
from engine.search import Hit, Prophecy
from engine.values import Flag

_SCORE_PARTS = ("judgment", "semantic", "lexical", "age")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text; `marked` if it is a word that was searched for."""

    text: str
    marked: bool


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One part of a score, 0 to 100. `name` is its key in rendering.TEXTS."""

    name: str
    percent: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CardView:
    """A hit as its card shows it."""

    hit: HitView
    url: str | None
    id: str
    corpus: str
    lang: str | None
    day: str  # ISO, for machines
    pieces: Sequence[Piece]
    percent: int
    figures: Sequence[ScorePart]
    marks: Sequence[str]
    has_media: bool
    reason: str | None
    matched: Sequence[str]
    tally: Tally
    since: str  # the year of the text
    until: str  # the year of the headline
    start: int  # where the text stands in time, 0 (the earliest of the page) to 100 (the headline)


def card_view(
    hit: Hit,
    *,
    corpus: str,
    until: datetime,
    words: Words,
    marked: Mapping[int, str],
    tally: Tally | None = None,
    near: bool = False,
    judged: bool = True,
    earliest: datetime | None = None,
) -> CardView:
    """Return a hit as its card shows it; `marked` holds texts with marks, by id.

    Where no text was `judged`, no card says so of its own. `earliest` is the date of the oldest
    text on the page.
    """
    view, found = hit_view(hit, until, words, near=near), hit.candidate
    if not judged:
        view = replace(view, judged=True)
    return CardView(
        hit=view,
        url=web_address(found.url),
        id=found.external_id,
        corpus=corpus,
        lang=found.lang,
        day=day_of(found.created_at),
        pieces=pieces_of(marked.get(found.id, found.text)),
        percent=_percent(hit.score),
        figures=[
            ScorePart(name, _percent(value))
            for name in _SCORE_PARTS
            if (value := hit.parts.get(name)) is not None
        ],
        marks=view.marks(words),
        has_media=Flag.MEDIA in found.flags,
        reason=view.reason(words),
        matched=hit.matched,
        tally=tally or Tally(),
        since=day_of(found.created_at)[:4],
        until=day_of(until)[:4],
        start=start_of(found.created_at, earliest or found.created_at, until),
    )


def cards_of(
    hits: Sequence[Hit],
    prophecy: Prophecy,
    *,
    until: datetime,
    words: Words,
    marked: Mapping[int, str],
    tallies: Mapping[str, Tally] = MappingProxyType({}),
    near: bool = False,
) -> list[CardView]:
    """Return the cards of hits of a prophecy, which share one span of time."""
    earliest = min((hit.candidate.created_at for hit in hits), default=until)
    return [
        card_view(
            hit,
            corpus=prophecy.corpus,
            until=until,
            words=words,
            marked=marked,
            tally=tallies.get(hit.candidate.external_id),
            near=near,
            judged=prophecy.judged,
            earliest=earliest,
        )
        for hit in hits
    ]


def start_of(moment: datetime, earliest: datetime, until: datetime) -> int:
    """Return where a moment stands between two others, 0 to 100."""
    whole = (until - earliest).total_seconds()
    return _percent((moment - earliest).total_seconds() / whole) if whole > 0 else 0


def is_foretold(prophecy: Prophecy) -> bool:
    """Return whether any hit is more than a guess."""
    return any(sureness(hit) is not Sureness.PERHAPS for hit in prophecy.hits)


def pieces_of(text: str) -> list[Piece]:
    """Split a text at its marks. Unpaired marks are ignored."""
    first, *rest = text.split(MARK_BEGINS)
    pieces = [Piece(_plain(first), marked=False)]
    for part in rest:
        said, ended, after = part.partition(MARK_ENDS)
        pieces += [Piece(_plain(said), marked=bool(ended)), Piece(_plain(after), marked=False)]
    return [piece for piece in pieces if piece.text]


def web_address(url: str | None) -> str | None:
    """Return `url` if a page may link to it, that is, if it is a web address, else None."""
    return url if url and url.startswith(("https://", "http://")) else None


def day_of(moment: datetime) -> str:
    """Return the day (UTC) in ISO format."""
    return moment.astimezone(UTC).date().isoformat()


def _plain(text: str) -> str:
    return text.replace(MARK_ENDS, "")


def _percent(share: float) -> int:
    return round(100 * min(max(share, 0.0), 1.0))
