"""Renders templates, and the values that they show. All values from outside are escaped."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import chain, pairwise
from pathlib import Path
from statistics import fmean

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from bot.card import Shape, can_draw
from bot.i18n.words import LANGUAGES, Words, marked
from bot.replies.dates import say_lead_time
from bot.replies.find import place_text
from bot.replies.limits import cut
from bot.replies.prophecy import hit_view
from bot.reply import HitView, format_signature, name_flags, say_date
from bot.web.shared_state import SharedState
from bot.web.visitor import find_visitor, format_day, own_address
from db.search.shown import MARK_BEGINS, MARK_ENDS
from engine.prophecy.score import Sureness, rate_sureness
from engine.search import Candidate, Hit, Prophecy
from engine.text.address import read_host
from engine.values import CorpusRole, Flag

# An address up to what ends the sentence around it, and an account of X.
_LINKED = re.compile(r"https?://[^\s<>\"']*[^\s<>\"'.,:;!?)\]…]|(?<![\w@])@\w{1,15}\b")
_X = frozenset({"x.com", "twitter.com", "www.twitter.com", "mobile.twitter.com"})
_MARK_ROOM, _WIDE_MARK_ROOM = 9, 4  # percent of a line of time, on a phone and on a wide screen
_PIXELS, _WIDE_PIXELS = 3, 8  # of a percent, at least
_MARK_WIDTH, _LETTER_WIDTH, _MARK_GAP = 26, 6, 2  # pixels
_YEAR_ROOM = 8  # percent; phones show no years
_END_ROOM = 20  # of the months at its ends
_LEAD_ROOM = 24  # of half the lead time that stands above it
_MEDIA_HOST = "t.co"  # whose addresses tell nothing of what they lead to
_SCORE_PARTS = {
    "judgment": marked("The model's word"),
    "semantic": marked("Meaning"),
    "lexical": marked("Words in common"),
    "age": marked("Age"),
}

ABOUT = marked("Paste a headline. Get the old posts that saw it coming.")
JUDGING = marked("Found by words. The model is judging them; this may take half a minute.")
# Of the page, as page.css has it.
COLOURS = {"light": "#f4efe6", "dark": "#181613"}
STATIC = Path(str(files("bot.web") / "static"))
_NAMES = {"en": "English", "es": "Español"}
# How the parts of a reason begin in both languages.
_THEN = re.compile(r"(?:then|entonces|antes)[:,]? ", re.IGNORECASE)
_NOW = re.compile(r"(?:now|ahora|hoy)[:,]? ", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text; `marked` if it is a word that was searched for."""

    text: str
    marked: bool
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextView:
    """A text as pages quote it."""

    corpus: str
    id: str
    text: str
    pieces: Sequence[Piece]  # of it, or of its beginning
    is_cut: bool
    lang: str | None
    author: str | None
    place: str | None  # in a longer document
    day: str  # ISO
    date_text: str
    labels: Sequence[str]
    url: str | None


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
    stamp: str  # what kind of find it is, or ""
    foretold: bool
    labels: Sequence[str]
    has_media: bool
    reason: Sequence[tuple[str, str]]  # what it is, "Then" and "Now" or "Why", and the words
    matched: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisMark:
    """One or more texts on a line of time; `start` is where, 0 to 100."""

    label: str  # the ranks of the texts: "1", "2, 4", "1–3"
    width: int  # pixels
    left: int  # pixels of them that stand before the start
    year: str  # "" for want of room
    start: int
    is_best: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeAxis:
    """A line of time from the oldest text to the headline; the best text is a lead time before."""

    marks: Sequence[AxisMark]
    wide_marks: Sequence[AxisMark]  # where there is room for more of them
    begins: str  # the month of the oldest text
    ends: str  # that of the headline
    lead_start: int  # where the best text is
    lead_middle: int  # where the lead time is written
    lead_time: str


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

    Where no text was `judged`, the heading says so, and no card of its own.
    """
    view, found = hit_view(hit, until, words, near=near), hit.candidate
    if not judged:
        view = replace(view, label_unjudged=False, sureness=None)
    sureness = Sureness.PERHAPS if near else rate_sureness(hit)
    foretold = sureness is Sureness.FORETOLD
    told = foretold or (hit.kind is not None and sureness is Sureness.CLOSE)
    stamp = view.stamp(words) if told else ""
    return CardView(
        hit=view,
        url=web_address(found.url),
        id=found.external_id,
        corpus=found.corpus or corpus,
        lang=found.lang,
        day=format_day(found.created_at),
        pieces=name_links(
            split_marks(marked.get(found.id, found.text)),
            words,
            has_media=Flag.MEDIA in found.flags,
        ),
        percent=_round_percent(hit.score),
        stamp=stamp,
        foretold=foretold,
        labels=[
            words.say("near match") if label == words.say("close") else label
            for label in view.marks(words)
            if label != stamp
        ],
        figures=[
            ScorePart(words.say(name_of_part), _round_percent(value))
            for name, name_of_part in _SCORE_PARTS.items()
            if (value := hit.parts.get(name)) is not None
        ],
        has_media=Flag.MEDIA in found.flags,
        reason=_explain(view.why, words) if view.why else (),
        matched=hit.matched,
    )


def draw_axis(hits: Sequence[Hit], until: datetime, words: Words) -> TimeAxis | None:
    """Return a line of time from the oldest of some texts to the headline; None if there are no
    dates to show. Texts that would stand on one another share a mark."""
    dated = [(moment, hit.rank) for hit in hits if (moment := hit.candidate.created_at)]
    dated.sort()
    if not dated or dated[0][0] >= until:
        return None
    begins, best = dated[0][0], min(dated, key=lambda pair: pair[1])
    shares = [(100 * min((moment - begins) / (until - begins), 1.0), rank, format_day(moment)[:4])
              for moment, rank in dated]  # fmt: skip
    lead_start = min(round(100 * ((best[0] - begins) / (until - begins))), 100 - _MARK_ROOM)
    return TimeAxis(
        marks=_place_marks(shares, best[1], room=_MARK_ROOM, pixels=_PIXELS),
        wide_marks=_place_marks(shares, best[1], room=_WIDE_MARK_ROOM, pixels=_WIDE_PIXELS),
        begins=_say_month(begins, words),
        ends=_say_month(until, words),
        lead_start=lead_start,
        lead_middle=min(max((lead_start + 100) // 2, _LEAD_ROOM), 100 - _LEAD_ROOM),
        lead_time=say_lead_time(best[0], until, words),
    )


def _place_marks(
    shares: Sequence[tuple[float, int, str]], best: int, *, room: int, pixels: int
) -> list[AxisMark]:
    """Return the marks of texts, given as their place, rank and year, the oldest first."""
    groups = [[text] for text in shares]
    while True:
        marks = [_draw_mark(group, best, room=room, pixels=pixels) for group in groups]
        gaps = [
            (later.start - mark.start) * pixels - later.left - (mark.width - mark.left)
            for mark, later in pairwise(marks)
        ]
        touching = next((at for at, gap in enumerate(gaps, 1) if gap < _MARK_GAP), 0)
        if not touching:
            return _leave_room_for_years(marks)
        groups[touching - 1] += groups.pop(touching)


def _draw_mark(
    group: Sequence[tuple[float, int, str]], best: int, *, room: int, pixels: int
) -> AxisMark:
    start = min(round(fmean(place for place, _, _ in group)), 100 - room)
    ranks = sorted(rank for _, rank, _ in group)
    label = _label_ranks(ranks)
    width = _MARK_WIDTH + _LETTER_WIDTH * (len(label) - 1)
    # A wide mark leaves neither end of the line.
    left = max(width // 2, width - (100 - start) * pixels + _MARK_WIDTH // 2)
    left = min(left, _MARK_WIDTH // 2 + start * pixels)
    year = group[len(group) // 2][2]
    return AxisMark(
        label=label, width=width, left=left, year=year, start=start, is_best=best in ranks
    )


def _leave_room_for_years(marks: Sequence[AxisMark]) -> list[AxisMark]:
    """Return the marks without the years that would stand on one another or on the ends'."""
    spaced, written = list[AxisMark](), _END_ROOM - _YEAR_ROOM
    for mark in marks:
        fits = written + _YEAR_ROOM <= mark.start <= 100 - _END_ROOM
        written = mark.start if fits else written
        spaced.append(mark if fits else replace(mark, year=""))
    return spaced


def _label_ranks(ranks: Sequence[int]) -> str:
    """Return ranks in words of a mark: all of them, three or more in a row as "1–3"."""
    runs = list[list[int]]()
    for rank in ranks:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return ", ".join(
        f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs
    )


def _say_month(moment: datetime, words: Words) -> str:
    moment = moment.astimezone(UTC)
    return _capitalise(words.month(moment.year, moment.month))


def _explain(why: str, words: Words) -> Sequence[tuple[str, str]]:
    """Return a reason in its parts: "then a promise / now a bill" says what was, and what is."""
    before, _, after = why.partition(" / ")
    then, now = _THEN.match(before), _NOW.match(after)
    if not then or not now:
        return [(words.say("Why"), why)]
    return [
        (words.say("Then"), _capitalise(before[then.end() :])),
        (words.say("Now"), _capitalise(after[now.end() :])),
    ]


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]


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
    pieces = [Piece(first, marked=False)]
    for part in rest:
        inside, ended, after = part.partition(MARK_ENDS)
        pieces += [Piece(inside, marked=bool(ended)), Piece(after, marked=False)]
    unmarked = (replace(piece, text=piece.text.replace(MARK_ENDS, "")) for piece in pieces)
    return [piece for piece in unmarked if piece.text]


def link_pieces(text: str, address: str | None) -> list[Piece]:
    """Return a text with its links and, if it was posted on X, the accounts that it names."""
    on_x = read_host(address) in _X
    pieces, at = list[Piece](), 0
    for match in _LINKED.finditer(text):
        link = match[0]
        if not on_x and link.startswith("@"):
            continue
        url = f"https://x.com/{link[1:]}" if link.startswith("@") else link
        pieces += [
            Piece(text[at : match.start()], marked=False),
            Piece(link, marked=False, url=url),
        ]
        at = match.end()
    return [piece for piece in (*pieces, Piece(text[at:], marked=False)) if piece.text]


def name_links(pieces: Sequence[Piece], words: Words, *, has_media: bool) -> list[Piece]:
    """Return pieces whose addresses are links, named as what they lead to as far as that is known.

    What was attached to a post stands at its end. Of a text that says more, an address that tells
    nothing is left out.
    """
    parts = [[piece] if piece.marked else link_pieces(piece.text, None) for piece in pieces]
    named = [_name_host(part) for part in chain.from_iterable(parts)]
    last = named[-1] if named else None
    if has_media and last and last.url and read_host(last.url) == _MEDIA_HOST:
        named[-1] = replace(last, text=words.say("picture"))
    telling = [piece for piece in named if piece.text]
    if not "".join(piece.text for piece in telling).strip():
        return [replace(piece, text=words.say("link")) for piece in named if piece.url]
    if len(telling) < len(named):
        while not telling[-1].text.strip():
            telling.pop()
        telling[-1] = replace(telling[-1], text=telling[-1].text.rstrip())
    return telling


def _name_host(piece: Piece) -> Piece:
    """Return a piece with the host of its address in place of that, or nothing if that tells
    nothing."""
    if not piece.url or "://" not in piece.text:
        return piece
    host = read_host(piece.url)
    return replace(piece, text="" if host == _MEDIA_HOST else host.removeprefix("www."))


def view_text(
    candidate: Candidate, corpus: str, words: Words, *, longest: int, quote: str = ""
) -> TextView:
    """Return a text as pages quote it; of a longer one, its `quote` or its beginning."""
    is_cut = len(candidate.text) > longest
    text = quote if quote and is_cut else candidate.text
    pieces = link_pieces(text if quote else cut(text, longest), None)
    return TextView(
        corpus=corpus,
        id=candidate.external_id,
        text=text,
        pieces=name_links(pieces, words, has_media=Flag.MEDIA in candidate.flags),
        is_cut=is_cut,
        lang=candidate.lang,
        author=format_signature(
            candidate.voice, candidate.author, in_item=candidate.place is not None
        ),
        place=place_text(candidate.place, words) if candidate.place else None,
        day=format_day(candidate.created_at),
        date_text=say_date(candidate.created_at, candidate.dated_by, words),
        labels=name_flags(candidate.flags.names, words),
        url=web_address(candidate.url),
    )


def archived_address(url: str | None, moment: datetime | None) -> str | None:
    """Return where the Internet Archive may have kept a page of that day, or None."""
    if url is None:
        return None
    return f"https://web.archive.org/web/{format_day(moment).replace('-', '') or '*'}/{url}"


def web_address(url: str | None) -> str | None:
    """Return `url` if a page may link to it, that is, if it is a web address, else None."""
    return url if url and url.startswith(("https://", "http://")) else None


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
    environment.globals |= {
        "ABOUT": ABOUT,
        "JUDGING": JUDGING,
        "ARCHIVE": CorpusRole.ARCHIVE,
        "DEMONSTRATION": CorpusRole.DEMONSTRATION,
    }
    environment.globals["version"] = fingerprint_static()
    return environment


@cache
def fingerprint_static() -> str:
    """Return what changes with any static file, and with nothing else."""
    whole = b"".join(path.read_bytes() for path in sorted(STATIC.iterdir()) if path.is_file())
    return sha256(whole).hexdigest()[:8]


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

    def posts(number: int) -> str:
        return words.count("{number} post", "{number} posts", number)

    return (
        _load_environment()
        .get_template(template)
        .render(
            say=words.say,
            number=words.number,
            posts=posts,
            say_day=words.date,
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
