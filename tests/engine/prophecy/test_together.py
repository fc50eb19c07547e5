"""The answers of several archives as one: best first, each hit with its voice, costs added up."""

from dataclasses import replace

import pytest

from engine.corpora import chosen_corpora
from engine.errors import CorpusNotFound, SeveralCorpora
from engine.messages import Message
from engine.prophecy.prophecy import together
from engine.search import Verdict
from engine.text.address import addressed
from engine.values import CorpusRole, Usage
from tests.bot.conversing import corpus
from tests.bot.prophecies import make_hit, make_prophecy, make_term

ANA, LUIS = corpus("ana"), replace(corpus("luis"), display_name="Luis Pérez")


def test_the_best_come_first_and_each_names_its_voice() -> None:
    first = make_prophecy(make_hit(1, score=0.9), make_hit(2, score=0.2))
    second = make_prophecy(make_hit(1, score=0.5, author=None), make_hit(2, score=0.4, author=None))
    joined = together([(ANA, first), (LUIS, second)], limit=3)
    assert [(hit.rank, hit.score) for hit in joined.hits] == [(1, 0.9), (2, 0.5), (3, 0.4)]
    assert [hit.candidate.voice or hit.candidate.author for hit in joined.hits] == [
        *("ana", "Luis Pérez", "Luis Pérez")
    ]
    assert joined.corpus == "all"


def test_costs_are_added_and_notices_said_once() -> None:
    said = Message("Not judged: no language model is set up.")
    paid = Verdict(scores={1: 6}, usage=Usage(cost_usd=0.25), notice=said)
    cached = Verdict(scores={2: 3}, usage=Usage(cost_usd=9.0), cached=True, notice=said)
    answers = [(ANA, make_prophecy(verdict=paid)), (LUIS, make_prophecy(verdict=cached))]
    joined = together(answers, limit=3)
    assert joined.verdict.scores == {1: 6, 2: 3}
    assert joined.usage == Usage(cost_usd=0.25)
    assert joined.verdict.notice == said


def test_a_word_that_one_archive_has_is_not_said_to_be_missing() -> None:
    near, exact = make_term("coffees", neighbour_of="coffee"), make_term("coffee")
    for first, second in ((near, exact), (exact, near)):
        answers = [(ANA, make_prophecy(terms=(first,))), (LUIS, make_prophecy(terms=(second,)))]
        assert together(answers, limit=3).terms == (exact,)


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ({"a": "archive", "b": "archive", "demo": "demonstration", "news": "news"}, ["a", "b"]),
        ({"demo": "demonstration", "news": "news"}, ["demo"]),
    ],
)
def test_all_means_archives(roles: dict[str, str], expected: list[str]) -> None:
    known = [replace(corpus(name), role=CorpusRole(role)) for name, role in roles.items()]
    assert [one.name for one in chosen_corpora(known, "all")] == expected


def test_all_of_nothing_is_an_error_and_a_corpus_of_that_name_is_itself() -> None:
    with pytest.raises(CorpusNotFound):
        chosen_corpora([replace(corpus("news"), role=CorpusRole.NEWS)], "all")
    with pytest.raises(SeveralCorpora):
        chosen_corpora([ANA, LUIS])
    own = corpus("all")
    assert chosen_corpora([ANA, own], "all") == [own]
    assert chosen_corpora([ANA, LUIS], configured="luis") == [LUIS]


@pytest.mark.parametrize(
    ("written_by", "account", "shown"),
    [
        (None, None, (None, "Ana Ruiz")),
        (None, "ana", ("ana", "Ana Ruiz")),
        ("Ana", "@ana", ("Ana", "Ana Ruiz")),
        ("bob", "ana", ("bob", None)),  # a repost
    ],
)
def test_the_voice_is_that_of_its_own_texts(
    written_by: str | None, account: str | None, shown: tuple[str | None, str | None]
) -> None:
    known = replace(ANA, author=account, display_name="Ana Ruiz")
    found = addressed(replace(make_hit().candidate, author=written_by), known)
    assert (found.author, found.voice) == shown
