"""Answers without a model: sentences of the sources, cited."""

import pytest

from engine.answer.answer import extract_claims
from engine.answer.cited_answer import Passage
from tests.engine.passages import gathered, passage


def quotes(*passages: Passage, maximum: int = 3) -> list[tuple[str, tuple[int, ...]]]:
    return [(claim.text, claim.passages) for claim in extract_claims(passages, maximum=maximum)]


def test_the_sentence_with_most_matched_words_represents_its_source() -> None:
    dear = passage("It rains. The coffee is dear. Good night.", id=1)
    both = passage("No. The coffee harvest failed! Yes.", id=2, matched=("coffee", "harvest"))
    assert quotes(dear, both) == [
        ("The coffee harvest failed!", (2,)),
        ("The coffee is dear.", (1,)),
    ]


def test_forms_of_a_word_and_aliases_are_recognised() -> None:
    found = passage("It rains. Harvests fail. So.", matched=("harvesting",))
    assert quotes(found) == [("Harvests fail.", (1,))]
    alias = passage("It rains. A mug of java. So.", matched=("coffee → java",))
    assert quotes(alias) == [("A mug of java.", (1,))]


def test_a_passage_found_only_by_meaning_is_quoted_from_its_beginning() -> None:
    assert quotes(passage("First this. Then that.", matched=())) == [("First this.", (1,))]


def test_extract_has_no_duplicates_and_respects_the_limit() -> None:
    same = [passage("The coffee is dear.", id=number) for number in (1, 2)]
    others = [passage(f"Coffee number {number}.", id=number) for number in range(3, 9)]
    found = quotes(*same, *others, maximum=4)
    assert len(found) == 4
    assert [text for text, _ in found].count("The coffee is dear.") <= 1


@pytest.mark.parametrize(
    "text",
    [
        "The coffee of debian.org/security/faq costs 2*3*4 <3 in /srv with Node.js and a.out.",
        "Coffee w/@TigerWoods and @bob_b, as https://www.example.org/coffee says [sic].",
        "Write to bob@b.example or to _coffee_ **now**: see https://wiki.example.org.",
        '"@fan: your coffee is great" Coffee & thanks, R&D!',
    ],
)
def test_quotes_are_in_the_words_of_the_source(text: str) -> None:
    assert quotes(passage(text)) == [(text, (1,))]


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("Coffee [2] is dear \u202e[1].", "Coffee (2) is dear (1)."),
        ("My coffee https://t.co/abc pic.twitter.com/d", "My coffee"),
        ("My coffee! https://example.org/x https://t.co/y", "My coffee!"),
    ],
)
def test_quotes_hold_no_mark_and_no_attachment(text: str, quote: str) -> None:
    assert quotes(passage(text)) == [(quote, (1,))]


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("“Coffee is dear! Tea is cheap.” So he said.", "Coffee is dear!"),
        ("He said: “Good. Coffee is dear.” Well.", "Coffee is dear."),
        ('"Coffee is dear! Tea is cheap."', "Coffee is dear!"),
        ('"Tea is cheap. Coffee is dear."', "Coffee is dear."),
        ("“Coffee is dear,” he said.", "“Coffee is dear,” he said."),
        ("He calls it «coffee»", "He calls it «coffee»"),
        ('A 12" pot of coffee.', 'A 12" pot of coffee.'),
    ],
)
def test_half_a_pair_of_quotation_marks_is_left_out(text: str, quote: str) -> None:
    assert quotes(passage(text)) == [(quote, (1,))]


def test_a_long_sentence_is_cut_and_says_so() -> None:
    ((text, _),) = quotes(passage("coffee " * 100_000))
    assert text.endswith("…")
    assert len(text) <= 301


def test_a_passage_without_words_gives_no_quote() -> None:
    assert quotes(passage("🤷 https://pictures.example/1 !")) == []


def test_a_whole_sentence_is_preferred_to_a_heading_or_fragment() -> None:
    found = gathered("Coffee of the north\n\nThe coffee was dear.\n\ncoffee, milk and sugar,")
    assert [claim.text for claim in extract_claims(found.passages, maximum=1)] == [
        "The coffee was dear."
    ]


def test_a_passage_far_weaker_than_the_best_is_not_quoted() -> None:
    found = gathered(
        passage("Coffee is dear.", id=1, score=0.8),
        passage("Coffee is bitter.", id=2, score=0.21),
        passage("Coffee was mentioned.", id=3, score=0.19),
    )
    assert [claim.passages for claim in extract_claims(found.passages, maximum=3)] == [(1,), (2,)]


def test_a_bullet_is_no_part_of_a_quote() -> None:
    [quote] = extract_claims(gathered("* Coffee is dear.").passages, maximum=1)
    assert quote.text == "Coffee is dear."
