"""Excerpts are cut between words around the best match, and never rewritten."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.text.snippet import (
    Excerpt,
    Known,
    Spot,
    choose_window,
    find_words,
    may_match,
    narrow_excerpt,
    voice_terms,
)
from tests.conftest import FEW_EXAMPLES

TEXT = "one two three four five six seven eight nine ten eleven twelve"


def spots(text: str, *wanted: str, weight: float = 1.0) -> list[tuple[Spot, float]]:
    return [(spot, weight) for spot in find_words(text) if spot.word in wanted]


def test_a_window_is_cut_between_words_around_the_match() -> None:
    found = choose_window(TEXT, spots(TEXT, "six"), 12)
    assert found.text == "four five six seven eight"
    assert (found.before, found.after) == (True, True)
    assert TEXT[found.start : found.end] == found.text


@pytest.mark.parametrize("radius", [None, 1000])
def test_a_text_that_is_short_enough_stays_whole(radius: int | None) -> None:
    found = choose_window(TEXT, spots(TEXT, "six"), radius)
    assert (found.text, found.before, found.after) == (TEXT, False, False)


def test_a_rare_word_is_worth_more_than_a_common_one() -> None:
    text = "common " + "x " * 60 + "rare" + " y" * 60
    matches = [*spots(text, "common"), *spots(text, "rare", weight=5.0)]
    assert "rare" in choose_window(text, matches, 20).text


TEXTS = st.text(st.sampled_from("ab é漢\n\u0301-'"), max_size=300)


@FEW_EXAMPLES
@given(TEXTS, st.integers(1, 60), st.data())
def test_an_excerpt_is_a_verbatim_part_of_the_text(
    text: str, radius: int, data: st.DataObject
) -> None:
    found = find_words(text)
    chosen = data.draw(st.lists(st.sampled_from(found), max_size=5)) if found else []
    matches = sorted(((spot, 1.0) for spot in set(chosen)), key=lambda one: one[0].start)
    shown = choose_window(text, matches, radius)
    assert text[shown.start : shown.end] == shown.text
    assert shown.before == bool(text[: shown.start].strip())
    assert shown.after == bool(text[shown.end :].strip())
    if len(text) > 2 * radius:
        longest = len(shown.match.word) if shown.match else 0
        assert len(shown.text) <= 2 * radius + min(longest, radius)
    if shown.match and len(shown.match.word) <= radius:
        assert shown.match.word in shown.text


@FEW_EXAMPLES
@given(TEXTS, st.integers(1, 60), st.data())
def test_words_are_never_cut_while_they_fit(text: str, radius: int, data: st.DataObject) -> None:
    found = find_words(text)
    spot = data.draw(st.sampled_from(found)) if found else None
    if spot is None or len(spot.word) > radius:
        return
    shown = choose_window(text, [(spot, 1.0)], radius)
    for at, edge in ((shown.start, spot.start), (shown.end, spot.end)):
        assert at in (0, len(text), edge) or text[at - 1].isspace() != text[at].isspace()


def test_an_excerpt_without_a_known_match_narrows_to_the_beginning() -> None:
    whole = Excerpt(text=TEXT, start=0, end=len(TEXT), before=False, after=False)
    assert TEXT.startswith(narrow_excerpt(TEXT, whole, 20).text)


@pytest.mark.parametrize(
    ("word", "lexeme", "may"),
    [
        ("Árbol", "arbol", True),
        ("tree", "arbol", False),
        ("U.S.", "u.s", True),
        ("US", "u.s", True),
        ("@realJoe", "joe", True),
    ],
)
def test_a_word_may_match_a_lexeme_of_the_same_beginning(word: str, lexeme: str, may: bool) -> None:
    assert may_match(word, [lexeme], lambda word: word.lower().replace("á", "a")) is may


def known(**frequencies: int) -> dict[str, Known]:
    return {word: Known(lexemes=(word,), document_frequency=df) for word, df in frequencies.items()}


def test_voice_terms_are_pairs_that_the_corpus_says_seldom() -> None:
    text = "a very good deal, a beautiful phone call"
    terms = voice_terms(
        text, known(very=900, good=800, deal=500, beautiful=40, phone=30, call=60), 1000
    )
    assert terms == ("beautiful phone", "phone call", "good deal", "very good")
    text = " ".join("abcdefgh") * 3
    pairs = voice_terms("aa bb cc dd", known(aa=1, bb=1, cc=1, dd=1), 10, maximum=2)
    assert (len(pairs), voice_terms(text, {}, 10)) == (2, ())
