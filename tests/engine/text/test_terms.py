"""Readings of a headline's words become the terms of the query."""

import pytest

from engine.text.terms import (
    Reading,
    count_telling_words,
    has_own_words,
    headline_terms,
    is_generic,
)


def reading(
    word: int,
    lexeme: str,
    df: int = 1,
    *,
    language: str = "english",
    position: int = 1,
    tf: int = 1,
) -> Reading:
    return Reading(
        unit=word,
        language=language,
        lexeme=lexeme,
        position=position,
        document_frequency=df,
        max_tf=tf,
    )


def spanish(word: int, lexeme: str, df: int = 1, tf: int = 1, position: int = 1) -> Reading:
    return reading(word, lexeme, df, language="spanish", tf=tf, position=position)


BOTH = ("english", "spanish")


def test_terms_follow_the_word_order_of_the_headline() -> None:
    readings = [reading(2, "wall", 3), reading(0, "mexico", 5)]
    terms = headline_terms(["Mexico", "the", "wall"], ["english"], readings, 100)
    assert [(t.word, t.lexemes, t.document_frequency) for t in terms] == [
        ("Mexico", ("mexico",), 5),
        ("wall", ("wall",), 3),
    ]


def test_a_word_said_twice_is_one_term() -> None:
    readings = [reading(0, "storm", 3), reading(1, "storm", 3)]
    terms = headline_terms(["storm", "Storms"], ["english"], readings, 9)
    assert [t.word for t in terms] == ["storm"]


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


def test_a_hyphenated_word_that_no_text_has_is_found_by_its_parts() -> None:
    readings = compound(0, "wi-fi", "wi", "fi", known=0)
    terms = headline_terms(["Wi-Fi"], ["english"], readings, 100)
    assert [(t.lexemes, t.weight) for t in terms] == [(("wi",), 0.5), (("fi",), 0.5)]


def test_a_word_counts_in_full_despite_a_hyphenated_word_containing_it() -> None:
    readings = [*compound(0, "us-china", "us", "china", known=0), reading(2, "china", 20)]
    terms = headline_terms(["US-China", "with", "China"], ["english"], readings, 100)
    assert [(t.word, t.lexemes, t.weight) for t in terms] == [
        ("US-China", ("us",), 0.5),
        ("China", ("china",), 1.0),
    ]


def test_a_word_read_in_two_languages_is_one_term_with_summed_frequency() -> None:
    readings = [reading(0, "inflat", 40, tf=2), spanish(0, "inflacion", 2, tf=5)]
    [term] = headline_terms(["inflation"], BOTH, readings, 100)
    assert set(term.lexemes) == {"inflat", "inflacion"}
    assert (term.document_frequency, term.max_tf) == (42, 5)


def test_a_document_frequency_is_capped_at_the_corpus_size() -> None:
    # Documents in several languages have it in each of them.
    readings = [reading(0, "inflat", 90), spanish(0, "inflacion", 80)]
    [term] = headline_terms(["inflation"], BOTH, readings, 100)
    assert term.document_frequency == 100


def test_a_reading_that_no_document_holds_is_left_out_of_a_known_word() -> None:
    [term] = headline_terms(
        ["storms"], BOTH, [reading(0, "storm", 4), spanish(0, "storms", 0)], 100
    )
    assert term.lexemes == ("storm",)


def test_an_unknown_word_is_a_term_without_documents() -> None:
    [term] = headline_terms(["xyzzy"], ["english"], [reading(0, "xyzzi", 0)], 100)
    assert (term.word, term.document_frequency) == ("xyzzy", 0)


def test_frequencies_of_two_languages_are_capped_at_the_corpus_size() -> None:
    [term] = headline_terms(["no"], BOTH, [reading(0, "no", 80), spanish(0, "non", 70)], 100)
    assert term.document_frequency == 100


def test_stop_words_of_the_headlines_own_language_are_dropped_in_all() -> None:
    # Spanish drops "la" and "de"; English would keep both.
    words = ["la", "casa", "de", "papel"]
    readings = [reading(i, word) for i, word in enumerate(words)]
    readings += [spanish(1, "cas"), spanish(3, "papel")]
    assert [t.word for t in headline_terms(words, BOTH, readings, 100)] == ["casa", "papel"]


def test_stop_words_of_an_unused_language_are_dropped() -> None:
    words = ["Y", "que", "pasa", "con", "China"]
    readings = [reading(i, word.lower()) for i, word in enumerate(words)]
    readings += [spanish(2, "pas"), spanish(4, "chin")]
    terms = headline_terms(words, ["english"], readings, 100)
    assert [(t.word, t.lexemes) for t in terms] == [("pasa", ("pasa",)), ("China", ("china",))]


def test_a_language_that_never_drops_a_word_decides_nothing() -> None:
    words = ["the", "wall"]
    readings = [
        reading(1, "wall"),
        *(reading(i, w, language="simple") for i, w in enumerate(words)),
    ]
    terms = headline_terms(words, ("english", "simple"), readings, 100)
    assert [t.word for t in terms] == ["wall"]


def test_no_stop_word_is_dropped_if_languages_tie() -> None:
    words = ["the", "la", "storm"]
    readings = [reading(1, "la"), reading(2, "storm"), spanish(0, "the"), spanish(2, "storm")]
    assert [t.word for t in headline_terms(words, BOTH, readings, 100)] == words


def test_a_word_of_stop_words_only_has_no_terms() -> None:
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


def test_a_lexeme_that_a_compound_says_twice_counts_at_its_first_place() -> None:
    readings = [
        reading(0, "nacion", 3, position=2),
        reading(0, "nacion", 3, position=3),
        spanish(0, "nacion", 3, position=2),
        spanish(0, "nacional", 7, position=3),
    ]
    terms = headline_terms(["nación-nacional"], BOTH, readings, 100)
    assert [(t.lexemes, t.document_frequency) for t in terms] == [
        (("nacion",), 3),
        (("nacional",), 7),
    ]


def test_a_repeated_word_is_not_taken_for_an_unknown_one() -> None:
    readings = [
        reading(0, "run", 3),
        spanish(0, "running", 0),
        reading(1, "run", 3),
        spanish(1, "runs", 0),
    ]
    assert [t.word for t in headline_terms(["running", "runs"], BOTH, readings, 100)] == ["running"]


@pytest.mark.parametrize(
    ("text", "says_something"),
    [
        ("Told you", True),
        ("#MAGA https://t.co/a", True),
        ("RT @ana: dear coffee", True),
        ("咖啡", True),
        ("RT @ana: https://t.co/a", False),
        ("https://t.co/a via @ana", False),
        ("@ana @ben 12", False),
        ("🔥", False),
        ("", False),
    ],
)
def test_names_and_links_are_no_words_of_ones_own(text: str, *, says_something: bool) -> None:
    assert has_own_words(text) is says_something


SMALL_TALK = (
    "Hello there!",
    "Good morning everyone",
    "How are you doing today?",
    "Thanks a lot :)",
    "OK, see you tomorrow",
    "lol that is funny",
    "What's up?",
    "Hola, ¿cómo estás?",
    "Jaja, qué bueno",
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
        ("is this real?", 1),
        ("@ana https://example.org/a-long-story", 0),
        ("Bank of the river floods", 3),
        ("港の船", 3),
    ],
)
def test_the_words_that_tell_something_are_counted(text: str, number: int) -> None:
    assert count_telling_words(text) == number
