"""What stands on a picture and where: every word, as it was written, within its card."""

import re
from dataclasses import replace
from itertools import combinations

import pytest
import typst
from hypothesis import given
from hypothesis import strategies as st

from bench.cards import PLAIN, SAMPLES, SPANISH
from bot.card import Card, Shape
from tests.bot.card.printing import Letter, print_card, print_template, read_letters, read_words
from tests.conftest import FEW_EXAMPLES

MARGIN = 30  # points, in which nothing is ever printed
SENTENCE = "Nobody could have known, although the map was on the wall. "


def size_of(letters: list[Letter], word: str) -> float:
    """Return the height of the first letter of a word, which is a capital."""
    printed = "".join(letter.text for letter in letters)
    first = letters[printed.index(word)]
    return first.top - first.bottom


def overlap(one: Letter, other: Letter) -> bool:
    """Whether two letters share more than kerning and tight lines let them share."""
    across = min(one.right, other.right) - max(one.left, other.left)
    along = min(one.top, other.top) - max(one.bottom, other.bottom)
    narrower = min(one.right - one.left, other.right - other.left)
    lower = min(one.top - one.bottom, other.top - other.bottom)
    return across > 0.3 * narrower and along > 0.3 * lower


@pytest.mark.parametrize("shape", Shape)
@pytest.mark.parametrize("card", [PLAIN, SPANISH], ids=["english", "spanish"])
def test_every_word_is_on_the_picture(card: Card, shape: Shape) -> None:
    words = read_words(replace(card, shape=shape))
    above = f"{card.headline_source} · {card.headline_date}".upper()
    for text in (above, card.headline, card.lead_time_text, card.author, card.date_text):
        assert text in words
    assert f"{card.handle} · {card.marks[0]}" in words
    assert words.endswith(card.text)


def test_an_author_without_a_name_is_called_by_the_handle() -> None:
    words = read_words(replace(PLAIN, author=""))
    assert words.count("@ana") == 1
    assert "@ana June 1, 2017 foretold" in words


MARKUP = [
    '#read("/etc/passwd")', '#import "@preview/example:1.0.0"', "$x^2$", "*bold* _low_", "@label",
    "<label>", "\\ \\u{41} \\#", "https://example.org/a_b*c*", "`raw` ~ -- --- ...", "= Heading",
    "// comment", "/* comment */", "#{1 + 1} #sys.inputs", "'quoted' \"so\"", "[a](b)", "#eval(1)",
]  # fmt: skip


@pytest.mark.parametrize("text", MARKUP)
def test_markup_is_printed_as_it_is_written(text: str) -> None:
    card = Card(headline=text, text=text, author=text, date_text="today", footer=text)
    assert read_words(card).count(text) == 4


@pytest.mark.parametrize(
    "template",
    [
        '#read("/etc/passwd")',
        '#read("../fonts.py")',
        '#image("/etc/passwd")',
        '#include "/etc/passwd"',
        f'#read("{"../" * 20}etc/passwd")',
    ],
)
def test_a_template_reads_nothing_outside_its_folder(template: str) -> None:
    with pytest.raises(typst.TypstError, match=r"not found|outside|escape"):
        print_template(template.encode())


@pytest.mark.parametrize("shape", Shape)
@pytest.mark.parametrize("name", SAMPLES)
def test_all_letters_exist_and_stand_within_the_margins(name: str, shape: Shape) -> None:
    card = replace(SAMPLES[name], shape=shape)
    width, height = shape.size
    for letter in read_letters(card):
        assert letter.left >= MARGIN, letter
        assert letter.right <= width - MARGIN, letter
        assert letter.bottom >= MARGIN - 5, letter
        assert letter.top <= height - MARGIN, letter


@pytest.mark.parametrize("shape", Shape)
@pytest.mark.parametrize("name", ["spanish", "marks", "text-4000", "link", "paragraphs"])
def test_letters_never_overlap(name: str, shape: Shape) -> None:
    printed = read_letters(replace(SAMPLES[name], shape=shape))
    letters = {replace(letter, text="") for letter in printed if letter.text.strip()}  # fi: a box
    assert not [pair for pair in combinations(letters, 2) if overlap(*pair)]


def test_a_check_for_overlaps_finds_them() -> None:
    letter = Letter("a", 100, 100, 120, 130)
    assert overlap(letter, replace(letter, left=110, right=130))
    assert not overlap(letter, replace(letter, left=115, right=140))


field = st.text(max_size=60) | st.sampled_from(["word " * 99, "x" * 99, "שלום " * 40, "🔥" * 40])


@FEW_EXAMPLES
@given(st.builds(
    Card, headline=field, text=field, author=field, handle=field, date_text=field, footer=field,
    headline_source=field, lead_time_text=field, marks=st.lists(field, max_size=3).map(tuple),
    shape=st.sampled_from(Shape),
))  # fmt: skip
def test_any_text_is_set_without_boxes(card: Card) -> None:
    assert print_card(card)


@pytest.mark.parametrize(("shape", "points"), [(Shape.LINK, 9.6), (Shape.CHAT, 11.3)])
def test_a_long_tweet_is_cut_rather_than_too_small_on_a_phone(shape: Shape, points: float) -> None:
    for length in (5, 9, 40):
        card = replace(PLAIN, text=SENTENCE * length, shape=shape)
        letters = read_letters(card)
        printed = "".join(letter.text for letter in letters)
        # The height of a capital is two thirds of its size; a phone is 340 points wide.
        assert size_of(letters, SENTENCE[:6]) / 0.67 * 340 / shape.size[0] >= points - 0.1
        assert (" · shortened" in printed) is printed.rstrip().endswith("…")
    assert printed.rstrip().endswith("…")
    assert printed.rstrip("… \r\n").split()[-1] in re.findall(r"\w+", SENTENCE)


@pytest.mark.parametrize("shape", Shape)
def test_a_long_tweet_takes_height_from_the_headline_but_no_words(shape: Shape) -> None:
    short = read_letters(replace(PLAIN, text="Soon.", shape=shape))
    card = replace(PLAIN, headline=SENTENCE * 2, text="Soon.", shape=shape)
    high = read_letters(card)
    low = read_letters(replace(card, text=SENTENCE * (5 if shape is Shape.LINK else 9)))
    assert size_of(short, "Container") > size_of(high, "Nobody") > size_of(low, "Nobody")
    assert " ".join("".join(letter.text for letter in low).split()).count(SENTENCE.strip()) >= 6


def test_line_breaks_are_kept_one_empty_line_at_a_time() -> None:
    letters = read_letters(replace(PLAIN, text="One\n\n\n\nTwo\nSix", shape=Shape.CHAT))
    printed = "".join(letter.text for letter in letters)
    one, two, six = (letters[printed.rindex(word)].bottom for word in ("One", "Two", "Six"))
    assert 1.2 < (one - two) / (two - six) < 2


def test_a_right_to_left_tweet_is_a_mirror_image() -> None:
    card = replace(PLAIN, headline="", headline_source="", headline_date="", lead_time_text="")
    middle = card.shape.size[0] / 2
    for text, mirrored in (("Rain will come.", False), ("סוף הגשם", True), ("سيأتي المطر", True)):
        letters = read_letters(replace(card, text=text))
        printed = "".join(letter.text for letter in letters)
        assert (letters[printed.index("Ana")].left > middle) is mirrored
        assert (letters[printed.index("June")].left > middle) is not mirrored
        tweet = [letter for letter in letters[-5:] if letter.text.strip()]
        assert all((letter.left > middle) is mirrored for letter in tweet)


def test_empty_fields_leave_nothing_behind() -> None:
    assert read_words(Card(text="Rain.")) == "Rain."
    assert read_words(Card(text="", headline="Rain")) == "Rain"
    assert read_words(Card(text="")) == ""
