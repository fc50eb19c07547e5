"""What a text shares with a headline by coincidence is no evidence."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from engine.prophecy.retrieve import Coincidences
from engine.search import Candidate, Term
from engine.values import Corpus
from tests.engine.candidates import CORPUS, candidate
from tests.engine.prophecy.terms import term

LARGE = replace(CORPUS, documents=1000, tokens=10_000)
BOTH = replace(LARGE, language="english", languages=("english", "spanish"))
SUGAR = (term("cane"), term("sugar", 30), term("coca"))
CITY = (
    replace(term("hallan"), lexemes=("hall",), read_in={"hall": frozenset({"spanish"})}),
    replace(
        term("countries"),
        lexemes=("countri", "countries"),
        read_in={"countri": frozenset({"english"}), "countries": frozenset({"spanish"})},
    ),
)


def say(text: str, *shared: int, lang: str | None = None, ranks: int = 1) -> Candidate:
    lists = {"lexical": 1, "semantic": 2}
    made = replace(candidate(1, text), lang=lang, matched=dict.fromkeys(shared, 1))
    return replace(made, ranks=dict(list(lists.items())[:ranks]))


def drop(found: Candidate, terms: Sequence[Term], corpus: Corpus = LARGE) -> Candidate:
    [kept] = Coincidences(terms=terms, corpus=corpus).drop([found])
    return kept


@pytest.mark.parametrize(
    ("text", "shared", "left"),
    [
        ("@Lord_Sugar you are fired", (1,), ()),
        ("@Lord_Sugar sells sugar", (1,), (1,)),
        ("@Lord_Sugar takes coca", (1, 2), (2,)),
        ("@CaneSugar is sweet", (0, 1), (0, 1)),
        ("@Sugar is sweet", (1,), (1,)),
        ("@sugar_99 is sweet", (1,), (1,)),
        ("Cane sugar, says @Lord_Sugar", (0, 1), (0, 1)),
    ],
)
def test_a_part_of_a_longer_handle_is_no_word(
    text: str, shared: tuple[int, ...], left: tuple[int, ...]
) -> None:
    found = say(text, *shared)
    kept = drop(found, SUGAR)
    assert tuple(kept.matched) == left
    assert (kept.bm25 < found.bm25) == (left != shared)


@pytest.mark.parametrize("letter", ["y", "e"])
def test_a_single_letter_of_a_name_does_not_match(letter: str) -> None:
    found = say(f"@{letter.upper()}McTier: thank you", 0)
    assert not drop(found, [term(letter)]).matched


@pytest.mark.parametrize(
    ("lang", "text", "shared", "left"),
    [
        ("en", "See you at City Hall", (0,), ()),
        (None, "See you at City Hall", (0,), ()),
        ("es", "La hallaron viva", (0,), (0,)),
        ("en", "Every country counts", (1,), (1,)),  # its stem is "countri"
        ("en", "Hall of fame of all countries", (0, 1), (1,)),
    ],
)
def test_a_stem_of_one_language_is_no_word_of_another(
    lang: str | None, text: str, shared: tuple[int, ...], left: tuple[int, ...]
) -> None:
    assert tuple(drop(say(text, *shared, lang=lang), CITY, BOTH).matched) == left


def test_coincidental_matches_come_last_unless_otherwise_proposed() -> None:
    fired = say("@Lord_Sugar, fired", 1)
    sweet = replace(say("sweet cane", 0), id=2)
    close = replace(say("@Lord_Sugar by meaning", 1, ranks=2), id=3)
    ordered = Coincidences(terms=SUGAR, corpus=LARGE).drop([fired, close, sweet])
    assert [one.id for one in ordered] == [3, 2, 1]
