"""Which characters and emoji the pictures have: scripts, sequences, and what no font has."""

import json

import pytest
import typst

from bot.card import Card
from bot.card.typesetting import describe_card, load_fonts
from tests.bot.card.printing import print_card, print_template

ENGLAND = "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in "gbeng\x7f")
# A word of each script that the pictures draw without further packages.
SCRIPTS = {
    "Latin": "Ñandú Łódź Việt", "Greek": "Ωκεανός", "Cyrillic": "Ґанок", "Armenian": "Օվկիանոս",
    "Georgian": "ოკეანე", "Hebrew": "גֶּשֶׁם", "Arabic": "مُحيط", "Persian": "می‌خواهم", "Urdu": "ٹھیک",
    "Devanagari": "क्षेत्र", "Bengali": "সমুদ্র", "Gurmukhi": "ਸਮੁੰਦਰ", "Gujarati": "સમુદ્ર",
    "Oriya": "ସମୁଦ୍ର", "Tamil": "கடல்", "Telugu": "సముద్రం", "Kannada": "ಸಮುದ್ರ",
    "Malayalam": "സമുദ്രം", "Sinhala": "සාගරය", "Thai": "มหาสมุทร", "Lao": "ມະຫາສະໝຸດ",
    "Myanmar": "သမုဒ္ဒရာ", "Khmer": "មហាសមុទ្រ", "Ethiopic": "ውቅያኖስ",
    "symbols": "→ ✓ ♫ ∑ € ₿ ½ № ™ © “” … —",
}  # fmt: skip


def describe(text: str) -> dict[str, str]:
    card = Card(text=text, author="demo", missing_text="Not drawn:")
    described: dict[str, str] = json.loads(describe_card(card, load_fonts()))
    return described


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_is_drawn_as_written_and_without_boxes(script: str) -> None:
    described = describe(SCRIPTS[script])
    assert described["tweet"] == SCRIPTS[script]
    assert described["about"] == ""
    assert print_card(Card(text=SCRIPTS[script]))


def test_the_check_for_boxes_finds_one() -> None:
    template = b'#set text(font: ("Source Serif 4", "Noto Sans"), fallback: false)\n\xe6\x97\xa5'
    with pytest.raises(typst.TypstError, match="could not be displayed"):
        print_template(template)


@pytest.mark.parametrize(
    ("written", "drawn", "missing"),
    [
        ("plain 🔥 ☺️ naïve", "plain 🔥 ☺️ naïve", 0),
        ("𝓕𝓪𝓷𝓬𝔂 𝟙𝟚", "Fancy 12", 0),
        ("say 𓂀𓂁 twice 𓂀 𓂁", "say … twice …", 4),
        ("ornament \U0001d300, \U000132f8", "ornament , …", 2),
        ("orphan\u200d \U000e0062tag", "orphan\u200d tag", 0),
    ],
)
def test_what_no_font_has_is_replaced_or_left_out_and_counted(
    written: str, drawn: str, missing: int
) -> None:
    described = describe(written)
    assert described["tweet"] == drawn
    assert described["about"] == (f"Not drawn: {missing}" if missing else "")


@pytest.mark.parametrize(
    "emoji",
    ["🔥", "👍🏽", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇪🇸", "1️⃣", "#️⃣", "*️⃣", "❤", "❤️", "👩‍🚀", "🤷🏻‍♀️", ENGLAND],
)
def test_a_sequence_is_one_picture(emoji: str) -> None:
    fonts = load_fonts()
    assert fonts.match_emoji(f"a{emoji}b", 1) == emoji
    assert fonts.picture_of(emoji).startswith("<svg")


def test_unknown_sequences_fall_apart_into_known_emoji() -> None:
    assert describe("🔥\u200d🔥\ufe0f")["tweet"] == "🔥🔥\ufe0f"


@pytest.mark.parametrize("text", ["a", "1", "#", "©", " ", "日", "\ufe0f"])
def test_plain_characters_are_no_emoji(text: str) -> None:
    assert load_fonts().match_emoji(text, 0) == ""
