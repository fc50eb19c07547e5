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
    compare,
    cross_validate,
    describe,
    read_collections,
    read_unmatched,
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


def test_the_interval_of_a_difference_holds_its_mean() -> None:
    ours = [asked(f"q{n}", {"a": 6, "b": 0}, "a" if n % 4 else "b") for n in range(40)]
    theirs = {our.key: 0.5 for our in ours}
    said = compare(ours, theirs)
    assert said is not None
    mean, low, high = (float(one.strip("[],")) for one in said.split())
    assert mean == pytest.approx(0.25)
    assert low < mean < high
    assert compare(ours, {}) is None


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


def test_headlines_that_nothing_can_match_are_read_by_their_lines(tmp_path: Path) -> None:
    (tmp_path / "headlines").mkdir()
    lines = [f'{{"title": "Headline {at}", "date": "2024-05-06T10:00"}}' for at in range(10_000)]
    (tmp_path / "headlines" / "en.jsonl").write_text("\n".join(lines), encoding="utf-8")
    headlines = read_unmatched(tmp_path, ENGLISH)
    assert len(headlines) == 46
    assert headlines[0].headline == f"Headline {headlines[0].qid.removeprefix('u')}"
    assert not any(headline.matchable for headline in headlines)


def test_the_labels_of_the_project_can_be_read() -> None:
    assert LABELS.is_dir()
    read = list(read_collections(Path("nowhere"), ["labels"]))
    assert [len(headlines) for _, headlines, _ in read] == [24, 34]
    for _, headlines, qrels in read:
        assert set(qrels) == {headline.qid for headline in headlines}
        for headline in headlines:
            assert (max(qrels[headline.qid].values()) >= 3) == headline.matchable
