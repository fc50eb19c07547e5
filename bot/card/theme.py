"""Colours and measures of the picture, in pixels."""

from bot.card.fonts import Role
from bot.card.wrapping import Style

Colour = tuple[int, int, int]

WIDTH, HEIGHT = 1200, 630
MARGIN = 64  # left and right of all text
SAFE = 28  # nothing but background within this distance of an edge

PAPER: Colour = (244, 239, 230)
INK: Colour = (28, 26, 23)
QUIET: Colour = (104, 95, 84)
CARD: Colour = (255, 255, 255)
RULE: Colour = (233, 226, 215)
ACCENT: Colour = (168, 45, 28)
ON_ACCENT: Colour = (255, 255, 255)
TAG: Colour = (243, 237, 227)
AVATAR: Colour = (241, 221, 212)

# Text colours and their backgrounds: a test requires a contrast of 4.5 to 1 for each pair.
READABLE = (
    (INK, PAPER),
    (QUIET, PAPER),
    (INK, CARD),
    (QUIET, CARD),
    (QUIET, TAG),
    (ON_ACCENT, ACCENT),
    (ACCENT, AVATAR),
)

HEADLINE = Style(Role.HEADLINE, range(76, 31, -2), leading=1.14, max_lines=3, balanced=True)
HEADLINE_DATE = Style(Role.NOTE, range(21, 15, -1), leading=1.3, max_lines=1)
TWEET = Style(Role.TWEET, range(56, 21, -1), leading=1.34, balanced=True)  # no word alone below
AUTHOR = Style(Role.NAME, range(25, 19, -1), leading=1.2, max_lines=1)
HANDLE = Style(Role.TWEET, range(20, 16, -1), leading=1.2, max_lines=1)
MARK = Style(Role.NOTE, range(17, 15, -1), leading=1.3, max_lines=1)
DATE = Style(Role.DATE, range(54, 25, -1), leading=1.2, max_lines=1)
LEAD_TIME = Style(Role.NAME, range(26, 16, -1), leading=1.3, max_lines=1)
FOOTER = Style(Role.NOTE, range(17, 14, -1), leading=1.3, max_lines=1)
INITIALS = Style(Role.HEADLINE, range(28, 17, -1), leading=1.2, max_lines=1)
