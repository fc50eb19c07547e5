"""Everything has its place: nothing overlaps, nothing leaves the page, all of it can be read."""

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.card import Card, Shape, theme
from bot.card.layout import Picture, Text, arrange
from bot.card.wrapping import fit
from tests.bot.card.library import shipped
from tests.conftest import FEW_EXAMPLES

# Text colours and their backgrounds.
READABLE = (
    (theme.INK, theme.PAPER),
    (theme.QUIET, theme.PAPER),
    (theme.INK, theme.CARD),
    (theme.QUIET, theme.CARD),
    (theme.ON_ACCENT, theme.ACCENT),
    (theme.ACCENT, theme.AVATAR),
)
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
LINK, CHAT = theme.MEASURES[Shape.LINK], theme.MEASURES[Shape.CHAT]
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
    shape=st.sampled_from(Shape),
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
    picture, measures = arrange(card, shipped()), theme.MEASURES[card.shape]
    places = [ink(text) for text in drawn(picture)]
    for left, top, right, bottom in places:
        assert left >= measures.margin - 1
        assert right <= measures.width - measures.margin + 1
        assert top >= theme.SAFE
        assert bottom <= measures.height - theme.SAFE
    for one, other in combinations(places, 2):
        apart_across = one[2] <= other[0] + 0.5 or other[2] <= one[0] + 0.5
        apart_down = one[3] <= other[1] + 0.5 or other[3] <= one[1] + 0.5
        assert apart_across or apart_down


@FEW_EXAMPLES
@given(cards)
def test_every_avatar_circle_holds_a_text(card: Card) -> None:
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
def test_avatar_shows_the_initials_of_the_author(
    author: str, handle: str, initial: str | None
) -> None:
    card = replace(FULL, author=author, handle=handle)
    picture = arrange(card, shipped())
    circles = [plate.box for plate in picture.plates if plate.colour == theme.AVATAR]
    shown = [text.setting for text in drawn(picture) if text.box in circles]
    fitting = [fit(initial, LINK.initials, LINK.avatar - 12, 56, shipped())] if initial else []
    assert shown == fitting
    assert len(circles) == len(fitting)


@pytest.mark.parametrize(("shape", "number"), [(Shape.LINK, 8), (Shape.CHAT, 9)])
def test_a_full_card_shows_all_its_words(shape: Shape, number: int) -> None:
    picture = arrange(replace(FULL, shape=shape), shipped())
    texts = drawn(picture)
    assert len(texts) == number  # source and date, and what stands below the name, are a line each
    assert not any(text.setting.cut for text in texts)
    assert not picture.cut


@pytest.mark.parametrize("shape", Shape)
def test_headline_and_tweet_are_the_largest(shape: Shape) -> None:
    texts = drawn(arrange(replace(FULL, shape=shape), shipped()))
    sizes = sorted((text.setting.size for text in texts), reverse=True)
    assert sizes[1] > 1.5 * sizes[2]


LONG = (
    "They will say that nobody could have known, although the map was on the wall, the figures on"
    " the table and the minutes in the drawer. Then they will hang a new map, order a larger table"
    " and lock the drawer, and in ten years somebody will ask why there is no key to it. They will"
    " say that it was lost on the way, and that whoever asks for keys has something to hide, and"
    " that there was never any map. And whose drawer was it"
)


@pytest.mark.parametrize(("shape", "points"), [(Shape.LINK, 10), (Shape.CHAT, 13)])
def test_a_long_tweet_is_read_on_a_phone(shape: Shape, points: float) -> None:
    assert len(LONG) == 423
    picture = arrange(replace(FULL, text=LONG, shape=shape), shipped())
    body = max(picture.texts, key=lambda text: len(text.setting.lines))
    assert not picture.cut
    assert body.setting.size * 340 / picture.size[0] >= points


@pytest.mark.parametrize("shape", Shape)
def test_cut_text_adds_a_shortened_mark(shape: Shape) -> None:
    whole = replace(FULL, text=LONG, cut_text="shortened", shape=shape)
    cut = replace(whole, text=LONG * 3)
    said = replace(cut, marks=(*cut.marks, "shortened"), cut_text="")
    assert arrange(whole, shipped()) == arrange(replace(whole, cut_text=""), shipped())
    assert arrange(cut, shipped()).cut
    assert arrange(cut, shipped()) == arrange(said, shipped())


def test_signs_that_no_font_has_are_counted_on_the_picture() -> None:
    card = replace(FULL, text="Rain \U000132f8 and 日本", missing_text="Missing:")
    said = replace(card, marks=(*card.marks, "Missing: 3"), missing_text="")
    assert arrange(card, shipped()) == arrange(said, shipped())


@pytest.mark.parametrize("shape", Shape)
def test_all_marks_are_shown(shape: Shape) -> None:
    marks = ("The Big Book of Streams, pp. 12-14 of 300", "perhaps", "not judged", "repost", "cut")
    texts = drawn(arrange(replace(FULL, marks=marks, shape=shape), shipped()))
    assert len(texts) == len(drawn(arrange(replace(FULL, shape=shape), shipped())))
    assert not any(text.setting.cut for text in texts)


def test_empty_fields_leave_nothing_behind() -> None:
    picture = arrange(Card(headline="Rain", text="It will rain."), shipped())
    assert len(drawn(picture)) == 2
    assert len(picture.plates) == 1  # the bar beside the headline


@pytest.mark.parametrize(
    ("tweet", "lines", "cut"),
    [
        ("one\n\ntwo", 3, False),
        ("\n\n".join("abcdef"), 6, False),  # without its empty lines
        ("\n".join("abcdef"), 6, False),
        ("\n".join("abcdefghijkl"), 7, True),  # words are given up before line breaks
    ],
)
def test_line_breaks_are_kept(tweet: str, lines: int, cut: bool) -> None:
    picture = arrange(replace(FULL, text=tweet), shipped())
    setting = next(t.setting for t in picture.texts if t.setting.leading == LINK.tweet.leading)
    assert (len(setting.lines), setting.cut) == (lines, cut)


def test_a_right_to_left_tweet_is_a_mirror_image() -> None:
    left = arrange(FULL, shipped())
    hebrew = Card(headline="Rain", text="יום אחד ספינה תיתקע", author="דוד", date_text="יום שלישי")
    right = arrange(hebrew, shipped())
    assert {text.side for text in left.texts} == {"left", "centre", "right"}
    assert [text.side for text in drawn(right)].count("right") == 3
    avatar = next(p for p in right.plates if p.colour == theme.AVATAR)
    assert avatar.box.left > LINK.width / 2


def luminance(colour: theme.Colour) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    parts = [value / 255 for value in colour]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(("ink_colour", "paper"), READABLE)
def test_contrast_is_at_least_4_5(ink_colour: theme.Colour, paper: theme.Colour) -> None:
    dark, light = sorted((luminance(ink_colour), luminance(paper)))
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_text_uses_only_colours_checked_for_contrast() -> None:
    used = {text.colour for text in drawn(arrange(FULL, shipped()))}
    assert used <= {pair[0] for pair in READABLE}
