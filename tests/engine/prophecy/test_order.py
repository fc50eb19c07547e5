"""The order of texts that nobody has judged, as the tuned model sees it."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from engine.prophecy.rerank import (
    TUNED_MODELS,
    Comparison,
    Predictions,
    TunedModel,
    predict_finds,
)
from engine.prophecy.score import Scorer
from engine.search import Candidate, Term
from engine.settings.searching import ProphecySettings
from tests.engine.candidates import CORPUS, candidate
from tests.engine.prophecy.test_rerank import NOW

LARGE = replace(CORPUS, documents=50_000, tokens=800_000)
TERMS = [
    Term(word=word, lexemes=(word,), document_frequency=frequency, max_tf=2)
    for word, frequency in (("ferry", 12), ("harbour", 40), ("monday", 2_000), ("the", 30_000))
]
MODEL = TunedModel(slope=30.0, zero=0.32, gate=0.3)


def texts(*matched: Mapping[int, int]) -> list[Candidate]:
    return [
        replace(candidate(number), matched=words, length=14, bm25=20.0 - number)
        for number, words in enumerate(matched, start=1)
    ]


def scorer(cosines: Mapping[int, float]) -> Scorer:
    return Scorer(
        settings=ProphecySettings(),
        terms=TERMS,
        documents=LARGE.documents,
        average_length=LARGE.average_length,
        asked_at=NOW,
        predictions=Predictions(model=MODEL, cosines=cosines),
    )


@pytest.mark.parametrize(
    ("cosines", "hits", "near"),
    [
        ({1: 0.31, 2: 0.45, 3: 0.29}, [2, 1], [3, 4]),  # the fourth was not compared
        ({1: 0.29, 2: 0.25, 3: 0.29}, [], [1, 3, 2, 4]),  # none is sure enough
        ({1: 0.5}, [1], [4, 2, 3]),  # the others as words order them
    ],
)
def test_the_cosine_decides_what_is_a_hit(
    cosines: Mapping[int, float], hits: list[int], near: list[int]
) -> None:
    found = texts({0: 1, 1: 1}, {0: 1}, {2: 1}, {0: 2, 1: 2, 2: 2, 3: 2})
    shown, weak = scorer(cosines).hits_and_near(found, {}, 4)
    assert [hit.candidate.id for hit in shown] == hits
    assert [hit.candidate.id for hit in weak] == near
    assert [hit.score for hit in shown] == [MODEL.predict(cosines[one]) for one in hits]


@pytest.mark.parametrize(("telling_words", "hits"), [(0, []), (1, [2]), (2, [2]), (3, [1, 2])])
def test_a_short_headline_needs_one_of_its_words_in_the_text(
    telling_words: int, hits: list[int]
) -> None:
    found = texts({}, {0: 1})
    short = replace(scorer({1: 0.9, 2: 0.8}), telling_words=telling_words)
    assert [hit.candidate.id for hit in short.hits_and_near(found, {}, 3)[0]] == hits


@pytest.mark.parametrize(("model", "hits"), [*((model, 0) for model in TUNED_MODELS), ("other", 2)])
def test_no_hits_are_shown_while_the_comparison_is_unfinished(model: str, hits: int) -> None:
    found = texts({0: 1, 1: 1, 2: 1}, {0: 1, 1: 1})
    early = Comparison(similarity={}, model=model, unfinished=True)
    unsure = replace(scorer({}), predictions=predict_finds(early))
    shown, weak = unsure.hits_and_near(found, {}, 3)
    assert (len(shown), [hit.candidate.id for hit in (*shown, *weak)]) == (hits, [1, 2])
