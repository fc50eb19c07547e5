"""The layout of a picture, in pixels from its top left corner."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bot.card import theme
from bot.card.bidi import base_level
from bot.card.content import Card, clean_line, clean_text, readable_tweet
from bot.card.fonts import FontLibrary
from bot.card.shaping import count_missing
from bot.card.theme import Colour, Measures
from bot.card.wrapping import Setting, Style, fit

# Characters. More than ever fits; the rest is not even read.
_LONGEST_LINE = 120
_LONGEST_NOTE = 400
_LONGEST_HEADLINE = 400
_LONGEST_TEXT = 1200

_TOP = 34  # of the first row
_BAR = 44  # across


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle: left, top, right and bottom edge."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top


@dataclass(frozen=True, slots=True)
class Plate:
    """A filled rectangle with rounded corners."""

    box: Box
    colour: Colour
    radius: float


@dataclass(frozen=True, slots=True)
class Text:
    """A typeset text in a box: vertically centred, and at one side or centred across."""

    setting: Setting
    box: Box
    colour: Colour
    side: str  # left, right or centre


@dataclass(frozen=True, slots=True)
class Portrait:
    """The picture of an author, cut to the circle in a box. It may turn out to be unreadable."""

    content: bytes
    box: Box


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything that is drawn: the tweet's card, then plates, then texts, then the portrait."""

    size: tuple[int, int]
    card: Box
    plates: tuple[Plate, ...]
    texts: tuple[Text, ...]
    portrait: Portrait | None = None
    cut: bool = False  # whether the tweet did not fit


class _Sketch:
    """Collects plates and texts as they are placed from top to bottom."""

    def __init__(self, measures: Measures, fonts: FontLibrary) -> None:
        self.measures = measures
        self.fonts = fonts
        self.plates: list[Plate] = []
        self.texts: list[Text] = []
        self.portrait: Portrait | None = None

    def fit_line(self, text: str, style: Style, width: float) -> Setting:
        height = style.max_lines * style.sizes[0] * style.leading
        return fit(clean_line(text, _LONGEST_LINE), style, width, height, self.fonts)

    def fit_note(self, about: Sequence[str], marks: Sequence[str], width: float) -> Setting:
        """Set both in one line, or the marks below the rest where that is too narrow."""
        style = self.measures.note
        first, second = (" · ".join(filter(str.strip, parts)) for parts in (about, marks))
        height = style.max_lines * style.sizes[0] * style.leading
        together = clean_line(" · ".join(filter(None, (first, second))), _LONGEST_NOTE)
        single = fit(together, replace(style, max_lines=1), width, height, self.fonts)
        if not single.cut:
            return single
        both = clean_text(f"{first}\n{second}", _LONGEST_NOTE)
        return fit(both, style, width, height, self.fonts)

    def mirror(self, box: Box, turned: bool) -> Box:
        """Return a box, or its mirror image on the page for right-to-left text."""
        width = self.measures.width
        return Box(width - box.right, box.top, width - box.left, box.bottom) if turned else box

    def place(self, setting: Setting, box: Box, colour: Colour, side: str) -> None:
        self.texts.append(Text(setting, box, colour, side))

    def place_beside(self, setting: Setting, box: Box, colour: Colour, turned: bool) -> None:
        """Place a text at the side where its row begins."""
        self.place(setting, self.mirror(box, turned), colour, _choose_side(turned))

    def pill(self, setting: Setting, box: Box) -> None:
        self.plates.append(Plate(box, theme.ACCENT, box.height / 2))
        self.place(setting, box, theme.ON_ACCENT, "centre")


def arrange(card: Card, fonts: FontLibrary) -> Picture:
    """Return the picture of `card`: the headline above, the tweet below.

    What was left out is said among the marks: that the tweet was cut, how many signs are missing.
    """
    missing = _count_missing(card, fonts)  # signs of headline, tweet and author
    picture = _choose_headline_height(card, fonts)
    if remarks := tuple(_say_left_out(card, picture.cut, missing)):
        picture = _choose_headline_height(replace(card, marks=(*card.marks, *remarks)), fonts)
    return picture


def _say_left_out(card: Card, cut: bool, missing: int) -> Iterator[str]:
    if cut and card.cut_text:
        yield card.cut_text
    if missing and card.missing_text:
        yield f"{card.missing_text} {missing}"


def _count_missing(card: Card, fonts: FontLibrary) -> int:
    measures = theme.MEASURES[card.shape]
    written = (
        (clean_line(card.headline, _LONGEST_HEADLINE), measures.headline),
        (_read_tweet(card), measures.tweet),
        (clean_line(card.author, _LONGEST_LINE), measures.author),
    )
    return sum(count_missing(text, style.role, fonts) for text, style in written)


def _read_tweet(card: Card) -> str:
    return clean_text(readable_tweet(card.text[: 4 * _LONGEST_TEXT]), _LONGEST_TEXT)


def _choose_headline_height(card: Card, fonts: FontLibrary) -> Picture:
    measures = theme.MEASURES[card.shape]
    headline = clean_line(card.headline, _LONGEST_HEADLINE)
    width = measures.width - 2 * measures.margin
    best: Picture | None = None
    for height in measures.headline_heights:
        setting = fit(headline, measures.headline.within(height), width, height, fonts)
        if best and setting.cut:
            break
        best, size = _arrange(card, setting, measures, fonts)
        if size >= measures.comfortable and not best.cut:
            break
    assert best is not None  # noqa: S101 - there are heights
    return best


def _arrange(
    card: Card, headline: Setting, measures: Measures, fonts: FontLibrary
) -> tuple[Picture, int]:
    """Return the picture, and the size of the letters of its tweet."""
    sketch = _Sketch(measures, fonts)
    tweet = _read_tweet(card)
    top = _place_headline(sketch, card, headline)
    box = Box(
        measures.margin,
        round(top),
        measures.width - measures.margin,
        measures.height - theme.SAFE - 4,
    )
    inner = Box(
        box.left + measures.padding,
        box.top + 0.75 * measures.padding,
        box.right - measures.padding,
        box.bottom - 0.75 * measures.padding,
    )
    turned = base_level(tweet) == 1
    body_top = _place_header(sketch, card, inner, turned)
    body_bottom = (
        _place_dates(sketch, card, inner, turned) if measures.dates_below else inner.bottom
    )
    body = Box(inner.left, body_top, inner.right, body_bottom)
    setting = _fit_tweet(tweet, measures.tweet, body, fonts)
    sketch.place(setting, body, theme.INK, _choose_side(turned))
    picture = Picture(
        (measures.width, measures.height),
        box,
        tuple(sketch.plates),
        tuple(sketch.texts),
        sketch.portrait,
        setting.cut,
    )
    return picture, setting.size


def _fit_tweet(tweet: str, style: Style, body: Box, fonts: FontLibrary) -> Setting:
    """Set the tweet as written if it fits, else without its empty lines."""
    setting = fit(tweet, style, body.width, body.height, fonts)
    if setting.cut and "\n\n" in tweet:
        setting = fit(tweet.replace("\n\n", "\n"), style, body.width, body.height, fonts)
    return setting


def _choose_side(right_to_left: bool) -> str:
    return "right" if right_to_left else "left"


def _place_headline(sketch: _Sketch, card: Card, setting: Setting) -> float:
    """Place the headline under its source and date, with the footer at the other end of their row;
    return where the tweet's card begins."""
    measures = sketch.measures
    left, right = measures.margin, measures.width - measures.margin
    turned = setting.right_to_left
    bottom = _TOP + round(measures.note.sizes[0] * measures.note.leading)
    footer = sketch.fit_line(card.footer, measures.footer, (right - left) / 2)
    sketch.place(
        footer,
        sketch.mirror(Box(left, _TOP, right, bottom), turned),
        theme.QUIET,
        _choose_side(not turned),
    )
    if not setting.lines:
        return bottom + measures.gap if footer.lines else theme.SAFE + 4
    middle = (_TOP + bottom) / 2
    bar = Box(left, middle - 3, left + _BAR, middle + 3)
    sketch.plates.append(Plate(sketch.mirror(bar, turned), theme.ACCENT, 2.5))
    about = " · ".join(part for part in (card.headline_source, card.headline_date) if part.strip())
    row = Box(left + _BAR + 14, _TOP, right - footer.width - 24, bottom)
    facts = sketch.fit_line(about, replace(measures.note, max_lines=1), row.width)
    sketch.place_beside(facts, row, theme.QUIET, turned)
    top = bottom + measures.gap / 2
    box = Box(left, top, right, top + setting.height)
    sketch.place_beside(setting, box, theme.INK, turned)
    return box.bottom + 1.4 * measures.gap


def _place_header(sketch: _Sketch, card: Card, inner: Box, turned: bool) -> float:
    """Place the author with what stands below the name, and the lead time at the other end of the
    row unless that stands elsewhere; return where it ends."""
    measures = sketch.measures
    left, top, right = inner.left, inner.top, inner.right
    name, handle = (card.author, card.handle) if card.author.strip() else (card.handle, "")
    about = (handle,) if measures.dates_below else (handle, card.date_text)
    marks = () if measures.dates_below else card.marks
    circle = Box(left, top, left + measures.avatar, top + measures.avatar)
    if not measures.dates_below:
        right = _place_lead_time(sketch, card, circle, right, turned)
    if not any(map(str.strip, (name, *about, *marks))):
        return circle.bottom + measures.gap if right < inner.right else top
    if card.avatar:
        sketch.portrait = Portrait(card.avatar, sketch.mirror(circle, turned))
    if _place_initials(sketch, name, sketch.mirror(circle, turned)) or card.avatar:
        left += measures.avatar + 18
    first = sketch.fit_line(name, measures.author, right - left)
    second = sketch.fit_note(about, marks, right - left)
    bottom = top + max(measures.avatar, first.height + second.height)
    middle = (top + bottom + first.height - second.height) / 2
    above = Box(left, middle - first.height, right, middle)
    sketch.place_beside(first, above, theme.INK, turned)
    under = Box(left, middle, right, middle + second.height)
    sketch.place_beside(second, under, theme.QUIET, turned)
    return bottom + measures.gap


def _place_lead_time(sketch: _Sketch, card: Card, row: Box, right: float, turned: bool) -> float:
    """Place the lead time as a pill at the end of a row; return how far the row is free."""
    style = sketch.measures.lead_time
    lead = sketch.fit_line(card.lead_time_text, style, 12 * style.sizes[0])
    if not lead.lines:
        return right
    middle, half = (row.top + row.bottom) / 2, 0.85 * style.sizes[0]
    pill = Box(right - lead.width - 1.6 * style.sizes[0], middle - half, right, middle + half)
    sketch.pill(lead, sketch.mirror(pill, turned))
    return pill.left - 24


def _place_initials(sketch: _Sketch, name: str, circle: Box) -> bool:
    """Place the initials of a name in a circle as an avatar.

    Return False, with nothing placed, if none can be drawn.
    """
    letters = sketch.fit_line(read_initials(name), sketch.measures.initials, circle.width - 12)
    if not letters.width:
        return False
    sketch.plates.append(Plate(circle, theme.AVATAR, circle.width / 2))
    sketch.place(letters, circle, theme.ACCENT, "centre")
    return True


def read_initials(name: str) -> str:
    """Return the initials of the first and the last word of a name, or its first letter.

    Only scripts with capitals have two: letters of others may join. A name without letters gives
    its first digit or sign, an empty one "".
    """
    signs = clean_line(name, _LONGEST_LINE).removeprefix("@").strip()
    firsts = [word[0] for word in signs.split() if word[0].isalpha()]
    if len(firsts) > 1 and all(first.islower() or first.isupper() for first in firsts):
        return (firsts[0] + firsts[-1]).upper()
    first = next(filter(str.isalpha, signs), None) or next(filter(str.isdigit, signs), signs[:1])
    return first.upper()


def _place_dates(sketch: _Sketch, card: Card, inner: Box, turned: bool) -> float:
    """Place the date with the marks, and the lead time, in a row at the foot of the card; return
    where it begins."""
    measures = sketch.measures
    row = Box(inner.left, inner.bottom - measures.avatar, inner.right, inner.bottom)
    right = _place_lead_time(sketch, card, row, inner.right, turned)
    setting = sketch.fit_note((card.date_text,), card.marks, right - row.left)
    if not setting.lines:
        return inner.bottom if right == inner.right else row.top - measures.gap
    if setting.height > row.height:  # too many marks to stand beside the lead time
        setting = sketch.fit_note((card.date_text,), card.marks, inner.width)
        right = inner.right
        row = Box(inner.left, row.top - setting.height - measures.gap / 2, right, row.top)
    sketch.place_beside(setting, Box(row.left, row.top, right, row.bottom), theme.QUIET, turned)
    return row.top - measures.gap
