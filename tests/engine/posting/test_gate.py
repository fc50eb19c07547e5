"""Stories are judged in the order of what they share with one old text."""

import pytest

from engine.posting.choose import measure_promise
from engine.search import Term
from tests.engine.posting.finds import hit, prophecy


def term(word: str, neighbour_of: str | None = None) -> Term:
    return Term(
        word=word, lexemes=(word,), document_frequency=1, max_tf=1, neighbour_of=neighbour_of
    )


WORDS = tuple(map(term, ("coffee", "prices", "hit", "record", "high")))


def test_a_text_with_fewer_than_three_words_in_common_counts_half() -> None:
    found = prophecy(
        hit(lexical=0.9, matched=("coffee", "prices")),
        hit(lexical=0.4, matched=("coffee", "prices", "hit")),
        hit(lexical=0.5, matched=("coffee", "record", "high")),
        terms=WORDS,
    )
    assert measure_promise(found) == 0.5


@pytest.mark.parametrize("words", [1, 2])
def test_a_short_headline_needs_all_its_words(words: int) -> None:
    terms = WORDS[:words]
    whole = tuple(one.word for one in terms)
    assert measure_promise(prophecy(hit(lexical=0.8, matched=whole), terms=terms)) == 0.8
    assert measure_promise(prophecy(hit(lexical=0.8, matched=whole[1:]), terms=terms)) == 0.4
