"""Scores are shares of what is known, and their order is always the same."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.prophecy.meaning import TUNED_MODELS, Comparison, Predictions, TunedModel, predict_finds
from engine.prophecy.score import (
    Scorer,
    Sureness,
    level_hits,
    list_factors,
    measure_age,
    rate_sureness,
    share_covered,
    term_weights,
    weigh_coverage,
)
from engine.search import Candidate, Hit, HitKind, ItemPlace, Term
from engine.settings.searching import ProphecySettings, ScoreSettings, SearchSettings
from engine.values import Flag
from tests.bot.prophecies import make_hit
from tests.engine.candidates import CORPUS, candidate
from tests.engine.prophecy.terms import AVERAGE, DOCUMENTS, NOW, TERMS, found, term
from tests.engine.prophecy.test_meaning import NOW as ASKED


def hits(
    candidates: Sequence[Candidate],
    judgments: Mapping[int, int] | None = None,
    *,
    terms: Sequence[Term] = TERMS,
    limit: int = 10,
    settings: ProphecySettings | None = None,
) -> list[Hit]:
    return scorer(settings, terms).hits_and_near(candidates, judgments or {}, limit)[0]


def wanting(**minimum: float) -> ProphecySettings:
    return ProphecySettings(search=SearchSettings(**minimum))


def scorer(settings: ProphecySettings | None = None, terms: Sequence[Term] = TERMS) -> Scorer:
    return Scorer(
        settings=settings or ProphecySettings(),
        terms=terms,
        documents=DOCUMENTS,
        average_length=AVERAGE,
        asked_at=NOW,
    )


def ids(found_hits: Sequence[Hit]) -> list[int]:
    return [hit.candidate.id for hit in found_hits]


# --- age ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("days", "value"), [(0, 0.0), (-5, 0.0), (3652.5, 1.0), (9000, 1.0)])
def test_age_is_zero_for_new_texts_and_one_at_the_full_span(days: float, value: float) -> None:
    assert measure_age(NOW - timedelta(days=days), NOW) == pytest.approx(value)


@given(st.floats(0, 20_000), st.floats(0, 1000))
def test_age_never_decreases_for_older_texts(days: float, more: float) -> None:
    younger = measure_age(NOW - timedelta(days=days), NOW)
    assert 0 <= younger <= measure_age(NOW - timedelta(days=days + more), NOW) <= 1


# --- factors and sums -----------------------------------------------------------------------


def test_every_flag_that_costs_is_named() -> None:
    flags = Flag.REPOST | Flag.TRUNCATED | Flag.MEDIA
    given_candidate = found(1, {0: 1}, flags=flags, length=3)
    assert list_factors(given_candidate) == {"repost": 0.97, "truncated": 0.98, "short": 0.8}
    assert list_factors(found(1, {0: 1}, flags=Flag.QUOTE, length=4)) == {"quote": 0.97}
    assert list_factors(found(1, {0: 1}, length=4)) == {}


def said(text: str) -> dict[str, float]:
    return list_factors(replace(found(1, {0: 1}, length=9), text=text))


@pytest.mark.parametrize(
    "text",
    [
        "Thank you!",
        "Good morning everybody, have a great day!",
        "¡Muchas gracias a todos, buenas noches!",
        "https://example.org/coffee-prices",
        "@ana pic.twitter.com/abc123",
        "Happy birthday @ana!!! 🎂",
    ],
)
def test_a_generic_text_is_penalised(text: str) -> None:
    assert said(text) == {"generic": 0.6}


# --- order ----------------------------------------------------------------------------------


def test_the_parts_and_factors_are_in_the_receipt() -> None:
    [hit] = hits([found(7, {2: 1, 0: 2}, flags=Flag.QUOTE, length=3, days=36_525)], {7: 4})
    assert hit.rank == 1
    assert hit.parts["judgment"] == 4 / 6
    assert hit.parts["age"] == 1.0
    assert hit.parts["semantic"] is None
    assert set(hit.factors) == {"quote", "short"}
    assert set(hit.matched) == {"coffee", "soar"}
    lexical_part = hit.parts["lexical"]
    assert lexical_part
    mean = (
        0.65 * 4 / 6
        + 0.25 * weigh_coverage(share_covered(hit.candidate, TERMS, DOCUMENTS, AVERAGE))
    ) / 0.9
    assert hit.score == pytest.approx(mean * hit.factors["quote"] * hit.factors["short"])


def test_the_minimum_judgment_is_configurable() -> None:
    candidates = [found(score, {0: 1}) for score in range(7)]
    judgments = {score: score for score in range(7)}
    assert ids(hits(candidates, judgments, settings=wanting(minimum_judgment=3))) == [6, 5, 4, 3]


def test_the_named_best_are_the_hits_in_their_order_and_others_are_near() -> None:
    candidates = [found(score, {0: 1}) for score in range(8)]
    judgments = {score: score for score in range(7)}
    shown, near = replace(scorer(), best=(4, 6, 3)).hits_and_near(candidates, judgments, 3)
    assert (ids(shown), ids(near)) == ([4, 6, 7], [3, 5, 2])


def test_a_near_miss_does_not_hide_a_hit_in_the_same_item() -> None:
    book = ItemPlace(item=1, title="A book")
    strong = replace(found(1, {0: 1, 1: 1, 2: 1}, days=5000), similarity=1.0, place=book)
    weak = replace(found(2, {}, days=10), similarity=0.0, place=replace(book, part=2))
    for candidates in ([strong, weak], [weak, strong]):
        scored = {hit.candidate.id: hit for hit in _each(candidates, {1: 2, 2: 4})}
        assert scored[1].score > scored[2].score
        found_hits, near = scorer().hits_and_near(candidates, {1: 2, 2: 4}, 9)
        assert (ids(found_hits), ids(near)) == ([2], [])


def _each(candidates: Sequence[Candidate], judgments: Mapping[int, int]) -> list[Hit]:
    """Return every part as a hit or near, as for passages."""
    found_hits, near = replace(scorer(), passages=True).hits_and_near(candidates, judgments, 9)
    return [*found_hits, *near]


@pytest.mark.parametrize(
    ("matched", "similarity", "enough"),
    [
        ({}, 0.25, True),  # of one or the other
        ({}, 0.24, False),
        ({0: 1}, None, True),
        ({1: 1}, None, False),
        ({1: 1}, 0.0, False),
        ({1: 1}, 0.12, True),  # of both together
    ],
)
def test_words_and_similarity_together_can_make_a_hit(
    matched: Mapping[int, int], similarity: float | None, enough: bool
) -> None:
    terms = (term("half", 10), term("sixth", 150), *[term(f"other{n}", 200) for n in range(3)])
    one = found(1, matched, similarity=similarity)
    assert 0.13 < share_covered(found(1, {1: 1}), terms, DOCUMENTS, AVERAGE) < 0.25
    assert ids(scorer(terms=terms).hits_and_near([one], {}, 1)[0]) == [1] * enough


def test_similarity_of_a_lexical_model_does_not_add_to_words() -> None:
    one = found(1, {1: 1}, similarity=0.9)
    terms = (term("rare", 1), term("common", 900))
    assert ids(scorer(terms=terms).hits_and_near([one], {}, 1)[0]) == [1]
    assert ids(replace(scorer(terms=terms), by_meaning=False).hits_and_near([one], {}, 1)[0]) == []


def test_chance_matches_count_less_in_a_long_text() -> None:
    terms = (term("half"), term("other"), term("third"))
    short, long = (found(1, {2: 1}, length=length) for length in (10, 60))
    assert ids(hits([short], terms=terms)) == [1]
    assert share_covered(long, terms, DOCUMENTS, AVERAGE) < share_covered(
        short, terms, DOCUMENTS, AVERAGE
    )
    assert ids(hits([long], terms=terms)) == []


def test_age_takes_a_tenth_at_most() -> None:
    [new], [old] = (hits([found(1, {0: 1, 2: 1}, days=days)]) for days in (0, 9000))
    assert new.score == pytest.approx(0.9 * old.score)
    assert ScoreSettings(judgment=0, lexical=0.3, age=0.1).age_boost == pytest.approx(0.25)
    assert ScoreSettings(age=0).age_boost == 0


def test_a_text_without_a_vector_does_not_outrank_its_twin_with_one() -> None:
    words = {0: 1, 1: 1, 2: 1}
    for similarity in (0.0, 0.4, 1.0):
        first, second = hits([found(2, words), found(1, words, similarity=similarity)])
        assert [first.candidate.id, second.candidate.id] == [1, 2], similarity
        assert second.parts["semantic"] == 0.0
        assert second.score <= first.score


def test_merging_levels_an_answer_without_vectors() -> None:
    words = {0: 1, 1: 1, 2: 1}
    [without], [having] = hits([found(1, words)]), hits([found(2, words, similarity=0.4)])
    assert without.score > having.score
    levelled = level_hits([without, having], ScoreSettings().weights)
    assert levelled[0].score < levelled[1].score
    assert levelled[1] == having
    assert level_hits([without], ScoreSettings().weights) == [without]
    assert level_hits([without, having], {"semantic": 1.0})[0].score == 0  # words weigh nothing
    assert level_hits([without, having], {})[0].score == without.score


def test_equal_scores_go_by_date_then_id() -> None:
    # Beyond ten years age counts no more: the scores are equal.
    candidates = [
        found(3, {0: 1}, days=5000),
        found(2, {0: 1}, days=4000),
        found(1, {0: 1}, days=5000),
    ]
    assert ids(hits(candidates)) == [1, 3, 2]


def test_unjudged_reposts_and_quotes_come_after_own_texts() -> None:
    repost = found(1, {0: 2, 1: 2}, flags=Flag.REPOST)
    quote = found(2, {0: 2, 1: 1}, flags=Flag.QUOTE)
    weaker, weakest = found(3, {0: 1, 1: 1}), found(4, {0: 1})
    everything = [repost, quote, weaker, weakest]
    assert ids(hits(everything)) == [3, 1, 2, 4]
    assert ids(hits(everything, limit=1)) == [3]
    assert ids(hits([repost, quote])) == [1, 2]
    assert ids(hits(everything, {1: 6})) == [1, 2, 3, 4]  # a judge has read them


_candidates = st.lists(
    st.tuples(
        st.dictionaries(st.integers(0, 2), st.integers(1, 255), max_size=3),
        st.integers(0, 500),
        st.integers(0, 63).map(Flag),
        st.floats(-100, 9000),
        st.none() | st.integers(0, 6),
    ),
    max_size=12,
)


@given(_candidates, st.randoms(use_true_random=False))
def test_scores_are_between_zero_and_one_and_independent_of_input_order(
    rows: list[tuple[dict[int, int], int, Flag, float, int | None]], draw: random.Random
) -> None:
    candidates = [
        found(i, matched, length=length, flags=flags, days=days)
        for i, (matched, length, flags, days, _) in enumerate(rows)
    ]
    judgments = {i: row[-1] for i, row in enumerate(rows) if row[-1] is not None}
    result = hits(candidates, judgments)
    shuffled = draw.sample(candidates, len(candidates))
    assert hits(shuffled, judgments) == result
    for hit in result:
        assert 0 <= hit.score <= 1
        assert all(value is None or 0 <= value <= 1 for value in hit.parts.values())
        assert all(0 < value < 1 for value in hit.factors.values())
    kinds = [hit.parts["judgment"] is None for hit in result]
    assert kinds == sorted(kinds)
    for kind in (True, False):
        of_kind = [h.score for h in result if (h.parts["judgment"] is None) is kind]
        if all(kinds):
            of_kind = of_kind[1:]  # the first may only be the best in words of one's own
        assert all(a >= b - 1e-9 for a, b in pairwise(of_kind))


def test_a_score_that_equals_a_minimum_is_a_hit() -> None:
    """Unjudged, by words or by meaning; either is enough."""
    same_meaning = replace(found(1, {}), similarity=0.5)
    assert ids(hits([same_meaning, found(2, {})], settings=wanting(minimum_semantic=0.5))) == [1]
    assert ids(hits([found(3, {})], settings=wanting(minimum_lexical=0))) == [3]


def test_undated_hits_follow_their_equals_and_count_as_new() -> None:
    undated = found(1, {0: 1})
    undated = replace(undated, created_at=None)
    [new, last] = hits([undated, found(2, {0: 1}, days=0)])
    assert [new.candidate.id, last.candidate.id] == [2, 1]
    assert (last.parts["age"], last.score) == (None, new.score)
    assert hits([found(3, {0: 1}, days=3000), undated])[0].candidate.id == 3


# --- by meaning alone -----------------------------------------------------------------------


def test_semantic_mode_scores_by_similarity() -> None:
    candidates = [found(4, {}, similarity=0.9), found(2, {})]
    nearest = scorer().nearest(candidates, 3)
    assert [(hit.rank, hit.candidate.id, hit.score) for hit in nearest] == [(1, 4, 0.9), (2, 2, 0)]
    assert ids(scorer().nearest(candidates, 1)) == [4]


@pytest.mark.parametrize(("passages", "expected"), [(False, [1]), (True, [1, 2])])
def test_semantic_mode_lists_an_item_once_unless_parts_are_wanted(
    passages: bool, expected: list[int]
) -> None:
    book = ItemPlace(item=1, title="A book")
    parts = [replace(found(identity, {}, similarity=0.9), place=book) for identity in (1, 2)]
    assert ids(replace(scorer(), passages=passages).nearest(parts, 3)) == expected


def test_a_word_that_the_corpus_has_never_seen_is_not_covered() -> None:
    known = share_covered(found(1, {0: 1}), TERMS[:1], DOCUMENTS, AVERAGE)
    with_unknown = share_covered(
        found(1, {0: 1}), (*TERMS[:1], term("xyzzy", 0)), DOCUMENTS, AVERAGE
    )
    assert known == pytest.approx(1)
    assert with_unknown < 0.5


def test_the_first_word_weighs_half_as_much_again_as_the_last() -> None:
    first, middle, last = term_weights([term("a"), term("b"), term("c")], DOCUMENTS)
    assert first / last == pytest.approx(1.5)
    assert first > middle > last
    assert term_weights([term("a"), term("b")], DOCUMENTS) == [first, last]


def test_a_neighbour_adds_nothing_to_what_there_is_to_cover() -> None:
    terms = (term("earthquak", 0), term("earthquake", 10, weight=0.4, of="earthquak"))
    share = share_covered(found(1, {1: 1}), terms, DOCUMENTS, AVERAGE)
    [unseen], [rare] = (term_weights([term("a", df)], DOCUMENTS) for df in (0, 10))
    assert share == pytest.approx(0.4 * rare / unseen)


@given(st.floats(0, 50), st.floats(0.01, 50))
def test_evidence_strictly_rises_with_coverage(covered: float, more: float) -> None:
    assert 0 <= weigh_coverage(covered) < weigh_coverage(covered + more) < 1


@pytest.mark.parametrize("judgment", [4, 5, 6])
def test_only_a_prediction_is_called_foretold(judgment: int) -> None:
    parts = {"judgment": judgment / 6, "lexical": 1.0, "semantic": 1.0}
    for kind in (*HitKind, None):
        sureness = Sureness.FORETOLD if kind is HitKind.PREDICTION else Sureness.CLOSE
        assert rate_sureness(make_hit(parts=parts, kind=kind)) is sureness


@pytest.mark.parametrize("semantic", [None, 0.3, 1.0])
def test_an_unjudged_hit_is_always_a_guess(semantic: float | None) -> None:
    parts = {"judgment": None, "lexical": 1.0, "age": 1.0, "semantic": semantic}
    assert rate_sureness(make_hit(parts=parts, matched=("a", "b", "c"))) is Sureness.PERHAPS


# Texts that nobody judged, in the order of the tuned model

LARGE = replace(CORPUS, documents=50_000, tokens=800_000)
FERRY = [
    Term(word=word, lexemes=(word,), document_frequency=frequency, max_tf=2)
    for word, frequency in (("ferry", 12), ("harbour", 40), ("monday", 2_000), ("the", 30_000))
]
MODEL = TunedModel(slope=30.0, zero=0.32, gate=0.3)


def texts(*matched: Mapping[int, int]) -> list[Candidate]:
    return [
        replace(candidate(number), matched=words, length=14, bm25=20.0 - number)
        for number, words in enumerate(matched, start=1)
    ]


def tuned_scorer(cosines: Mapping[int, float]) -> Scorer:
    return Scorer(
        settings=ProphecySettings(),
        terms=FERRY,
        documents=LARGE.documents,
        average_length=LARGE.average_length,
        asked_at=ASKED,
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
    shown, weak = tuned_scorer(cosines).hits_and_near(found, {}, 4)
    assert [hit.candidate.id for hit in shown] == hits
    assert [hit.candidate.id for hit in weak] == near
    assert [hit.score for hit in shown] == [MODEL.predict(cosines[one]) for one in hits]


@pytest.mark.parametrize(("telling_words", "hits"), [(0, []), (1, [2]), (2, [2]), (3, [1, 2])])
def test_a_short_headline_needs_one_of_its_words(telling_words: int, hits: list[int]) -> None:
    found = texts({}, {0: 1})
    short = replace(tuned_scorer({1: 0.9, 2: 0.8}), telling_words=telling_words)
    assert [hit.candidate.id for hit in short.hits_and_near(found, {}, 3)[0]] == hits


@pytest.mark.parametrize(("model", "hits"), [*((model, 0) for model in TUNED_MODELS), ("other", 2)])
def test_no_hits_are_shown_while_the_comparison_is_unfinished(model: str, hits: int) -> None:
    found = texts({0: 1, 1: 1, 2: 1}, {0: 1, 1: 1})
    early = Comparison(similarity={}, model=model, unfinished=True)
    unsure = replace(tuned_scorer({}), predictions=predict_finds(early))
    shown, weak = unsure.hits_and_near(found, {}, 3)
    assert (len(shown), [hit.candidate.id for hit in (*shown, *weak)]) == (hits, [1, 2])
