"""What no font has is replaced by its like, marked as left out, or dropped."""

import pytest

from bot.card.content import clean_text
from bot.card.fonts import Role
from bot.card.shaping import ELLIPSIS, count_missing, shape_text
from tests.bot.card.library import shipped


def said(text: str) -> str:
    clusters = shape_text(clean_text(text, 500), Role.TWEET, shipped())
    return "".join(cluster.text for cluster in clusters)


@pytest.mark.parametrize(
    ("text", "remains"),
    [
        ("say 日本語 twice 日本 日本", f"say {ELLIPSIS} twice {ELLIPSIS} "),
        ("box ▢\U000132f8", f"box {ELLIPSIS}"),
        ("𝓕𝓪𝓷𝓬𝔂 ｆｕｌｌ", "Fancy full"),
        ("plain", "plain"),
    ],
)
def test_characters_missing_in_all_fonts_are_replaced_or_marked(text: str, remains: str) -> None:
    assert said(text) == remains


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("plain 🔥 ☺️ 𝓕 naïve", 0),
        ("日本語", 3),
        ("box ▢\U000132f8", 2),  # an ornament leaves no ellipsis, and is counted all the same
        ("a\u0d4d", 1),  # a letter without its mark
    ],
)
def test_characters_missing_in_all_fonts_are_counted(text: str, number: int) -> None:
    assert count_missing(clean_text(text, 500), Role.TWEET, shipped()) == number
