"""Renders templates, and the values that they show. All values from outside are escaped."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from importlib.resources import files
from pathlib import Path

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from bot.card import Shape, can_draw
from bot.i18n.words import LANGUAGES, Words, marked
from bot.replies.prophecy import hit_view
from bot.reply import HitView
from bot.web.shared_state import SharedState
from bot.web.visitor import find_visitor, format_day, own_address
from db.search.shown import MARK_BEGINS, MARK_ENDS
from engine.prophecy.score import Sureness, rate_sureness
from engine.search import Hit, Prophecy
from engine.text.address import read_host
from engine.values import Flag

# An address up to what ends the sentence around it, and an account of X.
_LINKED = re.compile(r"https?://[^\s<>\"']*[^\s<>\"'.,:;!?)\]…]|(?<![\w@])@\w{1,15}\b")
_X = frozenset({"x.com", "twitter.com", "www.twitter.com", "mobile.twitter.com"})
_YEAR_ROOM = 15  # percent of a line of time
_SCORE_PARTS = {
    "judgment": marked("The model's word"),
    "semantic": marked("Meaning"),
    "lexical": marked("Words in common"),
    "age": marked("Age"),
}

ABOUT = marked("Paste a headline and see the old tweets that foretold it.")
JUDGING = marked("Found by words. The model is judging them…")
# Of the page, as page.css has it.
COLOURS = {"light": "#f4efe6", "dark": "#181613"}
STATIC = Path(str(files("bot.web") / "static"))
_NAMES = {"en": "English", "es": "Español"}


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text; `marked` if it is a word that was searched for."""

    text: str
    marked: bool
    url: str | None = None


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One part of a score, 0 to 100."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisMark:
    """A year on a line of time; `start` is where, 0 to 100. "" is not written, for want of room."""

    year: str
    start: int


def build_card(
    hit: Hit,
    *,
    corpus: str,
    until: datetime,
    words: Words,
    marked: Mapping[int, str],
    near: bool = False,
    judged: bool = True,
) -> CardView:
    """Return a hit as its card shows it; `marked` holds texts with marks, by id.

    Where no text was `judged`, no card says so of its own.
    """
    view, found = hit_view(hit, until, words, near=near), hit.candidate
    if not judged:
        view = replace(view, judged=True)
    return CardView(
        hit=view,
        url=web_address(found.url),
        id=found.external_id,
        corpus=found.corpus or corpus,
        lang=found.lang,
        day=format_day(found.created_at),
        pieces=split_marks(marked.get(found.id, found.text)),
        percent=_round_percent(hit.score),
        figures=[
            ScorePart(words.say(name_of_part), _round_percent(value))
            for name, name_of_part in _SCORE_PARTS.items()
            if (value := hit.parts.get(name)) is not None
        ],
        marks=view.marks(words),
        has_media=Flag.MEDIA in found.flags,
        reason=view.reason(words),
        matched=hit.matched,
    )


def draw_axis(hits: Sequence[Hit], until: datetime) -> list[AxisMark]:
    """Return a line of time from the oldest of some texts to the headline, whose mark is the last;
    empty if there are no dates to show."""
    dates = sorted(filter(None, (hit.candidate.created_at for hit in hits)))
    if not dates or dates[0] >= until:
        return []
    marks, written = list[AxisMark](), -_YEAR_ROOM
    for moment in (*dates, until):
        start = _round_percent((moment - dates[0]) / (until - dates[0]))
        fits = moment == until or written + _YEAR_ROOM <= start <= 100 - _YEAR_ROOM
        written = start if fits else written
        marks.append(AxisMark(year=format_day(moment)[:4] if fits else "", start=start))
    return marks


def is_foretold(prophecy: Prophecy) -> bool:
    """Return whether any hit is more than a guess."""
    return any(rate_sureness(hit) is not Sureness.PERHAPS for hit in prophecy.hits)


def has_picture(prophecy: Prophecy) -> bool:
    """Return whether there is something to share: not where a model found that nothing foretold
    it."""
    return bool(prophecy.hits) and (is_foretold(prophecy) or not prophecy.judged)


def split_marks(text: str) -> list[Piece]:
    """Split a text at its marks. Unpaired marks are ignored."""
    first, *rest = text.split(MARK_BEGINS)
    pieces = [Piece(_drop_marks(first), marked=False)]
    for part in rest:
        inside, ended, after = part.partition(MARK_ENDS)
        pieces += [
            Piece(_drop_marks(inside), marked=bool(ended)),
            Piece(_drop_marks(after), marked=False),
        ]
    return [piece for piece in pieces if piece.text]


def link_pieces(text: str, address: str | None) -> list[Piece]:
    """Return a text with its links and, if it was posted on X, the accounts that it names."""
    on_x = read_host(address) in _X
    pieces, at = list[Piece](), 0
    for found in _LINKED.finditer(text):
        link = found[0]
        if not on_x and link.startswith("@"):
            continue
        url = f"https://x.com/{link[1:]}" if link.startswith("@") else link
        pieces += [
            Piece(text[at : found.start()], marked=False),
            Piece(link, marked=False, url=url),
        ]
        at = found.end()
    return [piece for piece in (*pieces, Piece(text[at:], marked=False)) if piece.text]


def archived_address(url: str | None, moment: datetime | None) -> str | None:
    """Return where the Internet Archive may have kept a page of that day, or None."""
    if url is None:
        return None
    return f"https://web.archive.org/web/{format_day(moment).replace('-', '') or '*'}/{url}"


def web_address(url: str | None) -> str | None:
    """Return `url` if a page may link to it, that is, if it is a web address, else None."""
    return url if url and url.startswith(("https://", "http://")) else None


def _drop_marks(text: str) -> str:
    return text.replace(MARK_ENDS, "")


def _round_percent(share: float) -> int:
    return round(100 * min(max(share, 0.0), 1.0))


@cache
def _load_environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("bot.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"ABOUT": ABOUT, "JUDGING": JUDGING}
    environment.globals["version"] = max(int(path.stat().st_mtime) for path in STATIC.iterdir())
    return environment


def render_template(
    request: Request, template: str, *, status: int = 200, **values: object
) -> HTMLResponse:
    """Return a page in the visitor's language."""
    words = find_visitor(request).words
    return HTMLResponse(
        render_fragment(request, template, **values),
        status,
        {"Vary": "Accept-Language", "Content-Language": words.language,
         "Cache-Control": "private, no-cache"},
    )  # fmt: skip


def render_fragment(request: Request, template: str, **values: object) -> str:
    """Return a template's HTML in the visitor's language."""
    visitor = find_visitor(request)
    words = visitor.words
    shared: SharedState = request.app.state.shared

    def texts(number: int) -> str:
        return words.count("{number} text", "{number} texts", number)

    return (
        _load_environment()
        .get_template(template)
        .render(
            say=words.say,
            number=words.number,
            texts=texts,
            language=words.language,
            languages=[(code, _NAMES[code]) for code in LANGUAGES],
            visitor=visitor,
            link=visitor.link,
            origin=own_address(request),
            colours=COLOURS,
            draws=can_draw(),
            picture_size=Shape.LINK.size,
            composes=shared.app.client is not None and shared.settings.web.judge,
            **values,
        )
    )
