"""The picture itself: its size, its pixels, the same bytes each time, whatever is written on it."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from functools import cache
from io import BytesIO
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageChops

from bot.card import Card, Shape, draw_apart, draw_card, theme
from bot.card.canvas import paint
from bot.card.layout import arrange
from engine.errors import NotDrawn
from engine.isolation.process import Isolation
from tests.bot.card.library import shipped
from tests.bot.card.test_layout import FULL
from tests.conftest import FEW_EXAMPLES

HOSTILE = [
    "\x00" * 100, "\u202eevil", "a" * 100_000, "\U0001f469\u200d" * 5000,
    "Z" + "\u0335\u0310" * 3000, "<script>&amp;", "\ud800", "\n" * 5000,
    "日本語" * 300, "\ufdfd" * 500, "e\u0301" * 2000,
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _forked_workers() -> None:
    """Start isolated processes as the program does."""


def pixels(png: bytes) -> Image.Image:
    image = Image.open(BytesIO(png))
    image.load()
    return image


def draw(card: Card) -> Image.Image:
    return pixels(draw_card(card, shipped()))


@cache
def _draw_blank(shape: Shape) -> Image.Image:
    return draw(Card(text="", shape=shape))


def same_outside_the_safe_area(image: Image.Image) -> bool:
    """Whether the margin holds nothing but paper (and the card's soft shadow)."""
    (shape,) = (shape for shape in Shape if shape.size == image.size)
    difference = ImageChops.difference(image, _draw_blank(shape))
    safe = theme.SAFE
    difference.paste(0, (safe, safe, image.width - safe, image.height - safe))
    bands = (band.getextrema() for band in difference.split())
    return all(isinstance(high, int) and high <= 12 for _, high in bands)


def test_a_png_of_1200_by_630() -> None:
    image = draw(FULL)
    assert (image.format, image.size, image.mode) == ("PNG", (1200, 630), "RGB")


def test_every_field_changes_the_picture() -> None:
    whole = draw(FULL)
    for field in fields(Card):
        if field.name in {"avatar", "shape", "cut_text", "missing_text"}:  # it needs none of them
            continue
        nothing: Any = () if field.name == "marks" else ""
        without = draw(replace(FULL, **{field.name: nothing}))
        assert ImageChops.difference(whole, without).getbbox() is not None, field.name


def test_full_card_uses_all_theme_colours() -> None:
    colours = {colour for _, colour in draw(FULL).getcolors(1 << 20) or []}
    assert {theme.INK, theme.ACCENT, theme.ON_ACCENT, theme.QUIET, theme.CARD} <= colours


@pytest.mark.parametrize(
    "name", ["demo", "@ana", "@__", "1984", "🔥", "", " ", "\u200b", "\U0010ffff"]
)
def test_avatar_circle_is_never_drawn_empty(name: str) -> None:
    image = draw(replace(FULL, author=name, handle=""))
    pink = ImageChops.difference(image, Image.new("RGB", image.size, theme.AVATAR)).convert("L")
    circle = pink.point(lambda difference: 255 if difference == 0 else 0).getbbox()
    if circle is None:
        assert not name.strip("\u200b\U0010ffff ")
        return
    left, top, right, bottom = circle
    inside = image.crop((left + 14, top + 14, right - 14, bottom - 14))
    assert len(inside.getcolors(1 << 20) or []) > 1


def test_emoji_are_in_colour() -> None:
    def saturated(card: Card) -> int:
        red, _, blue = draw(card).split()
        return sum(ImageChops.subtract(red, blue).histogram()[150:])

    plain = Card(headline="Fire", text="fire")
    assert saturated(replace(plain, text="🔥🔥🔥")) > saturated(plain) + 500


def test_right_to_left_text_has_its_ink_on_the_right() -> None:
    empty = Card(headline="", text="", footer="Presagio")
    for text, at_right in (("rain", False), ("גשם", True), ("مطر", True)):
        box = ImageChops.difference(draw(replace(empty, text=text)), draw(empty)).getbbox()
        assert box is not None
        assert (box[0] > 600) is at_right


def test_equal_cards_give_equal_bytes_in_any_thread() -> None:
    cards = [FULL, replace(FULL, text="🔥 שלום"), replace(FULL, headline="سلام " * 30)]
    alone = [draw_card(card, shipped()) for card in cards]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda card: draw_card(card, shipped()), cards * 2)) == alone * 2


def test_different_texts_give_different_pictures() -> None:
    assert draw_card(FULL, shipped()) != draw_card(replace(FULL, text="Another."), shipped())


def test_an_avatar_fills_the_circle_and_a_broken_one_leaves_the_initial() -> None:
    content = BytesIO()
    Image.new("RGB", (300, 200), (10, 200, 30)).save(content, "PNG")
    with_avatar = draw(replace(FULL, avatar=content.getvalue()))
    assert (10, 200, 30) in {colour for _, colour in with_avatar.getcolors(1 << 24) or ()}
    for broken in (b"\x89PNG\r\n\x1a\n", content.getvalue()[:60], b"no picture"):
        assert draw_card(replace(FULL, avatar=broken), shipped()) == draw_card(FULL, shipped())


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_in_every_field_is_drawn_within_the_page(hostile: str) -> None:
    words = {field.name: hostile for field in fields(Card) if field.type in (str, "str")}
    image = draw(Card(**words, marks=(hostile,) * 50))  # type: ignore[arg-type]  # texts alone
    assert image.size == (1200, 630)
    assert same_outside_the_safe_area(image)


@FEW_EXAMPLES
@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=60))
def test_any_text_is_drawn_within_the_page(headline: str, text: str, other: str) -> None:
    card = Card(
        headline=headline,
        text=text,
        author=other,
        handle=other,
        date_text=other,
        lead_time_text=other,
        marks=(other, other),
        footer=other,
    )
    assert same_outside_the_safe_area(draw(card))


def test_safe_area_check_detects_ink_in_the_margin() -> None:
    picture = arrange(FULL, shipped())
    plate = replace(picture.plates[0], box=replace(picture.plates[0].box, left=0, right=20))
    spoilt = replace(picture, plates=(plate,))
    assert not same_outside_the_safe_area(pixels(paint(spoilt)))


def test_a_hundred_thousand_characters_cost_little_more_than_a_page() -> None:
    page = "prophecy after prophecy " * 60
    small = Card(headline=page, text=page, author=page, footer=page)
    huge = Card(headline=page * 80, text=page * 80, author=page * 80, footer=page * 80)

    def cost(card: Card) -> float:
        def once() -> float:
            began = process_time()
            draw_card(card, shipped())
            return process_time() - began

        return min(once() for _ in range(3))

    draw_card(small, shipped())
    assert cost(huge) < 3 * cost(small)


def test_naming_a_card_loads_no_graphics() -> None:
    code = (
        "import sys, bot.cli.main, bot.card;"
        "print(sorted({'PIL', 'uharfbuzz', 'bot.card.canvas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_crash_of_the_drawing_process_raises_not_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hostile = replace(
        FULL, headline="\ud800\u202e", marks=("a", "b"), avatar=b"\x89PNG\r\n\x1a\n\0"
    )
    async with Isolation() as isolation:
        for card in (FULL, hostile):
            assert await draw_apart(isolation, card) == draw_card(card)
        monkeypatch.setattr("bot.card._draw", die)
        with pytest.raises(NotDrawn, match="it crashed"):
            await draw_apart(isolation, FULL)
        monkeypatch.setattr(sys, "executable", "/nowhere/python")
        with pytest.raises(NotDrawn, match="cannot be started"):
            await draw_apart(isolation, FULL)


def die(card: Card) -> bytes:
    os.kill(os.getpid(), signal.SIGSEGV)
    return card.avatar
