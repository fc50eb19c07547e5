"""Colours and measures of the pictures, in pixels."""

from dataclasses import dataclass

from bot.card.content import Shape
from bot.card.fonts import Role
from bot.card.wrapping import Style

Colour = tuple[int, int, int]

SAFE = 28  # nothing but background within this distance of an edge

PAPER: Colour = (244, 239, 230)
INK: Colour = (28, 26, 23)
QUIET: Colour = (104, 95, 84)
CARD: Colour = (255, 255, 255)
ACCENT: Colour = (168, 45, 28)
ON_ACCENT: Colour = (255, 255, 255)
AVATAR: Colour = (241, 221, 212)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """Where things stand on a picture of one shape, and how large letters may be.

    A phone shows a picture 340 points wide. The tweet never has letters of less than 9.6 points
    there: what does not fit at that size is cut. A tall headline gives up room to a long tweet:
    `headline_heights` go from the preferred one to the lowest in which it is whole, which is taken
    where the tweet would otherwise be smaller than `comfortable`.
    """

    shape: Shape
    margin: int  # around the card
    padding: int  # within the card
    gap: int  # between what stands below each other
    avatar: int  # across
    headline_heights: tuple[int, ...]
    comfortable: int
    dates_below: bool  # in a row below the tweet, rather than below the name
    headline: Style
    tweet: Style
    author: Style
    note: Style  # source, date, marks
    lead_time: Style
    footer: Style
    initials: Style

    @property
    def width(self) -> int:
        """Return the width of the picture."""
        return self.shape.size[0]

    @property
    def height(self) -> int:
        """Return the height of the picture."""
        return self.shape.size[1]


def _one_line(role: Role, largest: int, smallest: int) -> Style:
    return Style(role, range(largest, smallest - 1, -1), leading=1.25, max_lines=1)


MEASURES = {
    Shape.LINK: Measures(
        shape=Shape.LINK,
        margin=44,
        padding=30,
        gap=12,
        avatar=62,
        headline_heights=(150, 112, 76, 48),
        comfortable=40,
        dates_below=False,
        headline=Style(Role.HEADLINE, range(66, 31, -2), leading=1.12, max_lines=3, balanced=True),
        tweet=Style(Role.TWEET, range(62, 33, -1), leading=1.28, balanced=True),
        author=_one_line(Role.NAME, 29, 22),
        note=Style(Role.NOTE, range(25, 22, -1), leading=1.25, max_lines=4),
        lead_time=_one_line(Role.NAME, 28, 20),
        footer=_one_line(Role.NOTE, 20, 15),
        initials=_one_line(Role.HEADLINE, 30, 18),
    ),
    Shape.CHAT: Measures(
        shape=Shape.CHAT,
        margin=52,
        padding=44,
        gap=24,
        avatar=92,
        headline_heights=(340, 240),
        comfortable=44,
        dates_below=True,
        headline=Style(Role.HEADLINE, range(84, 45, -2), leading=1.12, max_lines=4, balanced=True),
        tweet=Style(Role.TWEET, range(108, 35, -1), leading=1.3, max_lines=30, balanced=True),
        author=_one_line(Role.NAME, 42, 28),
        note=Style(Role.NOTE, range(34, 27, -1), leading=1.25, max_lines=4),
        lead_time=_one_line(Role.NAME, 40, 26),
        footer=_one_line(Role.NOTE, 26, 20),
        initials=_one_line(Role.HEADLINE, 44, 24),
    ),
}
