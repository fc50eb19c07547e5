"""Letters are joined, ordered and never a box."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.card.content import clean_text
from bot.card.fonts import FontLibrary, Role, shipped_files
from bot.card.shaping import ShapedLine, read_paragraph, set_line
from tests.bot.card.library import shipped
from tests.conftest import FEW_EXAMPLES

NASTY = [
    "日本語 and latin", "\U0001f9ff\U0001fae8", "\ufffd", "\u2588", "\u25a1", "𝓕𝓪𝓷𝓬𝔂",
    "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35", "क्षत्रिय", "\u200d\u200d", "a\u0301\u0302\u0303",
    "\ufe0f", "ﷺ", "\u3164",
]  # fmt: skip


def line_of(text: str, fonts: FontLibrary | None = None, role: Role = Role.TWEET) -> ShapedLine:
    paragraph = read_paragraph(clean_text(text, 500), role, fonts or shipped())
    return set_line(paragraph, 0, len(paragraph.clusters))


@FEW_EXAMPLES
@given(st.text(max_size=60) | st.sampled_from(NASTY), st.sampled_from(Role))
def test_no_text_draws_the_glyph_of_missing_characters(text: str, role: Role) -> None:
    assert all(glyph.number != 0 for glyph in line_of(text, role=role).glyphs)


def test_face_reports_characters_it_cannot_draw() -> None:
    face = shipped().face(Role.TWEET, "a")
    assert face is not None
    assert not face.draws("日")
    assert shipped().face(Role.TWEET, "日") is None


def test_arabic_letters_join() -> None:
    joined = [glyph.number for glyph in line_of("سلام").glyphs]
    alone = [glyph.number for letter in "سلام" for glyph in line_of(letter).glyphs]
    assert set(joined) != set(alone)


@pytest.mark.parametrize(("text", "first"), [("אבג", "ג"), ("abc", "a"), ("אב cd", "c")])
def test_right_to_left_glyphs_are_placed_in_visual_order(text: str, first: str) -> None:
    leftmost = min(line_of(text).glyphs, key=lambda glyph: glyph.x)
    assert leftmost.number == line_of(first).glyphs[0].number


def test_brackets_are_mirrored_with_their_text() -> None:
    opening = line_of("(").glyphs[0].number
    leftmost = min(line_of("א(ב)").glyphs, key=lambda glyph: glyph.x)
    assert leftmost.number == opening


def test_an_emoji_is_one_picture_among_letters() -> None:
    line = line_of("go 👨‍👩‍👧‍👦 now")
    assert len(line.stamps) == 1
    assert min(g.x for g in line.glyphs) < line.stamps[0].x < max(g.x for g in line.glyphs)


def test_text_symbols_become_emoji_only_with_a_variation_selector() -> None:
    assert not line_of("© ™ 1 #").stamps
    assert len(line_of("©️").stamps) == 1


def test_without_pictures_emoji_are_drawn_in_outline() -> None:
    files = shipped_files()
    outlined = FontLibrary(type(files)(serif=None, sans=files.sans, emoji=None, system=()))
    line = line_of("🔥👩‍🚀", outlined)
    assert not line.stamps
    assert len(line.glyphs) == 2


def test_without_any_emoji_they_are_dropped() -> None:
    files = shipped_files()
    letters = FontLibrary(type(files)(serif=None, sans=files.sans[:1], emoji=None, system=()))
    assert line_of("a🔥", letters).glyphs == line_of("a", letters).glyphs


@given(st.text("ab אבسل1٣.,(", max_size=30))
def test_line_width_is_the_sum_of_advances(text: str) -> None:
    paragraph = read_paragraph(clean_text(text, 100), Role.TWEET, shipped())
    line = set_line(paragraph, 0, len(paragraph.clusters))
    assert line.width == pytest.approx(sum(paragraph.advances))
