"""Texts in pieces."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.i18n.words import words_for
from bot.web.rendering import Piece, build_card, place_in_time, split_marks
from tests.bot.prophecies import NOW, make_hit

EARLIEST, YEAR = datetime(2010, 1, 1, tzinfo=UTC), timedelta(days=365)
UNTIL = EARLIEST + 4 * YEAR


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("plain", [("plain", False)]),
        ("a \x02big\x03 ship", [("a ", False), ("big", True), (" ship", False)]),
        ("\x02big\x03\x02ship\x03", [("big", True), ("ship", True)]),
        ("a \x02big ship", [("a ", False), ("big ship", False)]),
        ("a big\x03 ship", [("a big ship", False)]),
        ("", []),
    ],
)
def test_marks_become_pieces(text: str, pieces: list[tuple[str, bool]]) -> None:
    assert split_marks(text) == [Piece(said, marked) for said, marked in pieces]


@given(st.text(alphabet="ab <&\x02\x03"))
def test_nothing_but_the_marks_is_lost(text: str) -> None:
    said = "".join(piece.text for piece in split_marks(text))
    assert said == text.replace("\x02", "").replace("\x03", "")


def test_figures_are_the_parts_that_there_are() -> None:
    hit = make_hit(parts={"judgment": None, "lexical": 0.424, "age": 1.2, "semantic": 0.5})
    card = build_card(hit, corpus="c", until=NOW, words=words_for("en"), marked={})
    assert [(figure.name, figure.percent) for figure in card.figures] == [
        ("semantic", 50),
        ("lexical", 42),
        ("age", 100),
    ]
    assert card.percent == 83
    assert "not judged" in card.marks
    told = build_card(hit, corpus="c", until=NOW, words=words_for("en"), marked={}, judged=False)
    assert "not judged" not in told.marks


@pytest.mark.parametrize(
    ("moment", "start"), [(EARLIEST, 0), (EARLIEST + YEAR, 25), (UNTIL, 100), (UNTIL + YEAR, 100)]
)
def test_a_moment_stands_between_the_earliest_text_and_the_headline(
    moment: datetime, start: int
) -> None:
    assert place_in_time(moment, EARLIEST, UNTIL) == start
    assert place_in_time(moment, UNTIL, UNTIL) == 0
