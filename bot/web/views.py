"""Values for the templates: texts in pieces, dates in words, scores as bars."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.face.reply import HitView
from bot.i18n.words import Words
from bot.replies.prophecy import hit_view
from db.search.shown import MARK_BEGINS, MARK_ENDS
from engine.chat import Tally
from engine.types import Hit

_BARS = ("judgment", "semantic", "lexical", "age")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text; `marked` if it is a word that was searched for."""

    text: str
    marked: bool


@dataclass(frozen=True, slots=True)
class Bar:
    """One part of a score, 0 to 100. `name` is its key in page_words.TEXTS."""

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
    bars: Sequence[Bar]
    marks: Sequence[str]
    reason: str | None
    matched: Sequence[str]
    tally: Tally


def card_view(
    hit: Hit,
    *,
    corpus: str,
    until: datetime,
    words: Words,
    marked: Mapping[int, str],
    tally: Tally | None = None,
    near: bool = False,
) -> CardView:
    """Return a hit as its card shows it; `marked` holds texts with marks, by id."""
    view, found = hit_view(hit, until, words, near=near), hit.candidate
    return CardView(
        hit=view,
        url=web_address(found.url),
        id=found.external_id,
        corpus=corpus,
        lang=found.lang,
        day=day_of(found.created_at),
        pieces=pieces_of(marked.get(found.id, found.text)),
        percent=_percent(hit.score),
        bars=[
            Bar(name, _percent(value))
            for name in _BARS
            if (value := hit.parts.get(name)) is not None
        ],
        marks=view.marks(words),
        reason=view.reason(words),
        matched=hit.matched,
        tally=tally or Tally(),
    )


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
