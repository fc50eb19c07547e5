"""The share picture of a prophecy or of a text, a PNG of one of two shapes.

`layout` decides what is drawn where, as pure values; `canvas` turns them into pixels.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from bot.card.content import Card, Shape
from engine.errors import ExtraMissing, NotDrawn, ProcessUnstarted
from engine.isolation.process import Isolation, WorkerEnded
from engine.messages import Message

if TYPE_CHECKING:
    from bot.card.fonts import FontLibrary

__all__ = ["Card", "Shape", "can_draw", "draw_apart", "draw_card", "require_pictures"]

_LIBRARIES = ("PIL", "uharfbuzz")  # fonts are not listed: those of the system will do


def can_draw() -> bool:
    """Tell whether the drawing libraries are installed, without loading them."""
    return all(find_spec(name) for name in _LIBRARIES)


def require_pictures() -> None:
    """Raise ExtraMissing if pictures cannot be drawn."""
    if not can_draw():
        raise ExtraMissing(Message("Pictures cannot be drawn here."), extra="pictures")


async def draw_apart(isolation: Isolation, card: Card) -> bytes:
    """Draw a card in another process, as strangers wrote what is on it.

    Raises ExtraMissing, SettingsError if there is no font at all, and NotDrawn.
    """
    require_pictures()
    try:
        return await isolation.run_isolated(_draw, card)
    except (WorkerEnded, ProcessUnstarted) as exc:
        raise NotDrawn(Message("The picture cannot be drawn: {reason}.", reason=exc)) from exc


def _draw(card: Card) -> bytes:
    return draw_card(card)


def draw_card(card: Card, fonts: "FontLibrary | None" = None) -> bytes:
    """Return the picture of `card` as PNG bytes; equal cards and fonts give equal bytes.

    Takes milliseconds of pure computation, however long the texts are, and may run in any thread.
    `fonts` defaults to those shipped with the program and, for characters they lack, the
    system's. Raises ExtraMissing, and SettingsError if there is no font at all.
    """
    require_pictures()
    # Pillow and HarfBuzz load with the first picture: most commands never draw one.
    from bot.card.canvas import paint  # noqa: PLC0415 - as above
    from bot.card.fonts import default_library  # noqa: PLC0415 - as above
    from bot.card.layout import arrange  # noqa: PLC0415 - as above

    return paint(arrange(card, fonts or default_library()))
