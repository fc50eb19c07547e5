"""Excerpts are found by the lexemes of the corpus' languages, accents and endings aside."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.pool import Database
from db.search.find import DialectIndex
from engine.query.find import Finder, meant_by
from engine.query.parser import parse_query
from engine.query.query import Plan
from engine.query.results import Counts, QueryAnswer, order_by_similarity, present_hits
from engine.values import Corpus, Kind
from tests.bot.finds import make_find_hit
from tests.bot.kinds import fill
from tests.db.loading import document

FILLER = "Nada que decir por ahora, seguimos esperando. " * 30


async def shown(
    database: Database, corpus: Corpus, query: str, *, voice: bool = False
) -> QueryAnswer:
    index = DialectIndex(database)
    answer = await Finder(index).find(corpus, parse_query(query))
    return await present_hits(index, corpus, answer, voice=voice)


@pytest.mark.parametrize(
    ("said", "query"),
    [
        ("las inflaciones", "inflación"),
        ("la INFLACIÓN", "inflacion"),
        ("the walls", "wall"),
        ("la deuda externa", '"deuda externa"'),
    ],
)
async def test_a_match_is_found_in_another_form_of_its_word(
    database: Database, said: str, query: str
) -> None:
    lang = "en" if said.startswith("the") else "es"
    texts = [
        replace(document("long", f"{FILLER}{said} {FILLER}"), lang=lang),
        replace(document("en", "Something else altogether"), lang="en"),
    ]
    corpus = await fill(database, "c", Kind.PERSONAL, texts)
    found = await shown(database, corpus, query)
    [hit] = found.hits
    assert hit.excerpt
    assert said in hit.excerpt.text
    assert hit.excerpt.text in hit.document.candidate.text


async def test_stop_words_of_one_language_make_no_voice_terms(database: Database) -> None:
    texts = [
        replace(document("es", "la casa de la abuela, casa grande"), lang="es"),
        replace(document("en", "the big house"), lang="en"),
    ]
    corpus = await fill(database, "c", Kind.SOCIAL, texts)
    found = await shown(database, corpus, "casa", voice=True)
    assert found.hits[0].voice_terms == ("casa grande",)


QUERY = parse_query('rust OR "old car" -boat before:2015')


def found(number: int) -> QueryAnswer:
    return QueryAnswer(
        query=QUERY,
        expanded=QUERY,
        corpus="c",
        plan=Plan.RANKED,
        counts=Counts(corpus=9, returned=number),
        hits=tuple(make_find_hit(rank, score=10.0 - rank) for rank in range(1, number + 1)),
    )


def ids(answer: QueryAnswer) -> list[int]:
    return [one.document.candidate.id for one in answer.hits]


def test_hits_are_sorted_by_similarity_and_renumbered() -> None:
    answer = order_by_similarity(found(3), {1: 0.1, 2: 0.9, 3: 0.5}, 2)
    assert ids(answer) == [2, 3]
    assert [one.rank for one in answer.hits] == [1, 2]
    assert [one.similarity for one in answer.hits] == [0.9, 0.5]
    assert answer.counts.returned == 2
    assert not answer.notices


def test_hits_of_unknown_similarity_follow_in_order_with_a_notice() -> None:
    answer = order_by_similarity(found(4), {3: 0.0}, 4)
    assert ids(answer) == [3, 1, 2, 4]
    assert [str(notice) for notice in answer.notices] == [
        "3 of the texts found are not ordered by meaning."
    ]


@given(similarities=st.dictionaries(st.integers(1, 6), st.floats(0, 1)), limit=st.integers(1, 9))
def test_hits_of_unknown_similarity_never_precede_known_ones(
    similarities: Mapping[int, float], limit: int
) -> None:
    answer = order_by_similarity(found(6), similarities, limit)
    known = [one.similarity is not None for one in answer.hits]
    assert known == sorted(known, reverse=True)
    assert len(answer.hits) == min(6, limit)


def test_the_embedded_query_excludes_negated_words() -> None:
    assert meant_by(QUERY) == "rust old car"
    assert meant_by(parse_query("-boat before:2015")) == ""
