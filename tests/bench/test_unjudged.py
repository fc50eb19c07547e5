"""The figures of unjudged answers, and their gate."""

from pathlib import Path

import pytest

from bench.measures import NO_MATCH, JudgedHeadline
from bench.unjudged import (
    COLLECTIONS,
    LABELS,
    Asked,
    Sample,
    choose_gate,
    cross_validate,
    describe,
    read_collections,
    share_interval,
)

ENGLISH = COLLECTIONS[3]


def asked(qid: str, labels: dict[str, int], *shown: str, kind: str | None = None) -> Asked:
    return Asked(ENGLISH, JudgedHeadline(qid=qid, headline=qid, kind=kind), labels, shown)


def test_a_row_counts_silent_answers_and_wrong_hits() -> None:
    row = describe(
        [
            asked("found", {"a": 6, "b": 3, "c": 2}, "a", "c", "x"),
            asked("missed", {"a": 4}),
            asked("nothing", {"a": 1}, kind=NO_MATCH),
            asked("junk", {"a": 1}, "a", kind=NO_MATCH),
        ]
    )
    assert (row["silent"], row["mute"], row["below_3"]) == ("1 of 2", "1", "3 of 4")
    assert row["P@3"] == pytest.approx(1 / 6, abs=0.001)


def test_a_share_is_of_sums_with_an_interval_around_it() -> None:
    assert share_interval([(1, 2), (3, 3), (0, 1)]) == "0.67 [0.00, 1.00]"
    assert share_interval([(2, 2)] * 5) == "1.00 [1.00, 1.00]"
    assert share_interval([(0, 0)]) == "-"


def unmatched(number: int, cosine: float) -> Sample:
    return Sample(asked(f"u{number}", {}, kind=NO_MATCH), {"a": cosine, "b": 0.1})


def test_the_gate_is_reached_by_one_in_twenty_without_a_match() -> None:
    matched = Sample(asked("found", {"a": 6}), {"a": 0.99, "b": 0.2})
    samples = [unmatched(number, number / 100) for number in range(40)]
    gate = choose_gate([*samples, matched])
    assert sum(each.highest >= gate for each in samples) == 2
    assert matched.answer(gate).shown == ["a"]
    assert matched.answer(0.0).shown == ["a", "b"]


def test_no_headline_sets_its_own_gate() -> None:
    samples = [unmatched(number, number / 100) for number in range(19)]
    pun = unmatched(99, 0.9)
    answered = cross_validate([*samples, pun])
    assert [each.shown for each in answered[:-1]] == [[]] * 19
    assert answered[-1].shown == ["a"]


def test_the_labels_of_the_project_can_be_read() -> None:
    assert LABELS.is_dir()
    read = list(read_collections(Path("nowhere"), ["labels"]))
    assert [len(headlines) for _, headlines, _ in read] == [24, 34]
    for _, headlines, qrels in read:
        assert set(qrels) == {headline.qid for headline in headlines}
        for headline in headlines:
            assert (max(qrels[headline.qid].values()) >= 3) == headline.matchable
