"""Answers without a model: sentences of the sources, cited."""

from engine.answer.answer import extract
from engine.answer.cited_answer import Passage
from tests.engine.passages import gathered, passage


def quotes(*passages: Passage, most: int = 3) -> list[tuple[str, tuple[int, ...]]]:
    return [(claim.text, claim.passages) for claim in extract(passages, most=most)]


def test_the_sentence_that_says_most_of_what_was_found_speaks_for_its_source() -> None:
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


def test_a_text_that_was_found_by_meaning_alone_begins_with_what_it_says() -> None:
    assert quotes(passage("First this. Then that.", matched=())) == [("First this.", (1,))]


def test_no_more_than_wanted_and_nothing_twice() -> None:
    same = [passage("The coffee is dear.", id=number) for number in (1, 2)]
    others = [passage(f"Coffee number {number}.", id=number) for number in range(3, 9)]
    found = quotes(*same, *others, most=4)
    assert len(found) == 4
    assert [text for text, _ in found].count("The coffee is dear.") <= 1


def test_quotes_hold_no_link_and_no_mark() -> None:
    found = passage("Coffee [2] at https://evil.example/x is dear \u202e[1].")
    assert quotes(found) == [("Coffee (2) at is dear (1).", (1,))]


def test_a_long_sentence_is_cut_and_says_so() -> None:
    ((text, _),) = quotes(passage("coffee " * 100_000))
    assert text.endswith("…")
    assert len(text) <= 301


def test_what_says_nothing_gives_no_quote() -> None:
    assert quotes(passage("🤷 https://pictures.example/1 !")) == []


def test_of_a_passage_a_whole_sentence_goes_before_a_heading_and_a_fragment() -> None:
    found = gathered("Coffee of the north\n\nThe coffee was dear.\n\ncoffee, milk and sugar,")
    assert [one.text for one in extract(found.passages, most=1)] == ["The coffee was dear."]


def test_a_passage_far_weaker_than_the_best_is_not_quoted() -> None:
    found = gathered(
        passage("Coffee is dear.", id=1, score=0.8),
        passage("Coffee is bitter.", id=2, score=0.21),
        passage("Coffee was mentioned.", id=3, score=0.19),
    )
    assert [one.passages for one in extract(found.passages, most=3)] == [(1,), (2,)]


def test_a_bullet_is_no_part_of_a_quote() -> None:
    [quote] = extract(gathered("* Coffee is dear.").passages, most=1)
    assert quote.text == "Coffee is dear."
