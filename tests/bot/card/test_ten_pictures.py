"""Ten pictures in both shapes: languages, emoji, both directions of writing, long and unsigned.

`python -m tests.bot.card.test_ten_pictures FOLDER` draws them for somebody to look at.
"""

import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from PIL import Image, ImageChops

from bot.card import Shape, draw_card, theme
from bot.card.layout import arrange
from bot.i18n.words import words_for
from bot.replies.picture import PictureSubject, card_of
from engine.search import Hit
from engine.values import Flag
from tests.bot.card.library import shipped
from tests.bot.card.test_card import pixels, same_outside_the_safe_area
from tests.bot.prophecies import make_hit

FOOTER = "Presagio · t.me/presagio_bot"
LONG = (
    "They will say that nobody could have known, although the map was on the wall, the figures on"
    " the table and the minutes in the drawer. Then they will hang a new map, order a larger table"
    " and lock the drawer, and in ten years somebody will ask why there is no key to it."
)


def tweet(text: str, *, voice: str | None = "Ana Ruiz", author: str | None = "ana", **about) -> Hit:  # type: ignore[no-untyped-def]  # the fields of a hit
    made = make_hit(text=text, author=author, **about)
    return replace(made, candidate=replace(made.candidate, voice=voice))


def shown(headline: str, hit: Hit, *, source: str | None = "The Paper") -> PictureSubject:
    date = datetime(2026, 3, 2, tzinfo=UTC)
    return PictureSubject(hit=hit, corpus="demo", headline=headline, date=date, source=source)


PICTURES: Mapping[str, tuple[str, PictureSubject]] = {
    "english": (
        "en",
        shown(
            "Container ship blocks the canal for a third day",
            tweet("One day a single ship will block the whole canal &amp; we will learn where socks"
                  " come from. https://t.co/AbC123"),
        ),
    ),
    "spanish": (
        "es",
        shown(
            "Un apagón deja sin luz a medio país durante horas",
            tweet("Medio país sin luz y nadie encuentra las velas: el apagón llegará. ¿Apostamos?",
                  voice="Ñusta Íñiguez", author="nusta"),
            source="El Diario",
        ),
    ),
    "emoji": (
        "en",
        shown(
            "Volcano erupts near the harbour 🌋",
            tweet("🌋🔥 told you 👩🏽‍🚀🇪🇸 — pack the cat 🐈‍⬛", voice="🔥 Nico 🔥", author="nico"),
        ),
    ),
    "hebrew": (
        "en",
        shown(
            "גשם ראשון יורד בעיר אחרי קיץ ארוך",
            tweet("בסוף יבוא הגשם, ואף אחד לא ימצא מטרייה.", voice="נועה לוי", author="noa"),
            source=None,
        ),
    ),
    "arabic": (
        "es",
        shown(
            "Llueve por primera vez en el año en la ciudad",
            tweet("سيأتي المطر ولن يجد أحد مظلة.", voice="ليلى", author="layla"),
        ),
    ),
    "long": ("en", shown(f"Inquiry finds that {LONG.lower()}", tweet(LONG + " " + LONG))),
    "unsigned": ("en", shown("Bank raises rates", tweet("Rates go up.", voice=None, author=None))),
    "account": (
        "es",
        shown("Sube el aceite", tweet("Aceite a precio de perfume.", voice=None, author="luis_82")),
    ),
    "reposted": (
        "en",
        shown(
            "Streaming service raises prices",
            tweet('"""Every streaming service ends as television""" @nico\n\nYes.',
                  flags=Flag.REPOST | Flag.TRUNCATED, parts={}),
        ),
    ),
    "bare": (
        "es",
        shown("1984", tweet("2 + 2 = 5", voice="1984", author=None), source=None),
    ),
}  # fmt: skip


def drawn(name: str, shape: Shape) -> bytes:
    language, pictured = PICTURES[name]
    return draw_card(card_of(pictured, words_for(language), footer=FOOTER, shape=shape), shipped())


def inked(image: Image.Image, box: tuple[int, int, int, int], paper: theme.Colour) -> bool:
    """Whether anything but `paper` is in a box."""
    part = image.crop(box)
    return ImageChops.difference(part, Image.new("RGB", part.size, paper)).getbbox() is not None


@pytest.mark.parametrize("shape", Shape)
@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_has_a_name_and_a_headline(name: str, shape: Shape) -> None:
    language, pictured = PICTURES[name]
    card = card_of(pictured, words_for(language), footer=FOOTER, shape=shape)
    picture, margin = arrange(card, shipped()), theme.MEASURES[shape].margin
    image = pixels(drawn(name, shape))
    assert (image.format, image.size) == ("PNG", shape.size)
    (circle,) = [plate.box for plate in picture.plates if plate.colour == theme.AVATAR]
    inside = (circle.left + 16, circle.top + 16, circle.right - 16, circle.bottom - 16)
    assert inked(image, tuple(map(round, inside)), theme.AVATAR), "an empty circle"  # type: ignore[arg-type]  # four of them
    at_left = circle.left < image.width / 2
    beside = (
        (circle.right + 8, circle.right + 260) if at_left else (circle.left - 260, circle.left - 8)
    )
    row = tuple(map(round, (beside[0], circle.top, beside[1], circle.bottom)))
    assert inked(image, row, theme.CARD), "no name"  # type: ignore[arg-type]  # four of them
    headline = (margin, 80, image.width - margin, round(picture.card.top) - 10)
    assert inked(image, headline, theme.PAPER), "no headline"
    assert same_outside_the_safe_area(image)


def test_all_twenty_pictures_differ() -> None:
    assert len({drawn(name, shape) for name in PICTURES for shape in Shape}) == 20


if __name__ == "__main__":
    for name in PICTURES:
        for shape in Shape:
            file = Path(sys.argv[1]) / f"{name}-{shape.name.lower()}.png"
            file.write_bytes(drawn(name, shape))
