"""Paints a picture: glyph outlines, emoji, rounded plates and a soft shadow, on paper."""

from functools import lru_cache
from io import BytesIO
from math import ceil, floor
from pathlib import Path

import uharfbuzz as hb
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageOps

from bot.card import theme
from bot.card.layout import Box, Picture, Plate, Portrait, Text
from bot.card.shaping import EMOJI_SIZE, ShapedLine

_MIDDLE = 0.35  # of the letters, in ems above the baseline: half the height of a capital
_CARD_RADIUS = 26
_LARGEST_PORTRAIT = 20_000_000  # pixels


def paint(picture: Picture) -> bytes:
    """Return the picture as PNG bytes."""
    image = _paint_backdrop(picture.size, picture.card).copy()
    for plate in picture.plates:
        _fill_plate(image, plate)
    for text in picture.texts:
        _draw_text(image, text)
    if picture.portrait:
        _paint_portrait(image, picture.portrait)
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


# Cached: the blurred shadow costs more than all letters together, and cards share few heights.
@lru_cache(maxsize=8)
def _paint_backdrop(size: tuple[int, int], card: Box) -> Image.Image:
    """Return paper with the empty card and its shadow; callers must copy it."""
    image = Image.new("RGB", size, theme.PAPER)
    shadow = Image.new("L", (size[0] // 4, size[1] // 4))
    low = [value / 4 for value in (card.left + 6, card.top + 8, card.right - 6, card.bottom + 4)]
    ImageDraw.Draw(shadow).rounded_rectangle(low, _CARD_RADIUS / 4, fill=44)
    soft = shadow.filter(ImageFilter.GaussianBlur(3)).resize(image.size, Image.Resampling.BICUBIC)
    image.paste(theme.INK, mask=soft)
    _fill_plate(image, Plate(card, theme.CARD, _CARD_RADIUS))
    return image


def _fill_plate(image: Image.Image, plate: Plate) -> None:
    left, top = round(plate.box.left), round(plate.box.top)
    size = round(plate.box.right) - left, round(plate.box.bottom) - top
    image.paste(plate.colour, (left, top), _round_corners(size, plate.radius))


def _paint_portrait(image: Image.Image, portrait: Portrait) -> None:
    """Paint a portrait over the initial, which stays where the picture cannot be read."""
    box = portrait.box
    size = round(box.width), round(box.height)
    try:
        with Image.open(BytesIO(portrait.content), formats=("PNG", "JPEG")) as found:
            found.draft("RGB", size)
            if found.width * found.height > _LARGEST_PORTRAIT:
                return
            fitting = ImageOps.fit(found.convert("RGBA"), size)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return
    mask = ImageChops.multiply(_round_corners(size, size[0] / 2), fitting.getchannel("A"))
    image.paste(fitting.convert("RGB"), (round(box.left), round(box.top)), mask)


@lru_cache(maxsize=32)
def _round_corners(size: tuple[int, int], radius: float) -> Image.Image:
    """Return the mask of a rounded rectangle with smooth edges."""
    width, height = size[0] * 4, size[1] * 4
    mask = Image.new("L", (width, height))
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, width - 1, height - 1), radius * 4, fill=255)
    return mask.reduce(4)


def _draw_text(image: Image.Image, text: Text) -> None:
    setting = text.setting
    pitch = setting.size * setting.leading
    top = (text.box.top + text.box.bottom - setting.height) / 2
    edges = _find_edges(text.box, pitch, image.size)
    raster = hb.RasterDraw()
    for number, line in enumerate(setting.lines):
        x = _find_left_edge(text, line)
        baseline = top + (number + 0.5) * pitch + _MIDDLE * setting.size
        # HarfBuzz counts rows upwards, from the bottom of the picture.
        _outline_letters(raster, line, setting.size, x, image.height - baseline)
        for stamp in line.stamps:
            _paint_emoji(image, stamp.picture, setting.size, x + stamp.x * setting.size, baseline)
    _ink_text(image, raster, edges, text.colour)


def _find_left_edge(text: Text, line: ShapedLine) -> float:
    slack = text.box.width - line.width * text.setting.size
    return text.box.left + {"left": 0.0, "centre": slack / 2, "right": slack}[text.side]


def _find_edges(box: Box, pitch: float, size: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return the pixels a text may touch: its box and room for tall letters, never the margin."""
    return (
        max(theme.SAFE, floor(box.left) - 4),
        max(theme.SAFE, floor(box.top - pitch / 4)),
        min(size[0] - theme.SAFE, ceil(box.right) + 4),
        min(size[1] - theme.SAFE, ceil(box.bottom + pitch / 4)),
    )


def _outline_letters(
    raster: hb.RasterDraw, line: ShapedLine, size: float, x: float, baseline: float
) -> None:
    """Add the letters of a line; `baseline` is its height above the bottom of the picture."""
    for glyph in line.glyphs:
        scale = size / glyph.face.units_per_em
        at = x + glyph.x * size, baseline + glyph.y * size
        raster.transform = (scale, 0, 0, scale, *at)
        raster.draw_glyph(glyph.face.font, glyph.number)


def _ink_text(
    image: Image.Image,
    raster: hb.RasterDraw,
    edges: tuple[int, int, int, int],
    colour: theme.Colour,
) -> None:
    left, top, right, bottom = edges
    size = right - left, bottom - top
    raster.extents = hb.RasterExtents(left, image.height - bottom, *size, 0)
    drawn = raster.render()
    mask = Image.frombytes("L", size, drawn.buffer, "raw", "L", drawn.extents.stride, -1)
    image.paste(colour, (left, top), mask)


def _paint_emoji(image: Image.Image, file: Path, size: float, x: float, baseline: float) -> None:
    side = round(size * EMOJI_SIZE)
    top = round(baseline - _MIDDLE * size - side / 2)
    picture = _read_emoji(file, side)
    image.paste(picture, (round(x), top), picture)


@lru_cache(maxsize=256)
def _read_emoji(file: Path, side: int) -> Image.Image:
    with Image.open(file) as picture:
        return picture.convert("RGBA").resize((side, side), Image.Resampling.LANCZOS)
