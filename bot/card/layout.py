"""The layout of the picture, in pixels from its top left corner."""

from dataclasses import dataclass

from bot.card import theme
from bot.card.bidi import base_level
from bot.card.content import Card, clean_line, clean_text, readable_tweet
from bot.card.fonts import FontLibrary
from bot.card.theme import Colour
from bot.card.wrapping import Setting, Style, fit

# Characters. More than ever fits; the rest is not even read.
_LONGEST_LINE = 120
_LONGEST_HEADLINE = 400
_LONGEST_TEXT = 1200
_MOST_MARKS = 3

# A tall headline gives up room to a long tweet.
_LONG_TWEET = 150
_HIGH_HEADLINE, _LOW_HEADLINE = 140, 112

_CARD_BOTTOM, _CARD_BOTTOM_ALONE = 562, 580  # above a footer, and without one
_PADDING = 36
_AVATAR = 56
_DATE_ROW = 88  # from the rule to the bottom of the card


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

    def mirror_for(self, right_to_left: bool) -> "Box":
        """Return this box, or its mirror image on the page for right-to-left text."""
        if not right_to_left:
            return self
        return Box(theme.WIDTH - self.right, self.top, theme.WIDTH - self.left, self.bottom)


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

    card: Box
    plates: tuple[Plate, ...]
    texts: tuple[Text, ...]
    portrait: Portrait | None = None


class _Sketch:
    """Collects plates and texts as they are placed from top to bottom."""

    def __init__(self, fonts: FontLibrary) -> None:
        self.fonts = fonts
        self.plates: list[Plate] = []
        self.texts: list[Text] = []
        self.portrait: Portrait | None = None

    def fit_line(self, text: str, style: Style, width: float) -> Setting:
        height = style.sizes[0] * style.leading
        return fit(clean_line(text, _LONGEST_LINE), style, width, height, self.fonts)

    def place(self, setting: Setting, box: Box, colour: Colour, side: str) -> None:
        self.texts.append(Text(setting, box, colour, side))

    def pill(self, setting: Setting, box: Box, fill: Colour, colour: Colour) -> None:
        self.plates.append(Plate(box, fill, box.height / 2))
        self.place(setting, box, colour, "centre")


def arrange(card: Card, fonts: FontLibrary) -> Picture:
    """Return the picture of `card`: headline above, tweet below, date and lead time at its foot."""
    sketch = _Sketch(fonts)
    tweet = clean_text(readable_tweet(card.text[: 4 * _LONGEST_TEXT]), _LONGEST_TEXT)
    top = _headline(sketch, card, _LOW_HEADLINE if len(tweet) > _LONG_TWEET else _HIGH_HEADLINE)
    bottom = _CARD_BOTTOM if _footer(sketch, card) else _CARD_BOTTOM_ALONE
    box = Box(theme.MARGIN, round(top), theme.WIDTH - theme.MARGIN, bottom)
    inner = Box(box.left + _PADDING, box.top + 28, box.right - _PADDING, box.bottom)
    right_to_left = base_level(tweet) == 1
    body_top = _header(sketch, card, inner, right_to_left)
    body = Box(inner.left, body_top, inner.right, _dates(sketch, card, inner) - 16)
    sketch.place(_fit_tweet(tweet, body, fonts), body, theme.INK, _side(right_to_left))
    return Picture(box, tuple(sketch.plates), tuple(sketch.texts), sketch.portrait)


def _fit_tweet(tweet: str, body: Box, fonts: FontLibrary) -> Setting:
    """Set the tweet as written if it fits; drop its line breaks before its words."""
    ways = (tweet, tweet.replace("\n\n", "\n"), tweet.replace("\n\n", " ").replace("\n", " "))
    for way in dict.fromkeys(ways):
        setting = fit(way, theme.TWEET, body.width, body.height, fonts)
        if not setting.cut:
            break
    return setting


def _side(right_to_left: bool) -> str:
    return "right" if right_to_left else "left"


def _headline(sketch: _Sketch, card: Card, height: float) -> float:
    """Place the headline under its source and date; return where the tweet's card begins."""
    left, right = theme.MARGIN, theme.WIDTH - theme.MARGIN
    text = clean_line(card.headline, _LONGEST_HEADLINE)
    setting = fit(text, theme.HEADLINE, right - left, height, sketch.fonts)
    turned = setting.right_to_left
    bar = Box(left, 51, left + 40, 56).mirror_for(turned)
    sketch.plates.append(Plate(bar, theme.ACCENT, 2.5))
    about = " · ".join(part for part in (card.headline_source, card.headline_date) if part.strip())
    facts = sketch.fit_line(about, theme.HEADLINE_DATE, 700)
    sketch.place(
        facts, Box(left + 54, 40, right, 68).mirror_for(turned), theme.QUIET, _side(turned)
    )
    sketch.place(setting, Box(left, 76, right, 76 + setting.height), theme.INK, _side(turned))
    return 76 + setting.height + 22


def _header(sketch: _Sketch, card: Card, inner: Box, turned: bool) -> float:
    """Place the author and, at the other end of the row, the marks; return where it ends."""
    left, top = inner.left, inner.top
    name, handle = (card.author, card.handle) if card.author.strip() else (card.handle, "")
    if not (name.strip() or card.marks):
        return top
    circle = Box(left, top, left + _AVATAR, top + _AVATAR).mirror_for(turned)
    if card.avatar:
        sketch.portrait = Portrait(card.avatar, circle)
    if _initials(sketch, name, circle) or card.avatar:
        left += _AVATAR + 18
    right = _marks(sketch, card, inner, turned) - 16
    second = sketch.fit_line(handle, theme.HANDLE, right - left)
    middle = top + (31 if second.lines else _AVATAR)
    for setting, box, colour in (
        (
            sketch.fit_line(name, theme.AUTHOR, right - left),
            Box(left, top, right, middle),
            theme.INK,
        ),
        (second, Box(left, middle, right, top + _AVATAR), theme.QUIET),
    ):
        sketch.place(setting, box.mirror_for(turned), colour, _side(turned))
    return top + _AVATAR + 14


def _initials(sketch: _Sketch, name: str, circle: Box) -> bool:
    """Place the initials of a name in a circle as an avatar.

    Return False, with nothing placed, if none can be drawn.
    """
    letters = sketch.fit_line(initials(name), theme.INITIALS, _AVATAR - 12)
    if not letters.width:
        return False
    sketch.plates.append(Plate(circle, theme.AVATAR, _AVATAR / 2))
    sketch.place(letters, circle, theme.ACCENT, "centre")
    return True


def initials(name: str) -> str:
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


def _marks(sketch: _Sketch, card: Card, inner: Box, turned: bool) -> float:
    """Place the marks at the end of the row; return where they begin."""
    right = inner.right
    for mark in reversed(card.marks[:_MOST_MARKS]):
        setting = sketch.fit_line(mark, theme.MARK, 170)
        if setting.lines:
            box = Box(right - setting.width - 28, inner.top + 12, right, inner.top + 44)
            sketch.pill(setting, box.mirror_for(turned), theme.TAG, theme.QUIET)
            right = box.left - 10
    return right


def _dates(sketch: _Sketch, card: Card, inner: Box) -> float:
    """Place the date, large, and the lead time as a pill; return where their row begins."""
    lead = sketch.fit_line(card.lead_time_text, theme.LEAD_TIME, 360)
    pill_width = lead.width + 48 if lead.lines else 0
    date = sketch.fit_line(card.date_text, theme.DATE, inner.width - pill_width - 24)
    if not (lead.lines or date.lines):
        return inner.bottom
    top, middle = inner.bottom - _DATE_ROW, inner.bottom - _DATE_ROW / 2 + 1
    sketch.plates.append(Plate(Box(inner.left, top, inner.right, top + 2), theme.RULE, 0))
    turned = date.right_to_left
    if lead.lines:
        pill = Box(inner.right - pill_width, middle - 24, inner.right, middle + 24)
        sketch.pill(lead, pill.mirror_for(turned), theme.ACCENT, theme.ON_ACCENT)
    row = Box(inner.left, middle - 36, inner.right, middle + 36)
    sketch.place(date, row, theme.INK, _side(turned))
    return top


def _footer(sketch: _Sketch, card: Card) -> bool:
    """Place the footer; return whether there is one."""
    box = Box(theme.MARGIN, 574, theme.WIDTH - theme.MARGIN, 600)
    setting = sketch.fit_line(card.footer, theme.FOOTER, box.width)
    sketch.place(setting, box, theme.QUIET, "right")
    return bool(setting.lines)
