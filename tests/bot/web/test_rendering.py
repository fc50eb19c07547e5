"""Texts in pieces."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.i18n.words import words_for
from bot.web.rendering import Piece, build_card, draw_axis, name_links, split_marks
from engine.search import Hit, HitKind
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
    assert "not judged" in card.labels
    built = build_card(hit, corpus="c", until=NOW, words=words_for("en"), marked={}, judged=False)
    assert "not judged" not in built.labels


@pytest.mark.parametrize(
    ("kind", "stamp", "labels"),
    [
        (HitKind.PREDICTION, "foretold", []),
        (HitKind.DEMAND, "asked for it", []),
        (None, "", ["near match"]),
    ],
)
def test_a_stamp_tells_the_kind_and_only_a_prediction_is_foretold(
    kind: HitKind | None, stamp: str, labels: list[str]
) -> None:
    hit = make_hit(kind=kind, parts={"judgment": 0.8})
    card = build_card(hit, corpus="c", until=NOW, words=words_for("en"), marked={})
    assert (card.stamp, card.labels) == (stamp, labels)
    assert card.foretold == (kind is HitKind.PREDICTION)
    near = build_card(hit, corpus="c", until=NOW, words=words_for("en"), marked={}, near=True)
    assert near.stamp == ""


@pytest.mark.parametrize(
    ("why", "reason"),
    [
        ("then a vow / now a bill", [("Then", "A vow"), ("Now", "A bill")]),
        ("Entonces: lo negó / ahora, lo firma", [("Then", "Lo negó"), ("Now", "Lo firma")]),
        ("He warned of it / twice", [("Why", "He warned of it / twice")]),
        ("nowhere / now", [("Why", "nowhere / now")]),
        (None, []),
    ],
)
def test_a_reason_reads_as_what_was_and_what_is(
    why: str | None, reason: list[tuple[str, str]]
) -> None:
    hit = replace(make_hit(kind=HitKind.DEMAND, parts={"judgment": 0.8}), why=why)
    card = build_card(hit, corpus="c", until=NOW, words=words_for("en"), marked={})
    assert [*card.reason] == reason


@pytest.mark.parametrize(
    ("moments", "marks"),
    [
        ([EARLIEST], [("1", "", 0)]),
        # The third has no room of its own, and shares a mark; hits without a date have none.
        ([EARLIEST + YEAR * 1.7, None, EARLIEST, EARLIEST + YEAR * 1.8],
         [("3", "", 0), ("1, 4", "2011", 44)]),
        ([EARLIEST, UNTIL - YEAR / 10], [("1", "", 0), ("2", "", 91)]),
        ([EARLIEST] * 3, [("1–3", "", 0)]),
        ([EARLIEST, EARLIEST + YEAR], [("1", "", 0), ("2", "2011", 25)]),
        ([EARLIEST, EARLIEST + YEAR * 0.6], [("1", "", 0), ("2", "", 15)]),
    ],
)  # fmt: skip
def test_marks_of_a_time_axis_neither_overlap_nor_hide_its_ends(
    moments: list[datetime | None], marks: list[tuple[str, str, int]]
) -> None:
    axis = draw_axis(make_hits(moments), UNTIL, words_for("en"))
    assert axis
    assert [(mark.label, mark.year, mark.start) for mark in axis.marks] == marks
    assert (axis.begins, axis.ends) == ("January 2010", "December 2013")


def test_texts_part_where_the_line_of_time_is_wide() -> None:
    moments: list[datetime | None] = [EARLIEST, UNTIL - YEAR, UNTIL - YEAR * 0.7]
    axis = draw_axis(make_hits(moments), UNTIL, words_for("en"))
    assert axis
    assert [mark.label for mark in axis.marks] == ["1", "2, 3"]
    assert [mark.label for mark in axis.wide_marks] == ["1", "2", "3"]


def test_the_lead_time_of_the_best_text_stands_above_its_part_of_the_axis() -> None:
    axis = draw_axis(make_hits([EARLIEST + 2 * YEAR, EARLIEST]), UNTIL, words_for("es"))
    assert axis
    assert (axis.lead_start, axis.lead_middle) == (50, 75)
    assert axis.lead_time.startswith("1 año y 11 mes")
    assert axis.begins == "Enero de 2010"


@pytest.mark.parametrize("moments", [[UNTIL], [None], []])
def test_without_older_dates_there_is_no_time_axis(moments: list[datetime | None]) -> None:
    assert draw_axis(make_hits(moments), UNTIL, words_for("en")) is None


@pytest.mark.parametrize(
    ("text", "has_media", "named"),
    [
        ("See https://t.co/a1 now", False, "See  now"),
        ("Look! https://t.co/a1 https://t.co/b2", True, "Look!  [picture]"),
        ("Vote!\n\nhttps://t.co/a1", False, "Vote!"),
        ("Vote!\n\nhttps://t.co/a1 https://t.co/b2", False, "Vote!"),
        ("https://t.co/a1", False, "[link]"),
        ("https://www.foxnews.com/a/b?c", True, "[foxnews.com]"),
        ("a \x02word\x03 of mine", True, "a word of mine"),
    ],
)
def test_addresses_are_named_as_what_they_lead_to(text: str, has_media: bool, named: str) -> None:
    pieces = name_links(split_marks(text), words_for("en"), has_media=has_media)
    assert "".join(f"[{piece.text}]" if piece.url else piece.text for piece in pieces) == named


def make_hits(moments: list[datetime | None]) -> list[Hit]:
    return [
        replace(make_hit(created_at=moment), rank=rank)
        for rank, moment in enumerate(moments, start=1)
    ]
