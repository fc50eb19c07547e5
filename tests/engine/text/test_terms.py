"""Readings of a headline's words become the terms of the query."""

import pytest

from engine.text.terms import (
    Reading,
    count_telling_words,
    has_own_words,
    headline_terms,
    is_generic,
)
from tests.engine.readings import reading


def spanish(word: int, lexeme: str, df: int = 1, tf: int = 1, position: int = 1) -> Reading:
    return reading(word, lexeme, df, language="spanish", tf=tf, position=position)


BOTH = ("english", "spanish")


def compound(word: int, whole: str, *parts: str, known: int = 1) -> list[Reading]:
    pieces = [reading(word, part, 20, position=at) for at, part in enumerate(parts, start=2)]
    return [reading(word, whole, known), *pieces]


def test_the_parts_of_a_hyphenated_word_weigh_as_much_as_one_word() -> None:
    terms = headline_terms(["state-run"], ["english"], compound(0, "state-run", "state", "run"), 99)
    assert [(t.word, t.lexemes, t.weight) for t in terms] == [
        ("state-run", ("state",), 0.5),
        ("state-run", ("run",), 0.5),
    ]


@pytest.mark.parametrize(("word", "parts"), [("Wi-Fi", ("wi", "fi")), ("Hyper-V", ("hyper", "v"))])
def test_a_hyphenated_word_with_a_part_that_tells_little_is_one_term(
    word: str, parts: tuple[str, ...]
) -> None:
    together = reading(0, "".join(parts), 3)
    readings = [*compound(0, word.lower(), *parts), together]
    [term] = headline_terms([word], ["english"], readings, 100)
    assert (term.word, set(term.lexemes), term.weight) == (
        word,
        {word.lower(), together.lexeme},
        1.0,
    )


def test_a_number_and_its_unit_weigh_as_much_as_one_word() -> None:
    readings = [reading(0, "32", 9), reading(0, "bit", 9, position=2)]
    terms = headline_terms(["32-Bit"], ["english"], readings, 100)
    assert [(t.word, t.weight) for t in terms] == [("32-Bit", 0.5), ("32-Bit", 0.5)]


def test_a_hyphenated_word_is_found_written_together_too() -> None:
    readings = [*compound(0, "cease-fire", "cease", "fire"), reading(0, "ceasefire", 7)]
    terms = headline_terms(["cease-fire"], ["english"], readings, 100)
    assert [(t.lexemes, t.weight) for t in terms] == [
        (("ceasefire",), 1.0),
        (("cease",), 0.5),
        (("fire",), 0.5),
    ]


def test_a_word_counts_in_full_despite_a_hyphenated_word_containing_it() -> None:
    readings = [*compound(0, "us-china", "us", "china", known=0), reading(2, "china", 20)]
    terms = headline_terms(["US-China", "with", "China"], ["english"], readings, 100)
    assert [(t.word, t.lexemes, t.weight) for t in terms] == [
        ("US-China", ("us",), 0.5),
        ("China", ("china",), 1.0),
    ]


def test_a_reading_that_no_document_holds_is_left_out_of_a_known_word() -> None:
    [term] = headline_terms(
        ["storms"], BOTH, [reading(0, "storm", 4), spanish(0, "storms", 0)], 100
    )
    assert term.lexemes == ("storm",)


def test_stop_words_of_the_headlines_own_language_are_dropped_in_all() -> None:
    # Spanish drops "la" and "de"; English would keep both.
    words = ["la", "casa", "de", "papel"]
    readings = [reading(i, word) for i, word in enumerate(words)]
    readings += [spanish(1, "cas"), spanish(3, "papel")]
    assert [t.word for t in headline_terms(words, BOTH, readings, 100)] == ["casa", "papel"]
    assert headline_terms(["the", "of"], ["english"], [], 100) == []


def test_a_stem_shared_with_another_word_does_not_hide_the_other_reading() -> None:
    """English makes one stem of both Spanish words; Spanish documents hold them apart."""
    readings = [
        reading(0, "nacion", 3),
        spanish(0, "nacion", 3),
        reading(1, "nacion", 3),
        spanish(1, "nacional", 7),
    ]
    terms = headline_terms(["nación", "nacional"], BOTH, readings, 100)
    assert [(t.word, t.lexemes) for t in terms] == [
        ("nación", ("nacion",)),
        ("nacional", ("nacional",)),
    ]
    assert terms[1].document_frequency == 10  # as rare as the word, not as one of its stems


@pytest.mark.parametrize(
    ("text", "says_something"),
    [
        ("Told you", True),
        ("#MAGA https://t.co/a", True),
        ("RT @ana: dear coffee", True),
        ("咖啡", True),
        ("RT @ana: https://t.co/a", False),
        ("@ana @ben 12", False),
        ("🔥", False),
        ("", False),
    ],
)
def test_names_and_links_are_no_words_of_ones_own(text: str, *, says_something: bool) -> None:
    assert has_own_words(text) is says_something


SMALL_TALK = (
    "Hello there!",
    "How are you doing today?",
    "Thanks a lot :)",
    "What's up?",
    "Hola, ¿cómo estás?",
    "Buenos días a todos",
)


@pytest.mark.parametrize("line", SMALL_TALK)
def test_small_talk_is_generic(line: str) -> None:
    assert is_generic(line)


@pytest.mark.parametrize(
    "line", ["Good morning, America: the ferry sank", "Buenos Aires", "Tal Afar"]
)
def test_a_text_with_a_name_or_thing_is_not_generic(line: str) -> None:
    assert not is_generic(line)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Good morning!", 0),
        ("source?", 1),
        ("@ana https://example.org/a-long-story", 0),
        ("Bank of the river floods", 3),
        ("港の船", 3),
    ],
)
def test_the_words_that_tell_something_are_counted(text: str, number: int) -> None:
    assert count_telling_words(text) == number
