"""Everything has its place: nothing overlaps, nothing leaves the page, all of it can be read."""

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.card import Card, theme
from bot.card.layout import Picture, Text, arrange
from bot.card.wrapping import fit
from tests.bot.card.library import shipped
from tests.conftest import FEW_EXAMPLES

FULL = Card(
    headline="Ship blocks Suez Canal",
    headline_source="BBC News",
    headline_date="24 March 2021",
    text="One day a boat will get stuck sideways.",
    author="Marginal Notes",
    handle="@marginalnotes",
    date_text="14 March 2012",
    lead_time_text="9 years before",
    marks=("repost", "not judged"),
    footer="Presagio",
)
field = st.text(max_size=40) | st.sampled_from(
    ["word " * 300, "x" * 900, "שלום " * 200, "🔥" * 300]
)
cards = st.builds(
    Card,
    headline=field,
    headline_source=field,
    headline_date=field,
    text=field,
    author=field,
    handle=field,
    date_text=field,
    lead_time_text=field,
    marks=st.lists(field, max_size=5).map(tuple),
    footer=field,
)


def ink(text: Text) -> tuple[float, float, float, float]:
    """Where the lines of a text stand: left, top, right, bottom."""
    width, height = text.setting.width, text.setting.height
    slack = text.box.width - width
    left = text.box.left + {"left": 0.0, "centre": slack / 2, "right": slack}[text.side]
    middle = (text.box.top + text.box.bottom) / 2
    return left, middle - height / 2, left + width, middle + height / 2


def drawn(picture: Picture) -> list[Text]:
    return [text for text in picture.texts if text.setting.width > 0]


@FEW_EXAMPLES
@given(cards)
def test_texts_stay_within_the_margins_and_never_overlap(card: Card) -> None:
    picture = arrange(card, shipped())
    places = [ink(text) for text in drawn(picture)]
    for left, top, right, bottom in places:
        assert left >= theme.MARGIN - 1
        assert right <= theme.WIDTH - theme.MARGIN + 1
        assert top >= theme.SAFE
        assert bottom <= theme.HEIGHT - theme.SAFE
    for one, other in combinations(places, 2):
        apart_across = one[2] <= other[0] + 0.5 or other[2] <= one[0] + 0.5
        apart_down = one[3] <= other[1] + 0.5 or other[3] <= one[1] + 0.5
        assert apart_across or apart_down


@FEW_EXAMPLES
@given(cards)
def test_no_circle_is_empty(card: Card) -> None:
    picture = arrange(card, shipped())
    held = [text.box for text in drawn(picture)]
    assert all(plate.box in held for plate in picture.plates if plate.colour == theme.AVATAR)


@pytest.mark.parametrize(
    ("author", "handle", "initial"),
    [
        ("Marginal Notes", "@marginalnotes", "MN"),
        ("John D. van Dam", "", "JD"),
        ("نور علي", "", "ن"),
        ("Ana 🔥", "", "A"),
        ("", "@ana", "A"),
        ("", "@1984_year", "Y"),
        ("", "@1984", "1"),
        ("", "@__", "_"),
        ("🔥", "@ana", "🔥"),
        ("\u200b", "", None),
        ("", "", None),
    ],
)
def test_the_initial_of_a_name(author: str, handle: str, initial: str | None) -> None:
    card = replace(FULL, author=author, handle=handle)
    picture = arrange(card, shipped())
    circles = [plate.box for plate in picture.plates if plate.colour == theme.AVATAR]
    shown = [text.setting for text in drawn(picture) if text.box in circles]
    fitting = [fit(initial, theme.INITIALS, 44, 56, shipped())] if initial else []
    assert shown == fitting
    assert len(circles) == len(fitting)


def test_a_full_card_shows_all_its_words() -> None:
    texts = drawn(arrange(FULL, shipped()))
    assert len(texts) == 11  # nine fields, two of them in one line, two marks, and the initials
    assert not any(text.setting.cut for text in texts)


def test_headline_tweet_and_date_are_the_largest() -> None:
    sizes = sorted((text.setting.size for text in drawn(arrange(FULL, shipped()))), reverse=True)
    assert sizes[2] > 1.5 * sizes[3]


def test_empty_fields_leave_nothing_behind() -> None:
    picture = arrange(Card(headline="Rain", text="It will rain."), shipped())
    assert len(drawn(picture)) == 2
    assert len(picture.plates) == 1  # the bar beside the headline


@pytest.mark.parametrize(
    ("tweet", "lines"),
    [
        ("one\n\ntwo", 3),
        ("\n\n".join("abc"), 3),  # without its empty lines
        ("\n".join("abcdefgh"), 1),  # without any line break
    ],
)
def test_line_breaks_are_given_up_before_words(tweet: str, lines: int) -> None:
    card = replace(FULL, headline="A headline of many words " * 6, text=tweet)
    picture = arrange(card, shipped())
    setting = next(t.setting for t in picture.texts if t.setting.leading == theme.TWEET.leading)
    assert (len(setting.lines), setting.cut) == (lines, False)


def test_a_right_to_left_tweet_is_a_mirror_image() -> None:
    left = arrange(FULL, shipped())
    hebrew = Card(headline="Rain", text="יום אחד ספינה תיתקע", author="דוד", date_text="יום שלישי")
    right = arrange(hebrew, shipped())
    assert {text.side for text in left.texts} == {"left", "centre", "right"}
    assert [text.side for text in drawn(right)].count("right") == 3
    avatar = next(p for p in right.plates if p.colour == theme.AVATAR)
    assert avatar.box.left > theme.WIDTH / 2


def luminance(colour: theme.Colour) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    parts = [value / 255 for value in colour]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(("ink_colour", "paper"), theme.READABLE)
def test_contrast_is_at_least_4_5(ink_colour: theme.Colour, paper: theme.Colour) -> None:
    dark, light = sorted((luminance(ink_colour), luminance(paper)))
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_every_colour_of_a_text_is_among_the_readable() -> None:
    used = {text.colour for text in drawn(arrange(FULL, shipped()))}
    assert used <= {pair[0] for pair in theme.READABLE}
