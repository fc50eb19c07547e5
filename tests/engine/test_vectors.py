"""What is embedded of a document, and what a cosine means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.vectors import Prefixes, Scale, join_embeddable, source_of

E5 = Scale(mean=0.79, deviation=0.02, same=0.93)
WIDE = Scale(mean=0.05, deviation=0.05, same=1.0)


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (("", "Snow  in\nTexas https://t.co/x", None), "Snow in Texas"),
        (("Weather", "Snow", "It was cold"), "Weather\nSnow\nIt was cold"),
        (("RT @ana: Snow!",), "Snow!"),
        (("https://t.co/x",), ""),
        (("pic.twitter.com/abc", None), ""),
        (("...", None), ""),
        (("¿Y ahora?",), "¿Y ahora?"),
    ],
)
def test_meaningless_parts_are_not_embedded(parts: tuple[str | None, ...], text: str) -> None:
    assert join_embeddable(*parts) == text


def test_a_long_text_is_cut() -> None:
    assert len(join_embeddable("word " * 10_000)) == 2200


def test_different_texts_have_different_source_hashes() -> None:
    assert source_of("a") == source_of("a") != source_of("b")
    assert len(source_of("a")) == 32


def test_similarity_means_the_same_for_models_whose_cosines_lie_elsewhere() -> None:
    for scale in (E5, WIDE):
        assert scale.calibrate(scale.mean) == 0
        assert scale.calibrate(scale.same) == 1
    halfway = (E5.mean + E5.deviation + E5.same) / 2
    assert E5.calibrate(halfway) == pytest.approx(0.5)
    assert Scale(mean=0.9, deviation=0.1, same=0.95).calibrate(0.99) == 0


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_similarity_is_within_bounds_and_keeps_the_order(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0 <= E5.calibrate(low) <= E5.calibrate(high) <= 1


def test_a_document_prefix_makes_another_space() -> None:
    assert Prefixes(query="query: ").name_space("m") == "m"
    assert Prefixes(document="passage: ").name_space("m") == "m 'passage: '"


def test_ordering_similarity_separates_weakly_related_texts() -> None:
    for cosine in (0.76, 0.79, 0.8):
        assert E5.calibrate(cosine) == 0 < E5.place_on_scale(cosine)
    assert E5.place_on_scale(0.7) == E5.place_on_scale(0.75) == 0 and E5.place_on_scale(0.93) == 1
    assert 0 < E5.place_on_scale(0.79) < E5.place_on_scale(0.8) < 1
    assert Scale(mean=1.0, deviation=0.0, same=1.0).place_on_scale(1.0) == 0
