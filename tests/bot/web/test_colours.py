"""What is read can be read, by day and by night."""

import re
from pathlib import Path

import pytest

from bot.web.rendering import STATIC

SHEET = "".join(
    (Path(STATIC) / name).read_text(encoding="utf-8")
    for name in ("page.css", "lists.css", "cited.css")
)
LIGHT, DARK = (
    dict(re.findall(r"--([\w-]+): (#\w+)", block))
    for block in SHEET.split("color-scheme: light;")[:2]
)
READ = (
    ("ink", "paper"), ("ink", "card"), ("ink", "wash"), ("ink", "mark"), ("quiet", "paper"),
    ("quiet", "card"), ("quiet", "wash"), ("accent", "paper"), ("accent", "card"),
    ("on-accent", "accent"),
)  # fmt: skip


def luminance(colour: str) -> float:
    """Return the relative luminance of WCAG 2."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("text", "ground"), READ)
def test_the_contrast_is_enough(colours: dict[str, str], text: str, ground: str) -> None:
    low, high = sorted(luminance(colours[name]) for name in (text, ground))
    assert (high + 0.05) / (low + 0.05) >= 4.5


def test_both_palettes_are_whole() -> None:
    assert set(LIGHT) == set(DARK)


def test_sizes_and_colours_are_custom_properties_that_exist_and_are_used() -> None:
    """The rules hold no size and no colour of their own, but for the widths that media queries
    compare, which may be no properties."""
    rules = re.sub(r":root \{.*?\}|@media \([^{]*\{|/\*.*?\*/", "", SHEET, flags=re.DOTALL)
    literals = re.findall(r"#[0-9a-f]{3,8}\b|\brgba?\(|\b\d*\.?\d+(?:r?em|px|ch|v[wh]|pt)\b", rules)
    assert sorted(set(literals)) == []
    named = set(re.findall(r"(--[\w-]+):", SHEET))
    assert set(re.findall(r"var\((--[\w-]+)\)", SHEET)) == named
    assert len(set(re.findall(r"@media \((?:min|max)-width: ([^)]+)\)", SHEET))) <= 2
