"""Texts in pieces."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.i18n.words import words_for
from bot.web.rendering import AxisMark, Piece, build_card, draw_axis, split_marks
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
def test_split_marks_loses_only_the_marks(text: str) -> None:
    said = "".join(piece.text for piece in split_marks(text))
    assert said == text.replace("\x02", "").replace("\x03", "")


def test_card_figures_are_the_existing_score_parts() -> None:
    hit = make_hit(parts={"judgment": None, "lexical": 0.424, "age": 1.2, "semantic": 0.5})
    card = build_card(hit, corpus="c", until=NOW, words=words_for("en"), marked={})
    assert [(figure.name, figure.percent) for figure in card.figures] == [
        ("Meaning", 50),
        ("Words in common", 42),
        ("Age", 100),
    ]
    assert card.percent == 83
    assert "not judged" in card.marks
    built = build_card(hit, corpus="c", until=NOW, words=words_for("en"), marked={}, judged=False)
    assert "not judged" not in built.marks


@pytest.mark.parametrize(
    ("moments", "marks"),
    [
        ([EARLIEST], [("2010", 0), ("2013", 100)]),
        (
            [EARLIEST + YEAR, None, EARLIEST, EARLIEST + YEAR * 1.1],
            [("2010", 0), ("2011", 25), ("", 28), ("2013", 100)],  # the third has no room
        ),
        ([EARLIEST, UNTIL - YEAR / 10], [("2010", 0), ("", 98), ("2013", 100)]),
        ([UNTIL], []),
        ([None], []),
        ([], []),
    ],
)
def test_time_axis_ends_at_the_headline_date(
    moments: list[datetime | None], marks: list[tuple[str, int]]
) -> None:
    hits = [make_hit(created_at=moment) for moment in moments]
    assert draw_axis(hits, UNTIL) == [AxisMark(year=year, start=start) for year, start in marks]
