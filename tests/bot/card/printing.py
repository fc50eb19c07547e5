"""Cards as PDF instead of pixels: their letters and where each stands, and a check for boxes."""

from dataclasses import dataclass
from importlib import import_module

import typst

from bot.card import Card
from bot.card.typesetting import TEMPLATE, describe_card, load_fonts

# PDF/A demands a date and a title, and refuses text that a font has no letters for.
_ARCHIVED = b"#set document(title: [Card], date: datetime(year: 2026, month: 1, day: 1))\n"


@dataclass(frozen=True, slots=True)
class Letter:
    """A printed letter and its edges in points from the bottom left of the page."""

    text: str
    left: float
    bottom: float
    right: float
    top: float


def print_card(card: Card) -> bytes:
    """Return a card as PDF. Raises TypstError for a letter that no font has."""
    return print_template(TEMPLATE.read_bytes(), describe_card(card, load_fonts()))


def print_template(template: bytes, data: str = "{}") -> bytes:
    """Return a template as PDF, compiled as cards are."""
    printed: bytes = typst.compile(  # type: ignore[call-overload]  # bytes in a folder
        _ARCHIVED + template,
        root=TEMPLATE.parent,
        font_paths=load_fonts().fonts,
        ignore_system_fonts=True,
        format="pdf",
        pdf_standards="a-2b",
        timestamp=0,
        sys_inputs={"data": data},
    )
    return printed


def read_letters(card: Card) -> list[Letter]:
    """Return the letters of a card in the order in which they are printed, with spaces."""
    document = import_module("pypdfium2").PdfDocument(print_card(card))
    (page,) = document
    text = page.get_textpage()
    letters = [
        Letter(text.get_text_range(index, 1), *text.get_charbox(index))
        for index in range(text.count_chars())
    ]
    document.close()
    return letters


def read_words(card: Card) -> str:
    """Return what is printed on a card, one space between words."""
    return " ".join("".join(letter.text for letter in read_letters(card)).split())
