"""The order of texts that nobody has judged, as labels predict it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.prophecy import rerank
from engine.prophecy.rerank import (
    FEATURES,
    LEARNED,
    Comparison,
    Feature,
    LearnedOrder,
    Predictions,
    measure_features,
    predict_labels,
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
# Labels are ten times the square of the cosine, whatever else is known.
BY_COSINE = LearnedOrder(
    mean=0.0,
    gate=3.0,
    features={name: Feature(0.0, 1.0, 10.0 * (name == "cosine")) for name in FEATURES},
)


def texts(*matched: Mapping[int, int]) -> list[Candidate]:
    return [
        replace(candidate(number), matched=words, length=14, bm25=20.0 - number)
        for number, words in enumerate(matched, start=1)
    ]


def compared(model: str, cosines: Mapping[int, float]) -> Comparison:
    return Comparison(similarity=dict.fromkeys(cosines, 0.5), model=model, cosines=cosines)


def scorer(cosines: Mapping[int, float], found: Sequence[Candidate]) -> Scorer:
    labels = {one.id: 10 * cosines[one.id] for one in found if one.id in cosines}
    return Scorer(
        settings=ProphecySettings(),
        terms=TERMS,
        documents=LARGE.documents,
        average_length=LARGE.average_length,
        asked_at=NOW,
        predictions=Predictions(learned=BY_COSINE, labels=labels),
    )


@pytest.mark.parametrize(
    ("cosines", "hits", "near"),
    [
        ({1: 0.31, 2: 0.45, 3: 0.29}, [2, 1], [3, 4]),  # the fourth was not compared
        ({1: 0.29, 2: 0.25, 3: 0.29}, [], [1, 3, 2, 4]),  # none is sure enough
        ({1: 0.5}, [1], [4, 2, 3]),  # the others as words order them
    ],
)
def test_the_predicted_label_decides_what_is_a_hit(
    cosines: Mapping[int, float], hits: list[int], near: list[int]
) -> None:
    found = texts({0: 1, 1: 1}, {0: 1}, {2: 1}, {0: 2, 1: 2, 2: 2, 3: 2})
    shown, weak = scorer(cosines, found).hits_and_near(found, {}, 4)
    assert [hit.candidate.id for hit in shown] == hits
    assert [hit.candidate.id for hit in weak] == near
    assert [hit.score for hit in shown] == [pytest.approx(10 * cosines[one] / 6) for one in hits]


@pytest.mark.parametrize(("telling_words", "hits"), [(0, []), (1, [2]), (2, [2]), (3, [1, 2])])
def test_a_short_headline_needs_one_of_its_words_in_the_text(
    telling_words: int, hits: list[int]
) -> None:
    found = texts({}, {0: 1})
    short = replace(scorer({1: 0.9, 2: 0.8}, found), telling_words=telling_words)
    assert [hit.candidate.id for hit in short.hits_and_near(found, {}, 3)[0]] == hits


def test_judged_hits_precede_predicted_ones() -> None:
    found = texts({0: 1}, {1: 1})
    shown, _ = scorer({1: 0.9, 2: 0.1}, found).hits_and_near(found, {1: 0, 2: 6}, 3)
    assert [hit.candidate.id for hit in shown] == [2]


def test_labels_are_predicted_only_for_models_with_learned_tables() -> None:
    found = texts({0: 1})
    assert predict_labels(compared("other", {1: 0.5}), found, TERMS, LARGE) is None
    for model in LEARNED:
        assert predict_labels(compared(model, {}), found, TERMS, LARGE) is None
        known = predict_labels(compared(model, {1: 0.5}), found, TERMS, LARGE)
        assert known is not None
        assert set(known.labels) == {1}


@pytest.mark.parametrize(("model", "hits"), [*((model, 0) for model in LEARNED), ("other", 2)])
def test_no_hits_are_shown_while_the_comparison_is_unfinished(model: str, hits: int) -> None:
    found = texts({0: 1, 1: 1, 2: 1}, {0: 1, 1: 1})
    early = Comparison(similarity={}, model=model, unfinished=True)
    predictions = predict_labels(early, found, TERMS, LARGE)
    unsure = replace(scorer({}, found), predictions=predictions)
    shown, weak = unsure.hits_and_near(found, {}, 3)
    assert (len(shown), [hit.candidate.id for hit in (*shown, *weak)]) == (hits, [1, 2])


@pytest.mark.parametrize("learned", LEARNED.values())
def test_every_table_has_every_feature_and_a_gate(learned: LearnedOrder) -> None:
    assert tuple(learned.features) == FEATURES
    assert 0 < learned.gate < 6


@pytest.mark.parametrize("model", LEARNED)
@given(cosine=st.floats(0.1, 1.0), more=st.floats(0.0, 0.5))
def test_a_higher_similarity_never_lowers_the_predicted_label(
    model: str, cosine: float, more: float
) -> None:
    found = texts({0: 1, 1: 1}, {0: 1, 1: 1}, {2: 1})
    result = compared(model, {1: cosine, 2: cosine + more, 3: 0.2})
    same_words = replace(found[1], bm25=found[0].bm25)
    known = predict_labels(result, [found[0], same_words, found[2]], TERMS, LARGE)
    assert known is not None
    assert known.labels[2] >= known.labels[1] - 1e-9


def test_a_text_that_means_nothing_is_as_the_least_similar_one() -> None:
    found = texts({0: 1}, {1: 1}, {2: 1})
    features = measure_features(found, {1: 0.5, 2: 0.3}, TERMS, LARGE)
    assert [features[one]["cosine"] for one in (1, 2, 3)] == [
        pytest.approx(one) for one in (0.25, 0.09, 0.09)
    ]


def test_each_feature_measures_what_its_name_says() -> None:
    found = texts({0: 1, 1: 1, 2: 1, 3: 1}, {3: 2}, {})
    first, second, third = (
        measure_features(found, {1: 0.4, 2: 0.2, 3: 0.3}, TERMS, LARGE)[one] for one in (1, 2, 3)
    )
    assert first["share"] > 0.9
    assert (first["words"], second["words"], third["words"]) == (4, 1, 0)
    assert first["heaviest"] > first["second"] > first["third"] > second["heaviest"] > 0
    assert (third["heaviest"], second["second"]) == (0, 0)
    assert first["bm25"] == 1
    assert first["among others"] == pytest.approx(-second["among others"])
    assert third["among others"] == pytest.approx(0, abs=1e-9)


def test_the_parts_of_a_hyphenated_word_are_one_word() -> None:
    halves = [replace(term, word="state-run") for term in TERMS[:2]]
    [features] = measure_features(texts({0: 1, 1: 1}), {1: 0.4}, halves, LARGE).values()
    assert (features["words"], features["second"]) == (1, 0)


def test_a_single_text_has_no_relative_similarity() -> None:
    [features] = measure_features(texts({0: 1}), {1: 0.4}, TERMS, LARGE).values()
    assert features["among others"] == 0


def test_an_empty_corpus_divides_by_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rerank, "LEARNED", MappingProxyType({"m": BY_COSINE}))
    empty = replace(CORPUS, documents=0, tokens=0)
    assert predict_labels(compared("m", {}), [], [], empty) is None
