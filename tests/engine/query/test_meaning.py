"""What a query found, in the order of likeness."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from engine.query.meaning import meant_by, order_by_similarity
from engine.query.parser import parse_query
from engine.query.query import Plan
from engine.query.results import Counts, FindHit, FoundDocument, QueryAnswer
from tests.engine.candidates import candidate

QUERY = parse_query('rust OR "old car" -boat before:2015')


def hit(rank: int) -> FindHit:
    document = FoundDocument(
        candidate=candidate(rank),
        frequencies={},
        in_text={},
        title=None,
        role=None,
        thread=None,
        attribution=None,
        tags=(),
        mentions=(),
        engagement=0,
    )
    return FindHit(rank=rank, document=document, score=10.0 - rank, matched=())


def found(number: int) -> QueryAnswer:
    return QueryAnswer(
        query=QUERY,
        expanded=QUERY,
        corpus="c",
        plan=Plan.RANKED,
        counts=Counts(corpus=9, returned=number),
        hits=tuple(hit(rank) for rank in range(1, number + 1)),
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
