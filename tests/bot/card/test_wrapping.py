"""Lines hold their words, fit their box, and end in an ellipsis only when something is missing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.card.content import clean_text
from bot.card.fonts import Role
from bot.card.shaping import ELLIPSIS, ShapedLine, read_paragraph, set_line
from bot.card.wrapping import Style, find_breaks, fit, wrap
from tests.bot.card.library import shipped
from tests.conftest import FEW_EXAMPLES

STYLE = Style(Role.TWEET, range(40, 19, -1), leading=1.3)
WORDS = st.lists(st.sampled_from(["a", "omen", "always", "tweet,", "שלום", "سلام", "🔥", "x" * 70]))


def lines_of(text: str, width: float, maximum: int = 1000) -> list[str]:
    flow = find_breaks(read_paragraph(clean_text(text, 2000), Role.TWEET, shipped()))
    spans, _ = wrap(flow, width, maximum)
    texts = [cluster.text for cluster in flow.paragraph.clusters]
    return ["".join(texts[start:end]) for start, end in spans]


@FEW_EXAMPLES
@given(WORDS, st.integers(4, 40))
def test_lines_together_are_the_text(words: list[str], width: int) -> None:
    text = " ".join(words)
    assert "".join(lines_of(text, width)) == text


@FEW_EXAMPLES
@given(WORDS, st.integers(4, 40))
def test_no_line_is_wider_than_asked(words: list[str], width: int) -> None:
    flow = find_breaks(read_paragraph(" ".join(words), Role.TWEET, shipped()))
    for start, end in wrap(flow, width, 1000)[0]:
        assert set_line(flow.paragraph, start, end).width <= width + 1e-9


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("there is always a tweet", ["there is ", "always a ", "tweet"]),
        ("one\n\ntwo", ["one", "", "two"]),
        ("well-known fact", ["well-", "known fact"]),
        ("🔥🔥🔥🔥🔥", ["🔥🔥🔥🔥", "🔥"]),
        ("", []),
    ],
)
def test_line_breaks_of_known_texts(text: str, lines: list[str]) -> None:
    assert lines_of(text, 5.2) == lines


def test_a_line_without_spaces_is_broken() -> None:
    lines = lines_of("x" * 500, 20)
    assert len(lines) > 10
    assert all(lines)


def test_broken_arabic_word_stays_within_the_width() -> None:
    text = "مستشفيات" * 40
    flow = find_breaks(read_paragraph(text, Role.TWEET, shipped()))
    columns = {
        width: max(set_line(flow.paragraph, *span).width for span in wrap(flow, width, 50)[0])
        for width in range(30, 60)
    }
    outgrown = [width for width, found in columns.items() if found > width]
    assert outgrown  # what has to be cured
    for width in outgrown:
        assert fit(text, STYLE, width * 20, 120, shipped()).width <= width * 20 + 1e-6


def test_wrapping_stops_after_the_requested_number_of_lines() -> None:
    assert len(lines_of("word " * 300, 5, maximum=3)) == 4


def test_a_short_text_is_set_large_and_whole() -> None:
    setting = fit("Rain.", STYLE, 600, 200, shipped())
    assert (setting.size, setting.cut, len(setting.lines)) == (40, False, 1)


def test_a_longer_text_shrinks_before_it_is_cut() -> None:
    setting = fit("word " * 50, STYLE, 600, 200, shipped())
    assert 20 <= setting.size < 40
    assert not setting.cut


@FEW_EXAMPLES
@given(st.integers(100, 200), st.integers(80, 700), st.integers(20, 300))
def test_a_text_that_never_fits_is_cut_within_the_box(count: int, width: int, height: int) -> None:
    setting = fit("prophecy " * count, STYLE, width, height, shipped())
    assert setting.cut
    assert setting.size == 20
    assert len(setting.lines) <= max(1, height / (20 * 1.3))
    assert setting.width <= width + 1e-6


@pytest.mark.parametrize("text", ["alpha beta, gamma delta", "אבגד הוזח, טיכל מנסע", "x" * 90])
def test_a_cut_text_ends_in_an_ellipsis_after_whole_words(text: str) -> None:
    style = Style(Role.TWEET, range(20, 19, -1), leading=1.3, max_lines=1)
    setting = fit(f"{text} {text} {text}", style, 170, 30, shipped())
    ellipsis = shipped().face(Role.TWEET, ELLIPSIS)
    assert ellipsis
    number = ellipsis.font.get_nominal_glyph(ord(ELLIPSIS))
    outermost = min if setting.right_to_left else max
    assert outermost(setting.lines[0].glyphs, key=lambda glyph: glyph.x).number == number


def test_cut_drops_a_trailing_comma_and_a_partial_word() -> None:
    style = Style(Role.TWEET, range(20, 19, -1), leading=1.3, max_lines=1)
    whole = fit("alpha beta…", style, 1000, 30, shipped())
    cut = fit("alpha beta, gammadelta", style, 165, 30, shipped())
    assert cut.cut
    assert [g.number for g in cut.lines[0].glyphs] == [g.number for g in whole.lines[0].glyphs]


def test_balanced_style_evens_line_widths() -> None:
    text = "Ship blocks Suez Canal as global trade grinds to a halt"
    plain = Style(Role.HEADLINE, range(40, 39, -1), leading=1.2)
    balanced = Style(Role.HEADLINE, range(40, 39, -1), leading=1.2, balanced=True)
    ragged, even = (fit(text, style, 800, 200, shipped()) for style in (plain, balanced))
    assert len(ragged.lines) == len(even.lines) == 2
    assert spread(even.lines) < spread(ragged.lines)


def spread(lines: tuple[ShapedLine, ...]) -> float:
    widths = [line.width for line in lines]
    return max(widths) - min(widths)
