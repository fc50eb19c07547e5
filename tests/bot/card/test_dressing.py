"""What no font has is replaced by its like, marked as left out, or dropped."""

import pytest

from bot.card.content import clean_text
from bot.card.fonts import Role
from bot.card.shaping import ELLIPSIS, dress
from tests.bot.card.library import shipped


def said(text: str) -> str:
    clusters = dress(clean_text(text, 500), Role.TWEET, shipped())
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
def test_what_no_font_has_is_replaced_or_marked(text: str, remains: str) -> None:
    assert said(text) == remains
