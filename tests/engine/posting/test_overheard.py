"""A headline that was only overheard is answered if the answer is worth saying."""

from dataclasses import replace

import pytest

from engine.posting.choose import is_worth_saying
from engine.search import HitKind
from tests.bot.prophecies import UNJUDGED, make_hit, make_prophecy


@pytest.mark.parametrize(
    ("kind", "judgment", "threshold", "expected"),
    [
        (HitKind.PREDICTION, 5, HitKind.PREDICTION, True),
        (HitKind.PREDICTION, 4, HitKind.PREDICTION, False),
        (HitKind.DEMAND, 6, HitKind.PREDICTION, False),
        (HitKind.DEMAND, 5, HitKind.MIRROR, True),
        (None, 5, HitKind.MIRROR, True),
        (None, 6, HitKind.DEMAND, False),
        (HitKind.EARLIER_CASE, 6, HitKind.MIRROR, False),
        (HitKind.EARLIER_CASE, 4, HitKind.EARLIER_CASE, True),
        (HitKind.EARLIER_CASE, 3, HitKind.EARLIER_CASE, False),
    ],
)
def test_a_judged_hit_has_to_be_good_and_of_a_kind_that_is_wanted(
    kind: HitKind | None, judgment: int, threshold: HitKind, expected: bool
) -> None:
    parts = {"judgment": judgment / 6, "lexical": 0.0, "age": 1.0}
    hit = replace(make_hit(parts=parts), kind=kind)
    best_second = make_hit(2, parts={"judgment": 1.0})
    assert is_worth_saying(make_prophecy(hit, best_second), threshold, 0.5) is expected


@pytest.mark.parametrize(
    ("lexical", "expected"), [(0.5, True), (0.49, False), (1.0, True), (None, False)]
)
def test_an_unjudged_hit_has_to_cover_the_headline(lexical: float | None, expected: bool) -> None:
    words = ("fee", "school", "city", "budget")
    hit = make_hit(parts={"judgment": None, "lexical": lexical, "age": 1.0}, matched=words)
    assert is_worth_saying(make_prophecy(hit, verdict=UNJUDGED), HitKind.MIRROR, 0.5) is expected


@pytest.mark.parametrize(
    ("matched", "expected"),
    [
        (("Watching", "Game", "tonight"), False),
        (("Ocasio", "Ocasio", "Ocasio", "Ocasio"), False),
        (("aumento", "tarifas", "luz", "gas"), True),
    ],
)
def test_an_unjudged_hit_has_to_share_four_words(matched: tuple[str, ...], expected: bool) -> None:
    hit = make_hit(parts={"judgment": None, "lexical": 0.9}, matched=matched)
    assert is_worth_saying(make_prophecy(hit, verdict=UNJUDGED), HitKind.MIRROR, 0.5) is expected


def test_prophecy_without_hits_is_not_is_worth_saying() -> None:
    assert not is_worth_saying(make_prophecy(), HitKind.MIRROR, 0.0)
