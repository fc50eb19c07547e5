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
    searched_words,
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


def test_the_excerpt_shows_the_most_different_matched_words() -> None:
    text = "fish fish fish " + "x " * 60 + "fish and chips" + " y" * 60
    assert "chips" in choose_window(text, spots(text, "fish", "chips"), 20).text


def test_a_rare_word_is_worth_more_than_a_common_one() -> None:
    text = "common " + "x " * 60 + "rare" + " y" * 60
    matches = [*spots(text, "common"), *spots(text, "rare", weight=5.0)]
    assert "rare" in choose_window(text, matches, 20).text


def test_the_first_of_equally_good_matches_is_shown() -> None:
    text = "alpha fish " + "x " * 60 + "omega fish " + "y " * 60
    assert choose_window(text, spots(text, "fish"), 20).text.startswith("alpha fish")


def test_without_a_match_the_beginning_is_shown() -> None:
    found = choose_window(TEXT * 3, [], 10)
    assert found.start == 0
    assert TEXT.startswith(found.text)
    assert found.after


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


def test_an_excerpt_is_narrowed_around_the_same_match() -> None:
    text = "x " * 200 + "the needle here" + " y" * 200
    wide = choose_window(text, spots(text, "needle"), 100)
    small = narrow_excerpt(text, wide, 30)
    assert "needle" in small.text
    assert len(small.text) <= 30
    assert narrow_excerpt(text, wide, 1000) == wide


def test_an_excerpt_without_a_known_match_narrows_to_the_beginning() -> None:
    whole = Excerpt(text=TEXT, start=0, end=len(TEXT), before=False, after=False)
    assert TEXT.startswith(narrow_excerpt(TEXT, whole, 20).text)


def test_words_leave_addresses_tags_and_mentions_out() -> None:
    text = "see https://a.example/coffee by @ana #coffee don't"
    assert [spot.word for spot in find_words(text)] == ["see", "by", "don't"]


def test_an_initialism_is_one_word() -> None:
    assert [spot.word for spot in find_words("the U.S. and F.B.I.'s a.m")] == [
        "the", "U.S.", "and", "F.B.I.", "s", "a", "m",
    ]  # fmt: skip


def test_searched_words_include_tags_and_mentions() -> None:
    text = "see https://a.example/coffee by @ana #coffee"
    assert [spot.word for spot in searched_words(text)] == ["see", "by", "@ana", "#coffee"]


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
def test_a_word_may_match_a_lexeme_with_the_same_beginning(
    word: str, lexeme: str, may: bool
) -> None:
    assert may_match(word, [lexeme], lambda word: word.lower().replace("á", "a")) is may


def known(**frequencies: int) -> dict[str, Known]:
    return {word: Known(lexemes=(word,), document_frequency=df) for word, df in frequencies.items()}


def test_voice_terms_are_pairs_that_the_corpus_says_seldom() -> None:
    text = "a very good deal, a beautiful phone call"
    terms = voice_terms(
        text, known(very=900, good=800, deal=500, beautiful=40, phone=30, call=60), 1000
    )
    assert terms == ("beautiful phone", "phone call", "good deal", "very good")


def test_repetition_brings_a_pair_to_the_front() -> None:
    text = "fake news. rare bird. fake news. fake news"
    assert voice_terms(text, known(fake=50, news=100, rare=1, bird=1), 1000)[0] == "fake news"


def test_pairs_do_not_reach_over_punctuation_or_what_is_no_word() -> None:
    assert voice_terms("coffee. Prices 99 prices", known(coffee=1, Prices=1, prices=1), 10) == ()


def test_a_word_that_one_language_skips_makes_no_pair() -> None:
    skipped = {"the": Known(lexemes=("the",), document_frequency=5, telling=False), **known(end=1)}
    assert voice_terms("the end", skipped, 10) == ()


def test_the_number_of_voice_terms_is_limited() -> None:
    text = " ".join("abcdefgh") * 3
    pairs = voice_terms("aa bb cc dd", known(aa=1, bb=1, cc=1, dd=1), 10, maximum=2)
    assert (len(pairs), voice_terms(text, {}, 10)) == (2, ())
